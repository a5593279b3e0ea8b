#!/usr/bin/env python3
"""Fits the clock behaviour of device files to public measurements (Python 3.9, standard library only).

    ERGON_SHARED_DATA=../shared/data data/devices/fit_clock_behaviour.py

For workloads measured at several SM clocks, relative speed s(f) and power P(f) known, it fits one voltage curve for all:

    P(f) = idle (1 - k + k V2 f/fr) + active V2 f/fr + D s(f) (g + (1 - g) V2),  D from P(fr)
    V2(f) = (floor + (1 - floor) max(0, (f - knee)/(fr - knee))^exponent)^2

(idle, active, knee, floor, exponent, g, k) minimise the relative error in power over all workloads and clocks; the intervals
are the 2.5 % and 97.5 % points of refits on resampled workloads (seeded). The errors printed are in-sample, and with each
workload left out of the fit. Then, for the V100: how time answers below and above 945 MHz. The figures in the device files
with origin "fitted" come from this output, rounded.
"""
import csv
import math
import os
import random
import sys

DATA = os.path.join(os.environ.get("ERGON_SHARED_DATA", os.path.join(os.path.dirname(__file__), "../../../shared/data")), "dvfs")
NAMES = ["idle_w", "active_w", "knee_mhz", "floor", "exponent", "other_share", "idle_clock"]


def voltage2(f, fr, knee, floor, exponent):
    x = max(0.0, (f - knee) / (fr - knee))
    return (floor + (1 - floor) * x**exponent) ** 2


def power(t, fr, p0, speed, f):
    idle, active, knee, floor, exponent, g, k = t
    v2 = voltage2(f, fr, knee, floor, exponent)
    clocked = v2 * f / fr
    dynamic = max(0.0, p0 - idle - active)
    return idle * (1 - k + k * clocked) + active * clocked + dynamic * speed * (g + (1 - g) * v2)


def errors(t, workloads, fr):
    out = []
    for points in workloads.values():
        p0 = points[fr][1]
        out += [power(t, fr, p0, s, f) / p - 1 for f, (s, p) in points.items() if f != fr]
    return out


def minimise(f, start, low, high):
    """Nelder-Mead inside a box; restarted twice from its own result."""
    clamp = lambda x: [min(max(v, a), b) for v, a, b in zip(x, low, high)]
    best = clamp(start)
    for size in (0.25, 0.08, 0.02):
        simplex = [best] + [clamp([v + (size * (b - a) if i == k else 0) * (1 if v + size * (b - a) <= b else -1)
                                   for i, (v, a, b) in enumerate(zip(best, low, high))]) for k in range(len(best))]
        values = [f(x) for x in simplex]
        for _ in range(400):
            order = sorted(range(len(simplex)), key=lambda i: values[i])
            simplex, values = [simplex[i] for i in order], [values[i] for i in order]
            if values[-1] - values[0] < 1e-10:
                break
            centre = [sum(c) / (len(simplex) - 1) for c in zip(*simplex[:-1])]
            move = lambda k: clamp([c + k * (c - w) for c, w in zip(centre, simplex[-1])])
            r = move(1.0)
            fr_ = f(r)
            if fr_ < values[0]:
                e = move(2.0)
                fe = f(e)
                simplex[-1], values[-1] = (e, fe) if fe < fr_ else (r, fr_)
            elif fr_ < values[-2]:
                simplex[-1], values[-1] = r, fr_
            else:
                c = move(-0.5)
                fc = f(c)
                if fc < values[-1]:
                    simplex[-1], values[-1] = c, fc
                else:
                    simplex = [simplex[0]] + [[(a + b) / 2 for a, b in zip(simplex[0], x)] for x in simplex[1:]]
                    values = [values[0]] + [f(x) for x in simplex[1:]]
        best = simplex[min(range(len(simplex)), key=lambda i: values[i])]
    return best


def fit(name, workloads, fr, idle, refits=20):
    low = [idle[0], 0, 0.45 * fr, 0.4, 0.8, 0.0, 0.1]
    high = [idle[1], 40, 0.92 * fr, 0.95, 2.5, 0.25, 0.6]
    start = [sum(idle) / 2, 10, 0.66 * fr, 0.7, 1.2, 0.1, 0.3]

    def solve(subset, from_=start):
        return minimise(lambda t: sum(e * e for w in subset for e in errors(t, {0: w}, fr)), from_, low, high)

    every = list(workloads.values())
    best = solve(every)
    e = [abs(x) for x in errors(best, workloads, fr)]
    left_out = []
    for i in range(len(every)):
        if len(every) > 2:
            t = solve(every[:i] + every[i + 1:], best)
            left_out += [abs(x) for x in errors(t, {0: every[i]}, fr)]
    rng = random.Random(1)
    samples = [solve([rng.choice(every) for _ in every], best) for _ in range(refits)]
    print(f"{name}: {len(every)} workloads, {len(e)} points, reference {fr:.0f} MHz")
    for i, n in enumerate(NAMES):
        column = sorted(s[i] for s in samples)
        print(f"  {n:12} {best[i]:8.3f}  [{column[0]:.3f}, {column[-1]:.3f}]")
    print(f"  power error  mean {100 * sum(e) / len(e):.2f} %  worst {100 * max(e):.1f} %"
          + (f"; workload left out: mean {100 * sum(left_out) / len(left_out):.2f} %, worst {100 * max(left_out):.1f} %" if left_out else ""))
    return best


