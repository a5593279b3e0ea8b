// What a running command sees, and where its answer goes.
#include "context.hpp"

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <utility>

namespace ergon::cli {

// One line on a terminal that names the stage; appears after half a second and leaves nothing
// behind.
class Context::Progress {
 public:
  explicit Progress(const Surroundings& surroundings) : surroundings_(surroundings) {
    thread_ = std::jthread([this](const std::stop_token& stop) { run(stop); });
  }
  void stage(std::string what) {
    const std::lock_guard lock(mutex_);
    what_ = std::move(what);
  }
  ~Progress() {
    thread_.request_stop();
    thread_.join();
    if (shown_) surroundings_.err("\r\x1b[K");
  }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void run(const std::stop_token& stop) {
    using namespace std::chrono_literals;
    const auto start = std::chrono::steady_clock::now();
    std::unique_lock lock(mutex_);
    auto wait = 500ms;
    while (!wake_.wait_for(lock, stop, wait, [&] { return stop.stop_requested(); })) {
      if (stop.stop_requested()) return;
      const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(
          std::chrono::steady_clock::now() - start);
      surroundings_.err("\r\x1b[K" + what_ + " ... " + std::to_string(seconds.count()) + " s");
      shown_ = true;
      wait = 200ms;
    }
  }

  const Surroundings& surroundings_;
  std::mutex mutex_;
  std::condition_variable_any wake_;
  std::string what_;
  bool shown_ = false;
  std::jthread thread_;
};

Context::Context(Arguments arguments, const Surroundings& surroundings, std::string command_line)
    : arguments_(std::move(arguments)), surroundings_(surroundings) {
  envelope_.version = ERGON_VERSION;
  envelope_.command_line = std::move(command_line);
}
Context::~Context() = default;

const std::vector<FlagValue>* Context::values(std::string_view name) const {
  ERGON_CHECK(find_flag(*arguments_.command, name) != nullptr,
              "a command asks for a flag that it does not have");
  const auto found = arguments_.values.find(name);
  return found == arguments_.values.end() || found->second.empty() ? nullptr : &found->second;
}

namespace {
template <class T>
const T& typed(const FlagValue& value) {
  const T* held = std::get_if<T>(&value);
  ERGON_CHECK(held != nullptr, "a flag is read as what it is not");
  return *held;
}
}  // namespace

bool Context::enabled(std::string_view name) const {
  const auto* held = values(name);
  return held != nullptr && typed<bool>(held->back());
}

bool Context::given(std::string_view name) const {
  ERGON_CHECK(find_flag(*arguments_.command, name) != nullptr,
              "a command asks for a flag that it does not have");
  return arguments_.given.contains(name);
}

std::optional<double> Context::number(std::string_view name) const {
  const auto* held = values(name);
  if (held == nullptr) return std::nullopt;
  return typed<double>(held->back());
}

std::optional<std::int64_t> Context::integer(std::string_view name) const {
  const auto* held = values(name);
  if (held == nullptr) return std::nullopt;
  // "auto" or "all" of a choice that may also be a number.
  if (std::holds_alternative<std::string>(held->back())) return std::nullopt;
  return typed<std::int64_t>(held->back());
}

std::optional<std::string> Context::text(std::string_view name) const {
  const auto* held = values(name);
  if (held == nullptr || std::holds_alternative<std::int64_t>(held->back())) return std::nullopt;
  return typed<std::string>(held->back());
}

std::optional<TimeRange> Context::time_range(std::string_view name) const {
  const auto* held = values(name);
  if (held == nullptr) return std::nullopt;
  return typed<TimeRange>(held->back());
}

std::vector<std::string> Context::texts(std::string_view name) const {
  std::vector<std::string> all;
  if (const auto* held = values(name)) {
    for (const auto& item : *held) all.push_back(typed<std::string>(item));
  }
  return all;
}

int Context::threads() const {
  const auto given = integer("threads");
  if (given) return static_cast<int>(std::min<std::int64_t>(*given, 1024));
  return static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
}

std::uint64_t Context::seed() const {
  return static_cast<std::uint64_t>(integer("seed").value_or(1));
}

std::vector<std::string> Context::export_paths(std::string_view format) const {
  std::vector<std::string> paths;
  if (const auto* held = values("export")) {
    for (const auto& item : *held) {
      const auto& wanted = typed<Export>(item);
      if (wanted.format == format) paths.push_back(wanted.path);
    }
  }
  return paths;
}

bool Context::wants(std::string_view format) const {
  return text("format") == format || !export_paths(format).empty();
}

bool Context::verbose() const { return arguments_.given.contains("verbose"); }

void Context::add_input(io::InputRecord input) {
  const auto twin = std::ranges::find(envelope_.inputs, std::pair(input.digest, input.bytes),
                                      [](const auto& i) { return std::pair(i.digest, i.bytes); });
  if (twin != envelope_.inputs.end() && input.bytes > 0) {
    const std::string first = twin->path == input.path ? "twice" : "as " + twin->path + " too";
    warn("same_input_twice", input.path + " is given " + first + ": its work counts twice");
  }
  envelope_.inputs.push_back(std::move(input));
}

void Context::warn(std::string code, std::string message, std::uint64_t count) {
  envelope_.warnings.push_back({std::move(code), std::move(message), count});
}

void Context::skipped(std::string reason, std::uint64_t count) {
  if (count == 0) return;
  for (auto& [known, sum] : envelope_.skipped) {  // of several files
    if (known == reason) {
      sum += count;
      return;
    }
  }
  envelope_.skipped.emplace_back(std::move(reason), count);
}

void Context::origin_share(std::string origin, double share) {
  envelope_.origin_shares.emplace_back(std::move(origin), share);
}

void Context::stage(std::string what) {
  if (!surroundings_.err_is_terminal || enabled("no-progress") || enabled("quiet")) return;
  if (!progress_) progress_ = std::make_unique<Progress>(surroundings_);
  progress_->stage(std::move(what));
}

void Context::say(std::string_view line) {
  if (verbose()) surroundings_.err(std::string(line) + "\n");
}

void Context::end_stage() { progress_.reset(); }

Status Context::write_export(const std::string& path, std::string_view text) {
  if (path != "-") return io::write_file(path, text);
  stdout_taken_ = true;
  return print(text);
}

Status Context::print(std::string_view text) {
  if (surroundings_.out(text) == Written::kFailed) {
    return fail(Errc::kIo, "cannot write to stdout", "is the disk full?");
  }
  return {};
}

Status Context::emit(const Answer& answer) {
  progress_.reset();
  const auto render = [&](std::string_view form) -> Result<std::string> {
    if (form == "json") return report::to_json(answer, envelope_);
    if (form == "jsonl") return report::to_json_lines(answer, envelope_);
    if (form == "csv") return report::to_csv(answer, envelope_);
    if (form == "md") return report::to_markdown(answer, envelope_);
    if (form == "html") return report::to_html(answer, envelope_);
    if (form == "openmetrics") return report::to_openmetrics(answer, envelope_);
    const bool as_it_is = to_stderr_ ? surroundings_.color_err : surroundings_.color_out;
    const bool color = text("color") == "auto" ? as_it_is : text("color") == "always";
    const int width = enabled("wide") ? 0 : surroundings_.width;
    return report::to_terminal(answer, envelope_,
                               {.color = color, .unicode = surroundings_.unicode, .width = width});
  };
  const auto format = *this->text("format");
  const bool in_answer = to_stderr_ && (format == "json" || format == "jsonl");
  if (!enabled("quiet") && !in_answer) {
    const bool color =
        text("color") == "auto" ? surroundings_.color_err : text("color") == "always";
    const auto warnings = report::warnings_text(envelope_, color);
    if (!warnings.empty()) surroundings_.err(warnings);
  }
  // Files first: where one cannot be written stdout holds the error alone. An answer on stderr took
  // a run of the program to find out: it is not lost over that.
  Status exported;
  if (const auto* held = values("export")) {
    for (const auto& item : *held) {
      const auto& wanted = typed<Export>(item);
      // The formats of its own a command has written itself.
      const auto& own = arguments_.command->exports;
      if (std::ranges::find(own, wanted.format) != own.end()) continue;
      ERGON_TRY(const auto text, render(wanted.format));
      auto written = wanted.path == "-" ? print(text) : io::write_file(wanted.path, text);
      if (!written && !to_stderr_) return written;
      if (exported) exported = std::move(written);
      stdout_taken_ = stdout_taken_ || wanted.path == "-";  // one document, not two
    }
  }
  if (!stdout_taken_) {
    ERGON_TRY(const auto text, render(format));
    if (to_stderr_) {
      if (surroundings_.err(text) == Written::kFailed)
        return fail(Errc::kIo, "cannot write to stderr", "is the disk full?");
    } else {
      ERGON_TRY_STATUS(print(text));
    }
  }
  return exported;
}

Status Context::outputs_are_writable() const {
  std::vector<std::string> paths;
  if (const auto* held = values("export")) {
    for (const auto& item : *held) paths.push_back(typed<Export>(item).path);
  }
  if (const auto artefact = output()) paths.push_back(*artefact);
  for (const std::string& path : paths) {
    if (path == "-") continue;
    std::error_code ignored;
    const auto there = std::filesystem::status(path, ignored);
    const bool is_new = there.type() == std::filesystem::file_type::not_found;
    std::string place = path;
    if (is_new) place = std::filesystem::path(path).parent_path().string();
    if (place.empty()) place = ".";
    const bool folder = std::filesystem::is_directory(place, ignored);
    if (folder == is_new && ::access(place.c_str(), is_new ? W_OK | X_OK : W_OK) == 0) continue;
    return fail(Errc::kIo, "cannot write '" + path + "'",
                is_new ? "make the folder '" + place + "', or give another one"
                       : "give that file another name");
  }
  return {};
}

Status Context::write_artefact(std::string_view text) {
  const auto path = output();
  if (!path) return {};
  if (*path == "-") {
    stdout_taken_ = true;
    return print(text);
  }
  return io::write_file(*path, text);
}

Status Context::emit_raw(std::string_view text) {
  if (output() && *output() != "-") return write_artefact(text);
  return print(text);
}

Status Context::emit_text(std::string_view text, const Answer& answer) {
  return this->text("format") == "table" ? emit_raw(text) : emit(answer);
}

}  // namespace ergon::cli
