"""Kills a sweep on the simulated GPU at random moments and looks whether clocks and limits come back.

kill_sweep.py BIN [--count N] [--jobs N] [--seed N]. The victim is the tool, its child, its watchdog, or tool and watchdog
together; the signal SIGINT, SIGTERM or SIGKILL. Only the tool, or only the child: back within 1 s with no command. The
watchdog too: the next ergon command says so, and `ergon restore` gives them back. One line a trial, then the count.
"""
import argparse
import ctypes
import json
import multiprocessing
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from phases import phases_file

IDLE_MHZ, LIMIT_W = 210, 400  # of the simulated A100 with nothing to do and nothing asked
WITHIN_S = 1.0
SIGNALS = {"SIGINT": signal.SIGINT, "SIGTERM": signal.SIGTERM, "SIGKILL": signal.SIGKILL}
# The workload runs briefly and often: the moment of the kill falls into every step of the sweep.
PHASES = {"phases": [{"name": "work", "duration_s": 0.12, "compute": 0.8, "memory": 0.2}]}
SWEEP = ["--sm", "510MHz,960MHz,1410MHz", "--power-limit", "250W,300W", "--settle", "20ms", "--no-align",
         "--least-periods", "1", "--temperature-band", "50"]
KINDS = [("tool", "SIGINT"), ("tool", "SIGTERM"), ("tool", "SIGKILL"), ("tool", "SIGKILL"),
         ("child", "SIGINT"), ("child", "SIGTERM"), ("child", "SIGKILL"),
         ("watchdog", "SIGINT"), ("watchdog", "SIGTERM"), ("watchdog", "SIGKILL"),
         ("tool and watchdog", "SIGKILL"), ("tool and watchdog", "SIGKILL")]


class Observer:
    """Reads the simulated machine as any NVML program would."""

    def __init__(self, binaries, state):
        os.environ.update(ERGON_SIM="a100", ERGON_SIM_STATE=state)
        self.nvml = ctypes.CDLL(os.path.join(binaries, "../lib/sim/libnvidia-ml.so.1"))
        self.gpu = ctypes.c_void_p()
        if self.nvml.nvmlInit_v2() or self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.gpu)):
            raise SystemExit("the simulated GPU cannot be opened")

    def close(self):
        self.nvml.nvmlShutdown()

    def state(self):
        clock, limit = ctypes.c_uint(), ctypes.c_uint()
        self.nvml.nvmlDeviceGetClockInfo(self.gpu, 1, ctypes.byref(clock))
        self.nvml.nvmlDeviceGetPowerManagementLimit(self.gpu, ctypes.byref(limit))
        return clock.value, limit.value // 1000

    def is_back(self):
        return self.state() == (IDLE_MHZ, LIMIT_W)


def children(parent):
    """The living children of a process by what they are."""
    found = {}
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat") as file:
                fields = file.read().rsplit(")", 1)[1].split()
            with open(f"/proc/{entry}/cmdline", "rb") as file:
                words = file.read().split(b"\0")
        except OSError:
            continue
        if int(fields[1]) == parent and fields[0] != "Z":
            if b"__watchdog" in words:
                found["watchdog"] = int(entry)
            elif words[0].endswith(b"ergon-simload"):
                found["child"] = int(entry)
    return found


