"""Traces of any size for benchmarks: one GPU, phases of different mix, each ended by a stream synchronisation.

Written event by event from templates, so that a gigabyte takes seconds. Each launch has its operator with shapes, its
API call and its kernel, in the proportions of a real trace; times come from the same queue rules as the samples.
"""

from . import kineto, ops
from .device import duration_ns
from .machine import QUEUE_LIMIT
from .noise import Noise, stream_of

PID, STREAM = 71001, 7
OPERATOR = (
    '  {\n    "ph": "X", "cat": "cpu_op", "name": "%s", "pid": 71001, "tid": 71001,\n    "ts": %%s, "dur": %%s,\n'
    '    "args": {\n      "External id": %%d,"Record function id": 0, "Sequence number": 0, "Fwd thread id": 0, %s, "Ev Idx": %%d\n    }\n  }'
)
CALL = (
    '  {\n    "ph": "X", "cat": "cuda_runtime", "name": "%s", "pid": 71001, "tid": 71001,\n    "ts": %s, "dur": %s,\n'
    '    "args": {\n      "External id": %d, "cbid": %d, "correlation": %d\n    }\n  }'
)
KERNEL = (
    '  {\n    "ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7,\n    "ts": %%s, "dur": %%s,\n'
    '    "args": {\n      "External id": %%d, "queued": 0, "device": 0, "context": 1, "stream": 7, "correlation": %%d,\n'
    '      "registers per thread": %d, "shared memory": %d, "blocks per SM": %f, "warps per SM": %f,\n'
    '      "grid": [%d, %d, %d], "block": [%d, %d, %d], "est. achieved occupancy %%%%": %d\n    }\n  }'
)
ANNOTATION = (
    '  {\n    "ph": "X", "cat": "user_annotation", "name": "%s", "pid": 71001, "tid": 71001,\n    "ts": %s, "dur": %s,\n'
    '    "args": {\n      "External id": %d,"Record function id": 0, "Ev Idx": %d\n    }\n  }'
)
SYNC = (
    '  {\n    "ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7,\n    "ts": %s, "dur": %s,\n'
    '    "args": {\n      "cuda_sync_kind": "Stream Sync", "stream": 7, "correlation": %d, "device": 0, "context": 1\n    }\n  }'
)


