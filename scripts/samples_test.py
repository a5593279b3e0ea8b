#!/usr/bin/env python3
"""The committed samples are what the generator writes, keep the rules of a GPU, and are what their names say."""

import copy
import io
import json
import subprocess
import sys
import unittest
import unittest.mock
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from samples import check, device, gpt2, kineto, machine, stress  # noqa: E402

SAMPLES = HERE.parent / "data" / "samples"
NAMES = ("gpt2-medium-train-2gpu", "resnet50-infer-launch-bound", "llm-serve")


def parse(text):
    return json.loads(text, parse_float=str)


class Committed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.trace = {n: check.Trace(check.load(SAMPLES / (n + ".json.gz"))) for n in NAMES}
        cls.problems = {n: t.run() for n, t in cls.trace.items()}

    def spans(self, name, prefix, cat="user_annotation"):
        return [e for e in self.trace[name].events if e["cat"] == cat and e["name"].startswith(prefix)]

    def test_same_as_the_generator_writes(self):
        run = subprocess.run(
            [sys.executable, str(HERE / "make-samples"), "--check"], capture_output=True, text=True, check=False
        )
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_causal(self):
        self.assertEqual(self.problems, {n: [] for n in NAMES})

    def test_small_and_without_name_or_time(self):
        files = sorted(SAMPLES.glob("*.json.gz"))
        self.assertEqual(sorted(f.name[:-8] for f in files), sorted(NAMES))
        self.assertLess(sum(f.stat().st_size for f in files), 3000000)
        for f in files:
            head = f.read_bytes()[:10]
            self.assertEqual(head[3:8], bytes(5), "gzip flags and time")

    def test_training_overlaps_its_collectives_on_two_gpus(self):
        t = self.trace[NAMES[0]]
        self.assertEqual({e["args"]["device"] for e in t.gpu}, {0, 1})
        self.assertEqual(len(self.spans(NAMES[0], "ProfilerStep#")), 2 * 3)
        self.assertEqual(len({e["pid"] for e in t.calls.values()}), 2)
        self.assertEqual(
            len({(e["pid"], e["tid"]) for e in t.events if e["cat"] == "cpu_op"}), 4, "autograd has its own thread"
        )
        for gpu in (0, 1):
            compute = sorted((e["start"], e["end"]) for e in t.streams[(gpu, gpt2.COMPUTE)])
            moved = [e for e in t.streams[(gpu, gpt2.COMM)]]
            beside = sum(
                min(e["end"], b) - max(e["start"], a)
                for e in moved
                for a, b in compute
                if a < e["end"] and b > e["start"]
            )
            self.assertGreater(beside, 0.8 * sum(e["end"] - e["start"] for e in moved))
            self.assertGreater(t.busy_share(gpu), 0.9)

    def test_resnet_is_launch_bound(self):
        t = self.trace[NAMES[1]]
        self.assertLess(t.busy_share(0), 0.4)
        kernels = sorted(e["end"] - e["start"] for e in t.gpu if e["cat"] == "kernel")
        self.assertLess(kernels[-1], 20000)
        launches = sorted(e["end"] - e["start"] for e in t.calls.values() if "Launch" in e["name"])
        self.assertTrue(6000 <= launches[len(launches) // 2] <= 10000)
        self.assertEqual(len(self.spans(NAMES[1], "ProfilerStep#")), 12)

    def test_serving_phases_are_long_and_decode_launches_graphs(self):
        for phase in ("prefill", "decode"):
            spans = self.spans(NAMES[2], phase)
            self.assertEqual(len(spans), 3)
            self.assertTrue(all(e["end"] - e["start"] >= 300000000 for e in spans), phase)
        t = self.trace[NAMES[2]]
        graphs = [e["args"]["correlation"] for e in t.calls.values() if e["name"] == "cudaGraphLaunch"]
        self.assertEqual(len(graphs), 3 * 18)
        for number in graphs:
            self.assertGreater(sum(e["args"]["correlation"] == number for e in t.gpu), 300)


class CheckerSeesDamage(unittest.TestCase):
    """A check that cannot fail proves nothing: each kind of damage is reported."""

    @classmethod
    def setUpClass(cls):
        run = gpt2.run(7, device.A100, gpt2.Config(layers=2, steps=1))
        cls.document = parse(kineto.trace_text(run, "small", "test"))

    def damaged(self, change):
        document = copy.deepcopy(self.document)
        change([e for e in document["traceEvents"] if e.get("ph") == "X"])
        return " / ".join(check.Trace(document).run())

    @staticmethod
    def shift(event, micros):
        event["ts"] = kineto.micros(check.to_ns(event["ts"]) + int(micros * 1000))

    def first(self, events, cat, word, skip=0):
        return [e for e in events if e["cat"] == cat and word in e["name"]][skip]

    def test_undamaged(self):
        self.assertEqual(self.damaged(lambda events: None), "")

    def test_kernel_before_launch(self):
        self.assertIn(
            "before its launch", self.damaged(lambda ev: self.shift(self.first(ev, "kernel", "SoftMax"), -500000))
        )

    def test_overlap(self):
        self.assertIn("overlap", self.damaged(lambda ev: self.first(ev, "kernel", "SoftMax").update(dur="90000.000")))

    def test_crossing(self):
        self.assertIn(
            "crosses", self.damaged(lambda ev: self.first(ev, "cpu_op", "aten::addmm").update(dur="9000.000"))
        )

    def test_collective_ends_apart(self):
        self.assertIn("end together", self.damaged(lambda ev: self.first(ev, "kernel", "nccl", 1).update(dur="1.000")))

    def test_wait_not_kept(self):
        def early(events):
            e = [e for e in events if e["cat"] == "kernel" and "nccl" in e["name"] and e["pid"] == 0][1]
            self.shift(e, -30)

        self.assertIn("does not wait", self.damaged(early))

    def test_host_goes_on_too_early(self):
        self.assertIn("ran dry", self.damaged(lambda ev: self.first(ev, "gpu_memcpy", "DtoH").update(dur="90000.000")))

    def test_launch_missing(self):
        self.assertIn(
            "no call launches",
            self.damaged(lambda ev: self.first(ev, "cuda_runtime", "cudaLaunchKernel")["args"].update(correlation=5)),
        )

    def test_not_said_to_be_generated(self):
        document = copy.deepcopy(self.document)
        del document["ergon_generated"]
        self.assertIn("generated", " ".join(check.Trace(document).run()))


class Generator(unittest.TestCase):
    def test_seed_decides(self):
        def text(seed):
            return kineto.trace_text(gpt2.run(seed, device.A100, gpt2.Config(layers=1, steps=1, ranks=2)), "t", "n")

        self.assertEqual(text(1), text(1))
        self.assertNotEqual(text(1), text(2))

    def test_stress_is_causal_and_counts_what_it_wrote(self):
        out = io.StringIO()
        kernels, phases, size = stress.write(out, device.A100, 3, kernels=3000, phases=40)
        self.assertEqual((kernels, phases, size), (3000, 40, len(out.getvalue())))
        trace = check.Trace(parse(out.getvalue()))
        self.assertEqual(trace.run(), [])
        self.assertEqual(len(trace.gpu), 3000)

    def test_a_full_queue_waits_for_collectives_of_other_ranks(self):
        with unittest.mock.patch.object(machine, "QUEUE_LIMIT", 40):
            run = gpt2.run(9, device.A100, gpt2.Config(layers=4, steps=2, ranks=3))
        trace = check.Trace(parse(kineto.trace_text(run, "t", "n")))
        self.assertEqual(trace.run(), [])
        blocked = [e for e in trace.calls.values() if "Launch" in e["name"] and e["end"] - e["start"] > 300000]
        self.assertGreater(len(blocked), 20)

    def test_a_failing_program_raises(self):
        m = machine.Machine(1, "t", device.A100, 1, lambda *_: None)
        with self.assertRaises(ZeroDivisionError):
            m.run([lambda: 1 // 0])

    def test_four_ranks_and_more_layers(self):
        trace = check.Trace(
            parse(kineto.trace_text(gpt2.run(5, device.A100, gpt2.Config(layers=3, steps=2, ranks=4)), "t", "n"))
        )
        self.assertEqual(trace.run(), [])
        self.assertEqual({e["args"]["device"] for e in trace.gpu}, {0, 1, 2, 3})


if __name__ == "__main__":
    unittest.main()
