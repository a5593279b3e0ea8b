#include "ergon/sim/machine.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <type_traits>

#include "ergon/sim/process.hpp"

namespace ergon::sim {
namespace {

constexpr std::uint64_t kMagic = 0x4552474f4e53494dULL;
constexpr std::uint32_t kLayout = 2;
constexpr Nanoseconds kBetweenLooks = 4'000'000;  // at processes, whether they live

static_assert(std::is_trivially_copyable_v<Board>);

// The tables of a board lie outside what is copied at each change: entries beyond the counts in the
// committed board are not looked at, so a half-written one does no harm.
struct Tables {
  Mark history[kHistoryLength];
  ClockMark clocks[kClockHistoryLength];
  Phase phases[kMaxJobs * kMaxPhases];
  Record records[kMaxJobs * kRecordLength];
};

struct Slot {
  std::atomic<std::uint32_t> current;  // which of the two copies counts
  Board copies[2];
};

tl::unexpected<Error> cannot(const std::string& what, const std::string& path) {
  return fail(Errc::kIo,
              "simulated GPU: cannot " + what + " '" + path + "': " + std::strerror(errno),
              "set ERGON_SIM_STATE to a folder that can be written");
}

// Holds a file open and locked while the machine in it is made or checked.
class LockedFile {
 public:
  explicit LockedFile(const std::string& path)
      : fd_(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600)) {
    while (fd_ >= 0 && flock(fd_, LOCK_EX) != 0 && errno == EINTR) {
    }
  }
  ~LockedFile() {
    if (fd_ < 0) return;
    flock(fd_, LOCK_UN);  // a mapping keeps the file, and with it the lock, beyond close
    close(fd_);
  }
  LockedFile(const LockedFile&) = delete;
  LockedFile& operator=(const LockedFile&) = delete;
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_;
};

// Machines of trees whose first process is gone.
void remove_left_over(const std::filesystem::path& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const std::size_t dash = name.find('-');
    if (dash == std::string::npos) continue;
    const ProcessStat stat = process_stat(std::atoi(name.c_str()));
    if (stat.alive && std::to_string(stat.start) == name.substr(dash + 1)) continue;
    std::filesystem::remove_all(entry.path(), ignored);
  }
}

Result<std::string> folder_of(const MachineAddress& address) {
  std::error_code error;
  if (!address.state_folder.empty()) {
    std::filesystem::create_directories(address.state_folder, error);
    return address.state_folder;
  }
  const std::filesystem::path all =
      std::filesystem::temp_directory_path(error) / ("ergon-sim-" + std::to_string(getuid()));
  std::filesystem::create_directories(all, error);
  std::filesystem::permissions(all, std::filesystem::perms::owner_all, error);
  remove_left_over(all);
  const std::int32_t root = root_of_tree("ERGON_SIM", address.sim);
  const std::filesystem::path own =
      all / (std::to_string(root) + "-" + std::to_string(process_stat(root).start));
  std::filesystem::create_directories(own, error);
  return own.string();
}

}  // namespace

struct Machine::Shared {
  std::uint64_t magic;
  std::uint32_t layout;
  std::uint32_t gpus;
  char boot[48];
  char model[16];
  std::uint64_t seed;
  double gain;
  std::uint32_t physical_faults;
  Nanoseconds created;
  pthread_mutex_t mutex;
  Slot slots[kMaxGpus];
  Tables tables[kMaxGpus];
};

namespace {

BoardStore store_of(Tables& tables) {
  return {tables.history, tables.clocks, tables.phases, tables.records};
}

}  // namespace

MachineAddress address_from_environment() {
  const auto value = [](const char* name) {
    // Read once at the start, before anything else of this library runs.
    const char* text = std::getenv(name);  // NOLINT(concurrency-mt-unsafe)
    return std::string(text == nullptr ? "" : text);
  };
  return {value("ERGON_SIM"), value("ERGON_SIM_STATE")};
}

