// Kernel names of cuBLAS, cuDNN, CUTLASS, PyTorch, Triton, Tensile, composable_kernel, NCCL, RCCL
// and friends.
#include "kernel_name.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace ergon::work {
namespace {

using model::Unit;
using model::WorkClass;

/// Lower-case text with searches; positions are those of the name.
class Text {
 public:
  explicit Text(std::string_view name) : text_(name) {
    for (char& c : text_) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  [[nodiscard]] bool has(std::string_view part) const {
    return text_.find(part) != std::string::npos;
  }
  template <class... Parts>
  [[nodiscard]] bool any(Parts... parts) const {
    return (has(parts) || ...);
  }
  [[nodiscard]] bool begins(std::string_view part) const { return text_.starts_with(part); }
  [[nodiscard]] const std::string& str() const { return text_; }

 private:
  std::string text_;
};

struct Pattern {
  std::string_view part;
  WorkClass kind;
};

// The first that occurs decides. Order: what contains other words comes first ("softmax" kernels
// are reductions too).
constexpr std::array kPatterns = {
    Pattern{"nccl", WorkClass::kCollective},
    Pattern{"rccl", WorkClass::kCollective},
    Pattern{"multimem_all_reduce", WorkClass::kCollective},
    Pattern{"one_shot_all_reduce", WorkClass::kCollective},
    Pattern{"two_shot_all_reduce", WorkClass::kCollective},
    Pattern{"cross_device_reduce", WorkClass::kCollective},
    Pattern{"allreduce_fusion", WorkClass::kCollective},
    Pattern{"all_reduce", WorkClass::kCollective},
    Pattern{"allreduce", WorkClass::kCollective},
    Pattern{"nvshmem", WorkClass::kCollective},
    Pattern{"deep_ep", WorkClass::kCollective},
    Pattern{"reshape_and_cache", WorkClass::kMemory},
    Pattern{"kvcache", WorkClass::kMemory},
    Pattern{"kv_cache", WorkClass::kMemory},
    Pattern{"rotary", WorkClass::kElementwise},
    Pattern{"flash_fwd", WorkClass::kAttention},
    Pattern{"flash_bwd", WorkClass::kAttention},
    Pattern{"flash_attn", WorkClass::kAttention},
    Pattern{"flashattn", WorkClass::kAttention},
    Pattern{"flash_", WorkClass::kAttention},
    Pattern{"fmha", WorkClass::kAttention},
    Pattern{"attn_fwd", WorkClass::kAttention},
    Pattern{"bwd_kernel_dk_dv", WorkClass::kAttention},
    Pattern{"bwd_kernel_dq", WorkClass::kAttention},
    Pattern{"attention", WorkClass::kAttention},
    Pattern{"_mla_", WorkClass::kAttention},
    Pattern{"mla_a8w8", WorkClass::kAttention},
    Pattern{"multi_tensor_apply", WorkClass::kOptimizer},
    Pattern{"multitensorapply", WorkClass::kOptimizer},
    Pattern{"fusedadam", WorkClass::kOptimizer},
    Pattern{"fused_adam", WorkClass::kOptimizer},
    Pattern{"winograd", WorkClass::kConv},
    Pattern{"splitkreduce", WorkClass::kReduce},
    Pattern{"splitk_reduce", WorkClass::kReduce},
    Pattern{"scudnn", WorkClass::kConv},
    Pattern{"_cudnn_", WorkClass::kConv},
    Pattern{"hcudnn", WorkClass::kConv},
    Pattern{"fprop", WorkClass::kConv},
    Pattern{"dgrad", WorkClass::kConv},
    Pattern{"wgrad", WorkClass::kConv},
    Pattern{"implicit_convolve", WorkClass::kConv},
    Pattern{"implicit_gemm", WorkClass::kConv},
    Pattern{"implicitgemm", WorkClass::kConv},
    Pattern{"explicit_convolve", WorkClass::kConv},
    Pattern{"convolve", WorkClass::kConv},
    Pattern{"conv2d", WorkClass::kConv},
    Pattern{"conv3d", WorkClass::kConv},
    Pattern{"conv_depthwise", WorkClass::kConv},
    Pattern{"depthwise_conv", WorkClass::kConv},
    Pattern{"grouped_conv", WorkClass::kConv},
    Pattern{"miopen_conv", WorkClass::kConv},
    Pattern{"igemm_fwd", WorkClass::kConv},
    Pattern{"igemm_bwd", WorkClass::kConv},
    Pattern{"igemm_wrw", WorkClass::kConv},
    Pattern{"miopensp3asmconv", WorkClass::kConv},
    Pattern{"batch_norm", WorkClass::kNorm},
    Pattern{"batchnorm", WorkClass::kNorm},
    Pattern{"bn_fw", WorkClass::kNorm},
    Pattern{"bn_bw", WorkClass::kNorm},
    Pattern{"layer_norm", WorkClass::kNorm},
    Pattern{"layernorm", WorkClass::kNorm},
    Pattern{"rms_norm", WorkClass::kNorm},
    Pattern{"rmsnorm", WorkClass::kNorm},
    Pattern{"group_norm", WorkClass::kNorm},
    Pattern{"groupnorm", WorkClass::kNorm},
    Pattern{"gammabetabackward", WorkClass::kNorm},
    Pattern{"rowwisemoments", WorkClass::kNorm},
    Pattern{"softmax", WorkClass::kSoftmax},
    Pattern{"gemm", WorkClass::kGemm},
    Pattern{"gemv", WorkClass::kGemm},
    Pattern{"gemv2", WorkClass::kGemm},
    Pattern{"cijk_", WorkClass::kGemm},
    Pattern{"nvjet", WorkClass::kGemm},
    Pattern{"wvsplitk", WorkClass::kGemm},
    Pattern{"xmma", WorkClass::kGemm},
    Pattern{"wgmma", WorkClass::kGemm},
    Pattern{"dot_kernel", WorkClass::kGemm},
    Pattern{"_matmul", WorkClass::kGemm},
    Pattern{"matmul_", WorkClass::kGemm},
    Pattern{"bmm_", WorkClass::kGemm},
    Pattern{"_mm_kernel", WorkClass::kGemm},
    Pattern{"triton_tem", WorkClass::kGemm},
    Pattern{"fused_moe_kernel", WorkClass::kGemm},
    Pattern{"triton_", WorkClass::kFused},
    Pattern{"embedding", WorkClass::kEmbedding},
    Pattern{"indexselect", WorkClass::kEmbedding},
    Pattern{"index_select", WorkClass::kEmbedding},
    Pattern{"radixsort", WorkClass::kSort},
    Pattern{"radix_sort", WorkClass::kSort},
    Pattern{"bitonicsort", WorkClass::kSort},
    Pattern{"mergesort", WorkClass::kSort},
    Pattern{"merge_sort", WorkClass::kSort},
    Pattern{"sbtopk", WorkClass::kSort},
    Pattern{"topk", WorkClass::kSort},
    Pattern{"devicescan", WorkClass::kSort},
    Pattern{"device_scan", WorkClass::kSort},
    Pattern{"scan_kernel", WorkClass::kSort},
    Pattern{"tensor_kernel_scan", WorkClass::kSort},
    Pattern{"histogram", WorkClass::kSort},
    Pattern{"catarraybatchedcopy", WorkClass::kMemory},
    Pattern{"nchwtonhwc", WorkClass::kMemory},
    Pattern{"nhwctonchw", WorkClass::kMemory},
    Pattern{"transpose", WorkClass::kMemory},
    Pattern{"permute", WorkClass::kMemory},
    Pattern{"im2col", WorkClass::kMemory},
    Pattern{"col2im", WorkClass::kMemory},
    Pattern{"copybuffer", WorkClass::kMemory},
    Pattern{"fillbuffer", WorkClass::kMemory},
    Pattern{"memcpy", WorkClass::kMemory},
    Pattern{"memset", WorkClass::kMemory},
    Pattern{"gather", WorkClass::kMemory},
    Pattern{"scatter", WorkClass::kMemory},
    Pattern{"recat_copy", WorkClass::kMemory},
    Pattern{"concat", WorkClass::kMemory},
    Pattern{"elementwise", WorkClass::kElementwise},
    Pattern{"scalepackedtensor", WorkClass::kElementwise},
    Pattern{"computeoffsetskernel", WorkClass::kElementwise},
    Pattern{"activation", WorkClass::kElementwise},
    Pattern{"act_and_mul", WorkClass::kElementwise},
    Pattern{"dropout", WorkClass::kElementwise},
    Pattern{"distribution_", WorkClass::kElementwise},
    Pattern{"quant", WorkClass::kElementwise},
    Pattern{"addtensor", WorkClass::kElementwise},
    Pattern{"optensor", WorkClass::kElementwise},
    Pattern{"subtensorop", WorkClass::kElementwise},
    Pattern{"op_tensor", WorkClass::kElementwise},
    Pattern{"op_generic_tensor", WorkClass::kElementwise},
    Pattern{"pointwise", WorkClass::kElementwise},
    Pattern{"upsample", WorkClass::kElementwise},
    Pattern{"max_pool", WorkClass::kElementwise},
    Pattern{"avg_pool", WorkClass::kElementwise},
    Pattern{"maxpool", WorkClass::kElementwise},
    Pattern{"avgpool", WorkClass::kElementwise},
    Pattern{"pooling", WorkClass::kElementwise},
    Pattern{"adaptive_average", WorkClass::kElementwise},
    Pattern{"reduce", WorkClass::kReduce},
    Pattern{"nll_loss", WorkClass::kReduce},
    Pattern{"cross_entropy", WorkClass::kReduce},
    Pattern{"argmax", WorkClass::kReduce},
};

// Kernels that prepare or finish what another kernel of the same operator does.
bool is_helper(const Text& t) {
  return t.any("splitkreduce", "splitk_reduce", "splitkpostprocess", "nchwtonhwc", "nhwctonchw",
               "computeoffsets", "computewgrad", "scalepackedtensor", "winogradforwarddata",
               "winogradforwardfilter", "winogradforwardoutput", "winogradwgraddata",
               "winogradwgraddelta", "winogradwgradoutput", "generatewinogradtiles", "im2col",
               "col2im", "fft1d", "fft2d", "fft3d", "flip_filter", "convertnchw", "tensortransform",
               "batched_transpose", "kern_precompute_indices", "cublaslt::epilogue", "zerofill",
               "set_scaling", "fill_kernel", "memset") ||
         t.any("combine", "postprocess", "dot_do_o", "convert_dq", "bwd_preprocess");
}

Direction direction_of(const Text& t) {
  if (t.any("wgrad", "bwdweight", "bwd_weight", "_wrw", "weight_grad", "backward_weight"))
    return Direction::kWeightGradient;
  if (t.any("dgrad", "bwddata", "bwd_data", "igemm_bwd", "backward_data", "strided_b",
            "stridedb")) {
    return t.any("stridedb_splitk", "strided_b_splitk") ? Direction::kWeightGradient
                                                        : Direction::kDataGradient;
  }
  if (t.any("fprop", "implicit_convolve", "igemm_fwd", "conv_fwd")) return Direction::kForward;
  return Direction::kAny;
}

Shortcut shortcut_of(const Text& t) {
  if (t.has("winograd")) {
    if (t.any("4x4", "winograd_nonfused", "nonfused")) return Shortcut::kWinograd4;
    return Shortcut::kWinograd2;
  }
  if (t.any("miopensp3asmconv")) return Shortcut::kWinograd2;
  if (t.any("fft1d", "fft2d", "fft3d", "fft2d_r2c", "cgemm")) return Shortcut::kFft;
  return Shortcut::kNone;
}

struct Arithmetic {
  std::optional<Unit> unit;
  bool tensor_cores = false;
  std::optional<double> bytes;
};

bool half_words(const Text& t) {
  return t.any("bf16", "bfloat16", "f16", "fp16", "half", "_h884", "h884", "h1688", "h16816",
               "hgemm", "hhs_bh", "bbs_bh", "_hb_", "_bb_", "_hh_", "hshs", "hcudnn");
}

/// What the name of a gemm, convolution or attention kernel says of its arithmetic. Instruction
/// shapes tell tensor cores: 884, 1688, 16816 with s or h before (accumulator), i for integers, d
/// for double.
Arithmetic arithmetic_of(const Text& t) {
  Arithmetic a;
  if (t.any("e4m3", "e5m2", "fp8", "float8", "f8f8", "_q_q", "qqtst", "mxe2m1", "nvfp4", "fp4")) {
    a = {Unit::kMatrixFp8, true, 1.0};
  } else if (t.any("i8816", "i16832", "i8i8", "int8", "imma", "igemm_int8", "s8s8")) {
    a = {Unit::kMatrixInt8, true, 1.0};
  } else if (t.any("d884", "dmma", "_d8x8x4")) {
    a = {Unit::kMatrixFp64, true, 8.0};
  } else if (t.any("dgemm", "f64f64", "_db_")) {
    a = {std::nullopt, false, 8.0};
  } else if (half_words(t)) {
    const bool simt = t.has("simt") || (t.has("gemv") && !t.has("tensorop"));
    a.bytes = 2.0;
    if (simt) {
      a.unit = Unit::kVectorFp32;  // half operands, single-precision accumulation in vector lanes
    } else {
      a.unit = Unit::kMatrixFp16;
      a.tensor_cores = true;
    }
  } else if (t.any("tf32", "_xf32", "s1688gemm", "s1688fprop", "s1688dgrad", "s1688wgrad",
                   "s16816gemm", "s1688", "hmma")) {
    a = {Unit::kMatrixTf32, true, 4.0};
  } else if (t.any("simt", "sgemm", "scudnn", "_sb_", "f32f32", "cf32", "gemmsn")) {
    a = {Unit::kVectorFp32, false, 4.0};
  } else if (t.any("tensorop", "nvjet", "wgmma", "884", "16816", "xmma_gemm", "mfma")) {
    a.tensor_cores = true;
  } else if (t.any("<float", "float,", "float>")) {
    a.bytes = 4.0;
  }
  return a;
}

bool digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

int number_at(const std::string& s, std::size_t& i) {
  int v = 0;
  while (i < s.size() && digit(s[i]) && v < 100000) v = v * 10 + (s[i++] - '0');
  return v;
}

/// The first AxB with both from 16 to 512: "128x64", "tilesize128x128x64", "MT64x16x32".
void read_tile(const std::string& s, KernelName& k) {
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (!digit(s[i]) || (i > 0 && digit(s[i - 1]))) continue;
    std::size_t at = i;
    const int m = number_at(s, at);
    if (at >= s.size() || s[at] != 'x') continue;
    ++at;
    if (at >= s.size() || !digit(s[at])) continue;
    const int n = number_at(s, at);
    if (m >= 16 && m <= 512 && n >= 16 && n <= 512) {
      k.tile_m = m;
      k.tile_n = n;
      return;
    }
  }
}

std::size_t after(const std::string& s, std::string_view part) {
  const auto at = s.find(part);
  return at == std::string::npos ? s.size() : at + part.size();
}

/// PyTorch's elementwise kernels: vectorized_elementwise_kernel<V, ...> runs V elements a thread
/// and at least 4; elementwise_kernel<threads, V, ...> runs threads x V a block. The tensors stand
/// as Array<char*, N>.
void read_elementwise(const std::string& s, KernelName& k) {
  std::size_t vectorized = after(s, "vectorized_elementwise_kernel<");
  std::size_t plain = after(s, "elementwise_kernel<");
  std::size_t at = 0;
  if (vectorized < s.size()) {
    k.items_per_thread = std::max(4, number_at(s, vectorized));
  } else if (s.find("unrolled_elementwise_kernel<") != std::string::npos) {
    k.items_per_thread = 4;
  } else if (plain < s.size() && digit(s[plain])) {
    const int threads = number_at(s, plain);
    while (plain < s.size() && (s[plain] == ',' || s[plain] == ' ')) ++plain;
    k.items_per_block = threads * number_at(s, plain);
  }
  for (const std::string_view array :
       {std::string_view("array<char*, "), std::string_view("array<char*,")}) {
    at = after(s, array);
    if (at < s.size() && digit(s[at])) {
      k.arrays = number_at(s, at);
      break;
    }
  }
}

std::optional<double> element_bytes_of(const Text& t) {
  if (t.any("bfloat16", "half", "bf16", "fp16")) return 2.0;
  if (t.has("double")) return 8.0;
  if (t.any("<long", "long,", "int64", "<long long")) return 8.0;
  if (t.any("float", "<int", "int,")) return 4.0;
  if (t.any("bool", "unsigned char", "int8")) return 1.0;
  return std::nullopt;
}

}  // namespace

