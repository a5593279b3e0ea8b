"""A small trace of one rank: rank_trace.py DEVICE [RANK] > FILE. Three profiler steps (5 to 7) of 1 ms, 200 us after the
first event; each launches a gemm and a relu. Without RANK the trace does not say which rank it is."""
import json
import sys

device = int(sys.argv[1])
events = []


def add(category, name, start, length, tid, **args):
    pid = device if category == "kernel" else 100 + device
    events.append({"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": start, "dur": length, "args": args})


add("Trace", "PyTorch Profiler (0)", 0, 3300, "PyTorch Profiler")
for step in range(3):
    begin = 200 + 1000 * step
    add("user_annotation", f"ProfilerStep#{5 + step}", begin, 1000, 1)
    for k, (name, length) in enumerate((("gemm", 300), ("relu", 100))):
        correlation = 2 * step + k + 1
        at = begin + 100 + 350 * k
        add("cpu_op", f"aten::{name}", at, 60, 1)
        add("cuda_runtime", "cudaLaunchKernel", at + 20, 20, 1, correlation=correlation)
        add("kernel", name, at + 50, length, 7, correlation=correlation, device=device, stream=7, context=1)
trace = {"schemaVersion": 1, "deviceProperties": [{"id": device, "name": "NVIDIA A100-SXM4-80GB"}]}
if len(sys.argv) > 2:
    trace["distributedInfo"] = {"backend": "nccl", "rank": int(sys.argv[2]), "world_size": 8}
trace["traceEvents"] = events
print(json.dumps(trace))
