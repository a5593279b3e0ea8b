// Selections, CUDA's order, places, and recorded runs.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ergon/gpu.hpp"
#include "place.hpp"
#include "plausible.hpp"
#include "selection.hpp"

namespace ergon::gpu {
namespace {
namespace fs = std::filesystem;

Identity board(int index, const std::string& uuid, const std::string& pci,
               const std::string& name = "NVIDIA A100") {
  Identity identity;
  identity.id = std::to_string(index);
  identity.index = index;
  identity.uuid = uuid;
  identity.pci = pci;
  identity.name = name;
  return identity;
}

TEST(Selection, KindsAreTakenApart) {
  EXPECT_EQ(parse_selection("all")->kind, Selection::Kind::kAll);
  EXPECT_EQ(parse_selection("0,2")->items, (std::vector<std::string>{"0", "2"}));
  EXPECT_EQ(parse_selection("cuda:1")->items, (std::vector<std::string>{"1"}));
  const auto sim = parse_selection("sim:a100,gpus=2,seed=7");
  EXPECT_EQ(sim->sim.model, "a100");
  EXPECT_EQ(sim->sim.options, "gpus=2,seed=7");
  EXPECT_EQ(parse_selection("recorded:a,b.csv")->file, "a,b.csv");
  for (const char* bad : {"", "sim:", "recorded:", "0,,1", "0,0", "a b", "cuda:x", "-1*"}) {
    const auto selection = parse_selection(bad);
    ASSERT_FALSE(selection) << bad;
    EXPECT_EQ(selection.error().code, Errc::kInvalidArgument);
  }
}

TEST(Selection, EntriesMatchIndexUuidAndAddress) {
  const std::vector<Identity> gpus = {board(0, "GPU-aa11", "00000000:3b:00.0"),
                                      board(1, "GPU-aa22", "00000000:af:00.0")};
  EXPECT_EQ(matches("1", gpus), std::vector<int>{1});
  EXPECT_EQ(matches("GPU-aa1", gpus), std::vector<int>{0});
  EXPECT_EQ(matches("aa2", gpus), std::vector<int>{1});
  EXPECT_EQ(matches("GPU-aa", gpus).size(), 2U);
  EXPECT_EQ(matches("AF:00.0", gpus), std::vector<int>{1});
  EXPECT_EQ(matches("0000:3B:00", gpus), std::vector<int>{0});
  EXPECT_TRUE(matches("7", gpus).empty());
}

// 42, 43: CUDA's index used as NVML's.
TEST(CudaOrder, failure_42_43_is_not_the_drivers_order) {
  const std::vector<Identity> gpus = {board(0, "GPU-a", "00000000:3b:00.0", "Small"),
                                      board(1, "GPU-b", "00000000:5e:00.0", "Small"),
                                      board(2, "GPU-c", "00000000:af:00.0", "Big")};
  const std::vector<double> speed = {1, 1, 9};
  const auto fastest = cuda_order(gpus, speed, "", std::nullopt);
  EXPECT_EQ(fastest.positions, (std::vector<int>{2, 0, 1}));
  EXPECT_FALSE(fastest.certain);
  const auto by_address = cuda_order(gpus, speed, "PCI_BUS_ID", std::nullopt);
  EXPECT_EQ(by_address.positions, (std::vector<int>{0, 1, 2}));
  EXPECT_TRUE(by_address.certain);
  EXPECT_EQ(cuda_order(gpus, speed, "PCI_BUS_ID", "2,0").positions, (std::vector<int>{2, 0}));
  EXPECT_EQ(cuda_order(gpus, speed, "PCI_BUS_ID", "1,9,0").positions, std::vector<int>{1});
  EXPECT_TRUE(cuda_order(gpus, speed, "PCI_BUS_ID", "").positions.empty());
  EXPECT_TRUE(cuda_order(gpus, speed, "PCI_BUS_ID", "-1").positions.empty());
  EXPECT_TRUE(cuda_order(gpus, speed, "PCI_BUS_ID", "1,1").positions.empty());
  EXPECT_EQ(cuda_order(gpus, speed, "PCI_BUS_ID", "GPU-c").positions, std::vector<int>{2});
}

TEST(CudaOrder, MigInstancesCountOnlyByName) {
  std::vector<Identity> gpus = {board(0, "GPU-a", "00000000:3b:00.0"),
                                board(0, "MIG-1", "00000000:3b:00.0")};
  gpus[1].mig_parent_uuid = "GPU-a";
  const std::vector<double> speed = {1, 0};
  EXPECT_EQ(cuda_order(gpus, speed, "", std::nullopt).positions, std::vector<int>{0});
  EXPECT_EQ(cuda_order(gpus, speed, "", "MIG-1").positions, std::vector<int>{1});
  EXPECT_EQ(gpus[1].sensor_owner(), gpus[0].sensor_owner());
}

TEST(Throttle, UnknownBitsAreKept) {
  const Throttle seen{0x401 | reason::kPowerCap};
  EXPECT_EQ(seen.names(), "idle, power cap, unknown 0x400");
  EXPECT_EQ(seen.holding_back(), 0x404U);
  EXPECT_EQ(Throttle{reason::kIdle | reason::kAskedClocks}.holding_back(), 0U);
  EXPECT_TRUE(Throttle{}.names().empty());
}

// 9, 13, 15, 16: success with garbage.
TEST(Plausible, GarbageIsRefused) {
  EXPECT_TRUE(plausible_power(699, 700));
  EXPECT_TRUE(plausible_power(900, 700));
  EXPECT_FALSE(plausible_power(4'294'967.295, std::nullopt));
  EXPECT_FALSE(plausible_power(3000, 190));
  EXPECT_FALSE(plausible_power(-1, std::nullopt));
  EXPECT_FALSE(plausible_energy(1.8e16));
  EXPECT_FALSE(plausible_temperature(4294967295.0));
}

class PlaceTest : public testing::Test {
 public:
  ~PlaceTest() override { fs::remove_all(root_); }