def zyj():
    rows = {k: list(csv.reader(open(f"{DATA}/zyj_v100/dataset_{k}.csv"))) for k in ("power", "performance")}
    clocks = [float(x) for x in rows["power"][0][1:]]
    return {p[0]: {f: (float(s), float(w)) for f, w, s in zip(clocks, p[1:], q[1:])}
            for p, q in zip(rows["power"][1:], rows["performance"][1:])}


def kernels_v100():
    out = {}
    for r in csv.DictReader(open(f"{DATA}/hkbu_nvdvfs/v100-dvfs-real-profile.csv")):
        out.setdefault(" ".join((r["benchmark"], r["kernel"], r["argNo"])), {})[float(r["core_frequency"])] = (float(r["time"]), float(r["average_power"]))
    return {k: {f: (w[1380.0][0] / t, p) for f, (t, p) in w.items()} for k, w in out.items()}


def a100_pcie():
    out = {}
    for r in csv.DictReader(open(f"{DATA}/ucl_giordano/freq_powercap_sweep.csv")):
        if r["gpu"] == "a100" and r["power_cap_w"] == "300" and r["time_s"] not in ("", "inf"):
            t = float(r["time_s"])
            out.setdefault(r["app"], {})[float(r["gpu_clock_mhz"])] = (t, float(r["energy_wh"]) * 3600 / t)
    return {k: {f: (w[1410.0][0] / t, p) for f, (t, p) in w.items()} for k, w in out.items()}


def ada_laptop(reference):
    out = {}
    for name in ("compute_01_sgemm_nn", "compute_04_conv2d_forward", "compute_05_conv3d_forward", "memory_21_softmax_forward"):
        points = {}
        for r in csv.DictReader(open(f"{DATA}/darsh_rtx4050/{name}.csv")):
            target = float(r["clock_target_mhz"])
            if target > 0 and abs(float(r["avg_clock_mhz"]) - target) <= 15 and target <= reference:
                points.setdefault(target, []).append((float(r["runtime_s"]), float(r["avg_power_w"])))
        middle = {f: tuple(sorted(c)[len(v) // 2] for c in zip(*v)) for f, v in points.items()}
        if reference in middle:
            out[name] = {f: (middle[reference][0] / t, p) for f, (t, p) in middle.items()}
    return out


def below_break(workloads, top, at):
    """Exponent e of time ~ (at/f)^e below the break, and of 1/f above it, per kernel."""
    print(f"time of the V100's kernels below {at:.0f} MHz: exponent of (break/f)")
    for f in (802.0, 705.0, 600.0, 502.0, 405.0):
        e = sorted(math.log(w[at][0] / w[f][0]) / math.log(at / f) for w in workloads.values() if f in w)
        print(f"  {f:5.0f} MHz  median {e[len(e) // 2]:.2f}  lowest {e[0]:.2f}  highest {e[-1]:.2f}")
    e = sorted(math.log(w[top][0] / w[at][0]) / math.log(top / at) for w in workloads.values())
    print(f"  above the break: median {e[len(e) // 2]:.2f}  lowest {e[0]:.2f}  highest {e[-1]:.2f}")


def main():
    if not os.path.isdir(DATA):
        sys.exit(f"no data in {DATA}: set ERGON_SHARED_DATA")
    fit("V100 (zyj_v100)", zyj(), 1530.0, (25.0, 65.0))
    fit("V100 (hkbu_nvdvfs)", {k: {f: v for f, v in w.items() if f >= 800} for k, w in kernels_v100().items()}, 1380.0, (25.0, 55.0))
    below_break(kernels_v100(), 1380.0, 945.0)
    fit("A100 PCIe 80 GB (ucl_giordano, 300 W)", a100_pcie(), 1410.0, (42.0, 60.0))
    fit("Ada laptop AD107 (darsh_rtx4050)", ada_laptop(1845.0), 1845.0, (4.0, 12.0))


main()
