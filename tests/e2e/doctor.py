"""What `ergon doctor` measures of a simulated board's sensors and finds wrong with it, run files that a killed tool
leaves, recorded runs, and scripts/gpu-check. doctor.py BIN [NAMES]; one line a check, then the count.
"""
import concurrent.futures
import csv
import io
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

from phases import phases_file

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.abspath(sys.argv[1])
ERGON = os.path.join(BIN, "ergon")
SIMLOAD = os.path.join(BIN, "ergon-simload")
# Not in step with 100 ms: the steps fall everywhere between two renewals.
SQUARE = {"repeat": 12, "phases": [{"name": "work", "duration_s": 0.72, "compute": 0.8, "memory": 0.4},
                                   {"name": "rest", "duration_s": 0.667, "compute": 0, "memory": 0}]}
LONG = {"repeat": 1, "phases": [{"name": "work", "duration_s": 30, "compute": 0.7, "memory": 0.3}]}


def ergon(*words, env=None, **more):
    return subprocess.run([ERGON, *words], env={**os.environ, **(env or {})}, capture_output=True, text=True, timeout=300,
                          check=False, **more)


def power_of(gpu, folder):
    done = ergon("doctor", "--gpu", gpu, "--load", f"{SIMLOAD} {phases_file(folder, SQUARE)}", "-f", "json")
    return json.loads(done.stdout)["gpus"][0]["power"]


def window(gpu, expected, within):
    def check(folder):
        # On a machine that is busy with other things readings come late: then once more.
        for _ in range(3):
            power = power_of(gpu, folder)
            if power["averaging_window_s"] is not None:
                break
        found = power["averaging_window_s"]
        low, high = power["averaging_window_s_ci95"] or (None, None)
        return found is not None and abs(found - expected) <= within and low <= expected + within and \
            high >= expected - within and power["averaging_window_origin"] == "measured", power
    check.__name__ = f"the_averaging_window_of_{gpu.replace(':', '_').replace(',', '_')}_is_measured"
    return check


def a_fast_sensors_window_is_measured_or_told_to_be_read_too_seldom(folder):
    # A busy machine may not read often enough for a sensor that is new every millisecond.
    power = power_of("sim:mi300x", folder)
    found = power["averaging_window_s"]
    if found is None:
        return "too seldom" in power["averaging_window_why_unknown"], power
    return abs(found - 0.005) <= 0.002, power


def an_idle_boards_window_is_unknown_and_the_published_one_is_labelled(_):
    power = json.loads(ergon("doctor", "--gpu", "sim:a100", "-f", "json").stdout)["gpus"][0]["power"]
    text = ergon("doctor", "--gpu", "sim:a100").stdout
    good = power["averaging_window_s"] is None and "nothing ran" in power["averaging_window_why_unknown"]
    good = good and power["published_averaging_window_s"] == 0.025 and power["published_averaging_window_origin"] == "published"
    return good and "ergon doctor --load" in text and "25 ms (published)" in text, (power, text)


def what_is_wrong_with_a_board_is_found(_):
    wanted = {"counter-frozen": "did not move", "hot": "hot while nothing runs", "slow-calls": "one reading takes",
              "unknown-reason": "not documented (unknown 0x4000)", "no-permission": "no permission"}
    missing = []
    for fault, words in wanted.items():
        answer = json.loads(ergon("doctor", "--gpu", f"sim:a100,fault={fault}", "-f", "json").stdout)
        messages = [f"{f['subject']}: {f['message']}" for f in answer["findings"]]
        if not any(words in message for message in messages) or any("GPU 0: GPU 0" in m for m in messages):
            missing.append((fault, messages))
    text = ergon("doctor", "--gpu", "sim:a100,fault=mig").stdout
    rows = all(words in text for words in ("power limit", "100 to 400 W", "temperature", "2 instances"))
    return not missing and rows, (missing, text)


def a_load_that_fails_is_said(_):
    done = ergon("doctor", "--gpu", "sim:a100", "--load", "echo to-stderr; exit 3", "-f", "json")
    answer = json.loads(done.stdout)
    return done.returncode == 0 and answer["warnings"][0]["code"] == "load_failed" and "to-stderr" in done.stderr, done


def nothing_is_set_with_read_only(folder):
    env = {"ERGON_SIM_STATE": folder}
    answer = json.loads(ergon("doctor", "--gpu", "sim:a100,fault=no-permission", "--read-only", "-f", "json", env=env).stdout)
    return answer["can_control"] is None and answer["gpus"][0]["control"]["allowed"] is None, answer["gpus"][0]["control"]


