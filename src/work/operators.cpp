// Matrix products, attention, collectives, and everything that is limited by bandwidth.
#include "operators.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ergon::work {
namespace {

using model::WorkClass;

std::string times(std::initializer_list<double> sizes) {
  std::string out;
  for (const double s : sizes) {
    if (!out.empty()) out += "x";
    out += std::to_string(static_cast<long long>(s));
  }
  return out;
}

std::optional<OperatorWork> gemm(double batch, double m, double k, double n, Type type,
                                 double out_bytes_per = 0) {
  const double size = bytes_of(type) > 0 ? bytes_of(type) : 4;
  OperatorWork w;
  w.family = Family::kGemm;
  w.kind = WorkClass::kGemm;
  w.flops = 2 * batch * m * n * k;
  w.read_bytes = batch * (m * k + k * n) * size;
  w.write_bytes = batch * m * n * (out_bytes_per > 0 ? out_bytes_per : size);
  w.type = type;
  w.m = m;
  w.n = n;
  w.k = k;
  w.batch = batch;
  w.label = (batch > 1 ? times({batch}) + " x " : "") + times({m, n, k});
  return w;
}

double leading(const Dims& d, std::size_t keep) {
  double n = 1;
  for (std::size_t i = 0; i + keep < d.size(); ++i) n *= at(d, i);
  return n;
}

/// torch.matmul: batch dimensions broadcast, vectors lose theirs.
std::optional<OperatorWork> matmul(const Shape& a, const Shape& b) {
  const Dims& x = *a.dims;
  const Dims& y = *b.dims;
  if (x.empty() || y.empty()) return std::nullopt;
  const double m = x.size() >= 2 ? at(x, x.size() - 2) : 1;
  const double k = at(x, x.size() - 1);
  const double n = y.size() >= 2 ? at(y, y.size() - 1) : 1;
  if (y.size() <= 2) return gemm(1, leading(x, 2) * m, k, n, a.type);
  double batch = 1;
  const std::size_t depth = std::max(x.size(), y.size()) - 2;
  for (std::size_t i = 0; i < depth; ++i) {
    const auto size = [&](const Dims& d) {
      return d.size() >= i + 3 ? at(d, d.size() - 3 - i) : 1.0;
    };
    batch *= std::max(size(x), size(y));
  }
  return gemm(batch, m, k, n, a.type);
}

/// Index of the two factors of a two-dimensional product.
struct GemmOperator {
  std::string_view name;
  std::size_t a;
  std::size_t b;
  bool batched;
};
constexpr std::array kGemms = {
    GemmOperator{"mm", 0, 1, false},           GemmOperator{"addmm", 1, 2, false},
    GemmOperator{"addmm_", 1, 2, false},       GemmOperator{"_addmm_activation", 1, 2, false},
    GemmOperator{"_scaled_mm", 0, 1, false},   GemmOperator{"_int_mm", 0, 1, false},
    GemmOperator{"sspaddmm", 1, 2, false},     GemmOperator{"bmm", 0, 1, true},
    GemmOperator{"baddbmm", 1, 2, true},       GemmOperator{"baddbmm_", 1, 2, true},
    GemmOperator{"_baddbmm_mkl_", 1, 2, true},
};

std::optional<OperatorWork> matrix_operator(std::string_view op, const Arguments& args) {
  for (const GemmOperator& g : kGemms) {
    if (op != g.name) continue;
    const auto a = tensor(args, g.a);
    const auto b = tensor(args, g.b);
    const std::size_t rank = g.batched ? 3 : 2;
    if (!a || !b || a->dims->size() != rank || b->dims->size() != rank) return std::nullopt;
    const Dims& x = *a->dims;
    const Dims& y = *b->dims;
    if (x[rank - 1] != y[rank - 2]) return std::nullopt;
    return gemm(g.batched ? at(x, 0) : 1, at(x, rank - 2), at(x, rank - 1), at(y, rank - 1),
                a->type);
  }
  const auto a = tensor(args, 0);
  const auto b = tensor(args, 1);
  if (op == "linear" && a && b && !a->dims->empty() && b->dims->size() == 2) {
    return gemm(1, leading(*a->dims, 1), at(*a->dims, a->dims->size() - 1), at(*b->dims, 0),
                a->type);
  }
  if (op == "matmul" && a && b) return matmul(*a, *b);
  if ((op == "mv" || op == "dot" || op == "vdot") && a && b) return matmul(*a, *b);
  if (op == "addmv" || op == "addmv_") {
    const auto matrix = tensor(args, 1);
    const auto vector = tensor(args, 2);
    if (matrix && vector) return matmul(*matrix, *vector);
  }
  return std::nullopt;
}

bool is_true(const Arguments& args, std::size_t i) {
  return i < args.inputs.size() && args.inputs[i].concrete == "True";
}

/// Softmax(Q K^T) V: 4 B H Sq Sk D forward (2 products), 2.5 times that backward (5 products
/// against 2); half where causal.
std::optional<OperatorWork> attention(std::string_view op, const Arguments& args) {
  const bool backward = op.find("backward") != std::string_view::npos;
  const std::size_t first = backward ? 1 : 0;
  const auto q = tensor(args, first);
  const auto k = tensor(args, first + 1);
  const auto v = tensor(args, first + 2);
  if (!q || !k || !v || q->dims->size() != 4 || k->dims->size() != 4) return std::nullopt;
  const Dims& x = *q->dims;
  const Dims& y = *k->dims;
  // The public operators keep heads before the sequence, the two low-level ones after it.
  const bool sequence_first = op.find("_flash_attention_") == 0 ||
                              op.find("_efficient_attention_") == 0 ||
                              op.find("_cudnn_attention_") == 0;
  const std::size_t sequence = sequence_first ? 1 : 2;
  const std::size_t heads = sequence_first ? 2 : 1;
  std::size_t causal = 0;
  if (op == "_flash_attention_forward") causal = 8;
  if (op == "_scaled_dot_product_flash_attention") causal = 4;
  if (op == "_scaled_dot_product_efficient_attention") causal = 6;
  if (op == "_scaled_dot_product_cudnn_attention") causal = 6;
  if (op == "_flash_attention_forward" && args.inputs.size() > 3 && !args.inputs[3].tensors.empty())
    return std::nullopt;  // packed
  OperatorWork w;
  w.family = Family::kAttention;
  w.kind = WorkClass::kAttention;
  w.type = q->type;
  w.flops = 4 * at(x, 0) * at(x, heads) * at(x, sequence) * at(y, sequence) * at(x, 3) *
            (backward ? 2.5 : 1);
  if (causal > 0 && is_true(args, causal)) w.flops *= 0.5;
  const double io = q->bytes + k->bytes + v->bytes;
  w.read_bytes = backward ? 2 * io + q->bytes : io;
  w.write_bytes = backward ? io : q->bytes;
  w.label = times({at(x, 0), at(x, heads), at(x, sequence), at(x, 3)});
  return w;
}

double list_bytes(const Input& in, double* count = nullptr) {
  double sum = 0;
  const double size = bytes_of(in.type) > 0 ? bytes_of(in.type) : 4;
  for (const Dims& d : in.tensors) {
    const auto n = elements(d);
    if (!n) continue;
    sum += *n * size;
    if (count != nullptr) *count += *n;
  }
  return sum;
}

struct Bandwidth {
  std::string_view name;
  WorkClass kind;
  double read;  ///< times the bytes of the first tensor, for rules that need no more
  double write;
};

// Bytes as multiples of the first tensor's. Batch normalisation in training reads its input for the
// statistics and again to normalise; its backward pass reads gradient and input twice.
constexpr std::array kByFirst = {
    Bandwidth{"fill_", WorkClass::kMemory, 0, 1},
    Bandwidth{"zero_", WorkClass::kMemory, 0, 1},
    Bandwidth{"_softmax", WorkClass::kSoftmax, 1, 1},
    Bandwidth{"_log_softmax", WorkClass::kSoftmax, 1, 1},
    Bandwidth{"softmax", WorkClass::kSoftmax, 1, 1},
    Bandwidth{"_softmax_backward_data", WorkClass::kSoftmax, 2, 1},
    Bandwidth{"_log_softmax_backward_data", WorkClass::kSoftmax, 2, 1},
    Bandwidth{"native_layer_norm", WorkClass::kNorm, 1, 1},
    Bandwidth{"layer_norm", WorkClass::kNorm, 1, 1},
    Bandwidth{"native_layer_norm_backward", WorkClass::kNorm, 2, 1},
    Bandwidth{"native_group_norm", WorkClass::kNorm, 2, 1},
    Bandwidth{"cudnn_batch_norm", WorkClass::kNorm, 2, 1},
    Bandwidth{"miopen_batch_norm", WorkClass::kNorm, 2, 1},
    Bandwidth{"native_batch_norm", WorkClass::kNorm, 2, 1},
    Bandwidth{"cudnn_batch_norm_backward", WorkClass::kNorm, 4, 1},
    Bandwidth{"miopen_batch_norm_backward", WorkClass::kNorm, 4, 1},
    Bandwidth{"native_batch_norm_backward", WorkClass::kNorm, 4, 1},
    Bandwidth{"native_dropout", WorkClass::kElementwise, 1, 1.25},
    Bandwidth{"clone", WorkClass::kMemory, 1, 1},
    Bandwidth{"contiguous", WorkClass::kMemory, 1, 1},
    Bandwidth{"sum", WorkClass::kReduce, 1, 0},
    Bandwidth{"mean", WorkClass::kReduce, 1, 0},
    Bandwidth{"max", WorkClass::kReduce, 1, 0},
    Bandwidth{"min", WorkClass::kReduce, 1, 0},
    Bandwidth{"amax", WorkClass::kReduce, 1, 0},
    Bandwidth{"amin", WorkClass::kReduce, 1, 0},
    Bandwidth{"argmax", WorkClass::kReduce, 1, 0},
    Bandwidth{"all", WorkClass::kReduce, 1, 0},
    Bandwidth{"any", WorkClass::kReduce, 1, 0},
    Bandwidth{"norm", WorkClass::kReduce, 1, 0},
    Bandwidth{"linalg_vector_norm", WorkClass::kReduce, 1, 0},
    Bandwidth{"var_mean", WorkClass::kReduce, 1, 0},
    Bandwidth{"std", WorkClass::kReduce, 1, 0},
    Bandwidth{"var", WorkClass::kReduce, 1, 0},
    Bandwidth{"prod", WorkClass::kReduce, 1, 0},
};

// Elementwise operators whose result has the broadcast shape of their tensors.
constexpr std::array<std::string_view, 76> kElementwise = {
    "add",
    "sub",
    "mul",
    "div",
    "rsub",
    "pow",
    "sqrt",
    "rsqrt",
    "exp",
    "log",
    "tanh",
    "sigmoid",
    "relu",
    "gelu",
    "silu",
    "threshold",
    "clamp",
    "clamp_min",
    "clamp_max",
    "neg",
    "abs",
    "cos",
    "sin",
    "where",
    "masked_fill",
    "addcmul",
    "addcdiv",
    "lerp",
    "eq",
    "ne",
    "lt",
    "gt",
    "le",
    "ge",
    "logical_and",
    "logical_or",
    "logical_not",
    "bitwise_and",
    "bitwise_or",
    "bitwise_not",
    "maximum",
    "minimum",
    "hardtanh",
    "hardswish",
    "hardsigmoid",
    "leaky_relu",
    "elu",
    "softplus",
    "mish",
    "erf",
    "reciprocal",
    "sign",
    "round",
    "floor",
    "ceil",
    "isnan",
    "isinf",
    "threshold_backward",
    "gelu_backward",
    "silu_backward",
    "tanh_backward",
    "sigmoid_backward",
    "hardtanh_backward",
    "hardswish_backward",
    "leaky_relu_backward",
    "elu_backward",
    "mse_loss",
    "binary_cross_entropy",
    "smooth_l1_loss",
    "square",
    "log1p",
    "expm1",
    "floor_divide",
    "remainder",
    "fmod",
    "native_dropout_backward",
};

bool is_elementwise(std::string_view op) {
  if (op.ends_with("_") && op.size() > 1) op.remove_suffix(1);
  return std::find(kElementwise.begin(), kElementwise.end(), op) != kElementwise.end();
}

std::optional<OperatorWork> elementwise(const Arguments& args) {
  OperatorWork w;
  w.kind = WorkClass::kElementwise;
  double most = 0;
  double size = 0;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    const auto t = tensor(args, i);
    if (!t) continue;
    w.read_bytes += t->bytes;
    if (t->elements > most) {
      most = t->elements;
      size = t->bytes / t->elements;
      w.type = t->type;
    }
  }
  if (most <= 0) return std::nullopt;
  w.write_bytes = most * size;
  w.flops = most;
  w.label = times({most});
  return w;
}