Result<std::unique_ptr<Machine>> Machine::open(const MachineAddress& address) {
  Config wanted;
  if (!address.sim.empty()) {
    ERGON_TRY(wanted, parse_config(address.sim));
  } else if (address.state_folder.empty()) {
    return fail(Errc::kDevice, "no simulated GPU is asked for",
                "set ERGON_SIM, as in ERGON_SIM=a100,seed=7");
  }
  ERGON_TRY(const std::string folder, folder_of(address));
  const std::string path = folder + "/machine";
  const LockedFile file(path);
  if (file.fd() < 0) return cannot("open", path);
  struct stat info{};
  if (fstat(file.fd(), &info) != 0) return cannot("read", path);
  const bool sized = info.st_size == static_cast<off_t>(sizeof(Shared));
  if (!sized && ftruncate(file.fd(), static_cast<off_t>(sizeof(Shared))) != 0)
    return cannot("write", path);
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED, file.fd(), 0);
  if (memory == MAP_FAILED) return cannot("map", path);
  auto* shared = static_cast<Shared*>(memory);
  const std::string boot = boot_id();
  const bool usable =
      sized && shared->magic == kMagic && shared->layout == kLayout && boot == shared->boot;
  if (!usable) {
    if (wanted.model == nullptr) {
      munmap(memory, sizeof(Shared));
      if (!sized) unlink(path.c_str());
      return fail(Errc::kDevice, "no simulated GPU in '" + folder + "' yet",
                  "set ERGON_SIM too, as in ERGON_SIM=a100,seed=7");
    }
    shared->magic = 0;  // until all is in place
    shared->layout = kLayout;
    shared->gpus = wanted.gpus;
    std::strncpy(shared->boot, boot.c_str(), sizeof shared->boot - 1);
    std::strncpy(shared->model, wanted.model->key, sizeof shared->model - 1);
    shared->seed = wanted.seed;
    shared->gain = wanted.gain;
    shared->physical_faults = wanted.physical_faults;
    shared->created = monotonic_ns();
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&shared->mutex, &attributes);
    pthread_mutexattr_destroy(&attributes);
    for (std::uint32_t gpu = 0; gpu < wanted.gpus; ++gpu) {
      Slot& slot = shared->slots[gpu];
      BoardView(*wanted.model, slot.copies[0], store_of(shared->tables[gpu]))
          .create({wanted.seed, gpu, wanted.physical_faults, wanted.gain}, shared->created);
      slot.current.store(0);
    }
    std::atomic_thread_fence(std::memory_order_release);
    shared->magic = kMagic;
  }
  Config config;
  config.model = find_model(shared->model);
  config.gpus = shared->gpus;
  config.seed = shared->seed;
  config.gain = shared->gain;
  config.physical_faults = shared->physical_faults;
  config.call_faults = wanted.call_faults;
  // What a process does not say it takes as it is.
  const bool differs =
      wanted.model != nullptr &&
      (wanted.model != config.model || (wanted.gpus_given && wanted.gpus != config.gpus) ||
       (wanted.seed_given && wanted.seed != config.seed) ||
       (wanted.gain_given && wanted.gain != config.gain) ||
       (wanted.physical_faults & ~config.physical_faults) != 0);
  if (config.model == nullptr || differs) {
    const std::string is = std::string(shared->model) + ",gpus=" + std::to_string(shared->gpus) +
                           ",seed=" + std::to_string(shared->seed);
    munmap(memory, sizeof(Shared));
    return fail(Errc::kInvalidArgument,
                "the simulated machine in '" + folder + "' is " + is + ", not " + address.sim,
                "use the same ERGON_SIM, or another ERGON_SIM_STATE");
  }
  return std::unique_ptr<Machine>(new Machine(std::move(config), shared));
}

Machine::~Machine() { munmap(shared_, sizeof(Shared)); }

Nanoseconds Machine::created() const { return shared_->created; }

void Machine::lock() {
  // The owner may have died: what it had not committed is dropped, so the state is whole.
  if (pthread_mutex_lock(&shared_->mutex) == EOWNERDEAD) pthread_mutex_consistent(&shared_->mutex);
}

void Machine::with_board(std::uint32_t gpu,
                         const std::function<void(BoardView&, Nanoseconds)>& use) {
  ERGON_CHECK(gpu < config_.gpus, "a GPU of the machine");
  lock();
  const Nanoseconds now = monotonic_ns();
  Slot& slot = shared_->slots[gpu];
  const std::uint32_t current = slot.current.load(std::memory_order_relaxed) & 1U;
  const std::uint32_t other = 1U - current;
  slot.copies[other] = slot.copies[current];
  BoardView view(*config_.model, slot.copies[other], store_of(shared_->tables[gpu]));
  if (now - view.board().last_look >= kBetweenLooks) {
    for (int k = 0; k < static_cast<int>(kMaxJobs); ++k) {
      const Job& job = slot.copies[other].jobs[k];
      if (job.state == JobState::kFree) continue;
      const ProcessStat stat = process_stat(job.pid);
      // Of a process that died its work ended when somebody last saw it alive.
      if (!stat.alive || stat.start != job.process_start) view.detach(k, view.board().last_look);
    }
    view.look(now);
  }
  view.advance(now);
  use(view, now);
  slot.current.store(other, std::memory_order_release);
  pthread_mutex_unlock(&shared_->mutex);
}

}  // namespace ergon::sim
