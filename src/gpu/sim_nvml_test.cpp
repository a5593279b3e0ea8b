// The NVML back end on the simulated library: readings, control, and every way in which a driver
// disappoints.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "ergon/gpu.hpp"

namespace ergon::gpu {
namespace {
namespace fs = std::filesystem;

class SimNvml : public testing::Test {
 public:
  ~SimNvml() override { fs::remove_all(folder_); }

 protected:
  SimNvml() {
    std::string pattern = (fs::temp_directory_path() / "ergon-gpu-test-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }

  Result<Machine> open(const std::string& text, const std::string& state = "one") {
    const auto selection = parse_selection("sim:" + text);
    EXPECT_TRUE(selection);
    Options options;
    options.sim_folder = ERGON_SIM_FOLDER;
    options.root = folder_ + "/root";
    fs::create_directories(folder_ + "/" + state);
    for (const auto& [name, value] :
         sim_environment(selection->sim, options.sim_folder, folder_ + "/" + state, "")) {
      if (name != "LD_LIBRARY_PATH")
        ::setenv(name.c_str(), value.c_str(), 1);  // NOLINT(concurrency-mt-unsafe)
    }
    return open_machine(*selection, options);
  }
  std::string folder_;
};

TEST_F(SimNvml, IdentityAndReadings) {
  auto machine = open("a100,gpus=2");
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_EQ(machine->gpus.size(), 2U);
  EXPECT_EQ(machine->cuda_order, (std::vector<int>{0, 1}));
  Gpu& gpu = *machine->gpus[0];
  const Identity& identity = gpu.identity();
  EXPECT_TRUE(identity.simulated);
  EXPECT_EQ(identity.vendor, Vendor::kNvidia);
  EXPECT_EQ(identity.architecture, "ampere");
  EXPECT_TRUE(identity.uuid.starts_with("GPU-"));
  EXPECT_NE(identity.uuid, machine->gpus[1]->identity().uuid);
  EXPECT_FALSE(identity.driver.empty());
  const auto energy = gpu.energy();
  ASSERT_TRUE(energy);
  EXPECT_LE(energy->begin_ns, energy->end_ns);
  const auto source = gpu.power_source();
  ASSERT_TRUE(source);
  EXPECT_EQ(source->kind, PowerKind::kInstant);
  Fields fields;
  fields.utilization = fields.power_limit = true;
  const auto sample = gpu.sample(fields);
  ASSERT_TRUE(sample);
  EXPECT_TRUE(sample->energy_uj && sample->power_w && sample->core_hz && sample->memory_hz &&
              sample->temperature_c && sample->throttle_bits && sample->power_limit_w);
  EXPECT_EQ(sample->refused, 0);
  EXPECT_GT(*sample->power_w, 5);
  const auto limits = gpu.power_limits();
  ASSERT_TRUE(limits);
  EXPECT_EQ(limits->current.si(), limits->standard->si());
  const auto clocks = gpu.supported_clocks(Domain::kCore);
  ASSERT_TRUE(clocks);
  EXPECT_GT(clocks->size(), 10U);
  EXPECT_LT(clocks->front(), clocks->back());
  EXPECT_FALSE(gpu.mig()->enabled);
  EXPECT_TRUE(gpu.processes());
  EXPECT_TRUE(gpu.throttle_counters());
  EXPECT_TRUE(gpu.probe_control());
}

TEST_F(SimNvml, ClocksAreLockedHeldAndGivenBackByTheLease) {
  auto machine = open("a100");
  ASSERT_TRUE(machine);
  Gpu& gpu = *machine->gpus[0];
  Gpu* const gpus[] = {&gpu};
  LeaseOptions options;
  options.folder = folder_ + "/state";
  options.tool = "test";
  const auto wait = [] {
    timespec pause{0, 60'000'000};
    ::nanosleep(&pause, nullptr);
  };
  {
    auto lease = Lease::take(gpus, options);
    ASSERT_TRUE(lease) << lease.error().message;
    ASSERT_TRUE(lease->lock_clocks(gpu, Domain::kCore, Hertz(705e6), Hertz(705e6)));
    ASSERT_TRUE(lease->set_power_limit(gpu, Watts(250)));
    wait();
    EXPECT_EQ(gpu.clock(Domain::kCore)->si(), 705e6);
    EXPECT_EQ(gpu.power_limits()->current.si(), 250);
  }
  wait();
  EXPECT_NE(gpu.clock(Domain::kCore)->si(), 705e6);
  EXPECT_EQ(gpu.power_limits()->current.si(), gpu.power_limits()->standard->si());
}

// 4, 5, 6: the counter is millijoules; the interface says microjoules.
TEST_F(SimNvml, failure_04_05_06_units_of_the_counter) {
  auto machine = open("v100");
  ASSERT_TRUE(machine);
  Gpu& gpu = *machine->gpus[0];
  const auto before = gpu.energy();
  timespec pause{0, 300'000'000};
  ::nanosleep(&pause, nullptr);
  const auto after = gpu.energy();
  const auto watts = gpu.power(Scope::kGpu, PowerKind::kUsage);
  ASSERT_TRUE(before && after && watts);
  const double joules = static_cast<double>(after->microjoules - before->microjoules) * 1e-6;
  const double seconds = to_seconds(after->end_ns - before->end_ns).si();
  EXPECT_NEAR(joules / seconds, watts->si(), 0.35 * watts->si());
}

// 3: no counter is an error, not 0.
TEST_F(SimNvml, failure_03_no_counter_is_not_zero) {
  auto machine = open("a100,fault=no-energy-counter");
  ASSERT_TRUE(machine);
  EXPECT_EQ(machine->gpus[0]->energy().error().code, Errc::kUnsupported);
  const auto sample = machine->gpus[0]->sample({});
  ASSERT_TRUE(sample);
  EXPECT_FALSE(sample->energy_uj);
  EXPECT_TRUE(sample->power_w);
}

// 9: success with garbage.
TEST_F(SimNvml, failure_09_garbage_with_success) {
  auto machine = open("a100,fault=garbage");
  ASSERT_TRUE(machine);
  int refused = 0;
  // Garbage comes and goes, about one look in seven.
  for (int i = 0; i < 300 && refused == 0; ++i) {
    const timespec pause{0, 10'000'000};
    ::nanosleep(&pause, nullptr);
    const auto sample = machine->gpus[0]->sample({});
    ASSERT_TRUE(sample);
    refused += sample->refused;
    EXPECT_LT(sample->power_w.value_or(0), 5000);
    EXPECT_LT(sample->temperature_c.value_or(0), 200);
  }
  EXPECT_GT(refused, 0);
}

// 31, 33: no right to change anything, in words.
TEST_F(SimNvml, failure_31_33_no_permission_in_words) {
  auto machine = open("a100,fault=no-permission");
  ASSERT_TRUE(machine);
  Gpu& gpu = *machine->gpus[0];
  EXPECT_EQ(gpu.probe_control().error().code, Errc::kPermission);
  const auto locked = gpu.lock_clocks(Domain::kCore, Hertz(1410e6), Hertz(1410e6));
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, Errc::kPermission);
  EXPECT_EQ(exit_code(locked.error().code), 4);
  EXPECT_NE(locked.error().hint.find("sudo"), std::string::npos);
  EXPECT_TRUE(gpu.energy());
}

// 29: driver and library of different versions.
TEST_F(SimNvml, failure_29_version_mismatch) {
  const auto machine = open("a100,fault=version-mismatch");
  ASSERT_FALSE(machine);
  EXPECT_EQ(machine.error().code, Errc::kDevice);
  EXPECT_NE(machine.error().message.find("different versions"), std::string::npos);
}

TEST_F(SimNvml, NoDriverAndNoDevice) {
  for (const char* fault : {"no-driver", "no-device"}) {
    const auto machine = open(std::string("a100,fault=") + fault, fault);
    ASSERT_FALSE(machine) << fault;
    EXPECT_EQ(machine.error().code, Errc::kDevice) << fault;
  }
}

TEST_F(SimNvml, GpuLost) {
  auto machine = open("a100,fault=gpu-lost");
  if (!machine) {
    EXPECT_EQ(machine.error().code, Errc::kDevice);
    EXPECT_NE(machine.error().message.find("lost"), std::string::npos);
    return;
  }
  const auto sample = machine->gpus[0]->sample({});
  ASSERT_FALSE(sample);
  EXPECT_EQ(sample.error().code, Errc::kDevice);
  EXPECT_NE(sample.error().message.find("lost"), std::string::npos);
}

// 26: one GPU that fails does not hide the others.
TEST_F(SimNvml, failure_26_one_broken_gpu) {
  auto machine = open("a100,gpus=2,fault=one-gpu-broken");
  ASSERT_TRUE(machine) << machine.error().message;
  int readable = 0;
  for (const auto& gpu : machine->gpus) {
    const auto sample = gpu->sample({});
    readable += sample && sample->power_w && sample->energy_uj ? 1 : 0;
  }
  EXPECT_EQ(readable, 1);
}

// 27: everything answers but power.
TEST_F(SimNvml, failure_27_everything_but_power) {
  auto machine = open("a100,fault=power-na+no-energy-counter");
  ASSERT_TRUE(machine) << machine.error().message;
  Gpu& gpu = *machine->gpus[0];
  EXPECT_EQ(gpu.power_source().error().code, Errc::kUnsupported);
  const auto sample = gpu.sample({});
  ASSERT_TRUE(sample);
  EXPECT_FALSE(sample->power_w);
  EXPECT_FALSE(sample->energy_uj);
  EXPECT_TRUE(sample->temperature_c);
}

// 28: a partial NVML, as in WSL.
TEST_F(SimNvml, failure_28_partial_library) {
  auto machine = open("a100,fault=partial");
  ASSERT_TRUE(machine) << machine.error().message;
  EXPECT_TRUE(machine->gpus[0]->sample({}));
}

// 44, 45: an instance's power is the whole GPU's, and counts once.
TEST_F(SimNvml, failure_44_45_mig_counts_once) {
  auto machine = open("a100,fault=mig");
  ASSERT_TRUE(machine) << machine.error().message;
  ASSERT_EQ(machine->gpus.size(), 1U);  // all: whole GPUs
  const auto mig = machine->gpus[0]->mig();
  ASSERT_TRUE(mig && mig->enabled);
  ASSERT_FALSE(mig->instances.empty());
  EXPECT_FALSE(machine->notes.empty());
  const std::string parent = machine->gpus[0]->identity().uuid;
  EXPECT_EQ(machine->gpus[0]->identity().sensor_owner(), parent);
}

TEST_F(SimNvml, UnknownReasonsAreKept) {
  auto machine = open("a100,fault=unknown-reason");
  ASSERT_TRUE(machine);
  const auto throttle = machine->gpus[0]->throttle();
  ASSERT_TRUE(throttle);
  EXPECT_NE(throttle->names().find("unknown"), std::string::npos) << throttle->names();
  EXPECT_NE(throttle->holding_back(), 0U);
}

// 35: a board without memory locks.
TEST_F(SimNvml, failure_35_memory_lock_unsupported) {
  auto machine = open("v100,fault=memory-lock-unsupported");
  ASSERT_TRUE(machine);
  const auto locked = machine->gpus[0]->lock_clocks(Domain::kMemory, Hertz(877e6), Hertz(877e6));
  ASSERT_FALSE(locked);
  EXPECT_EQ(locked.error().code, Errc::kUnsupported);
}

TEST_F(SimNvml, UnknownModelIsAnError) {
  const auto machine = open("voodoo2");
  ASSERT_FALSE(machine);
  EXPECT_FALSE(machine.error().hint.empty());
}

}  // namespace
}  // namespace ergon::gpu
