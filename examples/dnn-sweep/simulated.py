#!/usr/bin/env python3
"""The same grid for the simulated GPU: writes the phases of a configuration and plays them with ergon-simload.

The shares of peak come from the networks' published operations and parameters and from rough traffic figures on an A100;
they make configurations differ as networks do, and predict no GPU.
"""
import argparse
import json
import os
import sys
import tempfile

from dnn import ALGORITHMS, MODES, NETWORKS

# GFLOP (2 a multiply-add) and million parameters from torchvision's model tables; MB of activations written an image,
# share of the operations in 3x3 convolutions of stride 1.
FIGURES = {
    "alexnet": (1.43, 61.1, 4.0, 0.35),
    "vgg16": (30.9, 138.4, 109.0, 0.98),
    "googlenet": (3.0, 6.6, 26.0, 0.60),
    "resnet50": (8.2, 25.6, 88.0, 0.45),
}
PEAK_FLOPS = 19.5e12  # A100, FP32
PEAK_BANDWIDTH = 1.555e12
MEMORY_BYTES = 40e9


def phases(network, batch, algorithm, mode, seconds):
    """One phase of the forward pass, and with training one of the backward pass and one of the update."""
    gflop, mparams, activations, winograd_share = FIGURES[network]
    flops = gflop * 1e9 * batch
    traffic = 3 * activations * 1e6 * batch + 4e6 * mparams
    held = activations * 1e6 * batch * (2 if mode == "training" else 0.2) + 4e6 * mparams * (3 if mode == "training" else 1)
    efficiency = 0.75 * batch / (batch + 8)  # small batches leave units idle
    if algorithm == "winograd":
        flops *= 1 - winograd_share * (1 - 1 / 2.25)
        traffic *= 1.4
        held *= 1.3
    elif algorithm == "fft":
        flops *= 0.8
        traffic *= 2.2
        held *= 2.5
    elif algorithm == "gemm":
        traffic *= 1.8
        held *= 1.5
    if held > MEMORY_BYTES:
        return None
    work = [("forward", flops, traffic)]
    if mode == "training":
        work += [("backward", 2 * flops, 2.2 * traffic), ("update", 4e6 * mparams, 20e6 * mparams)]
    parts = []
    for name, operations, moved in work:
        compute = operations / (PEAK_FLOPS * efficiency)
        memory = moved / (PEAK_BANDWIDTH * 0.85)
        time = (compute**3 + memory**3) ** (1 / 3)
        parts.append((name, time, operations / PEAK_FLOPS / time, moved / PEAK_BANDWIDTH / time))
    total = sum(time for _, time, _, _ in parts)
    return [
        {"name": name, "duration_s": round(seconds * time / total, 4), "compute": round(min(compute, 1), 4),
         "memory": round(min(memory, 1), 4), "power_w": None}
        for name, time, compute, memory in parts
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--network", choices=NETWORKS, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="auto")
    parser.add_argument("--mode", choices=MODES, default="training")
    parser.add_argument("--seconds", type=float, default=3.0, help="of a run at default clocks")
    parser.add_argument("--simload", default="ergon-simload", help="the program that plays the phases")
    parser.add_argument("--print", action="store_true", help="show the phases and run nothing")
    arguments = parser.parse_args()
    made = phases(arguments.network, arguments.batch, arguments.algorithm, arguments.mode, arguments.seconds)
    if made is None:
        print("simulated.py: out of memory", file=sys.stderr)
        return 12
    text = json.dumps({"repeat": 1, "phases": made}, indent=1)
    if arguments.print:
        print(text)
        return 0
    path = os.path.join(tempfile.mkdtemp(prefix="dnn-sweep-"), "phases.json")
    with open(path, "w") as file:
        file.write(text)
    # The process becomes the player, so that signals and the exit status are its own.
    os.execvp(arguments.simload, [arguments.simload, path])


if __name__ == "__main__":
    sys.exit(main())
