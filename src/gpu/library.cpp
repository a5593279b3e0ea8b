// dlopen and dlsym.
#include "library.hpp"

#include <dlfcn.h>

#include <utility>

namespace ergon::gpu {

Result<Library> Library::open(const std::vector<std::string>& names) {
  std::string first;
  std::string broken;
  for (const std::string& name : names) {
    if (void* handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) return Library(handle);
    const char* said = ::dlerror();  // NOLINT(concurrency-mt-unsafe): the state is one per thread
    const std::string why = said == nullptr ? "cannot open " + name : said;
    if (first.empty()) first = why;
    if (why.find("No such file") == std::string::npos) broken = why;
  }
  return fail(Errc::kNotFound, broken.empty() ? first : broken);
}

Library::Library(Library&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
Library& Library::operator=(Library&& other) noexcept {
  std::swap(handle_, other.handle_);
  return *this;
}
Library::~Library() {
  if (handle_ != nullptr) ::dlclose(handle_);
}

void* Library::symbol(const char* name) const { return ::dlsym(handle_, name); }

}  // namespace ergon::gpu