std::optional<OperatorWork> lists(std::string_view op, const Arguments& args) {
  // _foreach_* and _fused_*: every list is read, the first written; optimizers write their states
  // too.
  OperatorWork w;
  w.kind = WorkClass::kOptimizer;
  double count = 0;
  std::vector<double> bytes;
  for (const Input& in : args.inputs) {
    if (!in.is_list) continue;
    double n = 0;
    bytes.push_back(list_bytes(in, &n));
    if (count == 0) count = n;
    w.type = w.type == Type::kUnknown ? in.type : w.type;
  }
  if (bytes.empty() || bytes.front() <= 0) return std::nullopt;
  for (const double b : bytes) w.read_bytes += b;
  w.write_bytes = bytes.front();
  if (op.starts_with("_fused_") && bytes.size() >= 4) w.write_bytes += bytes[2] + bytes[3];
  w.flops = count * (op.starts_with("_fused_") ? 12 : 1);
  w.label = times({count});
  return w;
}

std::optional<OperatorWork> special(std::string_view op, const Arguments& args) {
  OperatorWork w;
  const auto first = tensor(args, 0);
  const auto second = tensor(args, 1);
  if (op == "copy_" && first && second) {
    w.kind = WorkClass::kMemory;
    w.read_bytes = second->bytes;
    w.write_bytes = first->bytes;
    w.type = first->type;
    w.label = times({first->elements});
    return w;
  }
  if (op == "cat" && !args.inputs.empty() && args.inputs[0].is_list) {
    w.kind = WorkClass::kMemory;
    w.read_bytes = w.write_bytes = list_bytes(args.inputs[0]);
    if (w.read_bytes <= 0) return std::nullopt;
    w.label = times({static_cast<double>(args.inputs[0].tensors.size())}) + " tensors";
    return w;
  }
  if (op == "embedding" && first && second && first->dims->size() == 2) {
    const double row = at(*first->dims, 1) * first->bytes / std::max(first->elements, 1.0);
    w.kind = WorkClass::kEmbedding;
    w.read_bytes = second->elements * row + second->bytes;
    w.write_bytes = second->elements * row;
    w.type = first->type;
    w.label = times({second->elements, at(*first->dims, 1)});
    return w;
  }
  if (op == "embedding_dense_backward" && first && second) {
    w.kind = WorkClass::kEmbedding;
    w.read_bytes = first->bytes + second->bytes;
    w.write_bytes = first->bytes;
    w.label = times({first->elements});
    return w;
  }
  if (op == "index_select" || op == "gather") {
    const auto picked = tensor(args, 2);
    if (!first || !picked || first->elements <= 0) return std::nullopt;
    const double size = first->bytes / first->elements;
    double out = picked->elements;
    if (op == "index_select") {
      const auto dim =
          args.inputs.size() > 1 ? integers("[" + args.inputs[1].concrete + "]") : std::nullopt;
      if (!dim || dim->size() != 1) return std::nullopt;
      const auto rank = static_cast<std::int64_t>(first->dims->size());
      const std::int64_t axis = (*dim)[0] < 0 ? (*dim)[0] + rank : (*dim)[0];
      if (axis < 0 || axis >= rank || (*first->dims)[static_cast<std::size_t>(axis)] <= 0)
        return std::nullopt;
      out = first->elements / at(*first->dims, static_cast<std::size_t>(axis)) * picked->elements;
    }
    w.kind = op == "gather" ? WorkClass::kMemory : WorkClass::kEmbedding;
    w.read_bytes = out * size + picked->bytes;
    w.write_bytes = out * size;
    w.type = first->type;
    w.label = times({out});
    return w;
  }
  if (op == "max_pool2d_with_indices_backward" && first && second) {
    w.kind = WorkClass::kElementwise;
    w.read_bytes = first->bytes + first->elements * 8;
    w.write_bytes = second->bytes;
    w.type = first->type;
    w.label = times({second->elements});
    return w;
  }
  return std::nullopt;
}

