"""GPT-2 training on several GPUs: data parallel with bucketed all-reduce overlapped with the backward pass."""

from dataclasses import dataclass

from . import ops
from .machine import Machine
from .noise import Noise

COMPUTE, COMM = 7, 24
BUCKET_BYTES = 25 * 1024 * 1024
BF = "c10::BFloat16"


@dataclass(frozen=True)
class Config:
    layers: int = 24
    width: int = 1024
    heads: int = 16
    context: int = 1024
    batch: int = 8  # sequences on each GPU
    vocabulary: int = 50304
    ranks: int = 2
    steps: int = 3


class Rank:
    """The program of one rank. Forward operators keep their span, so that backward can name its sequence number."""

    def __init__(self, machine, config, index):
        self.c = config
        self.p = machine.process(41001 + index, 2345678901234567 + 180000 * index)
        self.main = self.p.thread(41001 + index)
        self.autograd = None
        self.index, self.machine = index, machine
        self.rows = config.batch * config.context
        self.sequence = 0
        self.tape = []
        self.bucket = []
        self.bucket_number = 0
        self.work = []

    # Forward

    def _taped(self, name, backward, launches, *, dims, types, concrete=None, inner=None):
        """A forward operator with `inner` operators around the launches, recorded on the tape."""
        t = self.main
        self.sequence += 1
        args = {"Sequence number": self.sequence, "Fwd thread id": 0}
        shapes = {"Concrete Inputs": concrete or [""] * len(dims), "Input type": types, "Input Dims": dims}
        names = [name] + (inner or [])
        spans = [t.op(n, **(args if i == 0 else {}), **shapes) for i, n in enumerate(names)]
        for s in spans:
            s.__enter__()
        for kernel in launches:
            t.launch(kernel, COMPUTE)
        for s in reversed(spans):
            s.__exit__()
        self.tape.append((backward, self.sequence, spans[0]))

    def _norm(self):
        r, w = self.rows, self.c.width
        x = [self.c.batch, self.c.context, w]
        self._taped(
            "aten::layer_norm",
            ("NativeLayerNormBackward0", self._norm_backward),
            [ops.layer_norm(r, w)],
            dims=[x, [], [w], [w], [], []],
            types=[BF, "ScalarList", BF, BF, "Scalar", ""],
            concrete=["", "[%d]" % w, "", "", "1.0000000000000001e-05", ""],
            inner=["aten::native_layer_norm"],
        )

    def _linear(self, n, k):
        with self.main.op(
            "aten::linear",
            **{
                "Input type": [BF, BF, BF],
                "Concrete Inputs": ["", "", ""],
                "Input Dims": [[self.c.batch, self.c.context, k], [n, k], [n]],
            }
        ):
            self._taped(
                "aten::addmm",
                ("AddmmBackward0", lambda s: self._linear_backward(s, n, k)),
                [ops.gemm(self.rows, n, k, self.p.gpu.major, tag="linear")],
                dims=[[n], [self.rows, k], [k, n], [], []],
                types=[BF, BF, BF, "Scalar", "Scalar"],
                concrete=["", "", "", "1", "1"],
            )

    def _dropout(self):
        n = self.rows * self.c.width
        x = [self.c.batch, self.c.context, self.c.width]
        self._taped(
            "aten::native_dropout",
            (
                "NativeDropoutBackward0",
                lambda s: self._simple(
                    s, "aten::native_dropout_backward", [ops.dropout_backward(n)], [x, x, []], [BF, "bool", "Scalar"]
                ),
            ),
            [ops.dropout(n)],
            dims=[x, [], []],
            types=[BF, "Scalar", "Scalar"],
            concrete=["", "0.10000000000000001", "True"],
        )

    def _add(self):
        x = [self.c.batch, self.c.context, self.c.width]
        n = self.rows * self.c.width
        self._taped(
            "aten::add",
            (
                "AddBackward0",
                lambda s: self._simple(
                    s,
                    "aten::add",
                    [ops.elementwise(ops.ADD, n, 6, kind="add", arrays=3)],
                    [x, x, []],
                    [BF, BF, "Scalar"],
                ),
            ),
            [ops.elementwise(ops.ADD, n, 6, kind="add", arrays=3)],
            dims=[x, x, []],
            types=[BF, BF, "Scalar"],
            concrete=["", "", "1"],
        )

    def _attention(self):
        c = self.c
        q = [c.batch, c.heads, c.context, c.width // c.heads]
        self._taped(
            "aten::scaled_dot_product_attention",
            (
                "ScaledDotProductFlashAttentionBackward0",
                lambda s: self._simple(
                    s,
                    "aten::_scaled_dot_product_flash_attention_backward",
                    ops.flash_backward(*q[:3], q[3]),
                    [q] * 5,
                    [BF] * 5,
                    inner=["aten::_flash_attention_backward"],
                ),
            ),
            [ops.flash_forward(q[0], q[1], q[2], q[2], q[3])],
            dims=[q, q, q, [], [], []],
            types=[BF, BF, BF, "", "Scalar", "Scalar"],
            concrete=["", "", "", "", "0.", "True"],
            inner=["aten::_scaled_dot_product_flash_attention", "aten::_flash_attention_forward"],
        )

    def _gelu(self):
        x = [self.c.batch, self.c.context, 4 * self.c.width]
        n = 4 * self.rows * self.c.width
        self._taped(
            "aten::gelu",
            (
                "GeluBackward0",
                lambda s: self._simple(
                    s,
                    "aten::gelu_backward",
                    [ops.elementwise(ops.GELU_BACKWARD, n, 6, kind="gelu_backward", arrays=3, flops=20.0)],
                    [x, x, []],
                    [BF, BF, ""],
                ),
            ),
            [ops.elementwise(ops.GELU, n, 4, kind="gelu", flops=14.0)],
            dims=[x, []],
            types=[BF, ""],
            concrete=["", "tanh"],
        )

    def forward(self):
        c, w = self.c, self.c.width
        t, rows = self.main, self.rows
        tokens = [c.batch, c.context]
        with t.annotate("DistributedDataParallel.forward"):
            for size in (c.vocabulary, c.context):
                self._taped(
                    "aten::embedding",
                    (
                        "EmbeddingBackward0",
                        lambda s, size=size: self._simple(
                            s,
                            "aten::embedding_dense_backward",
                            [ops.embedding_backward(rows, w)],
                            [[*tokens, w], tokens],
                            [BF, "long int"],
                            grads=[size * w],
                        ),
                    ),
                    [ops.embedding(rows, w)],
                    dims=[[size, w], tokens, [], [], []],
                    types=[BF, "long int", "Scalar", "Scalar", "Scalar"],
                    concrete=["", "", "-1", "False", "False"],
                    inner=["aten::index_select"],
                )
            self._add()
            self._dropout()
            for _ in range(c.layers):
                self._norm()
                self._linear(3 * w, w)
                self._attention()
                self._linear(w, w)
                self._dropout()
                self._add()
                self._norm()
                self._linear(4 * w, w)
                self._gelu()
                self._linear(w, 4 * w)
                self._dropout()
                self._add()
            self._norm()
            with t.op(
                "aten::linear", **{"Input type": [BF, BF, ""], "Input Dims": [[*tokens, w], [c.vocabulary, w], []]}
            ):
                self._taped(
                    "aten::mm",
                    ("MmBackward0", self._head_backward),
                    [ops.gemm(rows, c.vocabulary, w, self.p.gpu.major, tag="head")],
                    dims=[[rows, w], [w, c.vocabulary]],
                    types=[BF, BF],
                )
        logits = [rows, c.vocabulary]
        with t.op("aten::cross_entropy_loss", **{"Input type": [BF, "long int"], "Input Dims": [logits, [rows]]}):
            self._taped(
                "aten::log_softmax",
                (
                    "LogSoftmaxBackward0",
                    lambda s: self._simple(
                        s,
                        "aten::_log_softmax_backward_data",
                        [ops.log_softmax(rows, c.vocabulary, backward=True)],
                        [logits, logits, [], []],
                        [BF, BF, "Scalar", "Scalar"],
                    ),
                ),
                [ops.log_softmax(rows, c.vocabulary)],
                dims=[logits, [], []],
                types=[BF, "Scalar", ""],
                concrete=["", "1", ""],
                inner=["aten::_log_softmax"],
            )
            self._taped(
                "aten::nll_loss_nd",
                (
                    "NllLossBackward0",
                    lambda s: self._simple(
                        s,
                        "aten::nll_loss_backward",
                        [
                            ops.elementwise(ops.FILL, rows * c.vocabulary, 2, kind="fill", arrays=2),
                            ops.nll_loss(rows, c.vocabulary, backward=True),
                        ],
                        [[], logits, [rows]],
                        [BF, BF, "long int"],
                    ),
                ),
                [ops.nll_loss(rows, c.vocabulary)],
                dims=[logits, [rows]],
                types=[BF, "long int"],
                inner=["aten::nll_loss", "aten::nll_loss_forward"],
            )

    # Backward, on autograd's own thread

    def _simple(self, node, name, kernels, dims, types, *, inner=(), grads=()):
        t = self.autograd
        shapes = {"Input type": types, "Input Dims": dims}
        with t.op(name, **shapes):
            for i in inner:
                with t.op(i, **shapes):
                    for k in kernels:
                        t.launch(k, COMPUTE)
            if not inner:
                for k in kernels:
                    t.launch(k, COMPUTE)
        return grads

    def _norm_backward(self, node):
        x = [self.c.batch, self.c.context, self.c.width]
        self._simple(
            node,
            "aten::native_layer_norm_backward",
            ops.layer_norm_backward(self.rows, self.c.width),
            [x, x, []],
            [BF, BF, "ScalarList"],
        )
        return [self.c.width, self.c.width]

    def _mm(self, m, n, k, layout, tag):
        with self.autograd.op(
            "aten::mm", **{"Concrete Inputs": ["", ""], "Input type": [BF, BF], "Input Dims": [[m, k], [k, n]]}
        ):
            self.autograd.launch(ops.gemm(m, n, k, self.p.gpu.major, layout=layout, tag=tag), COMPUTE)

    def _linear_backward(self, node, n, k):
        self._mm(self.rows, k, n, "nn", "dgrad")
        self._mm(n, k, self.rows, "nt", "wgrad")
        self._simple(
            node,
            "aten::sum",
            [ops.column_sum(self.rows, n)],
            [[self.rows, n], [], [], []],
            [BF, "ScalarList", "Scalar", ""],
        )
        return [n * k, n]

    def _head_backward(self, node):
        self._mm(self.c.vocabulary, self.c.width, self.rows, "nt", "head_wgrad")
        self._mm(self.rows, self.c.width, self.c.vocabulary, "nn", "head_dgrad")
        return []  # tied to the token embedding, whose gradient comes last

    def backward(self):
        main = self.main
        if self.autograd is None:
            self.autograd = self.p.thread(41101 + self.index, main.now)
        t = self.autograd
        main.busy(9.0)
        t.now = max(t.now, main.now) + 18000
        for (name, function), sequence, forward in reversed(self.tape):
            with t.op(
                "autograd::engine::evaluate_function: " + name,
                before=2.2,
                after=1.4,
                **{"Sequence number": sequence, "Fwd thread id": 1}
            ):
                with t.op(name, **{"Sequence number": sequence, "Fwd thread id": 1}) as node:
                    node.flow = forward
                    grads = function(node)
            for size in grads:
                self._accumulate(size)
        self._flush()
        for event in self.work:
            t.wait(COMPUTE, event)
        self.work = []
        self.tape = []
        self.bucket_number = 0
        main.now = max(main.now, t.now + 16000)

    def _accumulate(self, size):
        t = self.autograd
        with t.op("autograd::engine::evaluate_function: torch::autograd::AccumulateGrad"):
            with t.op("torch::autograd::AccumulateGrad", **{"Input type": [BF], "Input Dims": [[size]]}):
                pass
            with t.op(
                "torch::distributed::reducer::mul_out",
                **{"Input type": [BF, BF, "Scalar"], "Input Dims": [[size], [size], []]}
            ):
                t.launch(ops.elementwise(ops.SCALE, size, 4, kind="bucket_scale"), COMPUTE)
            self.bucket.append(size)
            limit = 1024 * 1024 if self.bucket_number == 0 else BUCKET_BYTES
            if 2 * sum(self.bucket) >= limit:
                self._flush()

    def _flush(self):
        """All-reduce of the gradients gathered so far, on the communication stream."""
        if not self.bucket:
            return
        t, elements = self.autograd, sum(self.bucket)
        self.bucket = []
        kernel, meta = ops.nccl_all_reduce(elements, self.c.ranks)
        with t.op(
            "c10d::allreduce_",
            **{"Input type": ["TensorList", "", "", "", "Scalar"], "Input Dims": [[[elements]], [], [], [], []]}
        ):
            with t.op(
                "record_param_comms",
                **{"Rank": self.index, **meta, "Input type": [["c10::BFloat16"]], "Input Dims": [[elements]]}
            ):
                ready = t.record(COMPUTE)
                t.wait(COMM, ready)
                with t.annotate("nccl:all_reduce"):
                    key = (self.sequence, self.bucket_number)
                    t.launch_collective(kernel, COMM, key, 2 * elements)
                self.work.append(t.record(COMM))
        self.bucket_number += 1

    # The rest of the step

    def parameters(self):
        w = self.c.width
        per_layer = [w, w, 3 * w * w, 3 * w, w * w, w, w, w, 4 * w * w, 4 * w, 4 * w * w, w]
        return [self.c.vocabulary * w, self.c.context * w] + per_layer * self.c.layers + [w, w]

    def optimizer(self):
        """Fused AdamW: tensors are cut into chunks of 65536, at most 320 chunks or 36 tensors a launch."""
        t = self.main
        with t.annotate("Optimizer.step#AdamW.step"):
            with t.op("aten::_fused_adamw_", before=160.0, after=8.0, **{"Input type": ["TensorList"] * 5}):
                elements = tensors = 0
                for size in self.parameters():
                    while size > 0:
                        part = min(size, 320 * 65536 - elements)
                        elements, size = elements + part, size - part
                        if elements >= 320 * 65536:
                            t.launch(ops.fused_adamw(elements), COMPUTE, micros=9.0)
                            elements = tensors = 0
                    tensors += 1
                    if tensors >= 36:
                        t.launch(ops.fused_adamw(elements), COMPUTE, micros=9.0)
                        elements = tensors = 0
                if elements:
                    t.launch(ops.fused_adamw(elements), COMPUTE, micros=9.0)
        with t.annotate("Optimizer.zero_grad#AdamW.zero_grad"):
            t.busy(55.0)

    def program(self):
        t, c = self.main, self.c
        tokens = [c.batch, c.context]
        for step in range(c.steps):
            with t.annotate("ProfilerStep#%d" % (step + 5)):
                for _ in range(2):
                    with t.op("aten::to", **{"Input type": ["long int"], "Input Dims": [tokens]}):
                        with t.op(
                            "aten::copy_",
                            **{"Input type": ["long int", "long int", "Scalar"], "Input Dims": [tokens, tokens, []]}
                        ):
                            t.copy("HtoD (Pinned -> Device)", 8 * self.rows, COMPUTE)
                self.forward()
                self.backward()
                self.optimizer()
                with t.op("aten::item", **{"Input type": [BF], "Input Dims": [[]]}):
                    with t.op("aten::_local_scalar_dense", **{"Input type": [BF], "Input Dims": [[]]}):
                        t.copy("DtoH (Device -> Pinned)", 2, COMPUTE)
                        t.synchronize(COMPUTE)
                t.busy(140.0)
        t.synchronize()


def run(seed, gpu, config=Config()):
    machine = Machine(seed, "gpt2", gpu, config.ranks, Noise)
    ranks = [Rank(machine, config, i) for i in range(config.ranks)]
    machine.run([r.program for r in ranks])
    return machine
