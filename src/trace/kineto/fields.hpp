// What the reader knows about Kineto's vocabulary: categories, members of an event, arguments.
#pragma once
#include <array>
#include <cstdint>
#include <string_view>

#include "ergon/trace.hpp"

namespace ergon::trace::kineto {

/// Families of events that keep the same arguments.
/// kAny: not yet known which, all of them.
enum class Family : std::uint8_t { kHost, kApi, kKernel, kCopy, kSync, kOther, kAny };

struct Category {
  std::string_view word;
  EventKind kind;
  Family family;
  bool gpu;
};
/// Index into kCategories; the last one stands for every unknown word.
using CategoryId = std::uint8_t;
inline constexpr std::array kCategories = {
    Category{"cpu_op", EventKind::kHostOp, Family::kHost, false},
    Category{"Operator", EventKind::kHostOp, Family::kHost, false},
    Category{"hpu_op", EventKind::kHostOp, Family::kHost, false},
    Category{"user_annotation", EventKind::kAnnotation, Family::kHost, false},
    Category{"python_function", EventKind::kPython, Family::kOther, false},
    Category{"cuda_runtime", EventKind::kApi, Family::kApi, false},
    Category{"Runtime", EventKind::kApi, Family::kApi, false},
    Category{"cuda_driver", EventKind::kApi, Family::kApi, false},
    Category{"hip_runtime", EventKind::kApi, Family::kApi, false},
    Category{"xpu_runtime", EventKind::kApi, Family::kApi, false},
    Category{"xpu_driver", EventKind::kApi, Family::kApi, false},
    Category{"mtia_runtime", EventKind::kApi, Family::kApi, false},
    Category{"glow_runtime", EventKind::kApi, Family::kApi, false},
    Category{"privateuse1_runtime", EventKind::kApi, Family::kApi, false},
    Category{"privateuse1_driver", EventKind::kApi, Family::kApi, false},
    Category{"kernel", EventKind::kKernel, Family::kKernel, true},
    Category{"Kernel", EventKind::kKernel, Family::kKernel, true},
    Category{"gpu_memcpy", EventKind::kCopy, Family::kCopy, true},
    Category{"Memcpy", EventKind::kCopy, Family::kCopy, true},
    Category{"gpu_memset", EventKind::kMemset, Family::kCopy, true},
    Category{"Memset", EventKind::kMemset, Family::kCopy, true},
    Category{"cuda_sync", EventKind::kSyncRecord, Family::kSync, true},
    Category{"gpu_user_annotation", EventKind::kGpuAnnotation, Family::kOther, true},
    Category{"overhead", EventKind::kOverhead, Family::kOther, false},
    Category{"Trace", EventKind::kOther, Family::kOther, false},
    Category{"mtia_ccp_events", EventKind::kOther, Family::kOther, false},
    Category{"cuda_event", EventKind::kOther, Family::kOther, false},
    Category{"fwdbwd", EventKind::kOther, Family::kOther, false},
    Category{"", EventKind::kOther, Family::kOther, false},
};
inline constexpr CategoryId kUnknownCategory = kCategories.size() - 1;
inline constexpr CategoryId kForwardBackward = kUnknownCategory - 1;
static_assert(kCategories[kForwardBackward].word == "fwdbwd");
inline constexpr CategoryId kNoCategory = 0xff;
CategoryId category_of(std::string_view word);

/// What to do with a value: a member of the event, or of its `args`.
enum class Field : std::uint8_t {
  kIgnored,
  kName,
  kPhase,
  kCategory,
  kProcess,
  kThread,
  kStart,
  kDuration,
  kExternalId,
  kCorrelation,
  kDevice,
  kContext,
  kStream,
  kSequence,
  kForwardThread,
  kCollectiveSeq,
  kFlowId,
  kMetaName,
  kDetail,  ///< and every value above: kDetail + index into kDetails
};

/// An argument kept in EventTable::detail, under its modern spelling, for these families.
struct Detail {
  std::string_view key;
  std::string_view older;  ///< another spelling, or empty
  std::uint8_t families;   ///< bit of each Family that keeps it
};
constexpr std::uint8_t bit(Family family) {
  return family == Family::kAny ? std::uint8_t{0xff}
                                : static_cast<std::uint8_t>(1U << static_cast<unsigned>(family));
}
inline constexpr std::uint8_t kInComms = bit(Family::kHost) | bit(Family::kKernel);
inline constexpr std::uint8_t kInLaunch = bit(Family::kApi) | bit(Family::kKernel);
/// In the order in which they stand in the detail text.
inline constexpr std::array kDetails = {
    Detail{"Input Dims", "Input dims", bit(Family::kHost)},
    Detail{"Input type", "Input Type", bit(Family::kHost)},
    Detail{"Concrete Inputs", "", bit(Family::kHost)},
    Detail{"kernel_backend", "", bit(Family::kHost)},
    Detail{"grid", "", kInLaunch},
    Detail{"block", "", kInLaunch},
    Detail{"shared memory", "", kInLaunch},
    Detail{"registers per thread", "", bit(Family::kKernel)},
    Detail{"priority", "", bit(Family::kKernel)},
    Detail{"graph id", "", bit(Family::kKernel) | bit(Family::kCopy)},
    Detail{"graph node id", "", bit(Family::kKernel) | bit(Family::kCopy)},
    Detail{"Collective name", "", kInComms},
    Detail{"In msg nelems", "", kInComms},
    Detail{"Out msg nelems", "", kInComms},
    Detail{"In split size", "", kInComms},
    Detail{"Out split size", "", kInComms},
    Detail{"dtype", "", kInComms},
    Detail{"Group size", "", kInComms},
    Detail{"Process Group Name", "", kInComms},
    Detail{"Process Group Description", "", kInComms},
    Detail{"Process Group Ranks", "", kInComms},
    Detail{"Global rank start", "", kInComms},
    Detail{"Global rank stride", "", kInComms},
    Detail{"Rank", "", kInComms},
    Detail{"Src Rank", "", kInComms},
    Detail{"Dst Rank", "", kInComms},
    Detail{"Comms Id", "", kInComms},
    Detail{"bytes", "", bit(Family::kCopy) | bit(Family::kApi)},
    Detail{"size", "", bit(Family::kApi)},
    Detail{"kind", "", bit(Family::kCopy) | bit(Family::kApi)},
    Detail{"stream", "", bit(Family::kApi)},
    Detail{"cuda_sync_kind", "", bit(Family::kSync)},
    Detail{"wait_on_stream", "", bit(Family::kSync)},
    Detail{"wait_on_cuda_event_record_corr_id", "", bit(Family::kSync)},
    Detail{"wait_on_cuda_event_id", "", bit(Family::kSync)},
};
constexpr Field detail_field(std::size_t index) {
  return static_cast<Field>(static_cast<std::size_t>(Field::kDetail) + index);
}
/// Index into kDetails of a field that is kDetail or above.
constexpr std::size_t detail_index(Field field) {
  return static_cast<std::size_t>(field) - static_cast<std::size_t>(Field::kDetail);
}

Field event_field(std::string_view key);
Field argument_field(std::string_view key);

}  // namespace ergon::trace::kineto