def wait_for(condition, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        value = condition()
        if value:
            return value
        time.sleep(0.005)
    return None


class Trial:
    def __init__(self, binaries, number, seed):
        chance = random.Random(seed * 1000 + number)
        self.victim, self.signal = KINDS[number % len(KINDS)]
        self.delay = chance.uniform(0.0, 2.2)
        self.binaries, self.number = binaries, number
        self.folder = tempfile.mkdtemp(prefix="ergon-kill-")
        self.environment = dict(os.environ, ERGON_SIM_STATE=os.path.join(self.folder, "machine"),
                                XDG_STATE_HOME=os.path.join(self.folder, "state"))
        os.mkdir(self.environment["ERGON_SIM_STATE"])
        self.faults = []

    def ergon(self, *words):
        return subprocess.run([os.path.join(self.binaries, "ergon"), *words], env=self.environment, capture_output=True,
                              text=True, timeout=60, check=False)

    def leases(self):
        folder = os.path.join(self.folder, "state", "ergon")
        names = os.listdir(folder) if os.path.isdir(folder) else []
        return [name for name in names if name.startswith("lease-") and name.endswith(".json")]

    def expect(self, truth, what):
        if not truth:
            self.faults.append(what)

    def start(self):
        phases = phases_file(self.folder, PHASES)
        return subprocess.Popen([os.path.join(self.binaries, "ergon"), "sweep", "--gpu", "sim:a100", "--seed",
                                 str(self.number), *SWEEP, "--",
                                 os.path.join(self.binaries, "ergon-simload"), phases],
                                env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                start_new_session=True)

    def kill(self, tool):
        """Sends the signal; False where the victim was no longer there."""
        number = SIGNALS[self.signal]
        try:
            if self.victim == "tool":
                tool.send_signal(number)
                return tool.poll() is None or number == signal.SIGKILL
            part = "child" if self.victim == "child" else "watchdog"
            pid = wait_for(lambda: children(tool.pid).get(part), 1)
            if not pid:
                return False
            os.kill(pid, number)
            if self.victim == "tool and watchdog":
                tool.kill()
            return True
        except ProcessLookupError:
            return False

    def back_in_time(self, observer):
        start = time.monotonic()
        back = wait_for(observer.is_back, WITHIN_S)
        self.seconds = time.monotonic() - start
        self.expect(back, f"not back within {WITHIN_S} s: {observer.state()}")

    def judge(self, tool, observer):
        if self.victim == "watchdog":
            # The sweep goes on with another one and gives back itself.
            self.expect(wait_for(lambda: tool.poll() is not None, 30), "the sweep did not end")
            self.expect(tool.returncode == 0, f"the sweep ended with {tool.returncode}")
        if self.victim != "tool and watchdog":
            self.back_in_time(observer)
            self.expect(wait_for(lambda: tool.poll() is not None, 10), "the tool did not end")
            if self.victim == "child":
                self.expect(tool.returncode == 128 + SIGNALS[self.signal], f"the tool ended with {tool.returncode}")
            if self.victim == "tool" and self.signal != "SIGKILL":
                self.expect(tool.returncode in (0, 128 + SIGNALS[self.signal]), f"the tool ended with {tool.returncode}")
            self.expect(wait_for(lambda: not self.leases(), 1), "a lease is left")
            self.expect("ergon restore" not in self.ergon("explain", "gap").stderr, "a later command warns of nothing")
            return
        tool.wait(10)
        wait_for(lambda: observer.state()[0] in (IDLE_MHZ, 510, 960, 1410) and not children(tool.pid), 0.3)
        time.sleep(0.1)
        changed = not observer.is_back()
        said = "ergon restore" in self.ergon("explain", "gap").stderr
        self.expect(said or not changed, f"the next command does not say so: {observer.state()}")
        restored = self.ergon("restore")
        self.expect(restored.returncode == 0, f"restore ended with {restored.returncode}: {restored.stderr}")
        self.expect(wait_for(observer.is_back, 1), f"restore did not give back: {observer.state()}")
        self.expect(not self.leases(), "restore leaves the lease")
        self.expect("ergon restore" not in self.ergon("explain", "gap").stderr, "after restore a command warns still")
        self.how = "changed" if changed else "nothing changed yet"

    def run(self):
        self.seconds, self.how = 0.0, ""
        observer = Observer(self.binaries, self.environment["ERGON_SIM_STATE"])
        tool = self.start()
        try:
            time.sleep(self.delay)
            there = self.kill(tool)
            if there or self.victim == "watchdog":
                self.judge(tool, observer)
            else:
                self.how = "the victim had ended"
                tool.wait(30)
                self.back_in_time(observer)
        finally:
            if tool.poll() is None:
                tool.kill()
            tool.wait()
            observer.close()
            shutil.rmtree(self.folder, ignore_errors=True)
        name = f"trial {self.number}: {self.signal} of {self.victim} after {self.delay:.2f} s"
        return name, self.faults, self.seconds, self.how


def run_trial(arguments):
    return Trial(*arguments).run()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("bin")
    parser.add_argument("--count", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=4)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    binaries = os.path.abspath(options.bin)
    failed, slowest = 0, 0.0
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=1) as pool:
        trials = [(binaries, number, options.seed) for number in range(options.count)]
        for name, faults, seconds, how in pool.imap(run_trial, trials):
            failed += bool(faults)
            slowest = max(slowest, seconds)
            print(f"{'FAIL' if faults else 'pass'}  {name}" + (f" ({how})" if how else "") +
                  (f", back after {seconds * 1000:.0f} ms" if seconds else "") + "".join(f"\n      {fault}" for fault in faults),
                  flush=True)
    print(f"{options.count - failed} passed, {failed} failed; the slowest return took {slowest * 1000:.0f} ms")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
