"""Kernels of common operators: names as cuBLAS, cuDNN and PyTorch show them, operations and bytes from shapes."""

from .device import Kernel

BF16 = 2
_CHARS2 = "std::array<char*, 2ul>"
_CHARS3 = "std::array<char*, 3ul>"


def _ceil(a, b):
    return (a + b - 1) // b


def gemm(m, n, k, major, *, layout="tn", tag="gemm"):
    """bf16 C[m,n] = A[m,k] B[k,n], cuBLAS names of sm_80 (major 8) or sm_90 (major 9)."""
    if m <= 64:
        tile = (64, 32)
    elif m * n >= 4 * 128 * 256 * 100:
        tile = (128, 256)
    else:
        tile = (128, 128) if n >= 128 else (128, 64)
    grid_m, grid_n = _ceil(m, tile[0]), _ceil(n, tile[1])
    split = 1
    while grid_m * grid_n * split < 100 and k // split > 512:
        split *= 2
    if major >= 9:
        name = (
            "sm90_xmma_gemm_bf16bf16_bf16f32_f32_%s_n_tilesize%dx%dx64_warpgroupsize%dx1x1_%sexecute_segment_k_off"
            "_kernel__5x_cublas"
            % (layout, tile[0], tile[1], 2 if tile[1] == 256 else 1, "splitk_" if split > 1 else "")
        )
        threads, regs, smem = 384, 168, 231424
    else:
        name = "ampere_bf16_s16816gemm_bf16_%dx%d_ldg8_f2f_stages_64x%d_%s" % (tile[0], tile[1], 3, layout)
        threads, regs, smem = 256 if tile[1] == 256 else 128, 224, 147456
    return Kernel(
        "gemm",
        name,
        (grid_m, grid_n, split),
        (threads, 1, 1),
        flops=2.0 * m * n * k,
        bytes=BF16 * (m * k + k * n + m * n),
        tensor=True,
        registers=regs,
        shared=smem,
        shape=(tag, m, n, k, layout),
    )


def elementwise(functor, elements, bytes_per_element, *, kind, arrays=2, flops=1.0, unrolled=False):
    template = "unrolled_elementwise_kernel<%s, %s, 4>" if unrolled else "vectorized_elementwise_kernel<4, %s, %s >"
    chars = _CHARS2 if arrays == 2 else _CHARS3
    name = "void at::native::%s(int, %s, %s)" % (template % (functor, chars), functor, chars)
    return Kernel(
        "elementwise",
        name,
        (_ceil(elements, 512), 1, 1),
        (128, 1, 1),
        flops=flops * elements,
        bytes=bytes_per_element * elements,
        registers=28,
        shape=(kind, elements),
    )


ADD = "at::native::CUDAFunctor_add<c10::BFloat16>"
COPY = "at::native::bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(c10::BFloat16)#1}"
SCALE = (
    "at::native::AUnaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
    "at::native::binary_internal::MulFunctor<float> >"
)
GELU = (
    "at::native::GeluCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}::operator()() "
    "const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16)#1}"
)
GELU_BACKWARD = (
    "at::native::GeluBackwardCUDAKernelImpl(at::TensorIteratorBase&, at::native::GeluType)::{lambda()#1}::"
    "operator()() const::{lambda()#4}::operator()() const::{lambda(c10::BFloat16, c10::BFloat16)#1}"
)
FILL = "at::native::FillFunctor<c10::BFloat16>"
CLAMP_MIN = (
    "at::native::(anonymous namespace)::launch_clamp_scalar(at::TensorIteratorBase&, c10::Scalar, c10::Scalar, "
    "at::native::detail::ClampLimits)::{lambda()#1}::operator()() const::{lambda()#8}::operator()() "
    "const::{lambda(c10::Half)#1}"
)
ADD_HALF = "at::native::CUDAFunctor_add<c10::Half>"


def layer_norm(rows, width):
    name = (
        "void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<c10::BFloat16, float>(int, float, "
        "c10::BFloat16 const*, c10::BFloat16 const*, c10::BFloat16 const*, float*, float*, c10::BFloat16*)"
    )
    return Kernel(
        "layer_norm",
        name,
        (rows, 1, 1),
        (32, 4, 1),
        flops=8.0 * rows * width,
        bytes=BF16 * 2.0 * rows * width,
        registers=40,
        shared=24,
        shape=(rows, width),
    )


