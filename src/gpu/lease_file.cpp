// Leases on disk.
#include "lease_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <functional>
#include <system_error>
#include <thread>

#include "ergon/gpu/process.hpp"
#include "ergon/io.hpp"
#include "place.hpp"

namespace ergon::gpu {
namespace fs = std::filesystem;
namespace {

constexpr const char* kSchema = "ergon.lease/1";

std::string reason_of(int error) { return std::generic_category().message(error); }

tl::unexpected<Error> io_error(const std::string& what, const std::string& path) {
  return fail(Errc::kIo, what + " '" + path + "': " + reason_of(errno),
              "leases lie in $XDG_STATE_HOME/ergon; make that folder writable");
}

// Names of machines and GPUs become parts of file names.
std::string plain(const std::string& text) {
  std::string out = text;
  std::ranges::replace_if(
      out,
      [](char c) {
        return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                 c == '-');
      },
      '_');
  return out;
}

std::uint64_t hash(const std::string& text) {  // FNV-1a: the same in every build
  std::uint64_t h = 0xcbf29ce484222325ULL;
  for (const char c : text) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return h;
}

Status write_all(int descriptor, std::string_view text, const std::string& path) {
  while (!text.empty()) {
    const ssize_t count = ::write(descriptor, text.data(), text.size());
    if (count < 0) {
      if (errno == EINTR) continue;
      return io_error("cannot write", path);
    }
    text.remove_prefix(static_cast<std::size_t>(count));
  }
  return {};
}

void sync_folder(const std::string& file) {
  const int folder =
      ::open(fs::path(file).parent_path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

Value to_value(const LeaseRecord& record) {
  Value environment = Value::object();
  for (const auto& [name, value] : record.environment) environment.set(name, value);
  Value gpus = Value::array();
  for (const auto& gpu : record.gpus) {
    gpus.push(Value::object()
                  .set("uuid", gpu.uuid)
                  .set("name", gpu.name)
                  .set("power_limit_w", gpu.power_limit_w ? Value(*gpu.power_limit_w) : Value())
                  .set("core_touched", gpu.core_touched)
                  .set("memory_touched", gpu.memory_touched)
                  .set("limit_touched", gpu.limit_touched));
  }
  return Value::object()
      .set("schema", kSchema)
      .set("tool", record.tool)
      .set("pid", record.pid)
      .set("start_ticks", record.start_ticks)
      .set("watchdog_pid", record.watchdog_pid)
      .set("watchdog_start_ticks", record.watchdog_start_ticks)
      .set("boot_id", record.boot_id)
      .set("machine", record.machine)
      .set("selection", record.selection)
      .set("environment", std::move(environment))
      .set("gpus", std::move(gpus));
}

std::string text_of(const Value& object, std::string_view key) {
  const Value* member = object.find(key);
  const std::string* text = member == nullptr ? nullptr : member->as_string();
  return text == nullptr ? std::string() : *text;
}
std::int64_t integer_of(const Value& object, std::string_view key) {
  const Value* member = object.find(key);
  const std::int64_t* number = member == nullptr ? nullptr : member->as_int();
  return number == nullptr ? 0 : *number;
}
bool flag_of(const Value& object, std::string_view key) {
  const Value* member = object.find(key);
  const bool* flag = member == nullptr ? nullptr : member->as_bool();
  return flag != nullptr && *flag;
}
std::optional<double> number_of(const Value& object, std::string_view key) {
  const Value* member = object.find(key);
  if (member == nullptr) return std::nullopt;
  if (const double* real = member->as_double()) return *real;
  if (const std::int64_t* whole = member->as_int()) return static_cast<double>(*whole);
  return std::nullopt;
}

}  // namespace

Result<LockFile> LockFile::take(const std::string& path, const std::string& holder) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return io_error("cannot open", path);
  LockFile lock(descriptor);
  // A look at the lock holds it for an instant: only a lasting holder counts.
  for (int tries = 0; ::flock(descriptor, LOCK_EX | LOCK_NB) != 0; ++tries) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return io_error("cannot lock", path);
    if (tries == 20) {
      const std::string other = slurp(path);
      return fail(Errc::kDevice,
                  "another tool holds this GPU's clocks" + (other.empty() ? "" : ": " + other),
                  "wait until it has ended; one tool at a time may change a GPU's clocks");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  if (::ftruncate(descriptor, 0) != 0) return io_error("cannot write", path);
  ERGON_TRY_STATUS(write_all(descriptor, holder, path));
  return lock;
}

LockFile::LockFile(LockFile&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
LockFile& LockFile::operator=(LockFile&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}
LockFile::~LockFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status make_folder(const std::string& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) {
    errno = error.value();
    return io_error("cannot make", folder);
  }
  // Somebody else's folder (below /tmp, say) could be made to lie.
  struct stat facts{};
  if (::lstat(folder.c_str(), &facts) != 0) return io_error("cannot look at", folder);
  if (!S_ISDIR(facts.st_mode) || facts.st_uid != ::geteuid()) {
    return fail(Errc::kPermission, "the folder of leases '" + folder + "' is another user's",
                "set XDG_STATE_HOME to a folder of your own");
  }
  ::chmod(folder.c_str(), 0700);
  return {};
}

std::string gpu_lock_name(const std::string& machine, const std::string& uuid) {
  std::string name = "gpu-" + plain(uuid);
  if (!machine.empty()) name += "-" + std::to_string(hash(machine));
  return name;
}

std::string gpu_lock_path(const std::string& folder, const std::string& machine,
                          const std::string& uuid) {
  return folder + "/" + gpu_lock_name(machine, uuid) + ".lock";
}

bool is_gone(const LeaseRecord& record) {
  std::error_code ignored;
  return record.machine.empty() ? record.boot_id != boot_id()
                                : !fs::exists(record.machine, ignored);
}

bool is_locked(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return false;
  const bool locked = ::flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK;
  ::close(descriptor);
  return locked;
}

Status write_lease(const LeaseRecord& record) {
  const std::string temporary = record.file + ".new";
  const int descriptor = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return io_error("cannot write", temporary);
  auto written = write_all(descriptor, io::to_json(to_value(record)) + "\n", temporary);
  if (written && ::fsync(descriptor) != 0) written = io_error("cannot write", temporary);
  ::close(descriptor);
  if (written && ::rename(temporary.c_str(), record.file.c_str()) != 0)
    written = io_error("cannot write", record.file);
  if (!written) {
    ::unlink(temporary.c_str());
    return written;
  }
  sync_folder(record.file);
  return {};
}

Result<LeaseRecord> read_lease(const std::string& file) {
  const std::string text = slurp(file);
  if (text.empty()) return fail(Errc::kMalformedInput, "it is empty, or no file to be read");
  const auto parsed = io::parse_json(text);
  if (!parsed) return fail(Errc::kMalformedInput, "it is cut off or no JSON");
  const Value& value = *parsed;
  if (text_of(value, "schema") != kSchema)
    return fail(Errc::kMalformedInput, "it is no lease of this version");
  LeaseRecord record;
  record.file = file;
  record.tool = text_of(value, "tool");
  record.pid = integer_of(value, "pid");
  record.start_ticks = static_cast<std::uint64_t>(integer_of(value, "start_ticks"));
  record.watchdog_pid = integer_of(value, "watchdog_pid");
  record.watchdog_start_ticks =
      static_cast<std::uint64_t>(integer_of(value, "watchdog_start_ticks"));
  record.boot_id = text_of(value, "boot_id");
  record.machine = text_of(value, "machine");
  record.selection = text_of(value, "selection");
  if (const Value* environment = value.find("environment");
      environment != nullptr && environment->as_object() != nullptr) {
    for (const auto& [name, member] : *environment->as_object()) {
      if (member.as_string() != nullptr) record.environment.emplace_back(name, *member.as_string());
    }
  }
  if (const Value* gpus = value.find("gpus"); gpus != nullptr && gpus->as_array() != nullptr) {
    for (const Value& gpu : *gpus->as_array()) {
      record.gpus.push_back({.uuid = text_of(gpu, "uuid"),
                             .name = text_of(gpu, "name"),
                             .power_limit_w = number_of(gpu, "power_limit_w"),
                             .core_touched = flag_of(gpu, "core_touched"),
                             .memory_touched = flag_of(gpu, "memory_touched"),
                             .limit_touched = flag_of(gpu, "limit_touched")});
    }
  }
  const bool named =
      std::ranges::none_of(record.gpus, [](const LeasedGpu& gpu) { return gpu.uuid.empty(); });
  if (record.gpus.empty() || !named || record.pid <= 0)
    return fail(Errc::kMalformedInput, "it does not say whose lease it is, or on which GPUs");
  return record;
}

bool is_there(const std::string& file) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(file, ignored));
}

