"""One scenario on the simulated machine that the environment names; run by sim_clients.py."""
import ctypes
import json
import os
import signal
import subprocess
import sys
import time

import sim_faults
from phases import phases_file
from sim_support import SIM, MODEL, LIBRARIES, check, near, simload, simload_on, finish, load_amdsmi

FOLDER = sys.argv[2]
WORK = {"repeat": 1, "phases": [{"name": "compute", "duration_s": 1.6, "compute": 0.9, "memory": 0.3},
                                {"name": "memory", "duration_s": 1.2, "compute": 0.2, "memory": 0.9}]}


def layout():
    here = os.path.dirname(os.path.abspath(__file__))
    program = os.path.join(os.environ["ERGON_BIN"], "ergon_gpu_abi_layout")
    done = subprocess.run([sys.executable, os.path.join(here, "abi_layout.py"), program], text=True, capture_output=True)
    print(done.stdout, end="")
    done.check_returncode()


def exports():
    import re
    headers = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../src/gpu/abi/include/ergon/gpu_abi")
    for header, library in (("nvml.hpp", "libnvidia-ml.so.1"), ("amdsmi.hpp", "libamd_smi.so")):
        names = re.findall(r"using ((?:nvml|amdsmi_)\w+) *=", open(os.path.join(headers, header)).read())
        loaded = ctypes.CDLL(os.path.join(LIBRARIES, library))
        missing = [name for name in names if not hasattr(loaded, name)]
        check(f"functions of {header} that {library} exports", len(names), len(names) - len(missing), not missing and names)


def calls():
    """Every call that the product makes, by nvidia-ml-py."""
    import pynvml as n
    n.nvmlInit()
    count = n.nvmlDeviceGetCount()
    check(f"nvidia-ml-py on {SIM}: count of GPUs", 2 if "gpus=2" in SIM else 1, count, count == (2 if "gpus=2" in SIM else 1))
    h = n.nvmlDeviceGetHandleByIndex(count - 1)
    facts = {"a100": ("NVIDIA A100-SXM4-40GB", (8, 0), 1410, 400000), "v100": ("Tesla V100-SXM2-32GB", (7, 0), 1530, 300000),
             "h100": ("NVIDIA H100 80GB HBM3", (9, 0), 1980, 700000)}[MODEL]
    same = [
        n.nvmlDeviceGetName(h) == facts[0],
        n.nvmlDeviceGetCudaComputeCapability(h) == list(facts[1]) or tuple(n.nvmlDeviceGetCudaComputeCapability(h)) == facts[1],
        n.nvmlDeviceGetMaxClockInfo(h, n.NVML_CLOCK_SM) == facts[2],
        n.nvmlDeviceGetPowerManagementDefaultLimit(h) == facts[3],
        n.nvmlDeviceGetEnforcedPowerLimit(h) == facts[3],
        n.nvmlDeviceGetPowerManagementLimitConstraints(h)[1] == facts[3],
        n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByUUID(n.nvmlDeviceGetUUID(h))) == count - 1,
        n.nvmlDeviceGetIndex(n.nvmlDeviceGetHandleByPciBusId(n.nvmlDeviceGetPciInfo(h).busId)) == count - 1,
        n.nvmlDeviceGetMinorNumber(h) == count - 1,
        len(n.nvmlSystemGetDriverVersion().split(".")) == 3,
        n.nvmlSystemGetNVMLVersion().startswith("12."),
        n.nvmlSystemGetCudaDriverVersion() >= 12000,
        len(n.nvmlDeviceGetSerial(h)) > 8,
        max(n.nvmlDeviceGetSupportedGraphicsClocks(h, n.nvmlDeviceGetSupportedMemoryClocks(h)[0])) == facts[2],
        20 < n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU) < 45,
        n.nvmlDeviceGetTemperatureV(h, n.NVML_TEMPERATURE_GPU) == n.nvmlDeviceGetTemperature(h, n.NVML_TEMPERATURE_GPU),
        n.nvmlDeviceGetPerformanceState(h) == 0,
        n.nvmlDeviceGetUtilizationRates(h).gpu == 0,
        n.nvmlDeviceGetMemoryInfo(h).total == n.nvmlDeviceGetMemoryInfo(h, n.nvmlMemory_v2).total,
        n.nvmlDeviceGetComputeRunningProcesses(h) == [],
        n.nvmlDeviceGetCurrentClocksEventReasons(h) == n.nvmlClocksEventReasonGpuIdle,
        n.nvmlDeviceGetSupportedClocksEventReasons(h) & n.nvmlClocksEventReasonSwPowerCap != 0,
        n.nvmlDeviceGetViolationStatus(h, n.NVML_PERF_POLICY_POWER).violationTime == 0,
        n.nvmlDeviceGetClock(h, n.NVML_CLOCK_SM, n.NVML_CLOCK_ID_CURRENT) == n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_GRAPHICS),
        n.nvmlErrorString(n.NVML_ERROR_GPU_IS_LOST) == "GPU is lost",
    ]
    check(f"nvidia-ml-py on {SIM}: facts of the board", f"{len(same)} as published", f"{sum(same)} {[k for k, s in enumerate(same) if not s]}", all(same))
    fields = {f.fieldId: f for f in n.nvmlDeviceGetFieldValues(h, [83, 185, 186, 74, 75, 269, (186, n.NVML_POWER_SCOPE_MODULE)][:6])}
    supported = fields[83].nvmlReturn == 0 and fields[186].nvmlReturn == 0 and fields[74].nvmlReturn == 0
    average = fields[185].nvmlReturn == (0 if MODEL == "h100" else n.NVML_ERROR_NOT_SUPPORTED)
    check(f"nvidia-ml-py on {SIM}: return codes of fields", "per field, average power only after GA100", f"{[f.nvmlReturn for f in fields.values()]}",
          supported and average)
    try:
        n.nvmlDeviceSetMemoryLockedClocks(h, *(n.nvmlDeviceGetSupportedMemoryClocks(h)[:1] * 2))
        n.nvmlDeviceResetMemoryLockedClocks(h)
        memory = "done"
    except n.NVMLError_NotSupported:
        memory = "not supported"
    check(f"nvidia-ml-py on {SIM}: memory clock lock", "not supported" if MODEL == "v100" else "done", memory,
          memory == ("not supported" if MODEL == "v100" else "done"))
    n.nvmlDeviceSetPersistenceMode(h, 1)
    time.sleep(0.3)  # a machine that is younger than its sensor's period has no samples
    samples = n.nvmlDeviceGetSamples(h, n.NVML_TOTAL_POWER_SAMPLES, 0)
    near(f"nvidia-ml-py on {SIM}: last power sample, W", n.nvmlDeviceGetFieldValues(h, [186])[0].value.uiVal / 1000, samples[1][-1].sampleValue.uiVal / 1000, 3)
    n.nvmlShutdown()
    try:
        n.nvmlDeviceGetName(h)
        after = "answered"
    except n.NVMLError_Uninitialized:
        after = "uninitialized"
    check(f"nvidia-ml-py on {SIM}: a call after shutdown", "uninitialized", after, after == "uninitialized")