class Recipe:
    """One operator with its kernel: texts ready for the numbers, nominal duration, host time around the launch."""

    def __init__(self, gpu, noise, name, kernel, dims, types):
        shapes = '"Input type": %s, "Input Dims": %s' % (types, dims)
        self.operator = OPERATOR % (name, shapes.replace("%", "%%"))
        blocks = kernel.grid[0] * kernel.grid[1] * kernel.grid[2]
        warps = blocks * ((kernel.block[0] * kernel.block[1] * kernel.block[2] + 31) // 32)
        self.kernel = KERNEL % (
            kernel.name.replace("%", "%%"),
            kernel.registers,
            kernel.shared,
            blocks / gpu.sms,
            warps / gpu.sms,
            *kernel.grid,
            *kernel.block,
            50,
        )
        self.dur = duration_ns(gpu, kernel, noise, noise, 1.0)


def _catalogue(gpu, noise, rng):
    """Compute-bound, memory-bound and small operators of random real-looking shapes."""
    bf = "c10::BFloat16"

    def gemm():
        m, n, k = (rng.choice((1024, 2048, 4096, 8192)) for _ in range(3))
        return Recipe(
            gpu,
            noise,
            "aten::mm",
            ops.gemm(m // 2, n // 2, k, gpu.major),
            "[[%d, %d], [%d, %d]]" % (m // 2, k, k, n // 2),
            '["%s", "%s"]' % (bf, bf),
        )

    def gemv():
        n, k = (rng.choice((2048, 4096, 5120, 8192)) for _ in range(2))
        rows = rng.choice((1, 4, 16))
        return Recipe(
            gpu,
            noise,
            "aten::mm",
            ops.gemm(rows, n, k, gpu.major),
            "[[%d, %d], [%d, %d]]" % (rows, k, k, n),
            '["%s", "%s"]' % (bf, bf),
        )

    def big():
        rows, width = rng.choice((4096, 8192, 16384)), rng.choice((1024, 2048, 4096))
        return Recipe(
            gpu,
            noise,
            "aten::add",
            ops.elementwise(ops.ADD, rows * width, 6, kind="add", arrays=3),
            "[[%d, %d], [%d, %d], []]" % (rows, width, rows, width),
            '["%s", "%s", "Scalar"]' % (bf, bf),
        )

    def norm():
        rows, width = rng.choice((2048, 4096, 8192)), rng.choice((1024, 2048, 4096))
        return Recipe(
            gpu,
            noise,
            "aten::native_layer_norm",
            ops.layer_norm(rows, width),
            "[[%d, %d], [], [%d], [%d], []]" % (rows, width, width, width),
            '["%s", "ScalarList", "%s", "%s", "Scalar"]' % (bf, bf, bf),
        )

    def small():
        n = rng.choice((512, 4096, 32768))
        return Recipe(
            gpu,
            noise,
            "aten::gelu",
            ops.elementwise(ops.GELU, n, 4, kind="gelu", flops=14.0),
            "[[%d], []]" % n,
            '["%s", ""]' % bf,
        )

    return [[make() for _ in range(24)] for make in (gemm, gemv, big, norm, small)]


# Weights of the five kinds above in a phase: what a phase is mostly made of.
_MIXES = ((6, 0, 1, 1, 0), (0, 6, 0, 1, 1), (1, 0, 5, 2, 0), (0, 1, 0, 1, 6), (2, 2, 1, 1, 2))


def write(out, gpu, seed, *, kernels, phases, limit_bytes=None):
    """Writes to the text file `out` until the number of kernels or about `limit_bytes` is reached.

    Returns (kernels, phases, bytes) as written. The number of phases is spread evenly over `kernels`.
    """
    noise, rng = Noise(seed, "stress"), stream_of(seed, "stress", "mix")
    kinds = _catalogue(gpu, noise, rng)
    w = kineto.Writer()
    start = 5678901234567890
    kineto.metadata(w, PID, 0, [PID], [STREAM], start)
    head = kineto.header(gpu, 1, seed, "generated for benchmarks: random phases, not a workload")
    text = (
        "{\n"
        + ",\n".join('  "%s": %s' % (k, kineto.json.dumps(v)) for k, v in head.items())
        + ',\n  "traceEvents": [\n'
    )
    text += w.joined()
    written = out.write(text)
    host, gpu_free = start, start
    ring = [start] * QUEUE_LIMIT
    external = correlation = index = done = phase = 0
    micros, random = kineto.micros, rng.random
    while phase < phases and done < kernels and (limit_bytes is None or written < limit_bytes):
        count = max(1, (kernels - done) // (phases - phase))
        mix = (
            _MIXES[phase % len(_MIXES)]
            if phase < len(_MIXES)
            else [x * rng.choice((0, 1, 1, 2)) for x in rng.choice(_MIXES)]
        )
        chosen = [r for k, weight in zip(kinds, mix) for r in rng.choices(k, k=2 * weight)] or kinds[4]
        external += 1
        phase_id, phase_start = external, host
        host += 3000
        parts = []
        for _ in range(count):
            r = chosen[int(random() * len(chosen))]
            external += 1
            correlation += 1
            slot = done % QUEUE_LIMIT
            op_start = host + 400 + int(random() * 900)
            call = op_start + 1500 + int(random() * 1400)
            call_end = max(call + 3600 + int(random() * 1800), ring[slot] + 2000)
            op_end = call_end + 700 + int(random() * 900)
            kernel = max(call + 5000 + int(random() * 900), call_end - 2200, gpu_free + 800 + int(random() * 600))
            dur = int(r.dur * (0.97 + 0.06 * random()))
            ring[slot] = kernel
            gpu_free, host = kernel + dur, op_end
            parts.append(r.operator % (micros(op_start), micros(op_end - op_start), external, index))
            parts.append(CALL % ("cudaLaunchKernel", micros(call), micros(call_end - call), external, 211, correlation))
            parts.append(r.kernel % (micros(kernel), micros(dur), external, correlation))
            done += 1
            index += 1
        correlation += 1
        wait = host + 500
        host = max(wait + 3000, gpu_free + 4000 + int(random() * 2000))
        parts.append(CALL % ("cudaStreamSynchronize", micros(wait), micros(host - wait), phase_id, 131, correlation))
        parts.append(SYNC % (micros(wait + 700), micros(max(0, host - wait - 1100)), correlation))
        host += 1000
        index += 1
        parts.append(
            ANNOTATION % ("phase %d" % phase, micros(phase_start), micros(host - phase_start), phase_id, index)
        )
        host += 2000 + int(random() * 30000)
        phase += 1
        written += out.write(",\n" + ",\n".join(parts))
    w = kineto.Writer()
    kineto.frame(w, start - 20000, host + 20000)
    foot = "".join(',\n  "%s": %s' % (k, kineto.json.dumps(v)) for k, v in kineto.footer("stress").items())
    written += out.write(",\n" + w.joined() + "\n  ]" + foot + "\n}\n")
    return done, phase, written
