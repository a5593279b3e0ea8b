"""ResNet-50 inference, one image at a time in half precision: kernels shorter than the host needs to launch them."""

from dataclasses import dataclass

from . import ops
from .device import Kernel
from .machine import Machine
from .noise import Noise

STREAM = 7
HALF = "c10::Half"


@dataclass(frozen=True)
class Config:
    batch: int = 1
    steps: int = 12


def _ceil(a, b):
    return (a + b - 1) // b


def conv_kernel(batch, cin, cout, kernel, stride, size, groups=1):
    """Implicit GEMM of the convolution, channels last; the reduction is split where the tiles do not fill the GPU."""
    out = size // stride
    m, n, k = batch * out * out, cout, cin // groups * kernel * kernel
    tile_n = 64 if n <= 64 else 128
    tiles = _ceil(m, 64) * _ceil(n, tile_n)
    split = 1
    while tiles * split < 80 and k // split > 576:
        split *= 2
    name = (
        "sm80_xmma_fprop_implicit_gemm_f16f16_f16f32_f32_nhwckrsc_nhwc_tilesize64x%dx64_stage%d_warpsize2x2x1_g1_"
        "tensor16x8x16_%sexecute_kernel__5x_cudnn" % (tile_n, 3 if kernel == 3 else 5, "splitK_" if split > 1 else "")
    )
    moved = 2.0 * (batch * size * size * cin + cin * cout * kernel * kernel + m * n)
    return Kernel(
        "conv",
        name,
        (_ceil(m, 64), _ceil(n, tile_n), split),
        (128, 1, 1),
        flops=2.0 * m * n * k,
        bytes=moved,
        latency=1.6e-6 + 0.34e-6 * (k / split / 32.0),
        tensor=True,
        registers=166,
        shared=73728,
        shape=(cin, cout, kernel, stride, size),
    )


