"""Writes a run of the machine as PyTorch's profiler (Kineto) does: layout, keys and order of the 2024 era."""

import gzip
import io
import json

from .machine import CBID

BASE_NS = 1751328000000000000
GENERATOR = "scripts/make-samples"


def micros(ns):
    """Microseconds with three decimals, from integers alone."""
    return "%d.%03d" % (ns // 1000, ns % 1000)


def _args(args):
    return ", ".join('"%s": %s' % (k, json.dumps(v)) for k, v in args.items())


class Writer:
    """Collects the text of the events; `text` puts header and footer around them."""

    def __init__(self):
        self._parts = []

    def raw(self, text):
        self._parts.append(text)

    def complete(self, cat, name, pid, tid, start, dur, args):
        self.raw(
            '  {\n    "ph": "X", "cat": "%s", "name": %s, "pid": %s, "tid": %s,\n    "ts": %s, "dur": %s,\n'
            '    "args": {\n      %s\n    }\n  }'
            % (cat, json.dumps(name), json.dumps(pid), json.dumps(tid), micros(start), micros(dur), _args(args))
        )

    def flow(self, phase, number, pid, tid, ts, cat):
        self.raw(
            '  {\n    "ph": "%s", "id": %d, "pid": %d, "tid": %d, "ts": %s,\n    "cat": "%s", "name": "%s"%s\n  }'
            % (phase, number, pid, tid, micros(ts), cat, cat, ', "bp": "e"' if phase == "f" else "")
        )

    def meta(self, what, pid, tid, ts, key, value):
        self.raw(
            '  {\n    "name": "%s", "ph": "M", "ts": %s, "pid": %d, "tid": %s,\n    "args": {\n      "%s": %s\n    }\n  }'
            % (what, micros(ts), pid, tid, key, json.dumps(value))
        )

    def joined(self):
        return ",\n".join(self._parts)

    def text(self, header, footer):
        head = ",\n".join('  "%s": %s' % (k, json.dumps(v)) for k, v in header.items())
        foot = "".join(',\n  "%s": %s' % (k, json.dumps(v)) for k, v in footer.items())
        return "{\n%s,\n  \"traceEvents\": [\n%s\n  ]%s\n}\n" % (head, self.joined(), foot)


def header(gpu, count, seed, note, distributed=None):
    h = {
        "schemaVersion": 1,
        "deviceProperties": [gpu.properties(i) for i in range(count)],
        "ergon_generated": {"by": GENERATOR, "seed": seed, "note": note},
        "cupti_version": 24,
        "cuda_runtime_version": 12060,
        "cuda_driver_version": 12060,
        "record_shapes": 1,
        "with_stack": 0,
        "with_flops": 0,
        "with_modules": 0,
        "profile_memory": 0,
    }
    if distributed:
        h["distributedInfo"] = distributed
    return h


def footer(name):
    return {"traceName": name + ".json", "displayTimeUnit": "ms", "baseTimeNanoseconds": BASE_NS}


def distributed_info(ranks):
    return {
        "backend": "nccl",
        "rank": 0,
        "world_size": ranks,
        "pg_count": 1,
        "pg_config": [
            {
                "pg_name": "0",
                "pg_desc": "default_pg",
                "backend_config": "cuda:nccl",
                "pg_size": ranks,
                "ranks": list(range(ranks)),
            }
        ],
        "nccl_version": "2.21.5",
    }


def metadata(w, pid, device, tids, streams, ts, python="python3"):
    """Names of process, threads, GPU and streams."""
    w.meta("process_name", pid, 0, ts, "name", python)
    w.meta("process_labels", pid, 0, ts, "labels", "CPU")
    w.meta("process_sort_index", pid, 0, ts, "sort_index", pid)
    for tid in tids:
        w.meta("thread_name", pid, tid, ts, "name", "thread %d (%s)" % (tid, python))
        w.meta("thread_sort_index", pid, tid, ts, "sort_index", tid)
    w.meta("process_name", device, 0, ts, "name", python)
    w.meta("process_labels", device, 0, ts, "labels", "GPU %d" % device)
    w.meta("process_sort_index", device, 0, ts, "sort_index", 5000000 + device)
    for s in streams:
        w.meta("thread_name", device, s, ts, "name", "stream %d " % s)
        w.meta("thread_sort_index", device, s, ts, "sort_index", s)


def frame(w, start, end):
    """The profiler's own span and its two marks."""
    w.raw(
        '  {\n    "ph": "X", "cat": "Trace", "ts": %s, "dur": %s,\n    "pid": "Spans", "tid": "PyTorch Profiler",\n'
        '    "name": "PyTorch Profiler (0)",\n    "args": {\n      "Op count": 0\n    }\n  }'
        % (micros(start), micros(end - start))
    )
    w.raw(
        '  {\n    "name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g",\n    "pid": "Traces", '
        '"tid": "Trace PyTorch Profiler", "ts": %s\n  }' % micros(start)
    )
    w.raw(
        '  {\n    "name": "Record Window End", "ph": "i", "s": "g",\n    "pid": "", "tid": "", "ts": %s\n  }'
        % micros(end)
    )


def trace_text(machine, title, note):
    """The whole file of a machine after its run."""
    w = Writer()
    for p in machine.processes:
        metadata(w, p.pid, p.device, [t.tid for t in p.threads], p.streams, p.start)
        for number, s in enumerate(p.spans):
            args = {"External id": s.id, "Record function id": 0}
            args.update(s.args)
            args["Ev Idx"] = number
            w.complete(s.cat, s.name, p.pid, s.thread.tid, s.start, s.dur, args)
    for p in machine.processes:
        _flows(w, p)
        for c in p.calls:
            _call(w, p, c)
        for kind, stream, start, dur, call, extra in p.syncs:
            args = _linked(call.external)
            args.update(
                {
                    "cuda_sync_kind": kind,
                    **extra,
                    "stream": stream,
                    "correlation": call.correlation,
                    "device": p.device,
                    "context": 1,
                }
            )
            w.complete("cuda_sync", kind, p.device, stream, start, max(0, dur), args)
        _gpu_annotations(w, p)
    start = min(p.start for p in machine.processes) - 20000
    end = max(s.start + s.dur for p in machine.processes for s in p.spans)
    end = max(end, max(c.start + c.dur for p in machine.processes for c in p.calls)) + 20000
    frame(w, start, end)
    n = machine.ranks
    return w.text(header(machine.gpu, n, machine.seed, note, distributed_info(n) if n > 1 else None), footer(title))


def _linked(external):
    return {} if external is None else {"External id": external}


def _flows(w, p):
    """Forward to backward operators, as the profiler links them by sequence number."""
    number = 100000 * p.device
    for s in p.spans:
        if s.flow is not None:
            number += 1
            w.flow("s", number, p.pid, s.flow.thread.tid, s.flow.start, "fwdbwd")
            w.flow("f", number, p.pid, s.thread.tid, s.start, "fwdbwd")


def _call(w, p, c):
    args = _linked(c.external)
    args.update({"cbid": CBID[c.name], "correlation": c.correlation})
    w.complete(c.cat, c.name, p.pid, c.tid, c.start, c.dur, args)
    if not c.ops:
        return
    w.flow("s", c.correlation, p.pid, c.tid, c.start, "ac2g")
    for op in c.ops:
        args = _linked(op.external)
        if op.cat == "kernel":
            args["queued"] = 0
        args.update({"device": p.device, "context": 1, "stream": op.stream, "correlation": c.correlation, **op.args})
        w.complete(op.cat, op.name, p.device, op.stream, op.start, op.end - op.start, args)
        w.flow("f", c.correlation, p.device, op.stream, op.start, "ac2g")


def _gpu_annotations(w, p):
    """The GPU's view of an annotation: from the first to the last operation launched in it, per stream."""
    spans = {}
    for op in p.ops:
        for a in op.annotations:
            key = (a.id, op.stream)
            first, last, _ = spans.get(key, (op.start, op.end, a))
            spans[key] = (min(first, op.start), max(last, op.end), a)
    for (number, stream), (first, last, a) in spans.items():
        w.complete("gpu_user_annotation", a.name, p.device, stream, first, last - first, {"External id": number})


def gzip_bytes(text):
    """Compressed without name and time, so that the bytes depend on the text and the zlib version alone."""
    out = io.BytesIO()
    with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=0) as f:
        f.write(text.encode())
    return out.getvalue()
