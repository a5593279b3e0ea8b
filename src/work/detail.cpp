// Arguments from their JSON text.
#include "detail.hpp"

#include <array>
#include <cctype>
#include <cstdlib>
#include <utility>

#include "ergon/io.hpp"

namespace ergon::work {
namespace {

std::optional<double> number(const Value* v) {
  if (v == nullptr) return std::nullopt;
  if (const auto* i = v->as_int()) return static_cast<double>(*i);
  if (const auto* d = v->as_double()) return *d;
  if (const auto* s = v->as_string()) return io::parse_double(*s);
  return std::nullopt;
}

std::optional<Dims> dims_of(const Value& v) {
  const auto* items = v.as_array();
  if (items == nullptr) return std::nullopt;
  Dims out;
  for (const Value& item : *items) {
    const auto* i = item.as_int();
    if (i == nullptr) return std::nullopt;
    out.push_back(*i);
  }
  return out;
}

bool is_tensor_list(const Value& v) {
  const auto* items = v.as_array();
  return items != nullptr && !items->empty() && items->front().as_array() != nullptr;
}

void read_inputs(const Value& dims, const Value* types, const Value* concrete,
                 std::vector<Input>& out) {
  const auto* list = dims.as_array();
  if (list == nullptr) return;
  const auto* type_list = types != nullptr ? types->as_array() : nullptr;
  const auto* concrete_list = concrete != nullptr ? concrete->as_array() : nullptr;
  for (std::size_t i = 0; i < list->size(); ++i) {
    Input in;
    std::string word;
    if (type_list != nullptr && i < type_list->size()) {
      if (const auto* s = (*type_list)[i].as_string()) word = *s;
    }
    in.type = type_from(word);
    const Value& d = (*list)[i];
    if (is_tensor_list(d)) {
      in.is_list = true;
      for (const Value& t : *d.as_array()) {
        if (auto x = dims_of(t)) in.tensors.push_back(*std::move(x));
      }
    } else if (auto x = dims_of(d)) {
      // "[]" is a scalar, an absent input, or a tensor without dimensions: only a type tells the
      // last.
      if (!x->empty() || in.type != Type::kUnknown) in.tensors.push_back(*std::move(x));
    }
    if (concrete_list != nullptr && i < concrete_list->size()) {
      if (const auto* s = (*concrete_list)[i].as_string()) in.concrete = *s;
    }
    out.push_back(std::move(in));
  }
}

std::int64_t product(const Value* v) {
  if (v == nullptr) return 0;
  const auto d = dims_of(*v);
  if (!d) return 0;
  const auto n = elements(*d);
  return n && *n < 9e15 ? static_cast<std::int64_t>(*n) : 0;
}

}  // namespace

double bytes_of(Type type) {
  switch (type) {
    case Type::kFloat64:
    case Type::kInt64:
      return 8;
    case Type::kFloat32:
    case Type::kInt32:
      return 4;
    case Type::kFloat16:
    case Type::kInt16:
      return 2;
    case Type::kFloat8:
    case Type::kInt8:
    case Type::kBool:
      return 1;
    case Type::kUnknown:
      break;
  }
  return 0;
}

bool is_float(Type type) { return type >= Type::kFloat64 && type <= Type::kFloat8; }

const char* to_string(Type type) {
  static constexpr std::array kWords = {"?",     "float64", "float32", "float16", "float8",
                                        "int64", "int32",   "int16",   "int8",    "bool"};
  return kWords[static_cast<std::size_t>(type)];
}

Type type_from(std::string_view word) {
  std::string w;
  for (const char c : word)
    w.push_back(static_cast<char>(std::tolower(static_cast<unsigned char>(c))));
  if (w.starts_with("c10::") || w.starts_with("at::")) w.erase(0, w.find("::") + 2);
  static constexpr std::array<std::pair<std::string_view, Type>, 30> kTypes = {{
      {"float", Type::kFloat32},
      {"double", Type::kFloat64},
      {"half", Type::kFloat16},
      {"bfloat16", Type::kFloat16},
      {"float8_e4m3fn", Type::kFloat8},
      {"float8_e5m2", Type::kFloat8},
      {"float8_e4m3fnuz", Type::kFloat8},
      {"float8_e5m2fnuz", Type::kFloat8},
      {"long", Type::kInt64},
      {"long int", Type::kInt64},
      {"int", Type::kInt32},
      {"short", Type::kInt16},
      {"short int", Type::kInt16},
      {"char", Type::kInt8},
      {"signed char", Type::kInt8},
      {"unsigned char", Type::kInt8},
      {"byte", Type::kInt8},
      {"bool", Type::kBool},
      {"float32", Type::kFloat32},
      {"float16", Type::kFloat16},
      {"float64", Type::kFloat64},
      {"int64", Type::kInt64},
      {"int32", Type::kInt32},
      {"int8", Type::kInt8},
      {"uint8", Type::kInt8},
      {"longlong", Type::kInt64},
      {"long long", Type::kInt64},
      {"fp16", Type::kFloat16},
      {"bf16", Type::kFloat16},
      {"complexfloat", Type::kFloat64},
  }};
  for (const auto& [name, type] : kTypes) {
    if (w == name) return type;
  }
  return Type::kUnknown;
}

std::optional<double> elements(const Dims& dims) {
  double n = 1;
  for (const std::int64_t d : dims) {
    if (d < 0) return std::nullopt;
    n *= static_cast<double>(d);
  }
  if (n > 9007199254740992.0) return std::nullopt;
  return n;
}

std::optional<Dims> integers(std::string_view text) {
  if (text.size() < 2 || text.front() != '[' || text.back() != ']') return std::nullopt;
  const auto v = io::parse_json(text);
  return v ? dims_of(*v) : std::nullopt;
}

Arguments read_arguments(std::string_view json) {
  Arguments out;
  if (json.empty()) return out;
  const auto parsed = io::parse_json(json);
  if (!parsed || parsed->as_object() == nullptr) return out;
  const Value& v = *parsed;
  if (const Value* dims = v.find("Input Dims"))
    read_inputs(*dims, v.find("Input type"), v.find("Concrete Inputs"), out.inputs);
  if (const Value* name = v.find("Collective name")) {
    if (const auto* s = name->as_string()) out.collective = *s;
  }
  out.in_elements = number(v.find("In msg nelems"));
  out.out_elements = number(v.find("Out msg nelems"));
  out.group_size = number(v.find("Group size"));
  if (const Value* type = v.find("dtype")) {
    if (const auto* s = type->as_string()) out.message_type = type_from(*s);
  }
  out.bytes = number(v.find("bytes"));
  out.grid = product(v.find("grid"));
  out.block = product(v.find("block"));
  return out;
}

}  // namespace ergon::work