def batch_norm_kernel(elements, channels):
    name = (
        "void at::native::batch_norm_transform_input_channels_last_kernel<c10::Half, float, float, 4>(c10::Half const*, "
        "c10::Half const*, float const*, float const*, float const*, float const*, c10::Half*, int, int, bool)"
    )
    return Kernel(
        "batch_norm",
        name,
        (max(1, channels // 32), max(1, elements // channels // 64), 1),
        (32, 16, 1),
        flops=4.0 * elements,
        bytes=4.0 * elements,
        registers=32,
        shape=(elements, channels),
    )


def max_pool_kernel(batch, channels, size):
    name = (
        "void at::native::(anonymous namespace)::max_pool_forward_nhwc<c10::Half, c10::Half>(c10::Half const*, int, long, "
        "long, long, int, int, int, int, int, int, int, int, int, int, int, int, int, c10::Half*, long*)"
    )
    return Kernel(
        "max_pool",
        name,
        (batch, size // 16, 14),
        (32, 8, 1),
        flops=9.0 * batch * channels * size * size / 4,
        bytes=2.0 * batch * channels * size * size * 1.25,
        registers=38,
        shared=20480,
        shape=(channels, size),
    )


def reduce_name(op):
    full = "at::native::ReduceOp<%s, unsigned int, c10::Half, 4>" % op
    return "void at::native::reduce_kernel<512, 1, %s >(%s)" % (full, full)


class Network:
    def __init__(self, machine, config):
        self.c = config
        self.p = machine.process(52001, 3456789012345678)
        self.t = self.p.thread(52001)
        self.major = machine.gpu.major

    def _conv(self, cin, cout, kernel, stride, size):
        b, pad = self.c.batch, kernel // 2
        shapes = {
            "Concrete Inputs": [
                "",
                "",
                "",
                "[%d, %d]" % (stride, stride),
                "[%d, %d]" % (pad, pad),
                "[1, 1]",
                "False",
                "[0, 0]",
                "1",
            ],
            "Input type": [HALF, HALF, "", "ScalarList", "ScalarList", "ScalarList", "Scalar", "ScalarList", "Scalar"],
            "Input Dims": [[b, cin, size, size], [cout, cin, kernel, kernel], [], [], [], [], [], [], []],
        }
        t = self.t
        plain = {"Input type": shapes["Input type"], "Input Dims": shapes["Input Dims"]}
        with t.op("aten::conv2d", before=2.6, after=0.8, **plain):
            with t.op("aten::convolution", before=1.6, after=0.8, **shapes):
                with t.op("aten::_convolution", before=1.6, after=0.8, **plain):
                    with t.op("aten::cudnn_convolution", before=6.5, after=1.6, **plain):
                        t.launch(
                            conv_kernel(b, cin, cout, kernel, stride, size), STREAM, api="cuLaunchKernel", micros=7.0
                        )
        return size // stride

    def _norm(self, channels, size):
        x = [self.c.batch, channels, size, size]
        n = self.c.batch * channels * size * size
        shapes = {
            "Input type": [HALF, "float", "float", "float", "float", "Scalar", "Scalar", "Scalar", "Scalar"],
            "Input Dims": [x, [channels], [channels], [channels], [channels], [], [], [], []],
        }
        t = self.t
        with t.op("aten::batch_norm", before=1.8, after=0.8, **shapes):
            with t.op("aten::_batch_norm_impl_index", before=1.6, after=0.7, **shapes):
                with t.op("aten::native_batch_norm", before=4.2, after=1.4, **shapes):
                    t.launch(batch_norm_kernel(n, channels), STREAM, micros=6.6)

    def _relu(self, channels, size):
        x = [self.c.batch, channels, size, size]
        t = self.t
        with t.op("aten::relu_", before=1.8, after=0.7, **{"Input type": [HALF], "Input Dims": [x]}):
            with t.op(
                "aten::clamp_min_",
                before=2.2,
                after=0.9,
                **{"Concrete Inputs": ["", "0"], "Input type": [HALF, "Scalar"], "Input Dims": [x, []]}
            ):
                t.launch(
                    ops.elementwise(ops.CLAMP_MIN, x[0] * channels * size * size, 4, kind="clamp"), STREAM, micros=6.2
                )

    def _add(self, channels, size):
        x = [self.c.batch, channels, size, size]
        t = self.t
        with t.op(
            "aten::add_",
            before=3.2,
            after=1.1,
            **{"Concrete Inputs": ["", "", "1"], "Input type": [HALF, HALF, "Scalar"], "Input Dims": [x, x, []]}
        ):
            t.launch(
                ops.elementwise(ops.ADD_HALF, x[0] * channels * size * size, 6, kind="add_half", arrays=3),
                STREAM,
                micros=6.4,
            )

    def _bottleneck(self, cin, width, stride, size):
        self._conv(cin, width, 1, 1, size)
        self._norm(width, size)
        self._relu(width, size)
        out = self._conv(width, width, 3, stride, size)
        self._norm(width, out)
        self._relu(width, out)
        self._conv(width, 4 * width, 1, 1, out)
        self._norm(4 * width, out)
        if stride != 1 or cin != 4 * width:
            self._conv(cin, 4 * width, 1, stride, size)
            self._norm(4 * width, out)
        self._add(4 * width, out)
        self._relu(4 * width, out)
        return out

    def forward(self):
        b, t = self.c.batch, self.t
        size = self._conv(3, 64, 7, 2, 224)
        self._norm(64, size)
        self._relu(64, size)
        with t.op(
            "aten::max_pool2d",
            **{
                "Input type": [HALF] + ["ScalarList"] * 4 + ["Scalar"],
                "Input Dims": [[b, 64, size, size], [], [], [], [], []],
            }
        ):
            with t.op("aten::max_pool2d_with_indices", **{"Input type": [HALF], "Input Dims": [[b, 64, size, size]]}):
                t.launch(max_pool_kernel(b, 64, size), STREAM, micros=7.4)
        size //= 2
        cin = 64
        for blocks, width, stride in ((3, 64, 1), (4, 128, 2), (6, 256, 2), (3, 512, 2)):
            for i in range(blocks):
                size = self._bottleneck(cin, width, stride if i == 0 else 1, size)
                cin = 4 * width
        with t.op(
            "aten::adaptive_avg_pool2d",
            **{"Input type": [HALF, "ScalarList"], "Input Dims": [[b, cin, size, size], []]}
        ):
            with t.op(
                "aten::mean",
                **{"Input type": [HALF, "ScalarList", "Scalar", ""], "Input Dims": [[b, cin, size, size], [], [], []]}
            ):
                t.launch(
                    Kernel(
                        "mean",
                        reduce_name("at::native::MeanOps<c10::Half, float, float, c10::Half>"),
                        (cin // 16, b, 1),
                        (32, 16, 1),
                        flops=1.0 * b * cin * size * size,
                        bytes=2.0 * b * cin * size * size,
                        shared=16,
                    ),
                    STREAM,
                    micros=7.2,
                )
        with t.op("aten::linear", **{"Input type": [HALF] * 3, "Input Dims": [[b, cin], [1000, cin], [1000]]}):
            with t.op(
                "aten::addmm",
                **{
                    "Concrete Inputs": ["", "", "", "1", "1"],
                    "Input type": [HALF, HALF, HALF, "Scalar", "Scalar"],
                    "Input Dims": [[1000], [b, cin], [cin, 1000], [], []],
                }
            ):
                k = ops.gemm(b, 1000, cin, self.major, tag="fc")
                k.name = "ampere_fp16_s16816gemm_fp16_64x64_sliced1x2_ldg8_f2f_stages_64x5_tn"
                t.launch(k, STREAM, micros=7.0)
        with t.op(
            "aten::argmax",
            **{
                "Concrete Inputs": ["", "1", "False"],
                "Input type": [HALF, "Scalar", "Scalar"],
                "Input Dims": [[b, 1000], [], []],
            }
        ):
            t.launch(
                Kernel(
                    "argmax",
                    reduce_name("at::native::ArgMaxOps<float>"),
                    (b, 1, 1),
                    (512, 1, 1),
                    flops=1000.0 * b,
                    bytes=2000.0 * b,
                    shared=16,
                ),
                STREAM,
                micros=7.0,
            )

    def program(self):
        t, b = self.t, self.c.batch
        for step in range(self.c.steps):
            with t.annotate("ProfilerStep#%d" % (step + 10)):
                image = [b, 3, 224, 224]
                with t.op("aten::to", **{"Input type": [HALF], "Input Dims": [image]}):
                    with t.op(
                        "aten::copy_", **{"Input type": [HALF, HALF, "Scalar"], "Input Dims": [image, image, []]}
                    ):
                        t.copy("HtoD (Pinned -> Device)", 2 * b * 3 * 224 * 224, STREAM)
                self.forward()
                with t.op("aten::item", **{"Input type": ["long int"], "Input Dims": [[b]]}):
                    with t.op("aten::_local_scalar_dense", **{"Input type": ["long int"], "Input Dims": [[b]]}):
                        t.copy("DtoH (Device -> Pinned)", 8 * b, STREAM)
                        t.synchronize(STREAM)
                t.busy(60.0)
        t.synchronize()


def run(seed, gpu, config=Config()):
    machine = Machine(seed, "resnet50", gpu, 1, Noise)
    machine.run([Network(machine, config).program])
    return machine
