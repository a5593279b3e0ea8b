// Work of the kernels, copies and memsets of a trace: from the shapes of the launching operator,
// sizes of copies and messages, launch grids and kernel names; and how it is known.
#pragma once
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "ergon/base.hpp"
#include "ergon/model.hpp"
#include "ergon/trace.hpp"

namespace ergon::work {

/// One distinct piece of GPU work. Kernels of one name, launched by equal operators in the same
/// part, share it.
struct Piece {
  model::WorkClass kind = model::WorkClass::kUnknown;
  /// kShapes: `work` counts operations and bytes. kClass: only the name says what it is
  /// (collectives too, whose message size is known but not their answer to the clock; their `work`
  /// prices the energy). kUnknown: nothing.
  model::Known known = model::Known::kUnknown;
  std::optional<model::Work> work;
  std::string how;  ///< "aten::mm 1024x512x64 float on tensor cores (tf32)", "kernel 1 of 2 of
                    ///< aten::convolution_backward"
};

struct Classified {
  std::vector<std::uint32_t>
      piece;  ///< index into `pieces` of each event asked for, in the order given
  std::vector<Piece> pieces;
  /// Shares of the summed duration of the events by how their work is known; they sum to 1 (all 0
  /// without any time).
  std::array<double, model::kKnownKinds> shares = {};

  [[nodiscard]] const Piece& of(std::size_t i) const { return pieces[piece[i]]; }
};

/// `gpu_events`: kernels, copies and memsets of the table. `operators`: for each the host operator
/// that launched it (trace::kNoEvent: not known), as graph::Graph::operator_of or operators_of()
/// say. Deterministic; about 0.1 us an event where shapes repeat.
Classified classify(const trace::EventTable& table, std::span<const trace::EventId> gpu_events,
                    std::span<const trace::EventId> operators);

/// The innermost host operator around the API call that launched each event (same process and
/// correlation id), else the operator with its external id, unless that is just its own correlation
/// id repeated (old files); else kNoEvent.
std::vector<trace::EventId> operators_of(const trace::EventTable& table,
                                         std::span<const trace::EventId> gpu_events);

/// Kernels, copies and memsets of the table in its order.
std::vector<trace::EventId> gpu_events_of(const trace::EventTable& table);

}  // namespace ergon::work
