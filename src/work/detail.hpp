// The arguments of an event as the trace keeps them (EventTable::detail), parsed once a distinct
// text.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ergon::work {

enum class Type : std::uint8_t {
  kUnknown,
  kFloat64,
  kFloat32,
  kFloat16,
  kFloat8,
  kInt64,
  kInt32,
  kInt16,
  kInt8,
  kBool
};
/// Bytes of an element; 0 for kUnknown.
double bytes_of(Type type);
bool is_float(Type type);
const char* to_string(Type type);
/// "float", "c10::BFloat16", "long int", "at::Half", "Float", ...
Type type_from(std::string_view word);

using Dims = std::vector<std::int64_t>;
inline double at(const Dims& d, std::size_t i) { return static_cast<double>(d[i]); }

/// One input of an operator: a tensor, a list of tensors, or something without dimensions.
struct Input {
  std::vector<Dims>
      tensors;  ///< one; several for a tensor list; none for scalars and absent inputs
  bool is_list = false;
  Type type = Type::kUnknown;
  std::string concrete;  ///< "[1, 1]", "True", "0.1"; empty where not recorded
};

struct Arguments {
  std::vector<Input> inputs;
  std::string collective;  ///< "allreduce", "_allgather_base", ...
  std::optional<double> in_elements;
  std::optional<double> out_elements;
  std::optional<double> group_size;
  Type message_type = Type::kUnknown;
  std::optional<double> bytes;  ///< of a copy or memset
  std::int64_t grid = 0;        ///< blocks; 0: not recorded
  std::int64_t block = 0;       ///< threads a block
};

/// Never fails: what cannot be read stays unknown.
Arguments read_arguments(std::string_view json);

/// Elements of a tensor; nullopt for negative dimensions or more than 2^53.
std::optional<double> elements(const Dims& dims);
/// "[1, 2]" -> {1, 2}; nullopt for anything else.
std::optional<Dims> integers(std::string_view text);

}  // namespace ergon::work
