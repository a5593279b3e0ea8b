"""`ergon measure` on simulated GPUs with faults: each failure that users of other tools reported is one function, named
after its number in the list of failures; the rest are named after what they show.

measure.py BIN [NAME...]: one line a test, name | expected | found | pass/FAIL. They run side by side: they mostly sleep.
"""
import concurrent.futures
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import types

from phases import phases_file

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.abspath(sys.argv[1])
ERGON = os.path.join(BIN, "ergon")
SIMLOAD = os.path.join(BIN, "ergon-simload")
LIB = os.path.join(os.path.dirname(BIN), "lib")


class Measured:
    """One run of `ergon measure`: exit status, streams, answer (None where there is none), truth of ergon-simload."""

    def __init__(self, gpu, *flags, program=None, phases=None, env=None, stdin=None):
        with tempfile.TemporaryDirectory() as folder:
            answer, truth = os.path.join(folder, "answer.json"), os.path.join(folder, "truth.json")
            if phases:
                program = [SIMLOAD, phases_file(folder, phases)]
            words = [ERGON, "measure", *(["--gpu", gpu] if gpu else []), "--export", f"json:{answer}", *flags, *(["--", *program] if program else [])]
            done = subprocess.run(words, env={**os.environ, "ERGON_SIM_TRUTH": truth, **(env or {})}, input=stdin,
                                  capture_output=True, text=True, timeout=120, check=False)
            self.status, self.out, self.err = done.returncode, done.stdout, done.stderr
            self.answer = load(answer)
            self.truth = load(truth)
        self.codes = {w["code"] for w in self.answer["warnings"]} if self.answer else set()
        self.run = self.answer["runs"][0] if self.answer and self.answer["runs"] else None
        self.gpus = self.run["gpus"] if self.run else []

    def holds_truth(self, gpu=0):
        """Whether the interval holds the true energy, and how wide and how far off it is."""
        if not self.gpus or not self.truth or not self.truth["gpus"]:
            return False, f"exit status {self.status}: {self.err.strip()[-300:]}"
        mine, true = self.gpus[gpu], self.truth["gpus"][gpu]["energy_j"]
        if mine["energy_j"] is None:
            return False, mine["why_unknown"]
        low, high = mine["energy_j_ci95"]
        # The program starts and ends a moment before and after the work: a few milliseconds of idle power.
        slack = 0.001 * true
        return (low - slack <= true <= high + slack,
                f"{mine['energy_j']:.1f} J in [{low:.1f}, {high:.1f}], truth {true:.1f} J ({mine['chosen']})")


def load(path):
    if not os.path.exists(path):
        return None
    with open(path, encoding="utf-8") as file:
        return json.load(file)


BUSY = [{"name": "busy", "duration_s": 3, "compute": 0.7, "memory": 0.3}]


# Energy and power values

def failure_01_counter_and_samples_are_compared():
    """both estimators, their difference, a warning where they contradict"""
    m = Measured("sim:a100,seed=3", phases=BUSY)
    g = m.gpus[0]
    good, found = m.holds_truth()
    return good and g["energy_counter_j"] and g["energy_trapezoid_j"] and 0 <= g["disagreement"] < 0.05, found


def failure_03_no_counter_is_not_zero():
    """energy from power samples, the counter null with its reason"""
    m = Measured("sim:a100,fault=no-energy-counter", phases=BUSY)
    good, found = m.holds_truth()
    return good and m.gpus[0]["energy_counter_j"] is None and m.gpus[0]["counter_refused"], found


def failure_05_millijoules_are_not_joules():
    """NVML's millijoules and milliwatts come out as the joules that were spent"""
    m = Measured("sim:v100,seed=2", phases=BUSY)
    good, found = m.holds_truth()
    return good and abs(m.gpus[0]["energy_trapezoid_j"] / m.truth["gpus"][0]["energy_j"] - 1) < 0.05, found


def failure_07_one_second_average():
    """a board that gives a one-second average only: the interval holds the truth"""
    m = Measured("sim:h100,fault=not-supported+no-energy-counter", phases=[{**BUSY[0], "duration_s": 6}])
    good, found = m.holds_truth()
    return good, found