KernelName read_kernel_name(std::string_view name) {
  const Text t(name);
  KernelName k;
  for (const Pattern& p : kPatterns) {
    if (t.has(p.part)) {
      k.kind = p.kind;
      break;
    }
  }
  // A generated name lists what was fused: "triton_red_fused_native_layer_norm_0" is a fused
  // kernel, not a norm.
  if (t.begins("triton_") && !t.has("triton_tem")) k.kind = WorkClass::kFused;
  if (is_helper(t)) k.role = Role::kHelper;
  const bool arithmetic =
      k.kind == WorkClass::kGemm || k.kind == WorkClass::kConv || k.kind == WorkClass::kAttention;
  if (arithmetic) {
    const Arithmetic a = arithmetic_of(t);
    k.unit = a.unit;
    k.tensor_cores = a.tensor_cores;
    k.element_bytes = a.bytes;
    k.direction = direction_of(t);
    k.shortcut = shortcut_of(t);
    read_tile(t.str(), k);
  } else {
    k.element_bytes = element_bytes_of(t);
    k.shortcut = shortcut_of(t);
    k.direction = k.kind == WorkClass::kFused ? Direction::kAny : direction_of(t);
    if (k.kind == WorkClass::kElementwise) read_elementwise(t.str(), k);
  }
  return k;
}

}  // namespace ergon::work
