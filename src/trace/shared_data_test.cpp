// Real traces of every era (not part of the repository): counts known from elsewhere, and the same
// table through every window.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "ergon/trace.hpp"
#include "testing.hpp"

namespace ergon::trace {
namespace {

namespace fs = std::filesystem;

fs::path folder() {
  const char* set = std::getenv("ERGON_SHARED_DATA");
  return (set != nullptr ? fs::path(set) : fs::path(ERGON_SOURCE_DIR) / "../shared/data") /
         "traces";
}

class SharedData : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!fs::is_directory(folder())) GTEST_SKIP() << "no shared data in " << folder();
  }
};

Result<std::vector<EventTable>> read_shared(const std::string& name,
                                            const ReadOptions& options = {}) {
  ERGON_TRY(const auto source, io::open_source((folder() / name).string()));
  return read_traces(*source, options);
}

std::uint64_t count(const EventTable& table, EventKind kind) {
  std::uint64_t n = 0;
  for (EventId e = 0; e < table.size(); ++e) n += table.kind[e] == kind ? 1U : 0U;
  return n;
}

TEST_F(SharedData, KernelCounts) {
  const std::pair<const char*, std::uint64_t> kernels_of[] = {
      {"hta/train_a100_rank3of8_nccl.json.gz", 8568},
      {"kineto/resnet50_v100_2021_workers0.json.gz", 8772},
      {"tracelens/mi_vllm_decode_fullgraph.json.gz", 425},
      {"kineto/resnet50_2020_toplevel_array.json.gz", 9538},
      {"hta/sampled_rank0of128.json.gz", 1154},
      {"hta/sampled_rank1of128.json.gz", 1104},
      {"tracelens/h100_timesformer.json.gz", 446},
      {"hta/infer_a100_rank0of16_6streams_cudagraph.json.gz", 6080},
      {"param/resnet_2080ti_kineto.json.gz", 9628},
      {"hta/ddp_a100_rank0of2_nccl_meta.json.gz", 2700},
      {"tracelens/b200_rank0of8_eager.json.gz", 768},
      {"tracelens/h100_bert-small.json.gz", 60},
      {"tracelens/mi300_bert-small.json.gz", 60},
      {"tracelens/h100_vit-nsfw.json.gz", 154},
      {"tracelens/mi300_vit-nsfw.json.gz", 155},
  };
  for (const auto& [name, kernels] : kernels_of) {
    const auto tables = read_shared(name);
    ASSERT_TRUE(tables.has_value()) << name << tables.error().message;
    ASSERT_EQ(tables->size(), 1U) << name;
    EXPECT_EQ(count(tables->front(), EventKind::kKernel), kernels) << name;
    for (const Skipped& s : tables->front().skipped) EXPECT_FALSE(s.damage) << name << s.reason;
  }
}

TEST_F(SharedData, EveryFileReadsOrIsRefusedWithAHint) {
  for (const auto& entry : fs::recursive_directory_iterator(folder())) {
    if (!entry.is_regular_file()) continue;
    const std::string name = fs::relative(entry.path(), folder()).string();
    const auto tables = read_shared(name);
    if (!tables) {
      EXPECT_EQ(tables.error().code, Errc::kMalformedInput) << name;
      EXPECT_FALSE(tables.error().hint.empty()) << name;
      EXPECT_TRUE(tables.error().offset.has_value()) << name;
      continue;
    }
    for (const EventTable& table : *tables) {
      for (StringId id = 0; id < table.strings.size(); ++id) {
        const std::string_view text = table.strings.view(id);
        ASSERT_EQ(io::valid_utf8_prefix(text), text.size()) << name;
      }
      for (EventId e = 0; e < table.size(); ++e) {
        ASSERT_GE(table.start_ns[e], 0) << name;
        ASSERT_GE(table.duration_ns[e], 0) << name;
      }
    }
  }
}

TEST_F(SharedData, DetailsAreJson) {
  for (const char* name :
       {"hta/ddp_a100_rank0of2_nccl_meta.json.gz", "hta/amd_mi250_rocm62_toy.json.gz",
        "hta/alexnet_a100_cuda_sync.json.gz", "tracelens/b200_rank0of8_eager.json.gz"}) {
    const auto tables = read_shared(name);
    ASSERT_TRUE(tables.has_value()) << name;
    const EventTable& table = tables->front();
    for (EventId e = 0; e < table.size(); ++e) {
      if (table.detail[e] == 0) continue;
      const auto value = io::parse_json(table.detail_of(e));
      ASSERT_TRUE(value.has_value()) << name << table.detail_of(e);
      ASSERT_NE(value->as_object(), nullptr);
    }
  }
}

TEST_F(SharedData, WindowsAndThreadsDoNotShow) {
  for (const char* name :
       {"hta/alexnet_a100_cuda_sync.json.gz", "hta/ddp_a100_rank0of2_nccl_meta.json.gz",
        "hta/amd_mi250_rocm62_toy.json.gz", "tracelens/h100_vit-nsfw.json.gz",
        "tracelens/mi300x_sglang_qwen3-8b_decode.json.gz", "derived/truncated_gz.json.gz",
        "derived/unescaped_quote.json", "derived/bad_utf8.json", "derived/gz_two_members.json.gz",
        "param/dlrm_kineto_8ranks.tar.gz", "kineto/cuda_sync_resolved_after_fix.json"}) {
    const auto dump = [name](const ReadOptions& options) {
      const auto tables = read_shared(name, options);
      std::string out = tables ? "" : tables.error().message;
      if (tables) {
        for (const EventTable& t : *tables) out += testing::dump(t) + t.input.digest;
      }
      return out;
    };
    const std::string expected = dump({});
    for (const std::size_t window : {64U, 4096U, 1U << 24U}) {
      for (const int threads : {1, 2}) {
        EXPECT_EQ(dump({.window_bytes = window, .threads = threads}), expected)
            << name << " window " << window << " threads " << threads;
      }
    }
  }
}

TEST_F(SharedData, ShuffledEventsGiveTheSameTable) {
  const auto shuffled = read_shared("derived/shuffled_order.json");
  const auto sorted = read_shared("hta/event_sync_a100.json.gz");
  ASSERT_TRUE(shuffled.has_value() && sorted.has_value());
  EXPECT_EQ(testing::dump(shuffled->front(), false), testing::dump(sorted->front(), false));
}

TEST_F(SharedData, RanksOfAnArchive) {
  const auto tables = read_shared("param/dlrm_kineto_8ranks.tar.gz");
  ASSERT_TRUE(tables.has_value());
  ASSERT_EQ(tables->size(), 8U);
  for (std::size_t rank = 0; rank < 8; ++rank) {
    EXPECT_EQ((*tables)[rank].distributed.rank, static_cast<std::int64_t>(rank));
    EXPECT_EQ((*tables)[rank].distributed.world_size, 8);
    EXPECT_NE((*tables)[rank].input.path.find("worker" + std::to_string(rank)), std::string::npos);
  }
  const auto source = io::open_source((folder() / "param/dlrm_kineto_8ranks.tar.gz").string());
  ASSERT_TRUE(source.has_value());
  EXPECT_EQ(read_trace(**source).error().code, Errc::kMalformedInput);
}

TEST_F(SharedData, TwoMembersEqualOne) {
  const auto two = read_shared("derived/gz_two_members.json.gz");
  const auto one = read_shared("hta/alexnet_a100_cuda_sync.json.gz");
  ASSERT_TRUE(two.has_value() && one.has_value());
  EXPECT_EQ(testing::dump(two->front()), testing::dump(one->front()));
}

}  // namespace
}  // namespace ergon::trace
