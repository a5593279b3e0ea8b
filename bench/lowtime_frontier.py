"""lowtime on a pack file without switch cost: its whole frontier, re-timed with the real options.

Usage: lowtime_frontier.py PACKS UNIT_S OUT.csv. Prints iterations and the CPU seconds of its solver alone; OUT gets one
row an iteration: makespan, and energy with the idle power of every GPU, as the pack file counts it."""
import csv
import json
import logging
import sys
import time

import networkx as nx
from lowtime.cost_model import ExponentialModel
from lowtime.operation import CandidateExecutionOptions, DummyOperation, ExecutionOption, Operation, OperationSpec
from lowtime.solver import PhillipsDessouky

logging.disable(logging.CRITICAL)
problem = json.load(open(sys.argv[1]))
unit = float(sys.argv[2])
idle = {gpu["id"]: gpu["idle_power_w"] for gpu in problem["gpus"]}

# lowtime's cost is energy above waiting. Packs with equal options share one fitted curve.
specs = {}
graph = nx.DiGraph()
graph.add_node(0, op=DummyOperation())
node = {}
before = {}
for number, pack in enumerate(problem["packs"], 1):
    key = json.dumps([pack["gpu"], pack["options"]])
    if key not in specs:
        w = idle[pack["gpu"]]
        options = CandidateExecutionOptions(
            [ExecutionOption(real_time=o["time_s"], unit_time=unit, cost=o["energy_j"] - w * o["time_s"],
                             knob=o["clock_hz"]) for o in pack["options"]])
        specs[key] = OperationSpec(options=options, cost_model=ExponentialModel(options))
    node[pack["id"]] = number
    graph.add_node(number, op=Operation(spec=specs[key]))
    waits = [a["pack"] for a in pack.get("after", [])]
    if pack["gpu"] in before:
        waits.append(before[pack["gpu"]])
    for w in waits:
        graph.add_edge(node[w], number)
    before[pack["gpu"]] = pack["id"]
sink = len(problem["packs"]) + 1
graph.add_node(sink, op=DummyOperation())
for number in range(1, sink):
    if graph.in_degree(number) == 0:
        graph.add_edge(0, number)
    if graph.out_degree(number) == 0:
        graph.add_edge(number, sink)
graph.graph["source_node"] = 0
graph.graph["sink_node"] = sink

real = [{o["clock_hz"]: (o["time_s"], o["energy_j"]) for o in pack["options"]} for pack in problem["packs"]]


def retime():
    end, busy, energy, last = {}, {}, 0.0, 0.0
    latest = {}
    for number, pack in enumerate(problem["packs"], 1):
        t, e = real[number - 1][graph.nodes[number]["op"].assigned_knob]
        start = latest.get(pack["gpu"], 0.0)
        for a in pack.get("after", []):
            start = max(start, end[a["pack"]] + a.get("lag_s", 0.0))
        end[pack["id"]] = latest[pack["gpu"]] = start + t
        busy[pack["gpu"]] = busy.get(pack["gpu"], 0.0) + t
        energy += e
        last = max(last, start + t)
    return last, energy + sum(w * (last - busy.get(g, 0.0)) for g, w in idle.items())


rows = []
spent = 0.0
mark = time.process_time()
for _ in PhillipsDessouky(graph).run():
    spent += time.process_time() - mark  # the solver alone, without our re-timing
    rows.append(retime())
    mark = time.process_time()
spent += time.process_time() - mark
with open(sys.argv[3], "w", newline="") as out:
    writer = csv.writer(out)
    writer.writerow(["time_s", "energy_j"])
    writer.writerows([repr(t), repr(e)] for t, e in rows)
print(len(rows), f"{spent:.3f}")
