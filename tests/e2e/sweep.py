"""`ergon sweep`, `doctor` and `restore` on the simulated GPU: failures that users of other energy tools reported, the true
optimum of three GPUs, resume, budget. sweep.py BIN [NAMES]; one line a check, then the count.
"""
import concurrent.futures
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from phases import phases_file

BIN = os.path.abspath(sys.argv[1])
ERGON = os.path.join(BIN, "ergon")
QUICK = ["--settle", "20ms", "--no-align", "--least-periods", "1", "--baseline-every", "0"]


class Machine:
    """A simulated machine of its own, with a workload."""

    def __init__(self, seconds=2.2, compute=0.8, memory=0.3):
        self.folder = tempfile.mkdtemp(prefix="ergon-sweep-")
        os.mkdir(os.path.join(self.folder, "machine"))
        self.environment = dict(os.environ, ERGON_SIM_STATE=os.path.join(self.folder, "machine"),
                                XDG_STATE_HOME=os.path.join(self.folder, "state"))
        self.phases = phases_file(self.folder, [{"name": "work", "duration_s": seconds, "compute": compute, "memory": memory}])
        self.program = [os.path.join(BIN, "ergon-simload"), self.phases]

    def path(self, name):
        return os.path.join(self.folder, name)

    def ergon(self, *words, **more):
        return subprocess.run([ERGON, *words], env=self.environment, capture_output=True, text=True, timeout=300,
                              check=False, **more)

    def sweep(self, *flags, program=None):
        """The exit status and the answer (None where there is none)."""
        answer = self.path(f"answer-{time.monotonic_ns()}.json")
        done = self.ergon("sweep", *flags, "--export", f"json:{answer}", "--", *(program or self.program))
        if not os.path.exists(answer):
            return done, None
        with open(answer) as file:
            return done, json.load(file)

    def limit_w(self):
        done = self.ergon("doctor", "--gpu", "sim:a100", "--watch", "1ms", "-f", "json")
        return json.loads(done.stdout)["gpus"][0]["limits"]["power_limit_w"]

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def reasons(answer):
    return [point["reason"] or "" for point in answer["points"]]


def asked(answer, hertz):
    return [point for point in answer["points"] if point["asked"]["clock_hz"] == hertz]


def failure_31_clock_control_needs_a_right(machine):
    done, answer = machine.sweep("--gpu", "sim:a100,fault=no-permission", "--sm", "960MHz", *QUICK)
    return done.returncode == 125 and answer is None and "sudo" in done.stderr, (done.returncode, done.stderr)


def failure_32_power_limit_in_a_container(machine):
    done, _ = machine.sweep("--gpu", "sim:a100,fault=no-permission", "--power-limit", "250W", *QUICK)
    return done.returncode == 125 and "CAP_SYS_ADMIN" in done.stderr and "limits" in done.stderr, done.stderr


def failure_33_error_code_4_in_words(machine):
    done = machine.ergon("sweep", "--gpu", "sim:a100,fault=no-permission", "--sm", "960MHz", "-f", "json", *QUICK, "--",
                         *machine.program)
    error = json.loads(done.stdout)
    return error["code"] == "permission" and "no permission" in error["message"] and error["hint"] != "", done.stdout


def failure_34_power_limit_cannot_be_set(machine):
    # A recorded run is the board that takes no limit: clear words instead of a run at the wrong limit.
    with open(machine.path("run.csv"), "w") as file:
        file.write("time_s,gpu,power_w\n0,0,50\n60,0,51\n")
    done, answer = machine.sweep("--gpu", f"recorded:{machine.path('run.csv')}", "--power-limit", "250W", *QUICK)
    return done.returncode == 125 and answer is None and "recorded run cannot" in done.stderr, done.stderr


