#!/usr/bin/env python3
"""Every algorithm gives what torch.nn.functional.conv2d gives. Needs torch; without it the test is skipped (77)."""
import sys

try:
    import torch
except ImportError:
    print("skipped: there is no torch")
    sys.exit(77)
import convolutions

torch.manual_seed(1)
failed = 0
for channels, out, kernel, stride, padding, size in ((3, 8, 11, 4, 2, 63), (8, 6, 3, 1, 1, 17), (8, 6, 3, 1, 0, 16), (4, 4, 1, 1, 0, 9), (4, 5, 5, 1, 2, 14)):
    x = torch.randn(2, channels, size, size, dtype=torch.float64)
    weight = torch.randn(out, channels, kernel, kernel, dtype=torch.float64)
    bias = torch.randn(out, dtype=torch.float64)
    expected = torch.nn.functional.conv2d(x, weight, bias, stride, padding)
    for name, run in convolutions.ALGORITHMS.items():
        worst = (run(x, weight, bias, (stride, stride), (padding, padding)) - expected).abs().max().item()
        good = worst < 1e-9
        failed += not good
        print(f"{'pass' if good else 'FAIL'}  {name} {kernel}x{kernel} stride {stride}: {worst:.1e}")
sys.exit(1 if failed else 0)
