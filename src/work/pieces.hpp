// The kernels of one operator's launch, and what each of them did of its work.
#pragma once
#include <optional>
#include <string_view>
#include <vector>

#include "ergon/work.hpp"
#include "kernel_name.hpp"
#include "operators.hpp"

namespace ergon::work {

/// What the split of an operator's work depends on besides operator and kernel.
struct Company {
  std::uint16_t mains = 0;           ///< kernels that share the main work
  std::uint16_t data_gradients = 0;  ///< of them, by what their name says
  std::uint16_t weight_gradients = 0;
  bool unknown_are_mains =
      false;  ///< no kernel has a fitting name: those without class do the work
  Shortcut shortcut = Shortcut::kNone;
  friend bool operator==(const Company&, const Company&) = default;
};

Company company_of(const std::vector<const KernelName*>& kernels, Family family);

/// The piece of a kernel of that operator in that company; kClass where it is a helper or nothing
/// is known.
Piece piece_of(const KernelName& kernel, std::string_view operator_name,
               const std::optional<OperatorWork>& work, const Company& company,
               const Arguments& launch);
/// Without an operator: by name, and by the launch grid for PyTorch's elementwise kernels.
Piece piece_by_name(const KernelName& kernel, const Arguments& launch);
Piece piece_of_collective(const Arguments& launch);
Piece piece_of_copy(std::string_view name, const Arguments& arguments);
Piece piece_of_memset(const Arguments& arguments);

}  // namespace ergon::work
