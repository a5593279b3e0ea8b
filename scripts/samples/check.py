#!/usr/bin/env python3
"""Is a trace causal? Knows nothing of the generator: reads the JSON and tests the rules a real GPU keeps.

check.py FILE...     one line a file; exit 1 with the violations if there are any
"""

import bisect
import gzip
import json
import sys
from collections import Counter, defaultdict

GPU = ("kernel", "gpu_memcpy", "gpu_memset")
HOST = ("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver")


def to_ns(text):
    """Integer nanoseconds of a microsecond number as the file spells it; never through a float."""
    whole, _, fraction = str(text).partition(".")
    return int(whole) * 1000 + int((fraction + "000")[:3])


def load(path):
    opener = gzip.open if str(path).endswith(".gz") else open
    with opener(path, "rt") as f:
        return json.load(f, parse_float=str)


class Trace:
    def __init__(self, document):
        self.problems = []
        self.document = document
        self.events = [e for e in document["traceEvents"] if e.get("ph") == "X" and e.get("cat") != "Trace"]
        for e in self.events:
            e["start"] = to_ns(e["ts"])
            e["end"] = e["start"] + to_ns(e["dur"])
        self.calls = {}
        for e in self.events:
            if e["cat"] in ("cuda_runtime", "cuda_driver"):
                number = e["args"]["correlation"]
                if number in self.calls:
                    self.bad("correlation %d belongs to two calls" % number)
                self.calls[number] = e
        self.gpu = [e for e in self.events if e["cat"] in GPU]
        self.streams = defaultdict(list)
        for e in self.gpu:
            self.streams[(e["args"]["device"], e["args"]["stream"])].append(e)

    def bad(self, text):
        self.problems.append(text)

    def call_of(self, e):
        return self.calls.get(e["args"]["correlation"])

    def launches(self):
        """Every operation has its call, of the process that drives the device, and starts after it."""
        drivers = defaultdict(set)
        for e in self.gpu:
            call = self.call_of(e)
            if call is None:
                self.bad("no call launches %s at %s" % (e["name"][:40], e["ts"]))
                continue
            drivers[e["args"]["device"]].add(call["pid"])
            if e["start"] <= call["start"]:
                self.bad("%s starts before its launch at %s" % (e["name"][:40], call["ts"]))
            if e["args"].get("External id") != call["args"].get("External id"):
                self.bad("External id differs between call and operation %d" % e["args"]["correlation"])
            if e["pid"] != e["args"]["device"] or e["tid"] != e["args"]["stream"]:
                self.bad("track and arguments differ at %s" % e["ts"])
        for dev, pids in drivers.items():
            if len(pids) != 1:
                self.bad("device %d is driven by %d processes" % (dev, len(pids)))

    def order(self):
        """A stream runs one operation at a time, in the order of the launches."""
        for key, ops in self.streams.items():
            ops.sort(key=lambda e: (e["start"], e["end"]))
            last = None
            for e in ops:
                if last is not None and e["start"] < last["end"]:
                    self.bad("stream %s: operations overlap at %s" % (key, e["ts"]))
                if (
                    last is not None
                    and self.call_of(e)
                    and self.call_of(last)
                    and self.call_of(e)["start"] < self.call_of(last)["start"]
                ):
                    self.bad("stream %s: runs out of launch order at %s" % (key, e["ts"]))
                last = e

    def nesting(self):
        threads = defaultdict(list)
        for e in self.events:
            if e["cat"] in HOST:
                threads[(e["pid"], e["tid"])].append(e)
        for key, events in threads.items():
            events.sort(key=lambda e: (e["start"], -e["end"]))
            stack = []
            for e in events:
                while stack and stack[-1]["end"] <= e["start"]:
                    stack.pop()
                if stack and e["end"] > stack[-1]["end"]:
                    self.bad("thread %s: %s crosses the end of %s" % (key, e["name"][:30], stack[-1]["name"][:30]))
                stack.append(e)

    def _before(self, device, stream, when):
        """The last operation on the stream whose call starts before `when`."""
        ops = self.streams.get((device, stream), [])
        starts = [self.call_of(e)["start"] for e in ops if self.call_of(e)]
        i = bisect.bisect_left(starts, when)
        return i, ops[i - 1] if i else None

    def synchronisation(self):
        """What a record says was waited for has ended when the waiting side goes on."""
        for e in self.events:
            if e["cat"] != "cuda_sync":
                continue
            a, call = e["args"], self.call_of(e)
            if call is None or not (call["start"] <= e["start"] and e["end"] <= call["end"]):
                self.bad("cuda_sync at %s lies outside its call" % e["ts"])
                continue
            if a["cuda_sync_kind"] == "Stream Wait Event":
                record = self.calls.get(a["wait_on_cuda_event_record_corr_id"])
                if record is None or record["start"] > call["start"]:
                    self.bad("wait at %s names no earlier record" % e["ts"])
                    continue
                _, source = self._before(a["device"], a["wait_on_stream"], record["start"])
                i, _ = self._before(a["device"], a["stream"], call["start"])
                ops = self.streams[(a["device"], a["stream"])]
                if source and i < len(ops) and ops[i]["start"] < source["end"]:
                    self.bad("stream %d does not wait for the event at %s" % (a["stream"], e["ts"]))
            else:
                streams = (
                    [a["stream"]]
                    if a["cuda_sync_kind"] == "Stream Sync"
                    else [s for d, s in self.streams if d == a["device"]]
                )
                for s in streams:
                    _, source = self._before(a["device"], s, call["start"])
                    if source and source["end"] > call["end"]:
                        self.bad("host goes on at %s before stream %d ran dry" % (e["ts"], s))

    def collectives(self):
        ranks = defaultdict(list)
        for e in sorted(self.gpu, key=lambda e: e["start"]):
            if e["cat"] == "kernel" and "Collective name" in e["args"]:
                ranks[e["args"]["device"]].append(e)
        rows = list(ranks.values())
        if not rows:
            return 0
        if len({len(r) for r in rows}) != 1:
            self.bad("ranks hold different numbers of collectives")
        for members in zip(*rows):
            ends = [m["end"] for m in members]
            if max(ends) - min(ends) > 2000 or max(m["start"] for m in members) >= min(ends):
                self.bad("collective at %s: the ranks do not end together" % members[0]["ts"])
            if (
                len({m["args"]["In msg nelems"] for m in members}) != 1
                or len(members) != members[0]["args"]["Group size"]
            ):
                self.bad("collective at %s: the ranks disagree about it" % members[0]["ts"])
        return len(rows[0])

    def flows(self):
        """ac2g: one start at the call and one finish at each operation, where the file has flows at all."""
        at = {(e["pid"], e["tid"], e["start"]) for e in self.events}
        count = Counter()
        for e in self.document["traceEvents"]:
            if e.get("ph") in ("s", "f"):
                count[(e["cat"], e["ph"])] += 1
                if (e["pid"], e["tid"], to_ns(e["ts"])) not in at:
                    self.bad("flow %s %s at %s touches no event" % (e["cat"], e["ph"], e["ts"]))
        if count and count[("ac2g", "f")] != len(self.gpu):
            self.bad("%d ac2g finishes for %d operations" % (count[("ac2g", "f")], len(self.gpu)))

    def run(self):
        if "ergon_generated" not in self.document:
            self.bad("does not say that it is generated")
        for key in ("schemaVersion", "deviceProperties", "traceName", "displayTimeUnit", "baseTimeNanoseconds"):
            if key not in self.document:
                self.bad("no " + key)
        self.launches()
        self.order()
        self.nesting()
        self.synchronisation()
        self.number_of_collectives = self.collectives()
        self.flows()
        return self.problems

    def busy_share(self, device):
        """Share of the GPU's own span in which anything runs on it."""
        spans = sorted((e["start"], e["end"]) for e in self.gpu if e["args"]["device"] == device)
        busy, reach = 0, spans[0][0]
        for start, end in spans:
            busy += max(0, end - max(start, reach))
            reach = max(reach, end)
        return busy / (reach - spans[0][0])

    def summary(self):
        count = Counter(e["cat"] for e in self.events)
        devices = sorted({e["args"]["device"] for e in self.gpu})
        return "%s; %d collectives; busy %s" % (
            ", ".join("%s %d" % c for c in sorted(count.items())),
            self.number_of_collectives,
            " ".join("%.3f" % self.busy_share(d) for d in devices),
        )


def main(paths):
    failed = False
    for path in paths:
        trace = Trace(load(path))
        problems = trace.run()
        print("%s: %s; %s" % (path, "ok" if not problems else "%d PROBLEMS" % len(problems), trace.summary()))
        for text in problems[:20]:
            print("  " + text)
        failed = failed or bool(problems)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
