"""Serving a Llama-like model of 7 billion parameters: phases of prefill (eager) and of decode (CUDA graphs) in turn."""

from dataclasses import dataclass

from . import ops
from .device import Kernel
from .machine import Machine
from .noise import Noise

STREAM = 7
BF = "c10::BFloat16"


@dataclass(frozen=True)
class Config:
    layers: int = 32
    width: int = 4096
    heads: int = 32
    inner: int = 11008
    vocabulary: int = 32000
    sequences: int = 32  # decoded together
    prompt: int = 2048  # tokens each
    chunk: int = 8192  # tokens of one prefill pass
    prefill_passes: int = 2
    decode_steps: int = 18
    phases: int = 3  # pairs of prefill and decode


def rms_norm(rows, width, *, fused):
    kind = "fused_add_rms_norm" if fused else "rms_norm"
    name = (
        "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel<"
        "c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, c10::BFloat16 const*, float, int, int)"
        if fused
        else "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, long, c10::BFloat16 const*, float, int, int)"
    )
    n = 1.0 * rows * width
    return Kernel(
        kind,
        name,
        (rows, 1, 1),
        (1024, 1, 1),
        flops=6.0 * n,
        bytes=(8.0 if fused else 4.0) * n,
        registers=32,
        shared=132,
        shape=(rows, width),
    )


def rotary(rows, width):
    name = (
        "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 "
        "const*, int, long, long, long, int, int, int)"
    )
    return Kernel(
        "rotary",
        name,
        (rows, 1, 1),
        (512, 1, 1),
        flops=6.0 * rows * width,
        bytes=8.0 * rows * width,
        registers=26,
        shape=(rows, width),
    )


def cache_write(rows, width):
    name = (
        "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 "
        "const*, __nv_bfloat16 const*, __nv_bfloat16*, __nv_bfloat16*, long const*, long, long, long, int, int, int, float const*, "
        "float const*)"
    )
    return Kernel(
        "cache_write", name, (rows, 1, 1), (512, 1, 1), bytes=8.0 * rows * width, registers=40, shape=(rows, width)
    )


def silu_and_mul(rows, inner):
    name = (
        "void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), "
        "true>(c10::BFloat16*, c10::BFloat16 const*, int)"
    )
    return Kernel(
        "silu",
        name,
        (rows, 1, 1),
        (1024, 1, 1),
        flops=8.0 * rows * inner,
        bytes=6.0 * rows * inner,
        registers=26,
        shape=(rows, inner),
    )


