"""Whole processes side by side: `ergon graph` and HolisticTraceAnalysis on the same files, in turns; medians of CPU time.

usage: compare_hta.py ERGON_BINARY PEER_PYTHON DATA_FOLDER [RUNS]      raw rows as CSV on stdout, the summary on stderr
"""
import csv
import os
import statistics
import subprocess
import sys

FILES = [
    ("hta/train_a100_rank3of8_nccl.json.gz", 100),
    ("tracelens/h100_timesformer.json.gz", 50),
    ("param/resnet_2080ti_kineto.json.gz", 50),
]


def run(command):
    """CPU seconds and peak MB of one process, by the operating system's accounting."""
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    output = process.stdout.read().decode()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"{command} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, output


def main() -> int:
    ergon, python, data = sys.argv[1:4]
    runs = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    peer = os.path.join(os.path.dirname(os.path.abspath(__file__)), "run_hta.py")
    writer = csv.writer(sys.stdout)
    writer.writerow(["trace", "run", "ergon_cpu_s", "ergon_peak_mb", "hta_cpu_s", "hta_peak_mb", "hta_detail"])
    met = True
    for name, wanted in FILES:
        path = os.path.join(data, "traces", name)
        rows = []
        for i in range(runs):
            ours = run([ergon, "graph", path, "-f", "json", "-j", "1"])
            theirs = run([python, peer, path])
            rows.append((ours, theirs))
            writer.writerow([name, i, f"{ours[0]:.4f}", f"{ours[1]:.1f}", f"{theirs[0]:.4f}", f"{theirs[1]:.1f}", theirs[2].strip()])
        cpu = statistics.median(t[0] / o[0] for o, t in rows)
        memory = statistics.median(t[1] / o[1] for o, t in rows)
        ok = cpu >= wanted and memory >= 10
        met = met and ok
        print(f"{name} | CPU at least {wanted}x, memory at least 10x less | CPU {cpu:.0f}x ({statistics.median(o[0] for o, _ in rows):.3f} s"
              f" against {statistics.median(t[0] for _, t in rows):.2f} s), memory {memory:.1f}x ({statistics.median(o[1] for o, _ in rows):.0f} MB)"
              f" | {'pass' if ok else 'FAIL'}", file=sys.stderr)
    return 0 if met else 1


sys.exit(main())
