// Any bytes as a data set: refused with a reason, or judged, twice alike.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "ergon/study.hpp"

namespace {

using namespace ergon::study;

void check(const Dataset& data) {
  Options options;
  options.resamples = 20;
  const Study study = analyse(data, options);
  for (const Workload& w : study.workloads) {
    ERGON_CHECK(!w.optimum || w.points[w.optimum->point].invalid.empty(),
                "what does not prove itself never wins");
    ERGON_CHECK(!w.optimum || w.baseline, "nothing is saved against nothing");
  }
  for (const Finding& f : study.findings)
    ERGON_CHECK(!f.kind.empty() && !f.evidence.empty(), "a finding has its evidence");
  const Study again = analyse(data, options);
  ERGON_CHECK(again.findings.size() == study.findings.size(), "the same data, the same answer");
  ERGON_CHECK(!study.energy_saved || study.energy_saved->mean == again.energy_saved->mean,
              "the same seed, the same figures");
}

}  // namespace

// NOLINTNEXTLINE(readability-identifier-naming): the name libFuzzer looks for.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // A file of our own runs is read from its path, and there is none here.
  if (text.starts_with("SQLite format 3")) return 0;
  // The first line may be a map, the parts of a second file follow a form feed.
  Mapping mapping;
  std::string_view rest = text;
  if (text.starts_with("map ")) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const auto parsed = parse_mapping(text.substr(4, end - 4));
    if (!parsed) {
      ERGON_CHECK(!parsed.error().message.empty(), "a refusal says why");
      return 0;
    }
    mapping = *parsed;
    rest = text.substr(std::min(end + 1, text.size()));
  }
  std::vector<Source> sources;
  while (sources.size() < 3) {
    const std::size_t end = std::min(rest.find('\f'), rest.size());
    sources.push_back(
        {"data_v100-" + std::to_string(sources.size()) + ".csv", std::string(rest.substr(0, end))});
    if (end >= rest.size()) break;
    rest = rest.substr(end + 1);
  }
  const auto read_data = read(sources, mapping);
  if (!read_data) {
    ERGON_CHECK(!read_data.error().message.empty(), "a refusal says why");
    return 0;
  }
  check(*read_data);
  return 0;
}
