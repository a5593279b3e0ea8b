"""What the scenarios share: the workload, checks, AMD SMI through other people's structures."""
import ctypes
import json
import os
import subprocess
import time
import types

from phases import phases_file

SIM = os.environ.get("ERGON_SIM", "")
MODEL = SIM.split(",")[0]
LIBRARIES = os.path.join(os.environ["ERGON_BIN"], "../lib/sim")


def check(name, expected, found, good):
    print(f"{name} | {expected} | {str(found).replace('|', '/')} | {'pass' if good else 'FAIL'}", flush=True)


def near(name, expected, found, within):
    check(name, f"{expected:.4g} +- {within:.2g}", f"{found:.4g}", abs(found - expected) <= within)


def simload(folder, work):
    truth = os.path.join(folder, "truth")
    return subprocess.Popen([os.path.join(os.environ["ERGON_BIN"], "ergon-simload"), phases_file(folder, work)],
                            env=dict(os.environ, ERGON_SIM_TRUTH=truth))


def finish(process, folder):
    if process.wait(60) != 0:
        raise SystemExit(f"ergon-simload ended with {process.returncode}")
    with open(os.path.join(folder, "truth")) as file:
        return json.load(file)


def simload_on(n, handle, folder, work, then_s):
    """Starts the workload, waits until nvidia-ml-py lists it, then `then_s` more: however slow the host is."""
    process = simload(folder, work)
    end = time.monotonic() + 20
    while time.monotonic() < end and not any(p.pid == process.pid for p in n.nvmlDeviceGetComputeRunningProcesses(handle)):
        time.sleep(0.005)
    time.sleep(then_s)
    return process


class AmdSmi:
    """GPU 0 through the structures of the package amdsmi, on the simulated library."""

    def __init__(self, library, wrapper):
        self.smi, self.wrapper = library, wrapper
        count = ctypes.c_uint32(1)
        sockets, processors = (ctypes.c_void_p * 1)(), (ctypes.c_void_p * 1)()
        self.must(library.amdsmi_init(ctypes.c_uint64(wrapper.AMDSMI_INIT_AMD_GPUS)))
        self.must(library.amdsmi_get_socket_handles(ctypes.byref(count), sockets))
        self.must(library.amdsmi_get_processor_handles(ctypes.c_void_p(sockets[0]), ctypes.byref(count), processors))
        self.gpu = ctypes.c_void_p(processors[0])

    @staticmethod
    def must(status):
        if status != 0:
            raise SystemExit(f"AMD SMI status {status}")

    def energy_j(self):
        count, unit, stamp = ctypes.c_uint64(), ctypes.c_float(), ctypes.c_uint64()
        self.must(self.smi.amdsmi_get_energy_count(self.gpu, ctypes.byref(count), ctypes.byref(unit), ctypes.byref(stamp)))
        return count.value * unit.value * 1e-6, time.monotonic()

    def power_w(self):
        info = self.wrapper.struct_amdsmi_power_info_t()
        self.must(self.smi.amdsmi_get_power_info(self.gpu, ctypes.byref(info)))
        return info.current_socket_power

    def clock_mhz(self):
        info = self.wrapper.struct_amdsmi_clk_info_t()
        self.must(self.smi.amdsmi_get_clock_info(self.gpu, self.wrapper.AMDSMI_CLK_TYPE_GFX, ctypes.byref(info)))
        return info.clk

    def limit_mhz(self, mhz):
        self.must(self.smi.amdsmi_set_gpu_clk_limit(self.gpu, self.wrapper.AMDSMI_CLK_TYPE_GFX, self.wrapper.CLK_LIMIT_MAX,
                                                        ctypes.c_uint64(mhz)))


def load_amdsmi():
    """The package looks up some 200 functions when imported, most of which no Ergon calls; only its structures are used."""
    real = ctypes.CDLL
    ctypes.CDLL = lambda *args, **kwargs: type("Any", (), {"__getattr__": lambda self, name: types.SimpleNamespace()})()
    try:
        from amdsmi import amdsmi_wrapper
    finally:
        ctypes.CDLL = real
    return AmdSmi(ctypes.CDLL(os.path.join(LIBRARIES, "libamd_smi.so")), amdsmi_wrapper)