def a_killed_measurement_leaves_its_readings(folder):
    file, work = os.path.join(folder, "runs.db"), phases_file(folder, LONG)
    tool = subprocess.Popen([ERGON, "measure", "--gpu", "sim:a100", "-o", file, "--", SIMLOAD, work],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    samples, end = 0, time.monotonic() + 60
    while samples < 250 and time.monotonic() < end:
        time.sleep(0.3)
        if os.path.exists(file):
            try:
                with sqlite3.connect(f"file:{file}?mode=ro", uri=True) as db:
                    samples = db.execute("SELECT count(*) FROM samples").fetchone()[0]
            except sqlite3.Error:
                pass
    tool.kill()
    tool.wait()
    os.killpg(tool.pid, signal.SIGKILL)  # the program it measured
    with sqlite3.connect(file) as db:
        facts = dict(db.execute("SELECT name, value FROM facts"))
        kept = db.execute("SELECT count(*), (max(time_ns) - min(time_ns)) / 1e9 FROM samples").fetchone()
    played = ergon("measure", "--gpu", f"recorded:{file}", "--duration", "1s", "-f", "json")
    answer = json.loads(played.stdout)
    good = facts["complete"] == "no" and kept[0] >= 250 and played.returncode == 0
    return good and answer["runs"][0]["gpus"][0]["energy_j"] > 0, (facts, kept, played.stderr)


def a_finished_run_file_is_complete_and_plays(folder):
    file, work = os.path.join(folder, "runs.db"), phases_file(folder, SQUARE)
    done = ergon("measure", "--gpu", "sim:a100", "-o", file, "-f", "json", "--", SIMLOAD, work)
    first = json.loads(done.stderr)
    with sqlite3.connect(file) as db:
        facts = dict(db.execute("SELECT name, value FROM facts"))
        stored, twice = db.execute("SELECT count(*), count(DISTINCT time_ns) FROM samples").fetchone()
        runs = db.execute("SELECT count(*) FROM energies").fetchone()[0]
    played = json.loads(ergon("measure", "--gpu", f"recorded:{file}", "--duration", "8s", "-f", "json").stdout)
    mean = first["mean"]["energy_j"] / first["mean"]["time_s"]
    again = played["mean"]["energy_j"] / played["mean"]["time_s"]
    good = facts["complete"] == "yes" and stored == twice >= 500 and runs == 1 and first["sampling"]["cpu_share"] < 0.05
    named = played["gpus"][0]["recorded"] and played["origin_shares"] == {"simulated": 1}
    return good and named and abs(again / mean - 1) < 0.2, (facts, stored, twice, first["sampling"], mean, again)


def a_program_that_cannot_start_leaves_no_run_file(folder):
    file = os.path.join(folder, "runs.db")
    done = ergon("measure", "--gpu", "sim:a100", "--idle", "2s", "-o", file, "--", "/nowhere/program")
    return done.returncode == 127 and not os.path.exists(file), (done.returncode, os.listdir(folder))


def a_recorded_log_is_labelled_recorded(folder):
    log = os.path.join(folder, "run.csv")
    with open(log, "w", encoding="utf-8") as file:
        file.write("time_s,gpu,power_w,energy_j\n")
        for i in range(400):
            file.write(f"{i * 0.02:.2f},0,{100 + i * 7 % 13},{i * 2.1:.3f}\n")
    done = ergon("measure", "--gpu", f"recorded:{log}", "--duration", "3s", "-f", "json")
    answer = json.loads(done.stdout)
    text = ergon("measure", "--gpu", f"recorded:{log}", "--duration", "2s").stdout
    return answer["origin_shares"] == {"recorded": 1} and "(recorded)" in text and "measured" not in text.split("figures:")[-1], text


def csv_of_a_measurement_has_the_interval_and_numbers(folder):
    done = ergon("measure", "--gpu", "sim:a100", "-f", "csv", "-r", "2", "--", SIMLOAD, phases_file(folder, {
        "phases": [{"name": "work", "duration_s": 2.2, "compute": 0.7, "memory": 0.3}]}))
    rows = [row for row in csv.DictReader(io.StringIO(done.stderr)) if not row["region"]]
    good = len(rows) == 2
    for row in rows:
        good = good and float(row["energy_low_j"]) <= float(row["energy_j"]) <= float(row["energy_high_j"])
        good = good and row["origin"] == "simulated" and 0 <= float(row["disagreement"]) < 1 and 0 < float(row["coverage"]) <= 1
    return good, done.stderr


def the_tables_of_a_measurement_fit_a_hundred_columns(folder):
    work = phases_file(folder, {"phases": [{"name": "work", "duration_s": 1.5, "compute": 0.7, "memory": 0.3},
                                      {"name": "blink", "duration_s": 0.05, "compute": 0.7, "memory": 0.3}]})
    done = ergon("measure", "--gpu", "sim:a100,gpus=2,fault=power-cap", "--idle", "1s", "--", SIMLOAD, work)
    lines = done.stderr[done.stderr.index("\nRuns\n"):].splitlines()
    reasons = "\n".join(lines)[:]
    table = [line for line in lines if "cannot be known" not in line]
    widest = max(table, key=len)
    return len(widest) <= 100 and "held back" in done.stderr and "Why regions are unknown" in reasons, (len(widest), done.stderr)


def gpu_check_works_with_the_simulated_library(folder):
    state, out = os.path.join(folder, "state"), os.path.join(folder, "out")
    os.mkdir(state)
    env = {"ERGON_SIM": "a100", "ERGON_SIM_STATE": state,
           "LD_LIBRARY_PATH": os.path.join(os.path.dirname(BIN), "lib", "sim"), "PATH": os.environ["PATH"]}
    script = os.path.join(ROOT, "scripts", "gpu-check")
    done = subprocess.run([script, out, "--bin", BIN], env={**os.environ, **env}, capture_output=True, text=True,
                          timeout=600, check=False)
    with open(os.path.join(out, "summary.txt"), encoding="utf-8") as file:
        summary = file.read()
    names = ["doctor", "doctor-load", "measure", "watch", "overhead", "recorded", "regions", "answers"]
    good = done.returncode == 0 and all(f"pass  {name}\n" in summary for name in names)
    files = ["runs.db", "measure.json", "measure.csv", "measure.om", "doctor-load.json", "regions.json"]
    return good and all(os.path.exists(os.path.join(out, name)) for name in files), (done.stdout, done.stderr)


def a_lost_gpu_is_not_hidden(_):
    done = ergon("doctor", "--gpu", "sim:a100,gpus=2,fault=gpu-lost", "--watch", "50ms", "-f", "json")
    answer = json.loads(done.stdout)
    lost = [f for f in answer["findings"] if f["severity"] == "error"]
    told = ergon("doctor", "--gpu", "sim:a100,gpus=2,fault=gpu-lost", "--watch", "50ms").stdout
    return (len(lost) == 1 and lost[0]["subject"] == "GPU 0" and "lost" in lost[0]["message"] and lost[0]["fix"] and answer["lost_gpus"] == 1
            and "on 1 GPU of 2" in told and "GPU 0: GPU 0" not in told), (lost, told[:300])


CHECKS = [a_lost_gpu_is_not_hidden, gpu_check_works_with_the_simulated_library,
          window("sim:a100", 0.025, 0.01), window("sim:h100,seed=3", 0.025, 0.01), window("sim:rtx4090", 0.1, 0.01),
          window("sim:rtx4090,fault=not-supported", 1.0, 0.03),
          a_fast_sensors_window_is_measured_or_told_to_be_read_too_seldom,
          an_idle_boards_window_is_unknown_and_the_published_one_is_labelled, what_is_wrong_with_a_board_is_found,
          a_load_that_fails_is_said, nothing_is_set_with_read_only, a_killed_measurement_leaves_its_readings,
          a_finished_run_file_is_complete_and_plays, a_program_that_cannot_start_leaves_no_run_file,
          a_recorded_log_is_labelled_recorded, csv_of_a_measurement_has_the_interval_and_numbers,
          the_tables_of_a_measurement_fit_a_hundred_columns]


def run(check):
    folder = tempfile.mkdtemp(prefix="ergon-doctor-")
    try:
        return check.__name__, *check(folder)
    except Exception as error:  # a check that breaks is a check that fails
        return check.__name__, False, repr(error)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main():
    wanted = sys.argv[2:]
    checks = [check for check in CHECKS if not wanted or any(word in check.__name__ for word in wanted)]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(5) as pool:
        for name, good, found in pool.map(run, checks):
            failed += not good
            print(f"{'pass' if good else 'FAIL'}  {name}  {'' if good else found}", flush=True)
    print(f"{len(checks) - failed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