 protected:
  PlaceTest() {
    std::string pattern = (fs::temp_directory_path() / "ergon-place-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
  }
  void write(const std::string& path, const std::string& text) const {
    fs::create_directories((fs::path(root_) / path).parent_path());
    std::ofstream(fs::path(root_) / path) << text;
  }
  Error why() const { return no_gpu(look_around(root_), ""); }
  std::string root_;
};

TEST_F(PlaceTest, EachPlaceHasItsOwnReason) {
  EXPECT_NE(why().message.find("no GPU here"), std::string::npos);
  EXPECT_EQ(exit_code(why().code), 4);
  write("sys/bus/pci/devices/0000:3b:00.0/vendor", "0x10de\n");
  write("sys/bus/pci/devices/0000:3b:00.0/class", "0x030200\n");
  EXPECT_EQ(look_around(root_).nvidia_boards, 1);
  EXPECT_NE(why().message.find("no NVIDIA driver is loaded"), std::string::npos);
  write("proc/driver/nvidia/version",
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.54.15  Tue Mar  5 22:23:56 UTC\n");
  EXPECT_EQ(look_around(root_).nvidia_driver, "550.54.15");
  EXPECT_NE(why().message.find("550.54.15"), std::string::npos);
  write(".dockerenv", "");
  EXPECT_NE(why().hint.find("NVIDIA_DRIVER_CAPABILITIES"), std::string::npos);
  fs::remove_all(fs::path(root_) / "proc/driver");
  EXPECT_NE(why().hint.find("--gpus all"), std::string::npos);
  write("proc/version", "Linux version 5.15.90.1-microsoft-standard-WSL2\n");
  EXPECT_NE(why().message.find("WSL"), std::string::npos);
  write("proc/device-tree/model", std::string("NVIDIA Jetson Orin Nano") + '\0');
  EXPECT_NE(why().message.find("NVIDIA Jetson Orin Nano is a Jetson"), std::string::npos);
}

TEST_F(PlaceTest, NoLibraryIsExit4) {
  Options options;
  options.root = root_;
  options.nvml_library = root_ + "/libnvidia-ml.so.1";
  options.amdsmi_library = root_ + "/libamd_smi.so";
  const auto machine = open_machine(Selection{}, options);
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().code, Errc::kDevice);
  EXPECT_NE(machine.error().hint.find("sim:a100"), std::string::npos);
  // A library that is not what its name says.
  write("libnvidia-ml.so.1", "no library");
  const auto broken = open_machine(Selection{}, options);
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("libnvidia-ml.so.1"), std::string::npos);
}

TEST_F(PlaceTest, ARecordedRunPlaysInItsOwnTime) {
  write("run.csv",
        "time_s,gpu,power_w,energy_j,clock_hz,temperature_c\n"
        "0,0,60,1000,210000000,30\n"
        "0,1,70,,210000000,31\n"
        "1,0,300,1180,1410000000,\n"
        "2,0,310,1485,1410000000,50\n"
        "2,1,71,,210000000,31\n");
  Nanos now = 5'000'000'000;
  Options options;
  options.now = [&] { return now; };
  auto selection = parse_selection("recorded:" + root_ + "/run.csv");
  ASSERT_TRUE(selection);
  auto machine = open_machine(*selection, options);
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_EQ(machine->gpus.size(), 2U);
  Gpu& first = *machine->gpus[0];
  Gpu& second = *machine->gpus[1];
  EXPECT_EQ(first.energy()->microjoules, 1'000'000'000);
  now += 999'999'999;
  EXPECT_EQ(first.power(Scope::kGpu, PowerKind::kUsage)->si(), 60);
  now += 1;
  const auto sample = first.sample(Fields{});
  ASSERT_TRUE(sample);
  EXPECT_EQ(sample->power_w, 300);
  EXPECT_EQ(sample->core_hz, 1.41e9);
  EXPECT_FALSE(sample->temperature_c);  // missing is missing
  EXPECT_FALSE(sample->memory_hz);
  EXPECT_EQ(second.energy().error().code, Errc::kUnsupported);
  EXPECT_EQ(second.power(Scope::kGpu, PowerKind::kUsage)->si(), 70);
  EXPECT_EQ(first.lock_clocks(Domain::kCore, Hertz(1e9), Hertz(1e9)).error().code,
            Errc::kUnsupported);
  now += 1'000'000'001;
  EXPECT_EQ(first.sample(Fields{}).error().code, Errc::kDevice);
}

TEST_F(PlaceTest, ARecordedRunWithoutTimeIsRefused) {
  write("bare.csv", "gpu,power_w\n0,60\n");
  write("empty.csv", "time_s,gpu,power_w\n");
  write("bad.csv", "time_s,gpu,power_w\n0,0,60\nsoon,0,60\n");
  for (const char* file : {"bare.csv", "empty.csv", "bad.csv"}) {
    Selection selection;
    selection.kind = Selection::Kind::kRecorded;
    selection.file = root_ + "/" + file;
    const auto machine = open_machine(selection, Options{});
    ASSERT_FALSE(machine) << file;
    EXPECT_EQ(machine.error().code, Errc::kMalformedInput) << file;
  }
}

TEST(Play, RecordingsOfSeveralGpusShareOneTime) {
  Nanos now = 5'000'000'000;
  Options options;
  options.now = [&] { return now; };
  Recording one{.id = "0", .uuid = "GPU-one", .name = "Board", .simulated = true};
  Recording two{.id = "1", .uuid = "", .name = "", .averaged = true};
  for (int i = 0; i < 10; ++i) {
    Sample sample;
    sample.begin_ns = 100'000'000'000 + Nanos{i} * 100'000'000;
    sample.power_w = 100 + i;
    sample.energy_uj = 1'000'000 * i;
    one.samples.push_back(sample);
    sample.begin_ns += 300'000'000;
    two.samples.push_back(sample);
  }
  const auto machine = play({one, two}, "runs.db", options);
  ASSERT_TRUE(machine) << machine.error().message;
  gpu::Gpu& first = *machine->gpus[0];
  EXPECT_TRUE(first.identity().recorded);
  EXPECT_TRUE(first.identity().simulated);
  EXPECT_EQ(first.identity().uuid, "GPU-one");
  EXPECT_EQ(machine->gpus[1]->identity().name, "recorded run");
  EXPECT_EQ(machine->gpus[1]->power_source()->documented_average, Seconds(1));
  now += 550'000'000;
  EXPECT_EQ(first.sample({})->power_w, 105);
  EXPECT_EQ(machine->gpus[1]->sample({})->power_w, 102);
  EXPECT_EQ(first.energy()->microjoules, 5'000'000);
  const auto nothing = play({Recording{.id = "0", .uuid = "", .name = ""}}, "runs.db", options);
  ASSERT_FALSE(nothing);
  EXPECT_NE(nothing.error().message.find("no sample"), std::string::npos);
}

}  // namespace
}  // namespace ergon::gpu
