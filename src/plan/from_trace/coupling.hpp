// How the packs of several GPUs wait for one another.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "cut.hpp"

namespace ergon::plan {

/// A moment at which one GPU goes on because another GPU has come to a certain operation.
struct Meeting {
  graph::NodeId waiting = 0;  ///< the operation that goes on
  graph::NodeId awaited = 0;  ///< the other GPU's operation whose start (or end) it needs
  std::size_t waiting_gpu = 0;
  std::size_t awaited_gpu = 0;
  bool from_start = false;  ///< the awaited operation's start counts, not its end
  /// From the awaited moment to the waiting operation, at least; none: as observed.
  std::optional<Nanos> lag;
};

/// A collective whose other members are not in the graph: one rank of a job.
struct LoneCollective {
  std::string key;  ///< process group and sequence number, the same on every rank
  graph::NodeId node = 0;
  graph::NodeId result = graph::kNoNode;  ///< the first operation that waits for it; none: the host
  std::size_t gpu = 0;
};

struct Coupling {
  std::vector<std::vector<bool>> hard_cuts;  ///< one flag an operation, by graph GPU
  std::vector<Meeting> meetings;
  std::vector<LoneCollective> collectives;
};
/// Collectives that several GPUs of the graph share: each GPU is cut where the collective starts
/// and where its result is waited for.
Coupling find_coupling(const graph::Graph& graph, const Window& window,
                       std::span<const std::vector<graph::NodeId>> operations);

struct SegmentRef {
  std::uint32_t gpu = 0;  ///< index into Problem::gpus
  std::size_t graph_gpu = 0;
  Segment segment;
  Nanos end_ns = 0;
};
/// Names on each pack the lone collectives that begin with it and that it waits for.
void name_collectives(const graph::Graph& graph, const Coupling& coupling,
                      std::span<const SegmentRef> refs, TracePacks& packs);
/// Adds `after` to the packs, and lists packs after all they wait for.
void couple(const graph::Graph& graph, const Coupling& coupling, std::span<const SegmentRef> refs,
            TracePacks& packs);

}  // namespace ergon::plan
