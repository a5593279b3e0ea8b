// The pack file of a trace: the contract's fields first, then what lets `plan` say where it comes
// from.
#include "planning.hpp"

namespace ergon::cli {

namespace {

// What couples the pack to other ranks of the job (ergon/plan/merge.hpp reads it).
void add_links(Value& pack, const plan::PackInfo& info) {
  const auto list = [](const std::vector<std::string>& keys) {
    Value v = Value::array();
    for (const auto& key : keys) v.push(key);
    return v;
  };
  if (!info.collectives_started.empty())
    pack.set("collectives_started", list(info.collectives_started));
  if (!info.collectives_awaited.empty())
    pack.set("collectives_awaited", list(info.collectives_awaited));
  if (info.own_time_s.empty()) return;
  for (auto& [name, member] : *pack.as_object()) {
    if (name != "options") continue;
    auto& options = *member.as_array();
    for (std::size_t k = 0; k < options.size() && k < info.own_time_s.size(); ++k) {
      options[k].set("own_time_s", info.own_time_s[k]);
    }
  }
}

Value option_value(double clock_hz, double time_s, double energy_j) {
  return Value::object().set("clock_hz", clock_hz).set("time_s", time_s).set("energy_j", energy_j);
}

}  // namespace

std::string pack_file_text(const TraceJob& job) {
  const plan::TracePacks& packs = job.packs;
  // The planner's own writer gives the contract's part; the rest is added member by member.
  auto document = io::parse_json(plan::write_packs(packs.problem));
  ERGON_CHECK(document.has_value(), "the pack writer writes JSON");
  Value::Array* list = nullptr;
  for (auto& [name, member] : *document->as_object()) {
    if (name == "packs") list = member.as_array();
  }
  ERGON_CHECK(list != nullptr && list->size() == packs.packs.size(), "one entry a pack");
  for (std::size_t i = 0; i < list->size(); ++i) {
    const plan::PackInfo& info = packs.packs[i];
    Value known = Value::object();
    for (std::size_t k = 0; k < model::kKnownKinds; ++k) {
      known.set(std::string(to_string(static_cast<model::Known>(k))) + "_s", info.known_s[k]);
    }
    (*list)[i]
        .set("start_ns", info.start_ns)
        .set("end_ns", info.end_ns)
        .set("busy_s", info.busy_s)
        .set("operations", info.operations)
        .set("begins_with",
             Value::object().set("kernel", info.first_operation).set("occurrence", info.occurrence))
        .set("response_known", std::move(known));
    add_links((*list)[i], info);
  }
  if (!packs.collective_s.empty()) {
    Value times = Value::object();
    for (const auto& [key, seconds] : packs.collective_s) times.set(key, seconds);
    document->set("collective_s", std::move(times));
  }
  Value singles = Value::array();
  for (const plan::Uniform& u : plan::uniform_clocks(*job.graph, packs))
    singles.push(option_value(u.clock_hz, u.value.time_s, u.value.energy_j));
  document->set("single_clocks", std::move(singles));
  bool generated = false;
  for (const auto& table : job.tables) generated = generated || table.generated;
  document->set("source",
                Value::object()
                    .set("generated", generated)
                    .set("delay_share", packs.delay_share)
                    .set("device", job.device.device.id)
                    .set("trace_clock_hz", packs.table.reference.si())
                    .set("trace_clock_origin", packs.trace_clock_assumed ? "assumed" : "measured")
                    .set("switch_latency_s", packs.switch_latency.si())
                    .set("step", packs.window.step.empty() ? Value() : Value(packs.window.step))
                    .set("origin", "modelled"));
  return io::to_json(*document);
}

}  // namespace ergon::cli
