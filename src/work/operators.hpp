// Operations and bytes of one call of an operator, from its arguments.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "detail.hpp"
#include "ergon/model.hpp"

namespace ergon::work {

/// Which kernels of the operator's launch do its main work.
enum class Family : std::uint8_t { kGemm, kConv, kAttention, kBandwidth };

struct OperatorWork {
  Family family = Family::kBandwidth;
  model::WorkClass kind = model::WorkClass::kElementwise;
  double flops =
      0;  ///< multiply-add is 2; of one product (a convolution's backward pass may have two)
  int products = 1;  ///< equal products of `flops` each: 2 for a backward pass with both gradients
  double read_bytes = 0;
  double write_bytes = 0;
  Type type = Type::kUnknown;             ///< of the operands
  double m = 0, n = 0, k = 0, batch = 1;  ///< of a product as a matrix product; 0: it is none
  bool three_by_three = false;            ///< a convolution that Winograd's algorithm fits
  std::string label;                      ///< "1024x512x64", for people
};

/// nullopt: an operator this file does not know, or arguments that do not say. `output`: the
/// dimensions of the result where somebody else knows them (a convolution's stride is often not
/// recorded).
std::optional<OperatorWork> operator_work(std::string_view name, const Arguments& arguments,
                                          const std::optional<Dims>& output);

/// Whether operator_work() could use an `output` for it: a forward convolution without recorded
/// stride. `batch` and `channels` are the first two dimensions that output has.
struct WantedOutput {
  std::int64_t batch = 0;
  std::int64_t channels = 0;
  std::size_t rank = 0;
};
std::optional<WantedOutput> wanted_output(std::string_view name, const Arguments& arguments);

/// A collective's bytes through memory and over links, from its name and message size: ring
/// algorithms (an all-reduce of S bytes on n ranks sends 2 S (n - 1) / n), read and written once a
/// step.
struct CollectiveWork {
  double memory_bytes = 0;
  double link_bytes = 0;
};
std::optional<CollectiveWork> collective_work(const Arguments& arguments);

// For operators.cpp and its parts.
struct Shape {
  const Dims* dims = nullptr;
  double elements = 0;
  double bytes = 0;
  Type type = Type::kUnknown;
};
/// The i-th input as one tensor of known size; nullopt otherwise. Unknown types count 4 bytes.
std::optional<Shape> tensor(const Arguments& arguments, std::size_t i);
std::optional<OperatorWork> convolution_work(std::string_view name, const Arguments& arguments,
                                             const std::optional<Dims>& output);

}  // namespace ergon::work
