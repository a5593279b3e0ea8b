// Marks go through the library into the ring and come out as spans.
#include <dlfcn.h>
#include <ergon.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <thread>
#include <vector>

#include "ergon/gpu/machine.hpp"
#include "ergon/run.hpp"

namespace ergon::run {
namespace {

struct Library {
  ergon_region_t (*begin)(const char*) = nullptr;
  void (*end)(ergon_region_t) = nullptr;
  int (*measuring)() = nullptr;

  static Library open() {
    void* handle = ::dlopen(ERGON_LIB_FOLDER "/libergon_region.so", RTLD_NOW);
    EXPECT_NE(handle, nullptr) << ::dlerror();
    Library library;
    if (handle == nullptr) return library;
    library.begin = reinterpret_cast<decltype(begin)>(::dlsym(handle, "ergon_region_begin"));
    library.end = reinterpret_cast<decltype(end)>(::dlsym(handle, "ergon_region_end"));
    library.measuring = reinterpret_cast<decltype(measuring)>(::dlsym(handle, "ergon_measuring"));
    return library;
  }
};

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "ergon-test-XXXXXX").string();
    path_ = ::mkdtemp(pattern.data());
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The library looks at the environment once a process: each part runs in a child.
int in_child(const std::string& ring, const std::function<int(const Library&)>& part) {
  const pid_t pid = ::fork();
  if (pid == 0) {
    if (ring.empty()) {
      ::unsetenv("ERGON_REGIONS");
    } else {
      ::setenv("ERGON_REGIONS", ring.c_str(), 1);
    }
    ::_exit(part(Library::open()));
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

TEST(Regions, NothingHappensWithoutARing) {
  EXPECT_EQ(in_child("",
                     [](const Library& l) {
                       const auto region = l.begin("x");
                       l.end(region);
                       return region == 0 && l.measuring() == 0 ? 0 : 1;
                     }),
            0);
  EXPECT_EQ(in_child("/no/such/ring", [](const Library& l) { return l.begin("x") == 0 ? 0 : 1; }),
            0);
}

TEST(Regions, NestAndRepeatAndAreCutByDeath) {
  const Folder folder;
  auto ring = RegionRing::create(folder.path());
  ASSERT_TRUE(ring.has_value());
  const Nanos before = gpu::monotonic_now();
  EXPECT_EQ(in_child(ring->path(),
                     [](const Library& l) {
                       const auto outer = l.begin("outer");
                       for (int i = 0; i < 3; ++i) l.end(l.begin("inner"));
                       l.end(outer);
                       l.begin("unfinished \xc3\xa4\xff");
                       ::raise(SIGKILL);
                       return 0;
                     }),
            128 + SIGKILL);
  const Nanos after = gpu::monotonic_now();
  const auto marks = ring->take(after);
  ASSERT_EQ(marks.regions.size(), 3U);
  EXPECT_EQ(marks.regions[0].name, "outer");
  EXPECT_EQ(marks.regions[1].name, "inner");
  EXPECT_EQ(marks.regions[1].spans.size(), 3U);
  EXPECT_EQ(marks.regions[2].name, "unfinished \xc3\xa4\xef\xbf\xbd");
  ASSERT_EQ(marks.regions[2].spans.size(), 1U);
  EXPECT_TRUE(marks.regions[2].spans[0].cut);
  EXPECT_EQ(marks.regions[2].spans[0].end_ns, after);
  EXPECT_GE(marks.regions[0].spans[0].start_ns, before);
  EXPECT_LE(marks.regions[1].spans[2].end_ns, marks.regions[0].spans[0].end_ns);
  EXPECT_EQ(marks.lost, 0U);
  EXPECT_TRUE(ring->take(after).regions.empty());
}

TEST(Regions, AFullRingLosesMarksAndSaysSo) {
  const Folder folder;
  auto ring = RegionRing::create(folder.path());
  ASSERT_TRUE(ring.has_value());
  EXPECT_EQ(in_child(ring->path(),
                     [](const Library& l) {
                       for (int i = 0; i < 20000; ++i) l.end(l.begin("many"));
                       return 0;
                     }),
            0);
  const auto marks = ring->take(gpu::monotonic_now());
  ASSERT_EQ(marks.regions.size(), 1U);
  EXPECT_EQ(marks.regions[0].spans.size(), 16384U);
  EXPECT_EQ(marks.lost, 20000U - 16384U);
  // And works again.
  EXPECT_EQ(in_child(ring->path(),
                     [](const Library& l) {
                       l.end(l.begin("again"));
                       return 0;
                     }),
            0);
  EXPECT_EQ(ring->take(gpu::monotonic_now()).regions.size(), 1U);
}

TEST(Regions, ManyThreadsAndProcessesShareOneRing) {
  const Folder folder;
  auto ring = RegionRing::create(folder.path());
  ASSERT_TRUE(ring.has_value());
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      ring->drain();
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
  });
  EXPECT_EQ(in_child(ring->path(),
                     [](const Library& l) {
                       const pid_t other = ::fork();
                       std::vector<std::thread> threads;
                       threads.reserve(3);
                       for (int t = 0; t < 3; ++t) {
                         threads.emplace_back([&l] {
                           for (int i = 0; i < 2000; ++i) l.end(l.begin("shared"));
                         });
                       }
                       for (auto& thread : threads) thread.join();
                       if (other == 0) ::_exit(0);
                       ::waitpid(other, nullptr, 0);
                       return 0;
                     }),
            0);
  reader.request_stop();
  reader.join();
  const auto marks = ring->take(gpu::monotonic_now());
  ASSERT_EQ(marks.regions.size(), 1U);
  EXPECT_EQ(marks.regions[0].spans.size(), 2U * 3U * 2000U);
  EXPECT_EQ(marks.lost + marks.unmatched, 0U);
}

TEST(Regions, OfNvtxComeThroughTheInjection) {
  const Folder folder;
  auto ring = RegionRing::create(folder.path());
  ASSERT_TRUE(ring.has_value());
  const int status = in_child(ring->path(), [](const Library&) {
    void* handle = ::dlopen(ERGON_LIB_FOLDER "/libergon_nvtx.so", RTLD_NOW);
    if (handle == nullptr) return 2;
    // What the NVTX headers have: tables of pointers to slots.
    using Slot = void (*)();
    static std::array<Slot, 16> core{};
    static std::array<Slot, 16> core2{};
    static std::array<Slot*, 16> core_table{};
    static std::array<Slot*, 16> core2_table{};
    for (std::size_t i = 1; i < 16; ++i) {
      core_table[i] = &core[i];
      core2_table[i] = &core2[i];
    }
    struct Tables {
      std::size_t bytes;
      int (*module_table)(int, Slot***, unsigned*);
    };
    static const Tables tables = {sizeof(Tables), [](int module, Slot*** table, unsigned* size) {
                                    *table = module == 1 ? core_table.data() : core2_table.data();
                                    *size = 16;
                                    return module == 1 || module == 5 ? 1 : 0;
                                  }};
    const auto start = reinterpret_cast<int (*)(const void* (*)(std::uint32_t))>(
        ::dlsym(handle, "InitializeInjectionNvtx2"));
    if (start == nullptr ||
        start([](std::uint32_t id) -> const void* { return id == 1 ? &tables : nullptr; }) != 1)
      return 3;
    const auto push_a = reinterpret_cast<int (*)(const char*)>(core[9]);
    const auto pop = reinterpret_cast<int (*)()>(core[11]);
    const auto domain_create = reinterpret_cast<void* (*)(const char*)>(core2[12]);
    const auto domain_pop = reinterpret_cast<int (*)(void*)>(core2[5]);
    const auto domain_push = reinterpret_cast<int (*)(void*, const void*)>(core2[4]);
    const auto start_w = reinterpret_cast<std::uint64_t (*)(const wchar_t*)>(core[6]);
    const auto range_end = reinterpret_cast<void (*)(std::uint64_t)>(core[7]);
    struct Attributes {
      std::uint16_t version = 3;
      std::uint16_t bytes = 48;
      std::uint32_t category = 0;
      std::int32_t color_type = 0;
      std::uint32_t color = 0;
      std::int32_t payload_type = 0;
      std::int32_t reserved = 0;
      std::uint64_t payload = 0;
      std::int32_t message_type = 1;
      const char* message = "in a domain";
    } attributes;
    if (pop() >= 0) return 4;
    if (push_a("outer") != 0) return 5;
    void* domain = domain_create("lib");
    if (domain_push(domain, &attributes) != 1) return 6;
    if (pop() != 1) return 7;  // the default domain's, though it is not the innermost
    if (domain_pop(domain) != 0) return 8;
    range_end(start_w(L"wide \u00e4"));
    return 0;
  });
  EXPECT_EQ(status, 0);
  const auto marks = ring->take(gpu::monotonic_now());
  ASSERT_EQ(marks.regions.size(), 3U);
  EXPECT_EQ(marks.regions[0].name, "outer");
  EXPECT_EQ(marks.regions[1].name, "lib: in a domain");
  EXPECT_EQ(marks.regions[2].name, "wide \xc3\xa4");
  for (const auto& region : marks.regions) EXPECT_FALSE(region.spans[0].cut);
}

}  // namespace
}  // namespace ergon::run