def failure_08_short_run_on_an_averaged_sensor():
    """half a second on a one-second average: refused with the window that would do"""
    m = Measured("sim:h100,fault=not-supported+no-energy-counter", phases=[{**BUSY[0], "duration_s": 0.5}])
    g = m.gpus[0]
    return g["energy_j"] is None and g["window_needed_s"] >= 1, g["why_unknown"] or f"{g['energy_j']} J"


def failure_09_garbage_with_success():
    """impossible values are left out and counted"""
    m = Measured("sim:a100,fault=garbage", phases=BUSY)
    good, found = m.holds_truth()
    return good and "impossible_readings" in m.codes, found


def failure_10_counter_that_goes_down():
    """a reset during the run is bridged, and no negative energy comes of it"""
    m = Measured("sim:a100,fault=counter-reset", phases=BUSY)
    good, found = m.holds_truth()
    return good, found


def failure_15_impossible_amd_energy():
    """an AMD counter that gives impossible values: they are left out"""
    m = Measured("sim:mi300x,fault=garbage", phases=BUSY)
    good, found = m.holds_truth()
    return good and "impossible_readings" in m.codes, found


def failure_11_counter_that_wraps():
    """no terawatts: the wrap is bridged"""
    m = Measured("sim:a100,fault=counter-wrap", phases=[{**BUSY[0], "duration_s": 8}])
    good, found = m.holds_truth()
    return good, found


def failure_14_frozen_counter():
    """the counter is refused, samples tell the energy"""
    m = Measured("sim:a100,fault=counter-frozen", phases=BUSY)
    good, found = m.holds_truth()
    return good and m.gpus[0]["energy_counter_j"] is None and m.gpus[0]["chosen"] == "trapezoid", found


def failure_17_readings_before_the_run():
    """the load before the run is not in the figure"""
    with tempfile.TemporaryDirectory() as state:
        phases = phases_file(state, BUSY)
        env = {"ERGON_SIM_STATE": os.path.join(state, "machine")}
        os.mkdir(env["ERGON_SIM_STATE"])
        before = Measured("sim:a100", program=[SIMLOAD, phases], env=env)
        idle = Measured("sim:a100", program=["sleep", "2"], env=env)
    busy_w, idle_w = before.gpus[0]["power_w"], idle.gpus[0]["power_w"]
    return idle_w < 90 < busy_w, f"{busy_w:.0f} W, then idle {idle_w:.0f} W"


def failure_18_missing_synchronisation():
    """a region waits for the device at both ends"""
    program = """
import sys, types
sys.path.insert(0, sys.argv[1])
calls = []
sys.modules["torch"] = types.SimpleNamespace(cuda=types.SimpleNamespace(is_initialized=lambda: True, synchronize=lambda: calls.append(1)))
import ergon
with ergon.region("synchronised"): pass
with ergon.region("not", sync=False): pass
print(len(calls))
"""
    m = Measured("sim:a100", "--no-align", program=[sys.executable, "-c", program, os.path.join(ROOT, "bindings/python/src")])
    return m.out.strip() == "2" and [r["name"] for r in m.answer["regions"]] == ["synchronised", "not"], f"{m.out.strip()} calls"


def failure_19_first_runs_are_noisy():
    """warm-up runs do not count"""
    with tempfile.TemporaryDirectory() as folder:
        log = os.path.join(folder, "log")
        m = Measured("sim:a100", "-r", "3", "--warmup", "2", "--no-align", program=["sh", "-c", f"echo x >> {log}; sleep 0.35"])
        with open(log, encoding="utf-8") as file:
            started = len(file.readlines())
    return started == 5 and len(m.answer["runs"]) == 3, f"{started} started, {len(m.answer['runs'])} counted"


