"""plan_oracles.py BIN DATA: one line for each fact that the planner must find."""
import json
import math
import os
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import packs  # noqa: E402

BIN, DATA = sys.argv[1:3]
ORACLE = os.path.join(BIN, "plan_oracle")


def line(name, expected, found, good):
    print(f"plan: {name} | {expected} | {found} | {'pass' if good else 'FAIL'}", flush=True)


def skip(name, reason):
    print(f"plan: {name} | skipped: {reason}", flush=True)


def cases(*args):
    with subprocess.Popen([ORACLE, *map(str, args)], stdout=subprocess.PIPE, text=True) as child:
        for text in child.stdout:
            yield json.loads(text)
    if child.returncode:
        raise SystemExit(f"plan_oracle {args} ended with {child.returncode}")


class Retiming:
    """Counts plans whose time and energy a second implementation confirms."""

    def __init__(self):
        self.plans = self.confirmed = 0

    def check(self, case):
        for kind in ("default", "uniform", "plan"):
            claim = case[kind]
            if claim is None:
                continue
            time_s, energy_j, switches, long_enough = packs.retime(case["problem"], claim["clocks_hz"])
            self.plans += 1
            good = math.isclose(time_s, claim["time_s"], rel_tol=1e-12) and switches == claim["switches"]
            good &= math.isclose(energy_j, claim["energy_j"], rel_tol=1e-10, abs_tol=1e-12)
            if kind == "plan":
                good &= long_enough and time_s <= case["deadline_s"] * (1 + packs.TOLERANCE)
            self.confirmed += good


def exhaustive(retiming):
    equal = bounds = total = infeasible = 0
    for case in cases("small", 1000, 0):
        total += 1
        retiming.check(case)
        least, plan = case["least_energy_j"], case["plan"]
        if least is None or plan is None:
            infeasible += least is None
            equal += least is None and plan is None
            bounds += least is None and plan is None
            continue
        equal += math.isclose(plan["energy_j"], least, rel_tol=1e-10, abs_tol=1e-12)
        bounds += case["lower_bound_j"] <= least
    line("random small pack files equal to exhaustive search", total, equal, equal == total)
    line("bound at most the least energy of all choices", total, bounds, bounds == total)
    line("of these without a plan, so that both answers are tested", "50 to 500", infeasible, 50 <= infeasible <= 500)


def chains(retiming):
    worst_gap = worst_cpu = 0.0
    problem = None
    for case in cases("chains", 1000, 40):
        problem = case.setdefault("problem", problem)
        retiming.check(case)
        gap = (case["plan"]["energy_j"] - case["lower_bound_j"]) / case["lower_bound_j"]
        worst_gap = max(worst_gap, gap)
        worst_cpu = max(worst_cpu, case["cpu_s"])
    line("chains of 1,000 packs x 40 clocks, switch 0 to 10 ms / 0.5 J: worst gap", "<= 0.1 %",
         f"{100 * worst_gap:.5f} %", worst_gap <= 1e-3)
    line("the same: most CPU seconds for one", "<= 10", f"{worst_cpu:.3f}", worst_cpu <= 10)


def highs(retiming):
    try:
        import highspy  # noqa: F401
    except ImportError:
        skip("bound and plan against HiGHS", "no highspy here (scripts/venv oracles)")
        return
    proven = equal = below = 0
    for case in [*cases("small", 120, 0), *cases("pairs", 12)]:
        retiming.check(case)
        best = packs.highs_optimum(case["problem"], case["deadline_s"])
        if best == "open":
            continue
        proven += 1
        plan = case["plan"]
        if best is None or plan is None:
            equal += best is None and plan is None
            below += best is None and plan is None
            continue
        equal += math.isclose(plan["energy_j"], best, rel_tol=1e-6, abs_tol=1e-9)
        below += case["lower_bound_j"] <= best * (1 + 1e-7) + 1e-9
    line("problems whose optimum HiGHS proves", ">= 100", proven, proven >= 100)
    line("plans equal to that optimum", proven, equal, equal == proven)
    line("bounds at most that optimum", proven, below, below == proven)


def v100(retiming):
    source = os.path.join(DATA, "dvfs/hkbu_nvdvfs/v100-dvfs-real.csv")
    if not os.path.exists(source):
        skip("V100 chain of 20 kernels", f"{source} is not there")
        return
    expected = {0: 1.910, 1: 6.564, 2: 8.563, 5: 13.351, 10: 17.846}
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as measured:
        script = os.path.join(os.path.dirname(__file__), "../../scripts/v100-chain.py")
        subprocess.run([sys.executable, script, source], stdout=measured, check=True)
        slowdowns = [*(p / 100 for p in expected), 0.066, 0.068]
        found = list(cases("file", measured.name, *slowdowns))
    for (percent, saved), case in zip(expected.items(), found):
        retiming.check(case)
        got = 100 * (1 - case["plan"]["energy_j"] / case["default"]["energy_j"])
        line(f"V100, 20 kernels, {percent} % slowdown: % energy saved", f"{saved:.3f}", f"{got:.3f}",
             f"{got:.3f}" == f"{saved:.3f}" and case["optimal"])
    for case, wanted in zip(found[len(expected):], ("0.000", "above 0")):
        got = 100 * (1 - case["uniform"]["energy_j"] / case["default"]["energy_j"])
        good = got == 0 if wanted == "0.000" else got > 0
        line(f"V100, best uniform clock at {100 * case['slowdown']:.1f} % slowdown: % saved", wanted, f"{got:.3f}", good)


retiming = Retiming()
exhaustive(retiming)
chains(retiming)
v100(retiming)
highs(retiming)
line("plans whose time and energy a second implementation confirms", retiming.plans, retiming.confirmed,
     retiming.plans == retiming.confirmed)
