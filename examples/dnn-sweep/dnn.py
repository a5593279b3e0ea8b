#!/usr/bin/env python3
"""One point of the DVFS study of Tang et al. (e-Energy 2019): a network at a batch size, trained or inferred.

Runs a fixed number of images on made-up data, so that energy and time of two clocks can be compared, and prints
images/s. `ergon sweep` sets the clocks; nothing here touches them.
"""
import argparse
import sys
import time

NETWORKS = ("alexnet", "vgg16", "googlenet", "resnet50")
ALGORITHMS = ("auto", "gemm", "fft", "winograd")
MODES = ("training", "inference")


def parse(words=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--network", choices=NETWORKS, required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--algorithm", choices=ALGORITHMS, default="auto", help="auto: what cuDNN's benchmark picks")
    parser.add_argument("--mode", choices=MODES, default="training")
    parser.add_argument("--images", type=int, default=4096, help="images a run; the same at every clock")
    parser.add_argument("--warmup", type=int, default=3, help="iterations before the clock starts")
    parser.add_argument("--size", type=int, default=224, help="height and width of an image")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--precision", choices=("fp32", "fp16", "bf16"), default="fp32")
    arguments = parser.parse_args(words)
    if arguments.batch < 1 or arguments.images < arguments.batch:
        parser.error("--batch is at least 1 and at most --images")
    return arguments


def main(words=None):
    arguments = parse(words)
    try:
        import torch
        import torchvision
    except ImportError as error:
        print(f"dnn.py: {error}: pip install torch torchvision", file=sys.stderr)
        return 3
    import contextlib

    import convolutions

    if arguments.device.startswith("cuda") and not torch.cuda.is_available():
        print("dnn.py: PyTorch sees no GPU (--device cpu runs without one)", file=sys.stderr)
        return 4
    torch.manual_seed(1)
    torch.backends.cudnn.benchmark = True
    more = {"init_weights": False, "aux_logits": False} if arguments.network == "googlenet" else {}
    model = getattr(torchvision.models, arguments.network)(weights=None, **more).to(arguments.device)
    convolutions.use(model, arguments.algorithm)
    # Data lies on the GPU: no input pipeline in the figures, as in the study's DummyData runs.
    images = torch.randn(arguments.batch, 3, arguments.size, arguments.size, device=arguments.device)
    labels = torch.randint(0, 1000, (arguments.batch,), device=arguments.device)
    training = arguments.mode == "training"
    model.train(training)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    loss_of = torch.nn.CrossEntropyLoss()
    kind = arguments.device.split(":")[0]
    types = {"fp16": torch.float16, "bf16": torch.bfloat16}
    mixed = (lambda: torch.autocast(kind, types[arguments.precision])) if arguments.precision in types else contextlib.nullcontext

    def step():
        with mixed():
            if not training:
                with torch.inference_mode():
                    model(images)
                return
            optimizer.zero_grad(set_to_none=True)
            loss_of(model(images), labels).backward()
        optimizer.step()

    def wait():
        if kind == "cuda":
            torch.cuda.synchronize()

    try:
        for _ in range(arguments.warmup):
            step()
        wait()
        iterations = max(1, arguments.images // arguments.batch)
        start = time.perf_counter()
        for _ in range(iterations):
            step()
        wait()
        seconds = time.perf_counter() - start
    except torch.cuda.OutOfMemoryError:
        # The grid is ragged: a point that does not fit is said, and is no point.
        print("dnn.py: out of memory", file=sys.stderr)
        return 12
    print(f"images_per_s {iterations * arguments.batch / seconds:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