def decode_attention(sequences, heads, keys, head):
    """Split over the keys: one query a sequence reads the whole cache; a second kernel joins the parts."""
    traits = (
        "Flash_fwd_kernel_traits<%d, 64, 128, 4, false, false, cutlass::bfloat16_t, Flash_kernel_traits<%d, 64, 128, 4, cutlass::bfloat16_t> >"
        % (head, head)
    )
    split = (
        "void flash::flash_fwd_splitkv_kernel<%s, false, false, false, false, true, false, true, false>(flash::Flash_fwd_params)"
        % traits
    )
    join = "void flash::flash_fwd_splitkv_combine_kernel<%s, 16, 3, true>(flash::Flash_fwd_params)" % traits
    n = 1.0 * sequences * heads * head
    return [
        Kernel(
            "decode_attention",
            split,
            (1, 8, sequences * heads),
            (128, 1, 1),
            flops=4.0 * n * keys,
            bytes=4.0 * n * keys,
            registers=255,
            shared=81920,
            shape=(sequences, heads, head),
        ),
        Kernel(
            "decode_combine",
            join,
            (sequences * heads // 16, 1, 1),
            (128, 1, 1),
            flops=16.0 * n,
            bytes=34.0 * n,
            registers=40,
            shared=1024,
            shape=(sequences, heads, head),
        ),
    ]


def argmax(rows, vocabulary):
    op = "at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>"
    return Kernel(
        "argmax",
        "void at::native::reduce_kernel<512, 1, %s >(%s)" % (op, op),
        (rows, 1, 1),
        (512, 1, 1),
        flops=1.0 * rows * vocabulary,
        bytes=4.0 * rows * vocabulary,
        shared=8208,
        shape=(rows, vocabulary),
    )


class Server:
    def __init__(self, machine, config):
        self.c = config
        self.p = machine.process(63001, 4567890123456789)
        self.t = self.p.thread(63001)
        self.major = machine.gpu.major
        self.head = config.width // config.heads

    def _op(self, name, kernels, dims, types, concrete=None):
        args = {"Input type": types, "Input Dims": dims}
        if concrete:
            args = {"Concrete Inputs": concrete, **args}
        with self.t.op(name, before=6.0, after=3.0, **args):
            for k in kernels:
                self.t.launch(k, STREAM)

    def _linear(self, rows, n, k):
        with self.t.op("aten::linear", **{"Input type": [BF, BF, ""], "Input Dims": [[rows, k], [n, k], []]}):
            self._op("aten::mm", [ops.gemm(rows, n, k, self.major)], [[rows, k], [k, n]], [BF, BF], ["", ""])

    def _prefill_layer(self, rows, first):
        c, w = self.c, self.c.width
        sequences = rows // c.prompt
        x = [rows, w]
        if first:
            self._op("_C::rms_norm", [rms_norm(rows, w, fused=False)], [x, x, [w], []], [BF, BF, BF, "Scalar"])
        else:
            self._op("_C::fused_add_rms_norm", [rms_norm(rows, w, fused=True)], [x, x, [w], []], [BF, BF, BF, "Scalar"])
        self._linear(rows, 3 * w, w)
        self._op(
            "_C::rotary_embedding",
            [rotary(rows, w)],
            [[rows], x, x, [], [4096, self.head], []],
            ["long int", BF, BF, "Scalar", BF, "Scalar"],
            ["", "", "", "%d" % self.head, "", "True"],
        )
        q = [rows, c.heads, self.head]
        with self.t.op("vllm::unified_attention_with_output", **{"Input type": [BF] * 4, "Input Dims": [q, q, q, q]}):
            self._op(
                "_C_cache_ops::reshape_and_cache_flash", [cache_write(rows, w)], [q, q, [rows]], [BF, BF, "long int"]
            )
            self._op(
                "_vllm_fa2_C::varlen_fwd",
                [ops.flash_forward(sequences, c.heads, c.prompt, c.prompt, self.head, prefix="flash")],
                [q, q, q, q, [sequences + 1], [sequences]],
                [BF, BF, BF, BF, "int", "int"],
            )
        self._linear(rows, w, w)
        self._op("_C::fused_add_rms_norm", [rms_norm(rows, w, fused=True)], [x, x, [w], []], [BF, BF, BF, "Scalar"])
        self._linear(rows, 2 * c.inner, w)
        self._op("_C::silu_and_mul", [silu_and_mul(rows, c.inner)], [[rows, c.inner], [rows, 2 * c.inner]], [BF, BF])
        self._linear(rows, w, c.inner)

    def _decode_graph(self, step):
        """Kernels of one captured decode pass; the attention reads all tokens so far."""
        c, w, rows = self.c, self.c.width, self.c.sequences
        kernels = [ops.embedding(rows, w)]
        for layer in range(c.layers):
            kernels.append(rms_norm(rows, w, fused=layer > 0))
            kernels.append(ops.gemm(rows, 3 * w, w, self.major))
            kernels.append(rotary(rows, w))
            kernels.append(cache_write(rows, w))
            kernels += decode_attention(rows, c.heads, c.prompt + step, self.head)
            kernels.append(ops.gemm(rows, w, w, self.major))
            kernels.append(rms_norm(rows, w, fused=True))
            kernels.append(ops.gemm(rows, 2 * c.inner, w, self.major))
            kernels.append(silu_and_mul(rows, c.inner))
            kernels.append(ops.gemm(rows, w, c.inner, self.major))
        kernels.append(rms_norm(rows, w, fused=True))
        return kernels

    def _inputs(self, tokens):
        for size in (8 * tokens, 8 * tokens, 4 * self.c.sequences * 160):
            with self.t.op(
                "aten::copy_",
                before=4.0,
                after=2.0,
                **{"Input type": ["long int", "long int", "Scalar"], "Input Dims": [[size // 8], [size // 8], []]}
            ):
                self.t.copy("HtoD (Pinned -> Device)", size, STREAM)

    def _sample(self, rows):
        c = self.c
        self._linear(rows, c.vocabulary, c.width)
        self._op(
            "aten::argmax",
            [argmax(rows, c.vocabulary)],
            [[rows, c.vocabulary], [], []],
            [BF, "Scalar", "Scalar"],
            ["", "-1", "False"],
        )
        with self.t.op("aten::to", **{"Input type": ["long int"], "Input Dims": [[rows]]}):
            with self.t.op(
                "aten::copy_", **{"Input type": ["long int", "long int", "Scalar"], "Input Dims": [[rows], [rows], []]}
            ):
                self.t.copy("DtoH (Device -> Pinned)", 8 * rows, STREAM)
                self.t.synchronize(STREAM)

    def _prefill(self):
        c, t = self.c, self.t
        rows = c.chunk
        with t.annotate("execute_context_%d(%d)_generation_0(0)" % (rows // c.prompt, rows)):
            self._inputs(rows)
            self._op(
                "aten::embedding",
                [ops.embedding(rows, c.width)],
                [[c.vocabulary, c.width], [rows], [], [], []],
                [BF, "long int", "Scalar", "Scalar", "Scalar"],
                ["", "", "-1", "False", "False"],
            )
            for layer in range(c.layers):
                self._prefill_layer(rows, layer == 0)
            self._op(
                "_C::fused_add_rms_norm",
                [rms_norm(rows, c.width, fused=True)],
                [[rows, c.width]] * 2 + [[c.width], []],
                [BF, BF, BF, "Scalar"],
            )
            self._sample(rows // c.prompt)

    def _decode(self, step):
        c, t = self.c, self.t
        with t.annotate("execute_context_0(0)_generation_%d(%d)" % (c.sequences, c.sequences)):
            self._inputs(c.sequences)
            t.launch_graph(self._decode_graph(step), STREAM, 240.0)
            self._sample(c.sequences)

    def program(self):
        t, c = self.t, self.c
        for _ in range(c.phases):
            with t.annotate("prefill"):
                for _ in range(c.prefill_passes):
                    self._prefill()
                    t.busy(420.0)
            with t.annotate("decode"):
                for step in range(c.decode_steps):
                    self._decode(step)
                    t.busy(350.0)
        t.synchronize()


def run(seed, gpu, config=Config()):
    machine = Machine(seed, "llm", gpu, 1, Noise)
    machine.run([Server(machine, config).program])
    return machine