def failure_35_application_clocks_are_not_used(machine):
    with open(ERGON, "rb") as file:
        binary = file.read()
    uses = [name for name in (b"nvmlDeviceSetApplicationsClocks", b"nvmlDeviceResetApplicationsClocks") if name in binary]
    done, _ = machine.sweep("--gpu", "sim:v100,fault=memory-lock-unsupported", "--mem", "877MHz", *QUICK)
    clear = done.returncode == 125 and "locking the memory clock is not supported" in done.stderr
    return not uses and clear, (uses, done.stderr)


def failure_36_lock_accepted_but_not_held(machine):
    _, answer = machine.sweep("--gpu", "sim:a100,fault=lock-not-held", "--sm", "960MHz", *QUICK)
    point = asked(answer, 960e6)[0]
    good = not point["valid"] and "asked 960 MHz" in point["reason"] and point["clock_hz"] == 1410e6
    return good and all(o["clock_hz"] != 960e6 for o in answer["optima"]), point


def failure_37_what_a_memory_lock_costs_is_seen(machine):
    phases_file(machine.folder, [{"name": "work", "duration_s": 2.2, "compute": 0.3, "memory": 0.9}])
    _, answer = machine.sweep("--gpu", "sim:rtx4090", "--mem", "5001MHz", *QUICK)
    point = [p for p in answer["points"] if p["asked"]["memory_clock_hz"]][0]
    base = answer["baselines"][0]
    good = point["valid"] and point["memory_clock_hz"] == 5001e6 and base["count"] == 2
    return good and point["time_s"] > base["time_s"] * 1.3, (point["time_s"], base["time_s"], point, base)


def failure_38_asked_and_achieved_are_two_columns(machine):
    _, answer = machine.sweep("--gpu", "sim:rtx4090,fault=memory-drift", "--sm", "1500MHz", "-r", "2", *QUICK)
    drifted = [reason for reason in reasons(answer) if "memory clock did not hold" in reason]
    point = asked(answer, 1500e6)[0]
    return bool(drifted) and point["clock_hz"] == 1500e6, reasons(answer)


def failure_39_clocks_do_not_stay_locked(machine):
    done, answer = machine.sweep("--gpu", "sim:a100", "--sm", "510MHz", "--power-limit", "200W", *QUICK)
    after = machine.ergon("sweep", "--gpu", "sim:a100", "--sm", "1410MHz", *QUICK, "-f", "json", "--", *machine.program)
    first = json.loads(after.stderr)["points"][0]  # the driver's own clocks again
    return done.returncode == 0 and machine.limit_w() == 400 and first["clock_hz"] == 1410e6, (done.stderr, first)