def truth():
    """The counter over a whole run, read by nvidia-ml-py, against the truth."""
    import pynvml as n
    n.nvmlInit()
    h = n.nvmlDeviceGetHandleByIndex(0)
    idle_start, t_idle = n.nvmlDeviceGetTotalEnergyConsumption(h), time.monotonic()
    time.sleep(1)
    begin, t0 = n.nvmlDeviceGetTotalEnergyConsumption(h), time.monotonic()
    idle_w = (begin - idle_start) / 1000 / (t0 - t_idle)
    process = simload_on(n, h, FOLDER, WORK, 0.5)
    running = [p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(h)]
    busy = n.nvmlDeviceGetUtilizationRates(h).gpu
    known = finish(process, FOLDER)
    time.sleep(0.15)  # beyond the counter's next tick
    end, t1 = n.nvmlDeviceGetTotalEnergyConsumption(h), time.monotonic()
    gpu = known["gpus"][0]
    rest = (t1 - t0) - (gpu["end_s"] - gpu["start_s"])
    expected = gpu["energy_j"] + idle_w * rest
    near(f"counter over a run on {SIM}, J", expected, (end - begin) / 1000, 0.004 * expected + 0.1 * idle_w)
    check(f"process and utilisation on {SIM}", f"[{process.pid}], 100 %", f"{running}, {busy} %", running == [process.pid] and busy >= 99)
    time_s = gpu["phases"][-1]["end_s"] - gpu["phases"][0]["start_s"]
    if gpu["capped_s"] == 0:
        near(f"time of the phases on {SIM}, s", 2.8, time_s, 1e-4)
    else:  # the board's own power limit lowers its clock: 72 W on an L4
        check(f"time of the phases on {SIM}, power-capped for {gpu['capped_s']:.1f} s", "2.8 to 3.1 s", f"{time_s:.3f}", 2.8 < time_s < 3.1)
    total = sum(p["energy_j"] for p in gpu["phases"])
    check(f"energy of phases within the run's on {SIM}", "at most 5 % less", f"{total:.1f} of {gpu['energy_j']:.1f} J", 0.95 < total / gpu["energy_j"] <= 1)


