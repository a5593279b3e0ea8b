"""Runs the scenarios of sim_scenarios.py at once, each on a simulated machine of its own, and prints what they found.

sim_clients.py BIN_FOLDER: one line a check, `name | expected | found | pass/FAIL`.
"""
import concurrent.futures
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))

# Scenario, what ERGON_SIM says.
SCENARIOS = [
    ("layout", "a100"),
    ("exports", "a100"),
    ("calls", "a100,gpus=2,seed=7"),
    ("calls", "v100,seed=8"),
    ("calls", "h100,seed=9"),
    ("truth", "a100,seed=11"),
    ("truth", "v100,seed=12"),
    ("truth", "h100,seed=13"),
    ("truth", "l4,seed=14"),
    ("truth", "rtx4090,seed=15"),
    ("lock", "a100,seed=16"),
    ("cap", "h200,seed=17"),
    ("refresh", "a100,seed=18"),
    ("refresh", "v100,seed=19"),
    ("killed", "a100,seed=20"),
    ("nvitop", "h100,seed=21"),
    ("zeus", "a100,seed=22"),
    ("zeus", "v100,seed=23"),
    ("amd", "mi300x,seed=24"),
    ("family", "a100,seed=25"),
    ("bad_files", "a100"),
    ("faults", "a100,gpus=2"),
]


def run(scenario, sim, binaries):
    folder = tempfile.mkdtemp(prefix="ergon-sim-e2e-")
    environment = dict(os.environ, ERGON_SIM=sim, ERGON_SIM_STATE=os.path.join(folder, "state"), ERGON_BIN=binaries,
                       LD_LIBRARY_PATH=os.path.join(binaries, "../lib/sim"), PYTHONPATH=HERE)
    for name in ("CUDA_VISIBLE_DEVICES", "ERGON_SIM_TRUTH", "ERGON_REGION_LIBRARY"):
        environment.pop(name, None)
    if scenario == "family":
        environment.pop("ERGON_SIM_STATE")
    try:
        done = subprocess.run([sys.executable, os.path.join(HERE, "sim_scenarios.py"), scenario, folder], text=True,
                              env=environment, capture_output=True, timeout=100)
        lines = done.stdout
        if done.returncode != 0:
            lines += f"{scenario} on {sim} | ends well | {done.stderr.strip().splitlines()[-1:]} | FAIL\n"
    except subprocess.TimeoutExpired:
        lines = f"{scenario} on {sim} | ends | no end in 100 s | FAIL\n"
    shutil.rmtree(folder, ignore_errors=True)
    return lines


def main():
    binaries = os.path.abspath(sys.argv[1])
    chosen = [pair for pair in SCENARIOS if len(sys.argv) < 3 or pair[0] in sys.argv[2:]]
    # The scenarios mostly sleep; a few at a time leave their clients the processor that they need.
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        for lines in pool.map(lambda pair: run(*pair, binaries), chosen):
            print(lines, end="", flush=True)


main()