def failure_40_restored_on_failure_and_interrupt(machine):
    found = []
    done, answer = machine.sweep("--gpu", "sim:a100", "--sm", "510MHz", "--power-limit", "200W", *QUICK,
                                 program=["sh", "-c", "exit 3"])
    found.append((done.returncode, answer["counts"]["failed"], machine.limit_w()))
    tool = subprocess.Popen([ERGON, "sweep", "--gpu", "sim:a100", "--power-limit", "200W", *QUICK, "--", *machine.program],
                            env=machine.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 20
    while machine.limit_w() != 200 and time.monotonic() < deadline:
        time.sleep(0.02)
    tool.send_signal(signal.SIGINT)
    found.append((tool.wait(20), machine.limit_w()))
    return found == [(3, 3, 400), (130, 400)], found


def failure_41_power_cap_holds_the_clock_down(machine):
    _, answer = machine.sweep("--gpu", "sim:a100,fault=power-cap", "--sm", "1410MHz", *QUICK)
    point = asked(answer, 1410e6)[0]
    return not point["valid"] and "throttled: power cap" in point["reason"], point


def another_program_on_the_gpu(machine):
    """the point during which it was there does not count"""
    waits = f"while [ ! -e {machine.path('ready')} ]; do sleep 0.02; done; exec {' '.join(machine.program)}"
    with subprocess.Popen(["sh", "-c", waits], env={**machine.environment, "ERGON_SIM": "a100"}, start_new_session=True) as other:
        mine = f"touch {machine.path('ready')}; {' '.join(machine.program)}; sleep 1"
        # The heat of two programs would make it a warm-up, which is repeated.
        _, answer = machine.sweep("--gpu", "sim:a100", "--sm", "960MHz", "--temperature-band", "60", *QUICK, program=["sh", "-c", mine])
        other.wait()
    points = [p for p in answer["points"] if f"another program was on GPU 0 (process {other.pid})" in (p["reason"] or "")]
    return len(points) == 1 and not points[0]["valid"], reasons(answer)


def a_program_that_always_fails_gives_its_status(machine):
    """its own status where it failed at every point; 0 where some points count"""
    always, _ = machine.sweep("--gpu", "sim:a100", "--sm", "960MHz", *QUICK, program=["sh", "-c", "exit 5"])
    once = f"[ -e {machine.path('second')} ] && exit 5; touch {machine.path('second')}; {' '.join(machine.program)}"
    some, answer = machine.sweep("--gpu", "sim:a100", "--sm", "960MHz", *QUICK, program=["sh", "-c", once])
    return (always.returncode, some.returncode, answer["counts"]["failed"]) == (5, 0, 2), (always.returncode, some.returncode, answer["counts"])


def several_gpus_are_told_apart(machine):
    """where GPUs ran at different clocks there is no clock of all, and each one's is told"""
    _, answer = machine.sweep("--gpu", "sim:a100,gpus=2", "--sm", "1005MHz", *QUICK)
    own = [p for p in answer["points"] if p["baseline"]][0]
    locked = asked(answer, 1005e6)[0]
    return (len(own["clocks_hz"]) == 2 and own["clocks_hz"][0] != own["clocks_hz"][1] and own["clock_hz"] is None
            and locked["clock_hz"] == 1005e6), (own["clocks_hz"], own["clock_hz"], locked["clock_hz"])


def an_export_that_cannot_be_written(machine):
    """refused before the program runs; where only the writing fails, the answer is told all the same"""
    ran = machine.path("ran")
    words = ["--gpu", "sim:a100", "-L", "x=1", *QUICK, "--export"]
    program = ["--", "sh", "-c", f"touch {ran}; exec {' '.join(machine.program)}; : {{x}}"]
    early = machine.ergon("sweep", *words, "json:/nonexistent/x.json", *program)
    started = os.path.exists(ran)
    late = machine.ergon("sweep", *words, "json:/dev/full", *program)
    return (early.returncode == 125 and "hint:" in early.stderr and not started and late.returncode == 125
            and "measured on" in late.stderr and "/dev/full" in late.stderr), (early.returncode, early.stderr, started, late.returncode, late.stderr[-600:])


def two_tools_at_once(machine):
    first = subprocess.Popen([ERGON, "sweep", "--gpu", "sim:a100", "--sm", "960MHz", *QUICK, "--", *machine.program],
                             env=machine.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(1)
    second, _ = machine.sweep("--gpu", "sim:a100", "--sm", "510MHz", *QUICK)
    status = first.wait(60)
    return status == 0 and second.returncode == 125 and f"process {first.pid}" in second.stderr, second.stderr


def two_users_at_once(machine):
    # Their state folders have nothing in common; the machine has.
    first = subprocess.Popen([ERGON, "sweep", "--gpu", "sim:a100", "--power-limit", "200W", *QUICK, "--", *machine.program],
                             env=machine.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    deadline = time.monotonic() + 60
    while machine.limit_w() != 200 and time.monotonic() < deadline:
        time.sleep(0.02)
    machine.environment = dict(machine.environment, XDG_STATE_HOME=machine.path("other"), HOME=machine.path("home"))
    second, _ = machine.sweep("--gpu", "sim:a100", "--sm", "510MHz", *QUICK)
    status = first.wait(120)
    third, _ = machine.sweep("--gpu", "sim:a100", "--sm", "510MHz", *QUICK)
    good = status == 0 and second.returncode == 125 and f"process {first.pid}" in second.stderr and third.returncode == 0
    return good, (status, second.stderr, third.stderr)


def a_lock_of_somebody_else_is_no_baseline(machine):
    library = os.path.join(os.path.dirname(BIN), "lib/sim/libnvidia-ml.so.1")
    lock = ("import ctypes, sys; n = ctypes.CDLL(sys.argv[1]); h = ctypes.c_void_p();"
            "assert n.nvmlInit_v2() == 0 and n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(h)) == 0;"
            "assert n.nvmlDeviceSetGpuLockedClocks(h, 510, 510) == 0")
    subprocess.run([sys.executable, "-c", lock, library], env=dict(machine.environment, ERGON_SIM="a100"), check=True)
    _, answer = machine.sweep("--gpu", "sim:a100", "--sm", "1005MHz", *QUICK)
    clocks = [point["clock_hz"] for point in answer["points"] if point["baseline"]]
    return len(clocks) == 2 and all(clock > 1.3e9 for clock in clocks), clocks


def a_stopped_tool_is_not_dead(machine):
    tool = subprocess.Popen([ERGON, "sweep", "--gpu", "sim:a100", "--power-limit", "200W", *QUICK, "--", *machine.program],
                            env=machine.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while machine.limit_w() != 200:
        time.sleep(0.02)
    tool.send_signal(signal.SIGSTOP)
    time.sleep(0.5)
    held = machine.limit_w()
    told = machine.ergon("restore", "-f", "json")
    tool.send_signal(signal.SIGCONT)
    status = tool.wait(60)
    state = json.loads(told.stdout)["leases"][0]["state"]
    return (held, state, status, machine.limit_w()) == (200, "held", 0, 400), (held, state, status, machine.limit_w())


def resume_goes_on_where_it_ended(machine):
    file = machine.path("sweep.sqlite")
    words = ["--gpu", "sim:a100", "--sm", "510MHz:1410MHz:4", "-o", file, *QUICK]
    tool = subprocess.Popen([ERGON, "sweep", *words, "--", *machine.program], env=machine.environment,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(6)
    tool.kill()
    tool.wait()
    time.sleep(0.5)
    again, answer = machine.sweep(*words)  # not without --resume
    other, _ = machine.sweep("--gpu", "sim:a100", "--sm", "510MHz", "-o", file, "--resume", *QUICK)
    changed, _ = machine.sweep(*words, "--resume", program=["true"])
    done, answer = machine.sweep(*words, "--resume")
    counts = answer["counts"]
    refused = [again.returncode, other.returncode, changed.returncode] == [125, 125, 125]
    good = refused and answer["complete"] and counts["valid"] == 6
    return good, (again.returncode, other.returncode, counts, reasons(answer))


def budget_keeps_time_for_the_last_baseline(machine):
    start = time.monotonic()
    _, answer = machine.sweep("--gpu", "sim:a100", "--sm", "1200MHz:1410MHz:9", "--budget", "12s", *QUICK)
    spent = time.monotonic() - start
    good = not answer["complete"] and answer["points"][-1]["state"] == "done" and spent < 15
    return good, (spent, answer["counts"], answer["stopped"])


def parameters_replace_their_names(machine):
    done = machine.ergon("sweep", "--gpu", "sim:a100", "-L", "n=1,2", "-L", "m=x,y", *QUICK, "--", "sh", "-c", "echo {n}{m}")
    lines = sorted(done.stdout.split())
    unused = machine.ergon("sweep", "--gpu", "sim:a100", "-L", "n=1", *QUICK, "--", "true")
    return lines == ["1x", "1y", "2x", "2y"] and unused.returncode == 125, (lines, unused.stderr)


def a_program_that_is_not_there(machine):
    done, _ = machine.sweep("--gpu", "sim:a100", "--sm", "960MHz", *QUICK, program=["/nowhere/program"])
    return done.returncode == 127 and machine.limit_w() == 400, (done.returncode, done.stderr)


def a_program_too_short_ends_the_sweep(machine):
    done, answer = machine.sweep("--gpu", "sim:a100", "--sm", "1410MHz", "--baseline-every", "0", program=["sleep", "0.3"])
    good = answer["counts"]["valid"] == 0 and "refresh periods" in reasons(answer)[0] and answer["counts"]["planned"] == 2
    return good and done.returncode == 1 and "too short" in answer["stopped"], reasons(answer)


def a_sweep_over_memory_clocks_and_parameters_ends_early_too(machine):
    done, answer = machine.sweep("--gpu", "sim:rtx4090", "--mem", "10501MHz,5001MHz", "-L", "t=0.2,0.3", "--baseline-every", "0",
                                 program=["sleep", "{t}"])
    counts = answer["counts"]
    good = done.returncode == 1 and "too short" in answer["stopped"] and "at every setting" in answer["stopped"]
    return good and counts["done"] == 2 and counts["planned"] > 0, (answer["stopped"], counts)


def a_dry_run_looks_at_every_setting(machine):
    found = []
    for words in (["-L", "t=0.3,3"], ["-L", "t=0.3,3", "--power-limit", "200W,300W"]):
        done, answer = machine.sweep("--gpu", "sim:a100", *words, "--dry-run", program=["sleep", "{t}"])
        warning = [w for w in answer["warnings"] if w["code"] == "too_short"]
        message = warning[0]["message"] if warning else ""
        found.append((done.returncode, message, sum(int(n) for n in re.findall(r"(\d+) points? (?:will|may) not", message))))
    short = [f for f in found if f[0] == 0 and f[1] and "with t=0.3" in f[1]]
    both = "will not count" in found[1][1] and "may not" in found[1][1]
    return len(short) == 2 and found[0][2] < found[1][2] and both, found


def a_baseline_under_another_clock_is_flagged(machine):
    # Somebody locks the clock while the sweep runs: over power limits it holds no lock of its own.
    library = os.path.join(os.path.dirname(BIN), "lib/sim/libnvidia-ml.so.1")
    lock = ("import ctypes, sys; n = ctypes.CDLL(sys.argv[1]); h = ctypes.c_void_p();"
            "assert n.nvmlInit_v2() == 0 and n.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(h)) == 0;"
            "assert n.nvmlDeviceSetGpuLockedClocks(h, 900, 900) == 0")
    script = (f'if [ -e {machine.folder}/second ]; then {sys.executable} -c "{lock}" {library} || exit 9; fi; '
              f'touch {machine.folder}/second; exec "$0" "$1"')
    machine.environment = dict(machine.environment, ERGON_SIM="a100")
    _, answer = machine.sweep("--gpu", "sim:a100", "--power-limit", "400W", *QUICK, program=["sh", "-c", script, *machine.program])
    codes = {warning["code"] for warning in answer["warnings"]}
    return {"baseline_clock", "baseline_drift"} <= codes, (reasons(answer), answer["warnings"], answer["baselines"])


def the_page_draws_its_points(machine):
    page = machine.path("page.html")
    done = machine.ergon("sweep", "--gpu", "sim:a100", "--sm", "960MHz,1410MHz", *QUICK, "--export", f"html:{page}", "--",
                         *machine.program)
    with open(page, encoding="utf-8") as file:
        html = file.read()
    data = json.loads(html.split('id="ergon-page">')[1].split("</script>")[0])
    points = data["sweep"]["groups"][0]["points"]
    good = len(points) == 4 and sum(p["baseline"] for p in points) == 2 and sum(p["best"] for p in points) == 1
    named = "NVIDIA A100-SXM4-40GB (simulated)" in html and "(simulated)" in done.stderr
    widest = max(done.stderr[done.stderr.index("\nPoints\n"):].splitlines(), key=len)
    return good and named and 'id="sweep"' in html and len(widest) <= 100, (points, widest)


def a_short_run_does_not_count(machine):
    _, answer = machine.sweep("--gpu", "sim:a100", "-L", "t=0.3,0.4", "--power-limit", "300W", "--baseline-every", "0",
                              program=["sleep", "{t}"])
    return answer["counts"]["valid"] == 0 and all("refresh periods" in r for r in reasons(answer)), reasons(answer)


def optimum(model, clocks):
    def check(machine):
        # Each run writes its own truth; the sweep never sees it.
        script = f'ERGON_SIM_TRUTH={machine.folder}/truth-$$.json exec "$0" "$1"'
        _, answer = machine.sweep("--gpu", f"sim:{model}", "--sm", clocks, "--baseline-every", "0",
                                  program=["sh", "-c", script, *machine.program])
        true = {}
        for path in glob.glob(f"{machine.folder}/truth-*.json"):
            with open(path) as file:
                gpu = json.load(file)["gpus"][0]
            if gpu["clocks"]["locked"]:
                true.setdefault(gpu["clocks"]["sm_hz"], []).append(gpu["energy_j"])
        steps = sorted(true)
        best = min(steps, key=lambda clock: min(true[clock]))
        found = answer["optima"][0]["clock_hz"]
        near = found in steps and abs(steps.index(found) - steps.index(best)) <= 1
        return near and answer["counts"]["valid"] == len(answer["points"]), \
            (f"true {best / 1e6:.0f} MHz, found {found / 1e6:.0f} MHz of {len(steps)} clocks", reasons(answer))
    check.__name__ = f"optimum_of_{model}_within_one_step"
    return check


CHECKS = [optimum("a100", "600MHz:1410MHz:9"), optimum("h100", "700MHz:1980MHz:9"), optimum("v100", "600MHz:1530MHz:9"),
          failure_31_clock_control_needs_a_right, failure_32_power_limit_in_a_container, failure_33_error_code_4_in_words,
          failure_34_power_limit_cannot_be_set, failure_35_application_clocks_are_not_used,
          failure_36_lock_accepted_but_not_held, failure_37_what_a_memory_lock_costs_is_seen,
          failure_38_asked_and_achieved_are_two_columns, failure_39_clocks_do_not_stay_locked,
          failure_40_restored_on_failure_and_interrupt, failure_41_power_cap_holds_the_clock_down, two_tools_at_once, two_users_at_once, a_lock_of_somebody_else_is_no_baseline,
          a_stopped_tool_is_not_dead, resume_goes_on_where_it_ended, budget_keeps_time_for_the_last_baseline,
          parameters_replace_their_names, a_program_that_is_not_there, a_program_too_short_ends_the_sweep,
          a_short_run_does_not_count, a_sweep_over_memory_clocks_and_parameters_ends_early_too,
          a_dry_run_looks_at_every_setting, a_baseline_under_another_clock_is_flagged, the_page_draws_its_points,
          another_program_on_the_gpu, a_program_that_always_fails_gives_its_status, several_gpus_are_told_apart, an_export_that_cannot_be_written]


def run(check):
    machine = Machine()
    try:
        return check.__name__, *check(machine)
    except Exception as error:  # a check that breaks is a check that fails
        return check.__name__, False, repr(error)
    finally:
        machine.close()


def main():
    wanted = sys.argv[2:]
    checks = [check for check in CHECKS if not wanted or any(word in check.__name__ for word in wanted)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for name, good, found in pool.map(run, checks):
            failed += not good
            told = found[0] if good and isinstance(found, tuple) and name.startswith("optimum") else "" if good else found
            print(f"{'pass' if good else 'FAIL'}  {name}  {told}", flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