def layer_norm_backward(rows, width):
    first = (
        "void at::native::(anonymous namespace)::layer_norm_grad_input_kernel_vectorized<c10::BFloat16, float>("
        "c10::BFloat16 const*, c10::BFloat16 const*, float const*, float const*, c10::BFloat16 const*, "
        "c10::BFloat16*, int)"
    )
    second = (
        "void at::native::(anonymous namespace)::GammaBetaBackwardCUDAKernelTemplate<c10::BFloat16, float, 32u, "
        "8u, 64u, false, true, true>(long, long, c10::BFloat16 const*, c10::BFloat16 const*, float const*, float "
        "const*, c10::BFloat16*, c10::BFloat16*)"
    )
    return [
        Kernel(
            "layer_norm_backward",
            first,
            (rows, 1, 1),
            (128, 1, 1),
            flops=12.0 * rows * width,
            bytes=BF16 * 3.0 * rows * width,
            registers=40,
            shared=32,
            shape=(rows, width),
        ),
        Kernel(
            "layer_norm_gamma",
            second,
            (_ceil(width, 32), _ceil(rows, 256), 1),
            (32, 8, 1),
            flops=6.0 * rows * width,
            bytes=BF16 * 2.0 * rows * width,
            registers=48,
            shape=(rows, width),
        ),
    ]


def dropout(elements):
    info = "at::cuda::detail::TensorInfo<%s, unsigned int>"
    name = (
        "void at::native::(anonymous namespace)::fused_dropout_kernel_vec<c10::BFloat16, float, unsigned int, 1, 8, "
        "bool>(%s, %s, %s, unsigned int, float, at::PhiloxCudaState)"
        % (info % "c10::BFloat16 const", info % "c10::BFloat16", info % "bool")
    )
    return Kernel(
        "dropout",
        name,
        (864, 1, 1),
        (256, 1, 1),
        flops=10.0 * elements,
        bytes=5.0 * elements,
        registers=40,
        shape=(elements,),
    )


def dropout_backward(elements):
    functor = (
        "at::native::(anonymous namespace)::masked_scale_kernel<bool, c10::BFloat16, float>(at::Tensor&, "
        "at::Tensor const&, at::Tensor const&, float)::{lambda(c10::BFloat16, bool)#1}"
    )
    return elementwise(functor, elements, 5, kind="masked_scale", arrays=3)


def column_sum(rows, width):
    op = (
        "at::native::ReduceOp<c10::BFloat16, at::native::func_wrapper_t<c10::BFloat16, at::native::sum_functor<"
        "c10::BFloat16, float, c10::BFloat16>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, unsigned int, "
        "c10::BFloat16, 4>"
    )
    return Kernel(
        "reduce",
        "void at::native::reduce_kernel<128, 4, %s >(%s)" % (op, op),
        (_ceil(width, 128), _ceil(rows, 2048), 1),
        (32, 16, 1),
        flops=1.0 * rows * width,
        bytes=BF16 * 1.0 * rows * width,
        registers=32,
        shared=8192,
        shape=("sum", rows, width),
    )


def _flash_traits(kind, head, m, n, warps):
    base = "%d, %d, %d, %d" % (head, m, n, warps)
    return (
        "pytorch_flash::Flash_%s_kernel_traits<%s, false, false, cutlass::bfloat16_t, "
        "pytorch_flash::Flash_kernel_traits<%s, cutlass::bfloat16_t> >" % (kind, base, base)
    )


def flash_forward(batch, heads, query, keys, head, *, causal=True, prefix="pytorch_flash"):
    flops = 4.0 * batch * heads * query * keys * head * (0.5 if causal else 1.0)
    size = BF16 * batch * heads * head * (2.0 * query + 2.0 * keys)
    name = (
        "void pytorch_flash::flash_fwd_kernel<%s, true, %s, false, false, true, true, false>"
        "(pytorch_flash::Flash_fwd_params)" % (_flash_traits("fwd", head, 128, 64, 4), "true" if causal else "false")
    )
    if prefix != "pytorch_flash":
        name = name.replace("pytorch_flash::", prefix + "::" if prefix else "")
    return Kernel(
        "flash_fwd",
        name,
        (_ceil(query, 128), batch, heads),
        (128, 1, 1),
        flops=flops,
        bytes=size,
        tensor=True,
        registers=255,
        shared=49152,
        shape=(batch, heads, query, keys, head),
    )


def flash_backward(batch, heads, length, head):
    n = batch * heads * length * head
    dot = "void pytorch_flash::flash_bwd_dot_do_o_kernel<true, %s >(pytorch_flash::Flash_bwd_params)" % _flash_traits(
        "bwd", head, 128, 128, 8
    )
    main = (
        "void pytorch_flash::flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<%s, true, true, false, false, true, true>"
        "(pytorch_flash::Flash_bwd_params)" % _flash_traits("bwd", head, 128, 128, 8)
    )
    convert = (
        "void pytorch_flash::flash_bwd_convert_dq_kernel<%s >(pytorch_flash::Flash_bwd_params, int)"
        % _flash_traits("bwd", head, 128, 128, 8)
    )
    grid = (_ceil(length, 128), batch, heads)
    return [
        Kernel(
            "flash_dot",
            dot,
            grid,
            (256, 1, 1),
            flops=2.0 * n,
            bytes=BF16 * 2.0 * n + 4.0 * n / head,
            registers=48,
            shape=(n,),
        ),
        Kernel(
            "flash_bwd",
            main,
            grid,
            (256, 1, 1),
            flops=0.5 * 10.0 * n * length,
            bytes=BF16 * 8.0 * n,
            tensor=True,
            registers=255,
            shared=147456,
            shape=(n,),
        ),
        Kernel(
            "flash_convert",
            convert,
            grid,
            (256, 1, 1),
            flops=1.0 * n,
            bytes=6.0 * n,
            registers=72,
            shared=16384,
            shape=(n,),
        ),
    ]