def lock():
    """A lock set by one process holds in others, slows the work, outlives its process."""
    import pynvml as n
    other = "import pynvml as n; n.nvmlInit(); n.nvmlDeviceSetGpuLockedClocks(n.nvmlDeviceGetHandleByIndex(0), 900, 907)"
    subprocess.run([sys.executable, "-c", other], check=True)
    time.sleep(0.1)  # longer than the change takes
    n.nvmlInit()
    h = n.nvmlDeviceGetHandleByIndex(0)
    process = simload_on(n, h, FOLDER, {"phases": [{"duration_s": 1.0, "compute": 1.0, "memory": 0.1}]}, 0.4)
    seen = n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM)
    known = finish(process, FOLDER)["gpus"][0]
    check("a lock at 907 MHz by another process, MHz", "900 (supported step), locked", f"{seen}, {known['clocks']}",
          seen == 900 and known["clocks"]["locked"] and known["clocks"]["sm_hz"] == 900e6)
    phase = known["phases"][0]
    near("compute-bound second at 900 of 1410 MHz, s", 1410 / 900, phase["end_s"] - phase["start_s"], 0.002)
    n.nvmlDeviceResetGpuLockedClocks(h)


def cap():
    import pynvml as n
    n.nvmlInit()
    h = n.nvmlDeviceGetHandleByIndex(0)
    n.nvmlDeviceSetPowerManagementLimit(h, 350000)
    process = simload_on(n, h, FOLDER, {"phases": [{"duration_s": 1.5, "compute": 1.0, "memory": 0.5}]}, 1.1)
    power = n.nvmlDeviceGetFieldValues(h, [186])[0].value.uiVal / 1000
    reasons = n.nvmlDeviceGetCurrentClocksEventReasons(h)
    counted = n.nvmlDeviceGetFieldValues(h, [74])[0].value.ullVal
    clock = n.nvmlDeviceGetClockInfo(h, n.NVML_CLOCK_SM)
    known = finish(process, FOLDER)["gpus"][0]
    near("power under a limit of 350 W, W", 345, power, 9)
    check("the limit lowers the clock and says so", "below 1980 MHz, bit 4, counted", f"{clock} MHz, {reasons:#x}, {counted / 1e9:.2f} s of {known['capped_s']:.2f}",
          clock < 1980 and reasons == 4 and counted > 0.8e9 and known["capped_s"] > 0.8)


def refresh():
    """How often readings change, as a poller sees it."""
    import pynvml as n
    n.nvmlInit()
    h = n.nvmlDeviceGetHandleByIndex(0)
    changes = {"power": [], "energy": []}
    last = {}
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        for key, value in (("power", n.nvmlDeviceGetPowerUsage(h)), ("energy", n.nvmlDeviceGetTotalEnergyConsumption(h))):
            if key in last and last[key] != value:
                changes[key].append(time.monotonic())
            last[key] = value
        time.sleep(0.001)
    period = {"a100": 0.1, "v100": 0.02}[MODEL]
    for key, times in changes.items():
        mean = (times[-1] - times[0]) / (len(times) - 1)
        near(f"{key} on {MODEL} changes every, s", period, mean, 0.06 * period)


def killed():
    import pynvml as n
    n.nvmlInit()
    h = n.nvmlDeviceGetHandleByIndex(0)
    process = simload_on(n, h, FOLDER, {"phases": [{"duration_s": 60, "compute": 0.9, "memory": 0.3}]}, 0.4)
    busy = n.nvmlDeviceGetPowerUsage(h) / 1000
    process.kill()
    time.sleep(0.25)  # not waited for: a zombie holds no GPU
    idle, processes = n.nvmlDeviceGetPowerUsage(h) / 1000, n.nvmlDeviceGetComputeRunningProcesses(h)
    process.wait()
    check("load of a killed process", "gone", f"{busy:.0f} W, then {idle:.0f} W, {len(processes)} processes", busy > 200 and idle < 70 and not processes)
    process = simload_on(n, h, FOLDER, {"phases": [{"duration_s": 60, "compute": 0.9, "memory": 0.3}]}, 0.4)
    process.send_signal(signal.SIGTERM)
    code = process.wait(5)
    played = json.load(open(os.path.join(FOLDER, "truth")))["gpus"][0]["phases"][0]
    check("a workload that is asked to end", "status -15, truth of what it played", f"{code}, {played['end_s'] - played['start_s']:.2f} s",
          code == -15 and 0.3 < played["end_s"] - played["start_s"] < 3)


