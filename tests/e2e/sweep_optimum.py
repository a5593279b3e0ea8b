"""`ergon sweep` on three simulated GPUs against the simulator's truth, then `ergon study` of the run files.

sweep_optimum.py BIN_FOLDER [--full]: one line a check, `name | expected | found | pass/FAIL/short`. Only this test reads the
truth: `ergon-simload --curve` says where the least energy is among all clocks of the board, ERGON_SIM_TRUTH what each run of
a sweep really took.
"""
import concurrent.futures
import csv
import glob
import json
import math
import os
import subprocess
import sys
import tempfile

from phases import phases_file

BOARDS = {"a100": ("600MHz", "1410MHz"), "h100": ("705MHz", "1980MHz"), "v100": ("600MHz", "1530MHz")}
# The default clocks take 2.2 s, so that a run spans the 20 sensor periods that a point needs.
NETWORKS = {"compute": (0.9, 0.2), "mixed": (0.6, 0.5), "memory": (0.25, 0.85)}


def check(name, expected, found, good, miss="FAIL"):
    print(f"{name} | {expected} | {found} | {'pass' if good else miss}", flush=True)


def mean(values):
    return sum(values) / len(values)


def geometric_mean(values):
    return math.exp(mean([math.log(v) for v in values]))


def output_of(words, environment):
    done = subprocess.run(words, text=True, capture_output=True, env=environment, timeout=1800)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(words)}: status {done.returncode}: {done.stderr.strip()[-300:]}")
    return done.stdout


class Test:
    def __init__(self, binaries, folder, full):
        self.binaries, self.folder, self.full = binaries, folder, full
        self.clocks, self.repeats = (13, 3) if full else (7, 1)
        self.environment = dict(os.environ, XDG_STATE_HOME=os.path.join(folder, "state"))
        for name in ("CUDA_VISIBLE_DEVICES", "ERGON_REGION_LIBRARY", "ERGON_SIM", "ERGON_SIM_STATE", "ERGON_SIM_TRUTH"):
            self.environment.pop(name, None)
        for network, (compute, memory) in NETWORKS.items():
            phase = {"name": network, "duration_s": 2.2, "compute": compute, "memory": memory}
            phases_file(folder, [phase], f"{network}.json")

    def path(self, name):
        return os.path.join(self.folder, name)

    def tool(self, name):
        return os.path.join(self.binaries, name)

    def true_optimum_hz(self, board, network):
        """Of all core clocks, at the memory clock that a sweep of core clocks leaves alone."""
        text = output_of([self.tool("ergon-simload"), "--curve", self.path(f"{network}.json")],
                         dict(self.environment, ERGON_SIM=board))
        rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(text.splitlines())]
        memory = max(row["memory_clock_hz"] for row in rows)
        return min((row for row in rows if row["memory_clock_hz"] == memory), key=lambda row: row["energy_j"])["clock_hz"]

    def sweep(self, board, networks):
        """The answer of one sweep, and the true energy of the runs of each of its points."""
        name = f"{board}-{'-'.join(networks)}"
        low, high = BOARDS[board]
        seed = 1 + list(BOARDS).index(board)
        words = [self.tool("ergon"), "sweep", "--gpu", f"sim:{board},seed={seed}", "--sm", f"{low}:{high}:{self.clocks}",
                 "-r", str(self.repeats), "-L", "net=" + ",".join(networks), "-o", self.path(f"{name}.sqlite"),
                 "--export", "json:" + self.path(f"{name}.json"), "--", self.tool("ergon-simload"), self.path("{net}.json")]
        output_of(words, dict(self.environment, ERGON_SIM_TRUTH=self.path(f"{name}.truth-%p")))
        with open(self.path(f"{name}.json")) as file:
            answer = json.load(file)
        truths = []
        for file_name in glob.glob(self.path(f"{name}.truth-*")):
            with open(file_name) as file:
                truths.append(json.load(file)["gpus"][0])
        truths.sort(key=lambda truth: truth["start_s"])
        runs = sum(point["warm_ups"] + point["runs"] for point in answer["points"])
        if runs != len(truths):
            raise SystemExit(f"{name}: the sweep tells of {runs} runs, the workload of {len(truths)}")
        at = 0
        for point in answer["points"]:
            at += point["warm_ups"]
            mine = truths[at:at + point["runs"]]
            at += point["runs"]
            if any(truth["phases"][0]["name"] != point["parameters"]["net"] for truth in mine):
                raise SystemExit(f"{name}: the runs are not in the order of the points")
            point["true_j"] = [truth["energy_j"] for truth in mine]
        return board, answer


def true_figures(answer, optimum):
    """At the point that the sweep chose: true energy saved, true energy of the baseline, true loss to the best swept clock."""
    mine = [p for p in answer["points"] if p["parameters"] == optimum["parameters"] and p["valid"]]
    base = [e for p in mine if p["baseline"] for e in p["true_j"]]
    swept = {p["asked"]["clock_hz"]: mean(p["true_j"]) for p in mine if not p["baseline"]}
    best = swept[optimum["clock_hz"]]
    return 1 - best / mean(base), mean(base), best / min(swept.values()) - 1