def embedding(tokens, width):
    name = (
        "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>"
        "(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, at::cuda::detail::TensorInfo<c10::BFloat16 const, "
        "unsigned int>, at::cuda::detail::TensorInfo<long const, unsigned int>, int, int, unsigned int, unsigned int, long)"
    )
    return Kernel(
        "embedding",
        name,
        (_ceil(tokens * width, 128) // 8, 1, 1),
        (128, 1, 1),
        bytes=BF16 * 2.0 * tokens * width,
        registers=36,
        shape=(tokens, width),
    )


def embedding_backward(tokens, width):
    name = (
        "void at::native::(anonymous namespace)::compute_grad_weight<c10::BFloat16, long>(long const*, c10::BFloat16 "
        "const*, long const*, long, long, long const*, long const*, float*, long)"
    )
    return Kernel(
        "embedding_backward",
        name,
        (_ceil(tokens, 10), _ceil(width, 128), 1),
        (128, 1, 1),
        flops=1.0 * tokens * width,
        bytes=6.0 * tokens * width,
        registers=40,
        shape=(tokens, width),
    )


def log_softmax(rows, width, *, backward=False):
    name = (
        "void at::native::(anonymous namespace)::cunn_SoftMax%s<8, c10::BFloat16, float, c10::BFloat16, "
        "at::native::(anonymous namespace)::LogSoftMax%sEpilogue>"
        % (("Backward", "Backward") if backward else ("Forward", "Forward"))
    )
    arguments = (
        "(c10::BFloat16*, c10::BFloat16 const*, c10::BFloat16 const*, long)"
        if backward
        else "(c10::BFloat16*, c10::BFloat16 const*, int)"
    )
    return Kernel(
        "log_softmax",
        name + arguments,
        (rows, 1, 1),
        (1024, 1, 1),
        flops=6.0 * rows * width,
        bytes=BF16 * 3.0 * rows * width,
        registers=32,
        shared=128,
        shape=(rows, width, backward),
    )


def nll_loss(rows, width, *, backward=False):
    name = (
        "void at::native::(anonymous namespace)::nll_loss_%s_reduce_cuda_kernel_2d<c10::BFloat16, float, long>(c10::BFloat16*, "
        "c10::BFloat16*, c10::BFloat16 const*, long const*, c10::BFloat16 const*, bool, long, long, long, long)"
        % ("backward" if backward else "forward")
    )
    return Kernel(
        "nll_loss",
        name,
        (1, 1, 1),
        (32, 1, 1),
        flops=2.0 * rows,
        bytes=64.0 * rows * 8,
        registers=38,
        shared=256,
        shape=(rows, width, backward),
    )


def fused_adamw(elements):
    name = (
        "void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::(anonymous namespace)::"
        "FusedOptimizerTensorListMetadata<4>, at::native::(anonymous namespace)::FusedAdamMathFunctor<c10::BFloat16, 4, "
        "(at::native::(anonymous namespace)::ADAM_MODE)1, false>, float const*, double, double, double, double, double, "
        "bool, float*, float*>(at::native::(anonymous namespace)::FusedOptimizerTensorListMetadata<4>, ...)"
    )
    return Kernel(
        "adamw",
        name,
        (min(320, _ceil(elements, 65536)), 1, 1),
        (512, 1, 1),
        flops=18.0 * elements,
        bytes=BF16 * 7.0 * elements,
        registers=62,
        shape=(elements,),
    )


def nccl_all_reduce(elements, ranks, blocks=16):
    meta = {
        "Collective name": "allreduce",
        "In msg nelems": elements,
        "Out msg nelems": elements,
        "Group size": ranks,
        "dtype": "BFloat16",
        "In split size": "[]",
        "Out split size": "[]",
        "Process Group Name": "0",
        "Process Group Description": "default_pg",
        "Process Group Ranks": str(list(range(ranks))),
    }
    kernel = Kernel(
        "nccl",
        "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
        (blocks, 1, 1),
        (544, 1, 1),
        bytes=2.0 * BF16 * elements,
        registers=96,
        shared=84064,
        shape=(elements,),
        extra=meta,
    )
    return kernel, meta
