// What the unit tests of study share.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "ergon/study.hpp"

namespace ergon::study {

inline Result<Dataset> read_text(const std::string& text, const std::string& path = "runs.csv",
                                 const Mapping& mapping = {}) {
  const Source source{path, text};
  return read(std::span(&source, 1), mapping);
}

struct Judged {
  Dataset data;
  Study study;
};
inline Judged judge(const std::string& text, const Options& options = {},
                    const std::string& path = "runs.csv") {
  auto data = read_text(text, path);
  EXPECT_TRUE(data.has_value()) << (data ? "" : data.error().message);
  if (!data) return {};
  Study study = analyse(*data, options);
  return {*std::move(data), std::move(study)};
}
inline std::size_t count_of(const Study& study, std::string_view kind) {
  return static_cast<std::size_t>(
      std::ranges::count_if(study.findings, [&](const Finding& f) { return f.kind == kind; }));
}
inline bool noted(const Dataset& data, std::string_view code) {
  return std::ranges::any_of(data.notes, [&](const Note& n) { return n.code == code; });
}

}  // namespace ergon::study