def nvitop():
    process = simload(FOLDER, {"phases": [{"duration_s": 30, "compute": 0.9, "memory": 0.3}]})
    time.sleep(0.5)
    done = subprocess.run([sys.executable, "-m", "nvitop", "--once", "--ascii"], text=True, capture_output=True,
                          env=dict(os.environ, COLUMNS="120", TERM="dumb"))
    process.kill()
    process.wait()
    shown = ["H100 80GB HBM3" in done.stdout, str(process.pid) in done.stdout, "700W" in done.stdout, "100%" in done.stdout]
    check("nvitop --once shows board, process, limit, use, and complains of nothing", "4 of 4, 0 lines", f"{sum(shown)} of 4, {len(done.stderr.splitlines())} lines",
          all(shown) and not done.stderr)


def zeus():
    from zeus.monitor import ZeusMonitor
    monitor = ZeusMonitor(gpu_indices=[0], approx_instant_energy=False)
    monitor.begin_window("idle", sync_execution=False)
    time.sleep(1)
    idle_w = monitor.end_window("idle", sync_execution=False).total_energy
    monitor.begin_window("run", sync_execution=False)
    known = finish(simload(FOLDER, WORK), FOLDER)["gpus"][0]
    time.sleep(0.15)
    window = monitor.end_window("run", sync_execution=False)
    rest = window.time - (known["end_s"] - known["start_s"])
    expected = known["energy_j"] + idle_w * rest
    near(f"Zeus's monitor over a run on {SIM}, J", expected, window.total_energy, 0.004 * expected + 0.1 * idle_w)


def amd():
    smi = load_amdsmi()
    begin, t0 = smi.energy_j()
    process = simload(FOLDER, WORK)
    time.sleep(0.6)
    power, clock = smi.power_w(), smi.clock_mhz()
    known = finish(process, FOLDER)["gpus"][0]
    end, t1 = smi.energy_j()
    idle_w = 145
    expected = known["energy_j"] + idle_w * ((t1 - t0) - (known["end_s"] - known["start_s"]))
    near("AMD energy counter over a run, J", expected, end - begin, 0.005 * expected)
    check("AMD power and clock under load", "500 to 750 W, 2100 MHz", f"{power} W, {clock} MHz", 500 < power <= 750 and clock == 2100)
    smi.limit_mhz(1300)
    time.sleep(0.1)  # longer than the change takes
    process = simload(FOLDER, {"phases": [{"duration_s": 1.0, "compute": 1.0, "memory": 0.1}]})
    time.sleep(0.5)
    clock = smi.clock_mhz()
    phase = finish(process, FOLDER)["gpus"][0]["phases"][0]
    check("AMD clock limit, MHz", 1300, clock, clock == 1300)
    near("compute-bound second at 1300 of 2100 MHz, s", 2100 / 1300, phase["end_s"] - phase["start_s"], 0.002)


def family():
    """Without a state folder: one machine for the processes under the first that carries ERGON_SIM."""
    import pynvml as n
    n.nvmlInit()
    h = n.nvmlDeviceGetHandleByIndex(0)
    process = simload_on(n, h, FOLDER, {"phases": [{"duration_s": 0.6, "compute": 0.9, "memory": 0.3}]}, 0.1)
    seen = [p.pid for p in n.nvmlDeviceGetComputeRunningProcesses(h)]
    finish(process, FOLDER)
    check("a child shares its parent's machine", f"[{process.pid}]", seen, seen == [process.pid])


def bad_files():
    program = os.path.join(os.environ["ERGON_BIN"], "ergon-simload")
    expected = {"{": 3, '{"phases": []}': 3, '{"phases": [{"duration_s": -1}]}': 3, '{"phases": [{"duration_s": 1, "compute": 7}]}': 3}
    wrong = []
    for text, status in expected.items():
        done = subprocess.run([program, phases_file(FOLDER, text)], text=True, capture_output=True)
        if done.returncode != status or "error: " not in done.stderr or "hint: " not in done.stderr:
            wrong.append((text, done.returncode, done.stderr))
    for arguments, status in ((["/nowhere.json"], 3), ([], 2), (["--gpu", "5", phases_file(FOLDER, WORK)], 2)):
        done = subprocess.run([program, *arguments], text=True, capture_output=True)
        if done.returncode != status or "hint: " not in done.stderr:
            wrong.append((arguments, done.returncode, done.stderr))
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ERGON_SIM")}
    done = subprocess.run([program, phases_file(FOLDER, WORK)], text=True, capture_output=True, env=environment)
    if done.returncode != 4:
        wrong.append(("no machine", done.returncode))
    check("ergon-simload refuses what it cannot play", "8 with the right status and a hint", f"{8 - len(wrong)} {wrong}", not wrong)


def faults():
    sim_faults.run()


if __name__ == "__main__":
    globals()[sys.argv[1]]()
