#include "player.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <ctime>

#include "ergon/sim/process.hpp"
#include "regions.hpp"

namespace ergon::sim {
namespace {

constexpr Nanoseconds kLookEvery = 10'000'000;

struct Work {
  Played played;
  int slot = -1;
  std::uint64_t drained = 0;
  std::uint64_t clock_marks = 0;
  double begin_energy_j = 0;
  Nanoseconds begin_capped = 0, begin_thermal = 0;
  bool done = false;
  Nanoseconds next_end = 0;
  std::uint64_t position = ~std::uint64_t{0};  // repetition and phase that run
};

// Takes over what the board has recorded since the last look.
void drain(const BoardView& view, Work& work) {
  const Job& job = view.board().jobs[work.slot];
  const std::uint64_t oldest = job.records > kRecordLength ? job.records - kRecordLength : 0;
  if (work.drained < oldest) {
    work.played.lost_records += oldest - work.drained;
    work.drained = oldest;
  }
  const std::size_t base = static_cast<std::size_t>(work.slot) * kRecordLength;
  for (; work.drained < job.records; ++work.drained) {
    work.played.records.push_back(view.store().records[base + work.drained % kRecordLength]);
  }
  const std::uint64_t marks = view.board().clock_marks;
  for (; work.clock_marks < marks; ++work.clock_marks) {
    if (marks - work.clock_marks > kClockHistoryLength) continue;
    work.played.clocks.push_back(view.store().clocks[work.clock_marks % kClockHistoryLength]);
  }
  work.done = job.state == JobState::kDone;
  work.next_end = job.end;
  work.position = (static_cast<std::uint64_t>(job.repetition) << 32U) | job.phase;
}

Status begin_work(Machine& machine, const Workload& workload, Work& work) {
  machine.with_board(work.played.gpu, [&](BoardView& view, Nanoseconds now) {
    work.slot = view.attach(getpid(), process_stat(getpid()).start, now);
    if (work.slot < 0) return;
    const Nanoseconds begin = work.played.begin;
    work.begin_energy_j = view.mark_at(begin).energy_j;
    work.begin_capped = view.capped_ns_at(begin);
    work.begin_thermal = view.thermal_ns_at(begin);
    work.clock_marks = view.board().clock_marks - 1;
    work.played.uuid = board_uuid(view.model(), view.board().config);
    view.start(work.slot, workload.phases, workload.repeat, now);
  });
  if (work.slot >= 0) return {};
  return fail(Errc::kDevice,
              "GPU " + std::to_string(work.played.gpu) + " has no room for another process",
              "at most " + std::to_string(kMaxJobs) + " programs run on one simulated GPU");
}

void end_work(Machine& machine, Work& work) {
  machine.with_board(work.played.gpu, [&](BoardView& view, Nanoseconds now) {
    Played& played = work.played;
    view.stop(work.slot, now);
    drain(view, work);
    played.end = now;
    played.energy_j = view.mark_at(now).energy_j - work.begin_energy_j;
    played.capped = view.capped_ns_at(now) - work.begin_capped;
    played.thermal = view.thermal_ns_at(now) - work.begin_thermal;
    played.temperature_c = view.board().temperature_c;
    played.locked = view.board().lock_max_mhz > 0;
    const Nanoseconds finished = view.board().jobs[work.slot].finished;
    for (const ClockMark& mark : played.clocks) {
      if (mark.at < finished || mark.at == played.clocks.front().at) played.working = mark;
    }
    view.detach(work.slot, now);
  });
}

void sleep_for(Nanoseconds t) {
  timespec left{};
  left.tv_nsec = std::clamp<Nanoseconds>(t, 0, 999'999'999);
  nanosleep(&left, nullptr);  // a signal may cut it short
}

}  // namespace

Result<std::vector<Played>> play(Machine& machine, const std::vector<std::uint32_t>& gpus,
                                 const Workload& workload, Nanoseconds begin,
                                 const volatile std::sig_atomic_t* stop,
                                 const std::string& region_library) {
  Regions regions(region_library);
  std::vector<Work> works(gpus.size());
  for (std::size_t k = 0; k < gpus.size(); ++k) {
    works[k].played.gpu = gpus[k];
    works[k].played.begin = begin;
    ERGON_TRY_STATUS(begin_work(machine, workload, works[k]));
  }
  std::uint64_t marked = ~std::uint64_t{0};
  while (*stop == 0) {
    bool done = true;
    Nanoseconds wait = kLookEvery;
    for (Work& work : works) {
      machine.with_board(work.played.gpu, [&](BoardView& view, Nanoseconds now) {
        drain(view, work);
        if (!work.done) wait = std::min(wait, work.next_end - now);
      });
      done = done && work.done;
    }
    if (done) break;
    if (works.front().position != marked && !works.front().done) {  // regions follow the first GPU
      marked = works.front().position;
      regions.change(workload.names[marked & 0xffffffffU]);
    }
    sleep_for(std::max<Nanoseconds>(wait, 200'000));
  }
  regions.change({});
  std::vector<Played> played;
  for (Work& work : works) {
    end_work(machine, work);
    played.push_back(std::move(work.played));
  }
  return played;
}

std::string truth_json(const Machine& machine, const Workload& workload,
                       const std::vector<Played>& played) {
  const Nanoseconds epoch = realtime_ns() - monotonic_ns();
  const auto time_s = [&](Nanoseconds at) { return static_cast<double>(epoch + at) * 1e-9; };
  const auto seconds = [](Nanoseconds t) { return static_cast<double>(t) * 1e-9; };
  const auto quoted = [](const std::string& text) {
    std::string out = "\"";
    for (const char c : text) {
      if (c == '"' || c == '\\') out += '\\';
      if (static_cast<unsigned char>(c) < 0x20) {
        out += fmt::format("\\u{:04x}", static_cast<int>(c));
      } else {
        out += c;
      }
    }
    return out + "\"";
  };
  std::string out = fmt::format(
      "{{\"schema\": \"ergon.sim-truth/1\", \"model\": \"{}\", \"seed\": {}, \"pid\": {},\n"
      " \"time_base\": {{\"clock\": \"CLOCK_REALTIME\", \"minus_monotonic_s\": {:.9f}}},\n "
      "\"gpus\": [",
      machine.config().model->key, machine.config().seed, getpid(), seconds(epoch));
  for (const Played& gpu : played) {
    out += fmt::format(
        "{}\n  {{\"id\": \"{}\", \"uuid\": \"{}\", \"start_s\": {:.9f}, \"end_s\": {:.9f}, "
        "\"energy_j\": {:.9g},\n"
        "   \"temperature_c\": {:.3f}, \"capped_s\": {:.6f}, \"thermal_s\": {:.6f}, "
        "\"lost_phases\": {},\n"
        "   \"clocks\": {{\"sm_hz\": {:.0f}, \"mem_hz\": {:.0f}, \"locked\": {}}},\n   \"phases\": "
        "[",
        &gpu == played.data() ? "" : ",", gpu.gpu, gpu.uuid, time_s(gpu.begin), time_s(gpu.end),
        gpu.energy_j, gpu.temperature_c, seconds(gpu.capped), seconds(gpu.thermal),
        gpu.lost_records, gpu.working.sm_mhz * 1e6, gpu.working.memory_mhz * 1e6, gpu.locked);
    const char* separator = "\n    ";
    for (const Record& record : gpu.records) {
      out += fmt::format(
          "{}{{\"name\": {}, \"repetition\": {}, \"start_s\": {:.9f}, \"end_s\": {:.9f}, "
          "\"start_monotonic_ns\": {}, \"end_monotonic_ns\": {}, \"energy_j\": {:.9g}}}",
          separator, quoted(workload.names[record.phase]), record.repetition, time_s(record.start),
          time_s(record.end), record.start, record.end, record.energy_j);
      separator = ",\n    ";
    }
    out += "],\n   \"clock_history\": [";
    separator = "\n    ";
    for (const ClockMark& mark : gpu.clocks) {
      out += fmt::format("{}{{\"time_s\": {:.9f}, \"sm_hz\": {:.0f}, \"mem_hz\": {:.0f}}}",
                         separator, time_s(mark.at), mark.sm_mhz * 1e6, mark.memory_mhz * 1e6);
      separator = ",\n    ";
    }
    out += "]}";
  }
  return out + "\n ]}\n";
}

}  // namespace ergon::sim