Status remove_lease(const std::string& file) {
  ::unlink((file + ".new").c_str());
  const bool folder = ::unlink(file.c_str()) != 0 && errno == EISDIR;
  if (folder ? ::rmdir(file.c_str()) != 0 : is_there(file)) return io_error("cannot remove", file);
  sync_folder(file);
  return {};
}

bool holder_lives(const LeaseRecord& record) {
  return record.boot_id == boot_id() && is_alive(record.pid, record.start_ticks);
}

bool LeaseRecord::touched() const {
  return std::ranges::any_of(gpus, [](const LeasedGpu& gpu) {
    return gpu.core_touched || gpu.memory_touched || gpu.limit_touched;
  });
}

namespace {
std::vector<std::string> lease_files(const std::string& folder) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("lease-") && name.ends_with(".json")) files.push_back(entry.path());
  }
  std::ranges::sort(files);
  return files;
}
}  // namespace

std::vector<DamagedLease> damaged_leases(const std::string& folder) {
  std::vector<DamagedLease> damaged;
  for (const auto& file : lease_files(folder)) {
    auto record = read_lease(file);
    // One that was given back in between is gone.
    if (!record && is_there(file)) damaged.push_back({file, std::move(record).error()});
  }
  return damaged;
}

std::vector<FoundLease> find_leases(const std::string& folder) {
  std::vector<FoundLease> found;
  for (const auto& file : lease_files(folder)) {
    auto record = read_lease(file);
    if (!record) continue;
    FoundLease lease{*std::move(record), LeaseState::kStale};
    const LeaseRecord& r = lease.record;
    const bool here = r.boot_id == boot_id();
    const bool alive = here && (is_alive(r.pid, r.start_ticks) ||
                                is_alive(r.watchdog_pid, r.watchdog_start_ticks));
    const bool locked = std::ranges::any_of(r.gpus, [&](const LeasedGpu& gpu) {
      return is_locked(gpu_lock_path(folder, r.machine, gpu.uuid));
    });
    if (alive || locked) {
      lease.state = LeaseState::kHeld;
    } else if (is_gone(r)) {
      lease.state = LeaseState::kGone;
    }
    found.push_back(std::move(lease));
  }
  return found;
}

}  // namespace ergon::gpu