def check_sweeps(test, sweeps):
    """Each best clock against the true one; what the study must find, by board and network."""
    truth = {}
    for board, answer in sweeps:
        clocks = sorted({p["asked"]["clock_hz"] for p in answer["points"] if not p["baseline"]})
        step = max(b - a for a, b in zip(clocks, clocks[1:]))
        for optimum in answer["optima"]:
            network = optimum["parameters"]["net"]
            true_hz = test.true_optimum_hz(board, network)
            check(f"sweep of {board}, {network}: clock of least energy (MHz)",
                  f"{true_hz / 1e6:.0f} +- {step / 1e6:.0f} (a step), inside", f"{optimum['clock_hz'] / 1e6:.0f}",
                  abs(optimum["clock_hz"] - true_hz) <= step and optimum["edge"] is None)
            truth[board, network] = (*true_figures(answer, optimum), optimum)
    check("sweeps: boards and networks with an optimum", len(BOARDS) * len(NETWORKS), len(truth),
          len(truth) == len(BOARDS) * len(NETWORKS))
    loss = max(figures[2] for figures in truth.values())
    check("sweeps: true energy of the choice over the least of the swept clocks, worst (%)", "<= 0.5", f"{100 * loss:.3f}",
          loss <= 0.005)
    points = [p for _, answer in sweeps for p in answer["points"]]
    check("sweeps: points that prove themselves", f"all {len(points)}", sum(p["valid"] is True for p in points),
          all(p["valid"] for p in points))
    return truth


def check_study(test, truth):
    files = sorted(glob.glob(test.path("*.sqlite")))
    study = json.loads(output_of([test.tool("ergon"), "study", *files, "--by", "network", "-f", "json"], test.environment))
    found = {}
    for workload in study["workloads"]:
        board = next((b for b in BOARDS if b in workload["gpu"].lower()), workload["gpu"])
        found[board, workload["factors"]["network"]] = workload["optimum"]
    same = [key for key in truth if key in found and found[key]["clock_hz"] == truth[key][3]["clock_hz"]]
    check("study: the optima of the sweeps", f"{len(truth)} the same", len(same), len(same) == len(truth) == len(found))
    worst = max(abs(found[key]["energy_saved"] - truth[key][0]) for key in same)
    check("study: energy saved, worst distance from the truth (percentage points)", "<= 1", f"{100 * worst:.2f}", worst <= 0.01)

    tables = [t for t in study["factors"] if t["factors"] == ["network"]]
    levels = {level["level"][0]: level for table in tables for level in table["levels"]}
    first = next(iter(levels))
    for network in NETWORKS:
        true = 1 - geometric_mean([1 - truth[board, network][0] for board in BOARDS])
        ratio = geometric_mean([truth[board, network][1] / truth[board, first][1] for board in BOARDS])
        level = levels.get(network, {})
        interval = level.get("energy_ratio_ci95")
        check(f"study: {network} saves (%), with an interval that holds the truth", f"{100 * true:.2f}",
              "no interval" if interval is None else
              f"{100 * level['energy_saved']:.2f}, {100 * (1 - interval[1]):.2f} to {100 * (1 - interval[0]):.2f}",
              interval is not None and 1 - interval[1] <= true <= 1 - interval[0])
        if network == first:
            continue
        told = level.get("baseline_energy_ratio")
        check(f"study: energy of {network} over {first} at the baseline", f"{ratio:.4f} +- 1 %", "none" if told is None else f"{told:.4f}",
              told is not None and abs(told / ratio - 1) <= 0.01)
    for difference in (d for table in tables for d in table["differences"]):
        more, than = difference["level"][0], difference["than"][0]
        saved = {n: 1 - geometric_mean([1 - truth[board, n][0] for board in BOARDS]) for n in (more, than)}
        true = saved[more] - saved[than]
        told, here = difference["energy_saved_difference"], difference.get("energy_saved_difference_here_ci95")
        further = difference.get("energy_saved_difference_ci95")
        check(f"study: {more} saves more than {than} (points), with intervals", f"{100 * true:.2f} +- 1",
              "no interval" if here is None or further is None else
              f"{100 * told:.2f}, here {100 * here[0]:.2f} to {100 * here[1]:.2f}, further {100 * further[0]:.2f} to {100 * further[1]:.2f}",
              here is not None and further is not None and abs(told - true) <= 0.01)
    if not test.full:
        return
    # The bootstrap over three repeats knows nothing of what the sensor does the same way each time: told as it is.
    intervals = {key: found[key].get("energy_saved_ci95") for key in truth}
    check("study: optima with an interval over repeats", len(truth), sum(i is not None for i in intervals.values()),
          all(intervals.values()))
    held = sum(i is not None and i[0] <= truth[key][0] <= i[1] for key, i in intervals.items())
    check("study: of these intervals hold the truth", f">= 8 of {len(truth)}", held, held >= 8, "short")


def main():
    with tempfile.TemporaryDirectory(prefix="ergon-sweep-") as folder:
        test = Test(os.path.abspath(sys.argv[1]), folder, "--full" in sys.argv[2:])
        # The full size sweeps the networks of a GPU in one go; the small one each on a machine of its own, to take less time.
        groups = [list(NETWORKS)] if test.full else [[network] for network in NETWORKS]
        jobs = [(board, networks) for board in BOARDS for networks in groups]
        with concurrent.futures.ThreadPoolExecutor(len(jobs)) as pool:
            sweeps = list(pool.map(lambda job: test.sweep(*job), jobs))
        check_study(test, check_sweeps(test, sweeps))


main()
