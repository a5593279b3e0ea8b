#!/usr/bin/env python3
"""v100-chain.py FILE: the V100 data of NV-DVFS-Benchmark as measured options of a chain of its kernels.

Reads v100-dvfs-real.csv (milliseconds, watts, MHz; one row for each kernel and core clock) and writes
pack,clock_hz,time_s,energy_j. Each kernel is repeated, in thought, so that it takes one second at 1380 MHz.
"""
import csv
import sys

REFERENCE_MHZ = 1380
SECONDS_EACH = 1.0

kernels = {}
with open(sys.argv[1], newline="") as file:
    for row in csv.DictReader(file):
        clocks = kernels.setdefault(row["benchmark"], {})
        clocks[int(float(row["core_frequency"]))] = (float(row["time"]) * 1e-3, float(row["average_power"]))

out = csv.writer(sys.stdout, lineterminator="\n")
out.writerow(["pack", "clock_hz", "time_s", "energy_j"])
for kernel, clocks in kernels.items():
    scale = SECONDS_EACH / clocks[REFERENCE_MHZ][0]
    for mhz, (seconds, watts) in sorted(clocks.items(), reverse=True):
        time = SECONDS_EACH if mhz == REFERENCE_MHZ else seconds * scale
        out.writerow([kernel, repr(mhz * 1e6), repr(time), repr(time * watts)])
