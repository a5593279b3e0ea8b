"""Each fault of the simulated GPU as nvidia-ml-py meets it: one process a fault, since a library reads its faults once."""
import os
import subprocess
import sys
import time

from sim_support import check

# fault -> (code that prints what a client sees, what it must see)
READ = """
import pynvml as n, time
def seen(call, *arguments):
    try:
        return str(call(*arguments))
    except n.NVMLError as error:
        return type(error).__name__
n.nvmlInit()
h = n.nvmlDeviceGetHandleByIndex(0)
other = n.nvmlDeviceGetHandleByIndex(1)
"""
INIT = """
import pynvml as n
try:
    n.nvmlInit(); print(n.nvmlDeviceGetCount())
except n.NVMLError as error:
    print(type(error).__name__)
"""
CASES = {
    "no-permission": (READ + "print(seen(n.nvmlDeviceSetGpuLockedClocks, h, 900, 900), seen(n.nvmlDeviceSetPowerManagementLimit, h, 300000), n.nvmlDeviceGetPowerUsage(h) > 0)",
                      "NVMLError_NoPermission NVMLError_NoPermission True"),
    "not-supported": (READ + "print(n.nvmlDeviceGetFieldValues(h, [186])[0].nvmlReturn, n.nvmlDeviceGetPowerUsage(h) > 0)", "3 True"),
    "no-energy-counter": (READ + "print(seen(n.nvmlDeviceGetTotalEnergyConsumption, h), n.nvmlDeviceGetFieldValues(h, [83])[0].nvmlReturn)",
                          "NVMLError_NotSupported 3"),
    "counter-frozen": (READ + "a = n.nvmlDeviceGetTotalEnergyConsumption(h); time.sleep(0.25); print(n.nvmlDeviceGetTotalEnergyConsumption(h) - a)", "0"),
    "counter-reset@0.4s": (READ + "a = n.nvmlDeviceGetTotalEnergyConsumption(h); time.sleep(0.8); print(n.nvmlDeviceGetTotalEnergyConsumption(h) < min(a, 100000))", "True"),
    "counter-wrap": (READ + "a = n.nvmlDeviceGetTotalEnergyConsumption(h); print(2**32 - 300000 < a < 2**32)", "True"),
    "gpu-lost": (READ + "print(seen(n.nvmlDeviceGetPowerUsage, h), seen(n.nvmlDeviceGetName, h), n.nvmlDeviceGetPowerUsage(other) > 0)",
                 "NVMLError_GpuIsLost NVMLError_GpuIsLost True"),
    "mig": (READ + "m = n.nvmlDeviceGetMigDeviceHandleByIndex(h, 0); print(n.nvmlDeviceGetMigMode(h), n.nvmlDeviceGetUUID(m)[:4], seen(n.nvmlDeviceGetUtilizationRates, h), "
                   "abs(n.nvmlDeviceGetTotalEnergyConsumption(m) - n.nvmlDeviceGetTotalEnergyConsumption(h)) < 20000)", "[1, 1] MIG- NVMLError_NotSupported True"),
    "version-mismatch": (INIT, "NVMLError_LibRmVersionMismatch"),
    "no-driver": (INIT, "NVMLError_DriverNotLoaded"),
    "no-device": (INIT, "0"),
    "slow-calls": (READ + "a = time.monotonic(); n.nvmlDeviceGetClockInfo(h, 0); print(time.monotonic() - a > 0.14)", "True"),
    "garbage": (READ + "print(any(n.nvmlDeviceGetPowerUsage(h) > 2**31 or time.sleep(0.02) for k in range(100)))", "True"),
    "power-na": (READ + "print(seen(n.nvmlDeviceGetPowerUsage, h), seen(n.nvmlDeviceGetPowerManagementLimit, h), n.nvmlDeviceGetTotalEnergyConsumption(h) > 0)",
                 "NVMLError_NotSupported NVMLError_NotSupported True"),
    "partial": (READ + "print(seen(n.nvmlDeviceGetPowerUsage, h), seen(n.nvmlDeviceGetTotalEnergyConsumption, h), n.nvmlDeviceGetClockInfo(h, 0) > 0)",
                "NVMLError_NotSupported NVMLError_NotSupported True"),
    "one-gpu-broken": (READ + "print(seen(n.nvmlDeviceGetPowerUsage, other), n.nvmlDeviceGetPowerUsage(h) > 0)", "NVMLError_Unknown True"),
    "unknown-reason": (READ + "print(hex(n.nvmlDeviceGetCurrentClocksEventReasons(h)))", "0x4001"),
    "memory-lock-unsupported": (READ + "print(seen(n.nvmlDeviceSetMemoryLockedClocks, h, 1215, 1215))", "NVMLError_NotSupported"),
}


PHYSICAL = {"lock-not-held", "clock-drift", "memory-drift", "power-cap", "hot"}  # unit tests in virtual time


def documented():
    """The program's own list of faults, this file's and the documentation's are one."""
    here = os.path.dirname(os.path.abspath(__file__))
    done = subprocess.run([os.path.join(os.environ["ERGON_BIN"], "ergon-simload"), "--curve", os.path.join(here, "one_phase.json")],
                          env=dict(os.environ, ERGON_SIM="a100,fault=?"), text=True, capture_output=True)
    known = set(done.stderr.split("faults are ")[-1].strip().split(", "))
    tested = {fault.split("@")[0] for fault in CASES} | PHYSICAL
    text = open(os.path.join(here, "../../docs/formats/simulated_gpu.md")).read()
    written = {fault for fault in known if f"| `{fault}` |" in text}
    check("faults known, tested, documented", f"{len(known)} each", f"{len(tested)}, {len(written)}", known == tested == written)


def run():
    documented()
    started = []
    for fault, (code, expected) in CASES.items():
        environment = dict(os.environ, ERGON_SIM=f"a100,gpus=2,fault={fault}",
                           ERGON_SIM_STATE=os.path.join(os.environ["ERGON_SIM_STATE"], fault))
        started.append((fault, expected, subprocess.Popen([sys.executable, "-c", code], env=environment, text=True,
                                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)))
        time.sleep(0.05)
    for fault, expected, process in started:
        out, error = process.communicate(timeout=60)
        found = out.strip() or error.strip()[-200:]
        check(f"fault={fault} as nvidia-ml-py sees it", expected, found, found == expected)
