"""Convolution by a chosen algorithm, in PyTorch operators.

PyTorch has no switch for cuDNN's algorithm, so each one is written out: what runs is what was asked for. All give what
torch.nn.functional.conv2d gives (test_convolutions.py), and autograd differentiates them.
"""
import torch
import torch.nn.functional as F


def gemm(x, weight, bias, stride, padding):
    """im2col and one matrix product."""
    n, _, h, w = x.shape
    out, _, kh, kw = weight.shape
    columns = F.unfold(x, (kh, kw), stride=stride, padding=padding)
    y = weight.reshape(out, -1) @ columns
    oh = (h + 2 * padding[0] - kh) // stride[0] + 1
    ow = (w + 2 * padding[1] - kw) // stride[1] + 1
    y = y.reshape(n, out, oh, ow)
    return y if bias is None else y + bias.reshape(1, -1, 1, 1)


def fft(x, weight, bias, stride, padding):
    """Products of spectra; strides are taken from the full result."""
    x = F.pad(x, (padding[1], padding[1], padding[0], padding[0]))
    _, _, h, w = x.shape
    _, _, kh, kw = weight.shape
    size = (h + kh - 1, w + kw - 1)
    # Cross-correlation: the conjugate of the kernel's spectrum.
    spectrum = torch.einsum("nihw,oihw->nohw", torch.fft.rfft2(x, s=size), torch.fft.rfft2(weight, s=size).conj())
    y = torch.fft.irfft2(spectrum, s=size)[:, :, : h - kh + 1 : stride[0], : w - kw + 1 : stride[1]]
    return y if bias is None else y + bias.reshape(1, -1, 1, 1)


# Winograd F(2x2, 3x3): Lavin and Gray, 2016.
_G = [[1, 0, 0], [0.5, 0.5, 0.5], [0.5, -0.5, 0.5], [0, 0, 1]]
_B = [[1, 0, 0, 0], [0, 1, -1, 1], [-1, 1, 1, 0], [0, 0, 0, -1]]
_A = [[1, 0], [1, 1], [1, -1], [0, -1]]


def winograd(x, weight, bias, stride, padding):
    """Tiles of 4x4 for 3x3 kernels of stride 1; other layers go the way of gemm()."""
    if tuple(weight.shape[2:]) != (3, 3) or tuple(stride) != (1, 1):
        return gemm(x, weight, bias, stride, padding)
    g, b, a = (torch.tensor(m, dtype=x.dtype, device=x.device) for m in (_G, _B, _A))
    n, c, h, w = x.shape
    oh, ow = h + 2 * padding[0] - 2, w + 2 * padding[1] - 2
    th, tw = (oh + 1) // 2, (ow + 1) // 2
    x = F.pad(x, (padding[1], padding[1] + 2 * tw - ow, padding[0], padding[0] + 2 * th - oh))
    tiles = x.unfold(2, 4, 2).unfold(3, 4, 2)  # n c th tw 4 4
    data = torch.einsum("ji,nctujk,kl->ilnctu", b, tiles, b)
    kernel = torch.einsum("ij,ocjk,lk->iloc", g, weight, g)
    product = torch.einsum("iloc,ilnctu->ilnotu", kernel, data)
    y = torch.einsum("ji,jknotu,kl->notiul", a, product, a)
    y = y.reshape(n, weight.shape[0], 2 * th, 2 * tw)[:, :, :oh, :ow]
    return y if bias is None else y + bias.reshape(1, -1, 1, 1)


ALGORITHMS = {"gemm": gemm, "fft": fft, "winograd": winograd}


def use(model, algorithm):
    """Makes every plain convolution of the model run by the algorithm; returns how many."""
    if algorithm == "auto":
        return 0
    run = ALGORITHMS[algorithm]
    count = 0
    for module in model.modules():
        if not isinstance(module, torch.nn.Conv2d) or module.groups != 1 or tuple(module.dilation) != (1, 1):
            continue
        if isinstance(module.padding, str) or module.padding_mode != "zeros":
            continue

        def forward(x, m=module):
            return run(x, m.weight, m.bias, m.stride, m.padding)

        module.forward = forward
        count += 1
    return count
