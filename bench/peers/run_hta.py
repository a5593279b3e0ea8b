"""HolisticTraceAnalysis on one Kineto file: loads it and finds the critical path of one step. Prints one JSON line.

usage: run_hta.py TRACE.json[.gz]        (run with the Python of `scripts/venv hta`)
"""
import json
import logging
import os
import resource
import shutil
import sys
import tempfile
import time
import warnings

warnings.filterwarnings("ignore")
logging.disable(logging.CRITICAL)


def main() -> None:
    source = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        target = os.path.join(folder, "trace.json.gz" if source.endswith(".gz") else "trace.json")
        shutil.copy(source, target)
        begin = time.process_time()
        from hta.trace_analysis import TraceAnalysis

        imported = time.process_time()
        analysis = TraceAnalysis(trace_files={0: target}, trace_dir=folder)
        loaded = time.process_time()
        frame = analysis.t.get_trace(0)
        names = frame["name"].map(lambda i: analysis.t.symbol_table.get_sym_table()[i])
        steps = names[names.str.startswith("ProfilerStep")]
        annotation = "ProfilerStep" if len(steps) else names[frame["dur"].idxmax()]
        try:
            graph, ok = analysis.critical_path_analysis(rank=0, annotation=annotation, instance_id=0)
            note = f"ok={ok} nodes={len(graph.nodes)}"
        except Exception as error:  # its own failures are part of the result
            note = f"failed: {type(error).__name__}"
        done = time.process_time()
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    print(json.dumps({
        "events": int(len(frame)),
        "import_cpu_s": imported - begin,
        "load_cpu_s": loaded - imported + children.ru_utime + children.ru_stime,
        "critical_path_cpu_s": done - loaded,
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "note": note,
    }))


main()