def failure_20_others_on_the_gpu():
    """another program on the GPU is named"""
    with tempfile.TemporaryDirectory() as state:
        phases = phases_file(state, BUSY)
        machine = os.path.join(state, "machine")
        os.mkdir(machine)
        with subprocess.Popen([SIMLOAD, phases], env={**os.environ, "ERGON_SIM": "a100", "ERGON_SIM_STATE": machine}) as other:
            time.sleep(0.4)
            m = Measured("sim:a100", program=["sleep", "0.5"], env={"ERGON_SIM_STATE": machine})
            other.wait()
    return "shared_gpu" in m.codes, ", ".join(sorted(m.codes)) or "no warning"


def others_that_come_later():
    """a program that comes after the start is named; our own, its children and orphans are not"""
    with tempfile.TemporaryDirectory() as state:
        phases = phases_file(state, BUSY)
        machine = os.path.join(state, "machine")
        os.mkdir(machine)
        ready = os.path.join(state, "ready")
        outside = {**os.environ, "ERGON_SIM": "a100", "ERGON_SIM_STATE": machine}
        waits = f"while [ ! -e {ready} ]; do sleep 0.02; done; exec {SIMLOAD} {phases}"
        with subprocess.Popen(["sh", "-c", waits], env=outside, start_new_session=True) as other:
            # Its own load comes first, of a child of a child; then the other one is let in.
            mine = f"sh -c '{SIMLOAD} {phases}; true'; touch {ready}; sleep 2"
            m = Measured("sim:a100", program=["sh", "-c", mine], env={"ERGON_SIM_STATE": machine})
            other.wait()
        alone = Measured("sim:a100", program=["sh", "-c", f"sh -c '{SIMLOAD} {phases}; true'; true"])
    shared = [w["message"] for w in m.answer["warnings"] if w["code"] == "shared_gpu"]
    return len(shared) == 1 and f"process {other.pid})" in shared[0] and "shared_gpu" not in alone.codes, f"{shared}, alone {alone.codes}"


def others_that_are_gone_at_the_next_look():
    """a program that lives for a tenth of a second is named; our own short children are not"""
    with tempfile.TemporaryDirectory() as state:
        short = phases_file(state, [{**BUSY[0], "duration_s": 0.1}])
        machine, ready = os.path.join(state, "machine"), os.path.join(state, "ready")
        os.mkdir(machine)
        outside = {**os.environ, "ERGON_SIM": "a100", "ERGON_SIM_STATE": machine}
        waits = f"while [ ! -e {ready} ]; do sleep 0.02; done; exec {SIMLOAD} {short}"
        lives = "import sys, time; time.sleep(1.2); open(sys.argv[1], 'w').close(); time.sleep(2)"
        with subprocess.Popen(["sh", "-c", waits], env=outside, start_new_session=True) as other:
            m = Measured("sim:a100", program=[sys.executable, "-c", lives, ready], env={"ERGON_SIM_STATE": machine})
            other.wait()
        own = Measured("sim:a100", "-r", "2", program=["sh", "-c", f"sleep 1.1; {SIMLOAD} {short}; {SIMLOAD} {short}; sleep 0.6"])
    named = [w["message"] for w in m.answer["warnings"] if w["code"] == "shared_gpu"]
    return len(named) == 1 and f"(process {other.pid})" in named[0] and "shared_gpu" not in own.codes, f"{named}, own {own.codes}"


def unseen_between_the_sensors_windows():
    """without a counter a load in step with the sensor lies in the interval, and a warning says what is unseen"""
    pulses = [{"name": "a", "duration_s": 0.03, "compute": 0.9, "memory": 0.5}, {"name": "b", "duration_s": 0.07, "compute": 0, "memory": 0}]
    m = Measured("sim:a100,seed=101,fault=no-energy-counter", phases=pulses * 40)
    good, found = m.holds_truth()
    g = m.gpus[0]
    counted = Measured("sim:a100,seed=101", phases=pulses * 40)
    fine, counter = counted.holds_truth()
    pulses = [{**pulses[k % 2], "name": "all"} for k in range(80)]
    part = Measured("sim:a100,seed=101,fault=no-energy-counter", phases=pulses).run["regions"][0]
    true = sum(p["energy_j"] for p in m.truth["gpus"][0]["phases"])
    held = part["energy_j_ci95"] and part["energy_j_ci95"][0] <= true <= part["energy_j_ci95"][1] and 0.7 < part["unseen_share"] < 0.8
    return (good and "unseen_power" in m.codes and 0.7 < g["unseen_share"] < 0.8 and fine and "unseen_power" not in counted.codes
            and held), f"{found}; {counter}; as a region {part['energy_j_ci95']}, truth {true:.1f}"