/// vLLM's and others' fused operators: the tensors named, read or written once.
bool is_row_operator(std::string_view name) {
  return name == "_C::rms_norm" || name == "_C::fused_add_rms_norm" || name == "_C::silu_and_mul" ||
         name == "_C::gelu_and_mul" || name == "_C::static_scaled_fp8_quant" ||
         name == "_C::dynamic_scaled_fp8_quant" || name == "_C::dynamic_per_token_scaled_fp8_quant";
}

std::optional<OperatorWork> all_tensors_once(const Arguments& args, WorkClass kind) {
  OperatorWork w;
  w.kind = kind;
  for (std::size_t i = 0; i < args.inputs.size(); ++i) {
    if (const auto t = tensor(args, i)) {
      w.read_bytes += t->bytes;
      if (w.type == Type::kUnknown) w.type = t->type;
    }
  }
  if (w.read_bytes <= 0) return std::nullopt;
  w.label = times({w.read_bytes}) + " bytes";
  return w;
}

}  // namespace

std::optional<Shape> tensor(const Arguments& args, std::size_t i) {
  if (i >= args.inputs.size()) return std::nullopt;
  const Input& in = args.inputs[i];
  if (in.is_list || in.tensors.size() != 1) return std::nullopt;
  const auto n = elements(in.tensors[0]);
  if (!n) return std::nullopt;
  const double size = bytes_of(in.type) > 0 ? bytes_of(in.type) : 4;
  return Shape{&in.tensors[0], *n, *n * size, in.type};
}

