// The words of units, levels, classes and origins of a response, as files and answers spell them.
#include <array>
#include <utility>

#include "ergon/model.hpp"

namespace ergon::model {
namespace {

constexpr std::array<const char*, kUnits> kUnitWords = {"vector_fp64", "vector_fp32", "vector_fp16",
                                                        "matrix_fp64", "matrix_tf32", "matrix_fp16",
                                                        "matrix_fp8",  "matrix_int8", "integer"};
constexpr std::array<const char*, kLevels> kLevelWords = {"l1", "l2", "hbm", "link"};
constexpr std::array<const char*, kKnownKinds> kKnownWords = {"measured", "shapes", "class",
                                                              "unknown"};
constexpr std::array<const char*, kWorkClasses> kClassWords = {
    "unknown", "gemm",       "conv",        "attention", "elementwise", "reduce",
    "norm",    "softmax",    "embedding",   "memory",    "sort",        "optimizer",
    "fused",   "collective", "copy_device", "copy_host", "memset"};

template <class E, std::size_t N>
std::optional<E> find_word(const std::array<const char*, N>& words, std::string_view word) {
  for (std::size_t i = 0; i < N; ++i) {
    if (word == words[i]) return static_cast<E>(i);
  }
  return std::nullopt;
}

}  // namespace

const char* to_string(Unit unit) { return kUnitWords[index(unit)]; }
const char* to_string(Level level) { return kLevelWords[index(level)]; }
const char* to_string(Known known) { return kKnownWords[static_cast<std::size_t>(known)]; }
const char* to_string(WorkClass kind) { return kClassWords[static_cast<std::size_t>(kind)]; }
std::optional<Unit> unit_from(std::string_view word) { return find_word<Unit>(kUnitWords, word); }
std::optional<Level> level_from(std::string_view word) {
  return find_word<Level>(kLevelWords, word);
}

}  // namespace ergon::model
