"""Nominal GPUs and the estimate of a kernel's time: a roofline times efficiencies that are drawn by the seed."""

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Gpu:
    """Vendor data sheet figures; dense bf16 tensor throughput. Link: one direction of NVLink."""

    name: str
    memory_bytes: int
    major: int
    minor: int
    sms: int
    tensor_flops: float
    vector_flops: float
    dram_bytes_s: float
    link_bytes_s: float
    pcie_bytes_s: float
    smem_optin: int
    smem_sm: int

    def properties(self, index):
        """The entry of `deviceProperties`, with the keys that Kineto writes."""
        return {
            "id": index,
            "name": self.name,
            "totalGlobalMem": self.memory_bytes,
            "computeMajor": self.major,
            "computeMinor": self.minor,
            "maxThreadsPerBlock": 1024,
            "maxThreadsPerMultiprocessor": 2048,
            "regsPerBlock": 65536,
            "warpSize": 32,
            "sharedMemPerBlock": 49152,
            "numSms": self.sms,
            "regsPerMultiprocessor": 65536,
            "sharedMemPerBlockOptin": self.smem_optin,
            "sharedMemPerMultiprocessor": self.smem_sm,
        }


A100 = Gpu("NVIDIA A100-SXM4-80GB", 84990623744, 8, 0, 108, 312e12, 19.5e12, 2.039e12, 300e9, 25e9, 166912, 167936)
H100 = Gpu("NVIDIA H100 80GB HBM3", 85018279936, 9, 0, 132, 989e12, 66.9e12, 3.35e12, 450e9, 50e9, 232448, 233472)

# Shares of the peak that a kernel of a kind reaches: bounds between which the seed draws, per kind and shape.
_COMPUTE = {"gemm": (0.66, 0.84), "conv": (0.50, 0.70), "flash_fwd": (0.50, 0.62), "flash_bwd": (0.40, 0.50)}
_MEMORY = (0.70, 0.90)


@dataclass
class Kernel:
    """What a launch asks for: the name as a profiler shows it, geometry, and its operations and bytes."""

    kind: str
    name: str
    grid: tuple
    block: tuple
    flops: float = 0.0
    bytes: float = 0.0
    latency: float = 0.0  # seconds of the longest dependent chain, where the kernel is too small to fill the GPU
    tensor: bool = False
    registers: int = 32
    shared: int = 0
    shape: tuple = ()
    extra: dict = field(default_factory=dict)


def blocks_of(kernel):
    return kernel.grid[0] * kernel.grid[1] * kernel.grid[2]


def duration_ns(gpu, kernel, noise, jitter, board):
    """floor + max(compute, memory, latency), with deviations by kind and shape, by board and by launch.

    `noise` is the job's and `jitter` the rank's; `board` is a factor of the one GPU (no two boards run alike); the floor
    is what an empty kernel takes.
    """
    key = (kernel.kind, *kernel.shape)
    compute = 0.0
    if kernel.flops:
        low, high = _COMPUTE.get(kernel.kind, (0.5, 0.8))
        peak = gpu.tensor_flops if kernel.tensor else gpu.vector_flops
        compute = kernel.flops / (peak * noise.between(low, high, "compute", *key) * _fill(gpu, kernel))
    memory = kernel.bytes / (gpu.dram_bytes_s * noise.between(*_MEMORY, "memory", *key))
    floor = noise.between(2.1e-6, 3.1e-6, "floor", kernel.kind)
    kind = noise.between(0.94, 1.08, "kind", kernel.kind)
    seconds = floor + max(compute, memory, kernel.latency) * kind * board
    return max(1000, int(seconds * jitter.spread(0.012) * 1e9 + 0.5))


def _fill(gpu, kernel):
    """Share of the SMs at work when the last wave of thread blocks is not full (tensor kernels: one block an SM)."""
    if not kernel.tensor:
        return 1.0
    blocks = blocks_of(kernel)
    waves = (blocks + gpu.sms - 1) // gpu.sms
    return blocks / (waves * gpu.sms)


def all_reduce_ns(gpu, message_bytes, ranks, noise):
    """Ring all-reduce: 2 (n-1)/n of the message over the link at a drawn share of its rate, plus a start-up time."""
    rate = gpu.link_bytes_s * noise.between(0.62, 0.78, "all_reduce", message_bytes)
    seconds = 14e-6 + 2.0 * (ranks - 1) / ranks * message_bytes / rate
    return int(seconds * noise.spread(0.02) * 1e9 + 0.5)


def copy_ns(gpu, size, noise, jitter, *, host):
    rate = gpu.pcie_bytes_s if host else gpu.dram_bytes_s * 0.4
    seconds = 1.4e-6 + size / (rate * noise.between(0.75, 0.95, "copy", host, size))
    return int(seconds * jitter.spread(0.03) * 1e9 + 0.5)
