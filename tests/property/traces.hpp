// The traces that properties are shown on.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "ergon/io.hpp"
#include "ergon/trace.hpp"

namespace ergon::graph_test {

inline std::vector<std::string> files_in(const std::filesystem::path& folder,
                                         std::uintmax_t most_bytes) {
  std::vector<std::string> files;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename().string();
    if (name.find(".json") != std::string::npos && entry.file_size() <= most_bytes)
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  return files;
}

inline std::vector<std::string> bundled_traces() {
  return files_in(std::filesystem::path(ERGON_SOURCE_DIR) / "data/samples", ~std::uintmax_t{0});
}

/// Public traces of at most 2 MB (they are compressed), where the folder of them is there.
inline std::vector<std::string> shared_traces() {
  const char* set = std::getenv("ERGON_SHARED_DATA");  // NOLINT(concurrency-mt-unsafe): read only
  const std::filesystem::path data =
      set != nullptr ? std::filesystem::path(set)
                     : std::filesystem::path(ERGON_SOURCE_DIR) / "../shared/data";
  std::vector<std::string> files;
  for (const char* folder : {"hta", "kineto", "param", "tracelens", "derived"}) {
    const auto more = files_in(data / "traces" / folder, 2'000'000);
    files.insert(files.end(), more.begin(), more.end());
  }
  return files;
}

inline Result<std::string> text_of(const std::string& path) {
  ERGON_TRY(const auto source, io::open_source(path));
  return io::read_all(*source);
}

inline Result<trace::EventTable> read(std::string_view text,
                                      const trace::ReadOptions& options = {}) {
  return trace::read_trace(*io::memory_source(text), options);
}

}  // namespace ergon::graph_test
