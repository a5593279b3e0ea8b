"""args_kept.py TRACE.json.gz PERFETTO.json: how many of the trace's arguments stand in the export, by name."""
import collections
import gzip
import json
import sys

KEPT = ("Input Dims", "Input type", "Concrete Inputs", "External id", "correlation", "grid", "block",
        "registers per thread", "shared memory", "bytes")

before = json.load(gzip.open(sys.argv[1]))["traceEvents"]
after = json.load(open(sys.argv[2]))["traceEvents"]


def name(event):
    return event["name"], round(event["dur"] * 1000), event.get("args", {}).get("correlation"), event["args"].get("External id")


found = {name(e): e["args"] for e in after if e["ph"] == "X" and "args" in e}
all_of, same = collections.Counter(), collections.Counter()
for event in before:
    if event["ph"] != "X" or event["cat"] in ("cuda_sync", "Trace"):
        continue
    for key, value in event.get("args", {}).items():
        all_of[key] += key in KEPT
        same[key] += key in KEPT and found.get(name(event), {}).get(key) == value
for key in KEPT:
    print(f"{key}: {same[key]} of {all_of[key]}")
gpu = [e["args"] for e in after if e.get("cat", "").startswith("gpu") and "grid" in e.get("args", {})]
print(f"kernels with slack beside it: {sum('total_slack_ns' in a and 'free_slack_ns' in a for a in gpu)} of {len(gpu)}")
