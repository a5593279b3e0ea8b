// Convolutions: 2 N Cout Hout Wout (Cin / groups) Kh Kw, forward and for each gradient.
#include <algorithm>
#include <cmath>

#include "operators.hpp"

namespace ergon::work {
namespace {

using model::WorkClass;

double product(const Dims& d, std::size_t from) {
  double n = 1;
  for (std::size_t i = from; i < d.size(); ++i) n *= at(d, i);
  return n;
}

/// Where the arguments stand. Gradients of cuDNN's older operators take the output's gradient
/// first.
struct Layout {
  std::string_view name;
  int input, weight, output;                  ///< output: its gradient; -1: not an argument
  int stride, padding, dilation, transposed;  ///< -1: no such argument
  int products;
};
constexpr Layout kLayouts[] = {
    {"convolution", 0, 1, -1, 3, 4, 5, 6, 1},
    {"_convolution", 0, 1, -1, 3, 4, 5, 6, 1},
    {"convolution_overrideable", 0, 1, -1, 3, 4, 5, 6, 1},
    {"conv1d", 0, 1, -1, 3, 4, 5, -1, 1},
    {"conv2d", 0, 1, -1, 3, 4, 5, -1, 1},
    {"conv3d", 0, 1, -1, 3, 4, 5, -1, 1},
    {"cudnn_convolution", 0, 1, -1, 3, 2, 4, -1, 1},
    {"cudnn_convolution_relu", 0, 1, -1, 3, 4, 5, -1, 1},
    {"cudnn_convolution_add_relu", 0, 1, -1, -1, -1, -1, -1, 1},
    {"miopen_convolution", 0, 1, -1, 4, 3, 5, -1, 1},
    {"miopen_depthwise_convolution", 0, 1, -1, 4, 3, 5, -1, 1},
    {"_conv_depthwise2d", 0, 1, -1, 4, 5, 6, -1, 1},
    {"thnn_conv2d", 0, 1, -1, 4, 5, -1, -1, 1},
    {"_slow_conv2d_forward", 0, 1, -1, 4, 5, -1, -1, 1},
    {"convolution_backward", 1, 2, 0, 4, 5, 6, 7, 2},
    {"cudnn_convolution_backward", 0, 2, 1, -1, -1, -1, -1, 2},
    {"miopen_convolution_backward", 0, 2, 1, -1, -1, -1, -1, 2},
    {"cudnn_convolution_backward_input", -1, 2, 1, -1, -1, -1, -1, 1},
    {"cudnn_convolution_backward_weight", 2, -1, 1, -1, -1, -1, -1, 1},
    {"miopen_convolution_backward_input", -1, 2, 1, -1, -1, -1, -1, 1},
    {"miopen_convolution_backward_weight", 2, -1, 1, -1, -1, -1, -1, 1},
};

std::string shape_words(const Dims& y, const Dims* w) {
  std::string out;
  for (const std::int64_t d : y) {
    if (!out.empty()) out += "x";
    out += std::to_string(d);
  }
  if (w != nullptr) {
    out += " window ";
    for (std::size_t i = 1; i < w->size(); ++i) {
      if (i > 1) out += "x";
      out += std::to_string((*w)[i]);
    }
  }
  return out;
}

const Layout* layout_of(std::string_view op) {
  for (const Layout& l : kLayouts) {
    if (l.name == op) return &l;
  }
  return nullptr;
}

std::optional<Shape> input_at(const Arguments& args, int i) {
  return i < 0 ? std::nullopt : tensor(args, static_cast<std::size_t>(i));
}

std::optional<Dims> list_at(const Arguments& args, int i, std::size_t count) {
  if (i < 0 || static_cast<std::size_t>(i) >= args.inputs.size()) return std::nullopt;
  auto v = integers(args.inputs[static_cast<std::size_t>(i)].concrete);
  if (!v || v->empty()) return std::nullopt;
  if (v->size() == 1) v->resize(count, v->front());
  return v->size() == count ? v : std::nullopt;
}

bool says_true(const Arguments& args, int i) {
  return i >= 0 && static_cast<std::size_t>(i) < args.inputs.size() &&
         args.inputs[static_cast<std::size_t>(i)].concrete == "True";
}

/// Output size from stride, padding and dilation, where all are recorded.
std::optional<Dims> forward_output(const Layout& l, const Arguments& args, const Dims& x,
                                   const Dims& w) {
  const std::size_t spatial = x.size() - 2;
  const auto stride = list_at(args, l.stride, spatial);
  const auto padding = list_at(args, l.padding, spatial);
  const auto dilation = list_at(args, l.dilation, spatial).value_or(Dims(spatial, 1));
  if (!stride || !padding) return std::nullopt;
  Dims y = {x[0], w[0]};
  for (std::size_t i = 0; i < spatial; ++i) {
    if ((*stride)[i] <= 0) return std::nullopt;
    const std::int64_t reach = dilation[i] * (w[i + 2] - 1) + 1;
    const std::int64_t size = (x[i + 2] + 2 * (*padding)[i] - reach) / (*stride)[i] + 1;
    if (size <= 0) return std::nullopt;
    y.push_back(size);
  }
  return y;
}

/// Whether a kernel with these windows could make y of x with some stride: guards guesses of the
/// output.
bool plausible(const Dims& x, const Dims& w, const Dims& y) {
  if (y.size() != x.size() || y[0] != x[0] || y[1] != w[0]) return false;
  for (std::size_t i = 2; i < x.size(); ++i) {
    if (y[i] <= 0 || y[i] > x[i] + 2 * (w[i] - 1)) return false;
  }
  return true;
}

}  // namespace

std::optional<WantedOutput> wanted_output(std::string_view name, const Arguments& args) {
  if (!name.starts_with("aten::")) return std::nullopt;
  const Layout* l = layout_of(name.substr(6));
  if (l == nullptr || l->output >= 0) return std::nullopt;
  const auto x = input_at(args, l->input);
  const auto w = input_at(args, l->weight);
  if (!x || !w || x->dims->size() < 3 || w->dims->size() != x->dims->size()) return std::nullopt;
  if (says_true(args, l->transposed) || forward_output(*l, args, *x->dims, *w->dims))
    return std::nullopt;
  return WantedOutput{(*x->dims)[0], (*w->dims)[0], x->dims->size()};
}

std::optional<OperatorWork> convolution_work(std::string_view op, const Arguments& args,
                                             const std::optional<Dims>& output) {
  const Layout* l = layout_of(op);
  if (l == nullptr) return std::nullopt;
  const auto x = input_at(args, l->input);
  const auto w = input_at(args, l->weight);
  const auto y = input_at(args, l->output);
  OperatorWork out;
  out.family = Family::kConv;
  out.kind = WorkClass::kConv;
  out.products = l->products;
  const auto size = [](const std::optional<Shape>& s) { return s ? s->bytes : 0.0; };

  if (x && w) {
    const Dims& xd = *x->dims;
    const Dims& wd = *w->dims;
    if (xd.size() < 3 || wd.size() != xd.size() || wd[1] <= 0) return std::nullopt;
    std::optional<Dims> yd;
    if (y) {
      yd = *y->dims;
    } else if (!says_true(args, l->transposed)) {
      yd = forward_output(*l, args, xd, wd);
      if (!yd && output && plausible(xd, wd, *output)) yd = output;
    }
    if (!yd || yd->size() != xd.size()) return std::nullopt;
    const bool transposed = says_true(args, l->transposed);
    // Each output element takes a window over Cin / groups channels; transposed, each input element
    // gives one.
    const double window = product(wd, 1);
    out.label = shape_words(*yd, &wd);
    out.flops = 2 * (transposed ? product(xd, 0) : product(*yd, 0)) * window;
    out.type = x->type;
    const double element = x->bytes / std::max(x->elements, 1.0);
    const double y_bytes = product(*yd, 0) * element;
    if (l->products == 2) {
      out.read_bytes = y_bytes + x->bytes + w->bytes;
      out.write_bytes = x->bytes + w->bytes;
    } else {
      out.read_bytes = x->bytes + w->bytes;
      out.write_bytes = y_bytes;
    }
    out.m = product(*yd, 2) * at(*yd, 0);
    out.n = at(wd, 0);
    out.k = window;
    out.three_by_three = wd.size() == 4 && wd[2] == 3 && wd[3] == 3;
    if (l->products == 2) {
      // output_mask: [input, weight, bias]
      const auto& last = args.inputs.back().concrete;
      if (last.find("[False") == 0 || last.find("True, False, ") == 1) out.products = 1;
    }
    return out;
  }
  // One gradient from the other two tensors: 2 |y| window, with the window from the weight or from
  // x and y's channels.
  if (!y || (!x && !w)) return std::nullopt;
  const Dims& yd = *y->dims;
  if (yd.size() < 3) return std::nullopt;
  out.type = y->type;
  if (w) {
    if (w->dims->size() != yd.size()) return std::nullopt;
    out.label = shape_words(yd, w->dims);
    out.flops = 2 * product(yd, 0) * product(*w->dims, 1);
    out.three_by_three = yd.size() == 4 && (*w->dims)[2] == 3 && (*w->dims)[3] == 3;
    // The gradient of the input is as large as the input: N Cin H W, known only when the size
    // argument is; the output's spatial size is its least.
    const double groups_in = at(*w->dims, 1) / std::max(at(*w->dims, 0), 1.0);
    out.read_bytes = size(y) + size(w);
    out.write_bytes = size(y) * groups_in;
    out.m = product(yd, 2) * at(yd, 0);
    out.n = at(*w->dims, 1);
    out.k = product(*w->dims, 2) * at(*w->dims, 0);
    return out;
  }
  // The weight's window is the size argument, a list that older traces do not record with its
  // values.
  const auto window = list_at(args, 0, yd.size());
  if (!window) return std::nullopt;
  out.label = shape_words(yd, &*window);
  out.flops = 2 * product(yd, 0) * product(*window, 1);
  out.three_by_three = yd.size() == 4 && (*window)[2] == 3 && (*window)[3] == 3;
  out.read_bytes = size(y) + size(x);
  out.write_bytes = product(*window, 0) * 4;
  out.m = at(yd, 1);
  out.n = product(*window, 1);
  out.k = product(yd, 2) * at(yd, 0);
  return out;
}

}  // namespace ergon::work