def regions_in_step_with_the_counter():
    """regions shorter than what the counter resolves: the interval holds the truth, or there is none"""
    wrong, known = [], 0
    for gpu, on, off in (("v100,seed=101", 0.03, 0.07), ("v100,seed=23", 0.02, 0.18), ("mi300x,seed=102", 0.05, 0.05), ("v100,seed=5", 0.2, 0.2)):
        pulses = [{"name": "a", "duration_s": on, "compute": 0.9, "memory": 0.5}, {"name": "b", "duration_s": off, "compute": 0, "memory": 0}]
        m = Measured(f"sim:{gpu}", phases=pulses * round(2 / (on + off)))
        for region in m.run["regions"]:
            true = sum(p["energy_j"] for p in m.truth["gpus"][0]["phases"] if p["name"] == region["name"])
            if region["energy_j"] is None:
                continue
            known += 1
            low, high = region["energy_j_ci95"]
            if not low - 0.001 * true <= true <= high + 0.001 * true:
                wrong.append(f"{gpu} {region['name']}: {region['energy_j']:.1f} in [{low:.1f}, {high:.1f}], truth {true:.1f}")
    return not wrong and known >= 2, f"{known} known" if not wrong else "; ".join(wrong)


def a_failed_run_is_not_in_the_mean():
    """runs that succeed make the mean, the failed one is shown"""
    with tempfile.TemporaryDirectory() as folder:
        count = f"echo x >> {folder}/n; [ $(wc -l < {folder}/n) -lt 3 ] || exit 7; sleep 0.6"
        m = Measured("sim:a100", "-r", "5", program=["sh", "-c", count])
    mean, runs = m.answer["mean"], m.answer["runs"]
    return (m.status == 7 and len(runs) == 3 and mean["runs"] == 2 and mean["time_s"] > 0.6 and mean["energy_j"]
            and "run 3 ended with status 7" in m.err), f"exit {m.status}, mean {mean}"


def a_failed_warm_up_is_told():
    """nothing was measured, and an answer says so"""
    m = Measured("sim:a100", "--warmup", "2", "-r", "2", program=["sh", "-c", "exit 9"])
    return m.status == 9 and m.answer is not None and m.answer["runs"] == [] and "warmup_failed" in m.codes and "warm-up run" in m.err, f"exit {m.status}: {m.err[:200]}"


def a_lost_gpu_is_unknown():
    """lost on the way: throttling and utilization of the run are null, not false and 0"""
    m = Measured("sim:a100,fault=gpu-lost@1s", program=["sleep", "3"])
    g = m.gpus[0]
    return all(g[key] is None for key in ("energy_j", "throttled", "throttled_share", "utilization", "clock_hz")), str({k: g[k] for k in ("throttled", "utilization", "clock_hz")})