std::optional<OperatorWork> operator_work(std::string_view name, const Arguments& args,
                                          const std::optional<Dims>& output) {
  if (name.starts_with("triton_")) return all_tensors_once(args, WorkClass::kFused);
  if (is_row_operator(name)) {
    return all_tensors_once(args, name.find("norm") != std::string_view::npos
                                      ? WorkClass::kNorm
                                      : WorkClass::kElementwise);
  }
  if (!name.starts_with("aten::")) return std::nullopt;
  const std::string_view op = name.substr(6);
  if (op.find("convolution") != std::string_view::npos || op.find("conv") == 0 ||
      op == "_conv_depthwise2d" || op == "thnn_conv2d" || op == "_slow_conv2d_forward") {
    return convolution_work(op, args, output);
  }
  if (op.find("attention") != std::string_view::npos) return attention(op, args);
  if (auto w = matrix_operator(op, args)) return w;
  if (op.starts_with("_foreach_") || op.starts_with("_fused_")) return lists(op, args);
  if (auto w = special(op, args)) return w;
  for (const Bandwidth& b : kByFirst) {
    if (op != b.name) continue;
    const auto first = tensor(args, 0);
    if (!first || first->elements <= 0) return std::nullopt;
    OperatorWork w;
    w.kind = b.kind;
    w.read_bytes = b.read * first->bytes;
    w.write_bytes = b.write * first->bytes;
    w.flops = b.kind == WorkClass::kMemory
                  ? 0
                  : first->elements *
                        (b.kind == WorkClass::kSoftmax || b.kind == WorkClass::kNorm ? 5 : 1);
    w.type = first->type;
    w.label = times({first->elements});
    return w;
  }
  if (is_elementwise(op)) return elementwise(args);
  return std::nullopt;
}

std::optional<CollectiveWork> collective_work(const Arguments& args) {
  const double size = bytes_of(args.message_type);
  if (size <= 0 || (!args.in_elements && !args.out_elements)) return std::nullopt;
  const double in = args.in_elements.value_or(0) * size;
  const double out = args.out_elements.value_or(in / std::max(size, 1.0)) * size;
  const double ranks = args.group_size.value_or(2);
  const double others = ranks > 1 ? (ranks - 1) / ranks : 0;
  const std::string& c = args.collective;
  CollectiveWork w;
  if (c.find("all_reduce") != std::string::npos || c.find("allreduce") != std::string::npos) {
    w.link_bytes = 2 * in * others;
    w.memory_bytes = 2 * w.link_bytes + in;
  } else {
    w.link_bytes = std::max(in, out) * others;
    w.memory_bytes = in + out;
  }
  return w;
}

}  // namespace ergon::work
