#include "regions.hpp"

#include <dlfcn.h>

namespace ergon::sim {

Regions::Regions(const std::string& library) {
  if (library.empty()) return;
  void* handle = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return;
  begin_ = reinterpret_cast<Begin*>(dlsym(handle, "ergon_region_begin"));
  end_ = reinterpret_cast<End*>(dlsym(handle, "ergon_region_end"));
}

void Regions::change(const std::string& name) {
  if (begin_ == nullptr || end_ == nullptr) return;
  if (open_) end_(current_);
  open_ = !name.empty();
  if (open_) current_ = begin_(name.c_str());
}

}  // namespace ergon::sim