def a_stopped_program_ends():
    """SIGTERM reaches a program that is stopped"""
    with subprocess.Popen([ERGON, "measure", "--gpu", "sim:a100", "--no-align", "--", "sh", "-c", "echo here; kill -STOP $$; sleep 60"],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as tool:
        tool.stdout.readline()
        time.sleep(0.3)
        tool.send_signal(signal.SIGTERM)
        try:
            tool.wait(timeout=50)
        except subprocess.TimeoutExpired:
            os.killpg(tool.pid, signal.SIGKILL)
            return False, "still alive after 50 s"
    return tool.returncode == 143, f"exit {tool.returncode}"


def failure_20_repeated_runs_have_an_interval():
    """mean and interval over runs that differ; clock, temperature and throttling beside each"""
    m = Measured("sim:a100", "-r", "3", phases=[{**BUSY[0], "duration_s": 1}])
    mean = m.answer["mean"]
    low, high = mean["energy_j_ci95"]
    spread = [run["total"]["energy_j"] for run in m.answer["runs"]]
    shown = all(run["gpus"][0][key] is not None for run in m.answer["runs"] for key in ("clock_hz", "temperature_c", "throttled"))
    return shown and low < mean["energy_j"] < high and max(spread) - min(spread) < 3 * (high - low), f"{mean['energy_j']:.1f} J in [{low:.1f}, {high:.1f}]"


# Support, permissions, drivers

def failure_26_one_gpu_does_not_silence_the_others():
    """the other GPU's energy is told, the sum is unknown"""
    m = Measured("sim:a100,gpus=2,fault=one-gpu-broken", "--duration", "1s")
    return (m.status == 0 and m.gpus[0]["energy_j"] and m.gpus[1]["energy_j"] is None and m.run["total"]["energy_j"] is None
            and "unreadable_gpu" in m.codes), f"{[g['energy_j'] for g in m.gpus]}"


def failure_27_nothing_can_be_read():
    """refused before the program runs, exit status 125"""
    m = Measured("sim:a100,fault=partial", program=["echo", "ran"])
    return m.status == 125 and m.out == "" and "not supported" in m.err, f"exit {m.status}: {m.err.splitlines()[0]}"


def failure_28_partial_nvml():
    """power missing, the counter there: the counter tells"""
    m = Measured("sim:a100,fault=power-na", phases=BUSY)
    good, found = m.holds_truth()
    return good and m.gpus[0]["energy_trapezoid_j"] is None, found


def failure_29_versions_differ():
    """named, exit status 125 where a program is wrapped and 4 where none is"""
    m = Measured("sim:a100,fault=version-mismatch", program=["echo", "ran"])
    w = Measured("sim:a100,fault=version-mismatch", "--duration", "1s")
    return m.status == 125 and w.status == 4 and "different versions" in m.err and m.out == "", f"exit {m.status} and {w.status}: {m.err.splitlines()[0]}"


def failure_30_failure_is_not_ignored():
    """no driver is no success, and the program does not run unmeasured"""
    m = Measured("sim:a100,fault=no-driver", program=["echo", "ran"])
    return m.status == 125 and m.out == "" and "driver is not loaded" in m.err, f"exit {m.status}: {m.err.splitlines()[0]}"


# Which GPU, sharing

def failure_42_cuda_index_is_not_the_drivers():
    """CUDA_VISIBLE_DEVICES decides which GPU is measured, by UUID too"""
    with tempfile.TemporaryDirectory() as machine:
        env = {"ERGON_SIM": "a100,gpus=2", "ERGON_SIM_STATE": machine, "LD_LIBRARY_PATH": os.path.join(LIB, "sim")}
        both = Measured("", "--duration", "300ms", env=env)
        uuids = [g["uuid"] for g in both.answer["gpus"]]
        one = Measured("", "--duration", "300ms", env={**env, "CUDA_VISIBLE_DEVICES": uuids[1]})
        index = Measured("", "--duration", "300ms", env={**env, "CUDA_VISIBLE_DEVICES": "1"})
    found = [[g["uuid"] for g in m.answer["gpus"]] for m in (one, index)]
    return len(uuids) == 2 and found == [[uuids[1]], [uuids[1]]], f"{found == [[uuids[1]], [uuids[1]]]} of {len(uuids)} GPUs"


def failure_43_cuda_and_pci_order():
    """--gpu cuda:1 is the GPU that CUDA calls 1"""
    with tempfile.TemporaryDirectory() as machine:
        env = {"ERGON_SIM": "a100,gpus=2", "ERGON_SIM_STATE": machine, "LD_LIBRARY_PATH": os.path.join(LIB, "sim"), "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}
        both = Measured("", "--duration", "300ms", env=env)
        one = Measured("cuda:1", "--duration", "300ms", env=env)
    found = [g["pci"] for g in one.answer["gpus"]]
    return found == [sorted(g["pci"] for g in both.answer["gpus"])[1]], str(found)


def failure_44_mig_power_is_the_whole_gpus():
    """said so"""
    m = Measured("sim:a100,fault=mig", "--duration", "600ms")
    return "MIG" in m.err, m.err.splitlines()[0] if m.err else "nothing said"


def failure_45_mig_instances_are_not_summed():
    """two instances of one GPU: the total is the GPU's energy once"""
    with tempfile.TemporaryDirectory() as machine:
        env = {"ERGON_SIM": "a100,fault=mig", "ERGON_SIM_STATE": machine, "LD_LIBRARY_PATH": os.path.join(LIB, "sim")}
        doctor = subprocess.run([ERGON, "doctor", "-f", "json", "--watch", "100ms"], env={**os.environ, **env}, capture_output=True, text=True, check=False)
        instances = re.findall(r'"(MIG-[^"]+)"', doctor.stdout)
        if len(instances) < 2:
            return False, f"{len(instances)} instances are listed"
        m = Measured(",".join(instances[:2]), "--duration", "600ms", env=env)
    single = m.gpus[0]["energy_j"]
    total = m.run["total"]["energy_j"]
    return len(m.gpus) == 2 and abs(total / single - 1) < 1e-9 and m.gpus[1]["shares_sensor"], f"{len(m.gpus)} instances, {single:.2f} J each, total {total:.2f} J"


def failure_46_utilisation_under_mig():
    """missing, not 0"""
    m = Measured("sim:a100,fault=mig", "--duration", "600ms")
    return m.gpus[0]["utilization"] is None and m.gpus[0]["energy_j"], str(m.gpus[0]["utilization"])


def failure_51_no_cpu_counters_in_a_virtual_machine():
    """null with the reason, never 0"""
    m = Measured("sim:a100", "--duration", "300ms", "--no-align")
    cpu = m.run["cpu"]
    return (cpu["energy_j"] is None and bool(cpu["why_unknown"])) or (cpu["energy_j"] or 0) > 0, str(cpu)


# The program's own

def streams_are_untouched():
    """stdin, stdout, stderr and exit status are the program's"""
    m = Measured("sim:a100", "--no-align", program=["sh", "-c", "cat; echo error >&2; exit 9"], stdin="in\n")
    return m.status == 9 and m.out == "in\n" and m.err.startswith("error\n"), f"exit {m.status}, {m.out!r}"


def signalled(number, to_group):
    """Sends a signal to a measured program (or to its whole group, as a terminal does); gives status, output, answer."""
    with tempfile.TemporaryDirectory() as folder:
        answer, ready = os.path.join(folder, "answer.json"), os.path.join(folder, "ready")
        program = f"trap 'echo caught; sleep 0.05; exit 42' INT TERM; touch {ready}; while :; do sleep 0.02; done"
        with subprocess.Popen([ERGON, "measure", "--gpu", "sim:a100", "--export", f"json:{answer}", "--", "sh", "-c", program],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True) as tool:
            while not os.path.exists(ready):
                time.sleep(0.01)
            time.sleep(0.4)
            (os.killpg if to_group else os.kill)(tool.pid, number)
            out, _ = tool.communicate(timeout=20)
        return tool.returncode, out, load(answer)


def interrupt_of_the_group():
    """SIGINT to both (Ctrl-C): the program ends as it likes, the tool reports"""
    status, out, answer = signalled(signal.SIGINT, True)
    return status == 42 and "caught" in out and answer["runs"][0]["exit_status"] == 42, f"exit {status}, {out!r}"


def termination_is_forwarded():
    """SIGTERM to the tool reaches the program, the tool reports"""
    status, out, answer = signalled(signal.SIGTERM, False)
    return status == 42 and out == "caught\n" and answer["runs"][0]["exit_status"] == 42, f"exit {status}, {out!r}"


def killed_program():
    """a program that is killed: 137, its regions are cut, its energy is told"""
    program = "import sys, os, time; sys.path.insert(0, sys.argv[1]); import ergon\nwith ergon.region('open'):\n  time.sleep(0.6); os.kill(os.getpid(), 9)"
    m = Measured("sim:a100", program=[sys.executable, "-c", program, os.path.join(ROOT, "bindings/python/src")])
    region = m.answer["regions"][0]
    return m.status == 137 and region["cut"] and region["energy_j"] and m.gpus[0]["energy_j"], f"exit {m.status}, region {region['energy_j']}"


def a_process_is_watched():
    """--pid ends with the process"""
    with subprocess.Popen(["sleep", "1"]) as other:
        m = Measured("sim:a100", "--pid", str(other.pid))
        other.wait()
    return m.status == 0 and 0.5 < m.run["time_s"] < 1.2 and m.gpus[0]["energy_j"], f"{m.run['time_s']:.2f} s"


def idle_is_apart():
    """--idle: energy above idle is the program's own"""
    m = Measured("sim:a100", "--idle", "1s", program=["sleep", "1"])
    g = m.gpus[0]
    low, high = g["above_idle_j_ci95"]
    return low <= 0 <= high and m.answer["gpus"][0]["idle_power_w"] > 20, f"{g['above_idle_j']:.2f} J in [{low:.2f}, {high:.2f}]"


def a_short_region_is_refused():
    """50 ms cannot be known, and the window that would do is told"""
    program = "import sys, time; sys.path.insert(0, sys.argv[1]); import ergon\ntime.sleep(0.5)\nwith ergon.region('short'): time.sleep(0.05)\ntime.sleep(0.5)"
    m = Measured("sim:a100", program=[sys.executable, "-c", program, os.path.join(ROOT, "bindings/python/src")])
    region = m.answer["regions"][0]
    return region["energy_j"] is None and "cannot be known from this sensor" in region["why_unknown"] and region["window_needed_s"], region["why_unknown"]


def c_and_cpp_regions():
    """a C++ program that links the library"""
    compiler = shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        return None, "no C++ compiler"
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "p.cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write('#include <ergon.h>\n#include <unistd.h>\nint main() { ergon_region_t r = ergon_region_begin("c"); usleep(500000);'
                       ' ergon_region_end(r); { ergon::Region s("c++"); usleep(500000); } return ergon_measuring() ? 0 : 1; }\n')
        program = os.path.join(folder, "p")
        subprocess.run([compiler, source, "-o", program, "-I", os.path.join(ROOT, "bindings/c/include"), "-L", LIB, "-lergon_region",
                        f"-Wl,-rpath,{LIB}"], check=True)
        m = Measured("sim:a100", program=[program])
        alone = subprocess.run([program], check=False).returncode
    regions = {r["name"]: r["energy_j"] for r in m.answer["regions"]}
    return m.status == 0 and alone == 1 and set(regions) == {"c", "c++"} and all(regions.values()), str(regions)


# Other people's programs

def client(program, *flags, gpu="sim:a100,seed=5", needs=""):
    """A Python program with the packages of scripts/requirements/clients.txt under `ergon measure`; None where they are not there."""
    python = os.environ.get("ERGON_CLIENTS_PYTHON")
    if not python or subprocess.run([python, "-c", f"import {needs}"], capture_output=True, check=False).returncode != 0:
        return None
    with tempfile.TemporaryDirectory() as folder:
        phases = phases_file(folder, [{**BUSY[0], "duration_s": 4}])
        return Measured(gpu, *flags, program=[python, "-c", program, SIMLOAD, phases])


def zeus_monitor_agrees():
    """Zeus's monitor and ours over the same run of ergon-simload, within what the sensor allows"""
    m = client("""
import subprocess, sys, time
from zeus.monitor import ZeusMonitor
monitor = ZeusMonitor(gpu_indices=[0], approx_instant_energy=False)
monitor.begin_window("run", sync_execution=False)
subprocess.run(sys.argv[1:], check=True)
time.sleep(0.15)
print("zeus", monitor.end_window("run", sync_execution=False).total_energy)
""", needs="zeus.monitor")
    if m is None:
        return None, "no Python with Zeus"
    zeus = float(re.search(r"zeus ([0-9.]+)", m.out).group(1))
    region = m.answer["regions"][0]["energy_j"]
    # Zeus reads the counter at both ends: up to a tick (100 ms) of idle power at each.
    truth = m.truth["gpus"][0]["energy_j"]
    return abs(region / truth - 1) < 0.01 and abs(zeus - region) < 0.005 * truth + 0.3 * 60, f"Zeus {zeus:.1f} J, ours {region:.1f} J, truth {truth:.1f} J"


def clocks_that_others_set_are_seen():
    """nvidia-ml-py locks 900 MHz: the achieved clock says so"""
    m = client("""
import subprocess, sys, pynvml
pynvml.nvmlInit()
gpu = pynvml.nvmlDeviceGetHandleByIndex(0)
pynvml.nvmlDeviceSetGpuLockedClocks(gpu, 900, 900)
subprocess.run(sys.argv[1:], check=True)
pynvml.nvmlDeviceResetGpuLockedClocks(gpu)
""", needs="pynvml")
    if m is None:
        return None, "no Python with nvidia-ml-py"
    g = m.gpus[0]
    return abs(g["clock_max_hz"] - 900e6) < 16e6 or abs(g["clock_hz"] - 900e6) < 30e6, f"{g['clock_hz'] / 1e6:.0f} MHz"


def nvtx_ranges_are_regions():
    """ranges of the nvtx package from PyPI, unmodified: default domain, own domain, registered strings, nesting"""
    program = """
import nvtx, time
with nvtx.annotate("outer"):
    time.sleep(0.4)
    with nvtx.annotate("inner", domain="library"):
        time.sleep(0.4)
@nvtx.annotate("decorated")
def f(): time.sleep(0.4)
f()
r = nvtx.start_range("started"); time.sleep(0.4); nvtx.end_range(r)
"""
    m = client(program, needs="nvtx")
    if m is None:
        return None, "no Python with the nvtx package"
    off = client(program, "--no-nvtx", "--no-align", needs="nvtx")
    found = {r["name"]: round(r["time_s"], 1) for r in m.answer["regions"]}
    expected = {"outer": 0.8, "library: inner": 0.4, "decorated": 0.4, "started": 0.4}
    return found == expected and all(r["energy_j"] for r in m.answer["regions"]) and not off.answer["regions"], str(found)


def every_run_file_holds_the_runs():
    """-o: runs, regions and readings, and no file is written over"""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "runs.db")
        m = Measured("sim:a100", "-r", "2", "-o", path, program=["sleep", "0.4"])
        import sqlite3
        with sqlite3.connect(path) as file:
            runs = file.execute("select count(*), min(exit_status) from runs").fetchone()
            samples = file.execute("select count(*) from samples where energy_j is not null").fetchone()[0]
        again = Measured("sim:a100", "-o", path, program=["echo", "ran"])
    return m.status == 0 and runs == (2, 0) and samples > 80 and again.status == 125 and again.out == "", f"{runs[0]} runs, {samples} readings"


def tests():
    wanted = set(sys.argv[2:])
    all_tests = [f for f in globals().values() if isinstance(f, types.FunctionType) and f.__doc__ and f.__code__.co_argcount == 0]
    return [f for f in all_tests if not wanted or f.__name__ in wanted]


def attempt(test):
    try:
        return test()
    except Exception as error:  # a test that breaks has failed
        return False, f"{type(error).__name__}: {error}"


def main():
    if not os.path.exists(SIMLOAD):
        print("skipped: this build has no ergon-simload")
        return 77
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(12) as pool:
        chosen = tests()
        for test, (good, found) in zip(chosen, pool.map(attempt, chosen)):
            failed += good is not None and not good
            verdict = f"skipped: {found}" if good is None else "pass" if good else "FAIL"
            print(f"{test.__name__} | {' '.join(test.__doc__.split())} | {found} | {verdict}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
