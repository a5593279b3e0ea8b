// A vendor's library, opened while the program runs.
#pragma once
#include <string>
#include <vector>

#include "ergon/base.hpp"

namespace ergon::gpu {

/// A shared library; closed with the last owner.
class Library {
 public:
  /// The first of these that can be opened; kNotFound with what the loader said about the last one
  /// that is there but cannot be used, else about the first.
  static Result<Library> open(const std::vector<std::string>& names);
  Library(Library&& other) noexcept;
  Library& operator=(Library&& other) noexcept;
  ~Library();

  /// The function of that name, nullptr where this version of the library has none.
  template <class Function>
  [[nodiscard]] Function* find(const char* name) const {
    return reinterpret_cast<Function*>(symbol(name));
  }
  [[nodiscard]] bool has(const char* name) const { return symbol(name) != nullptr; }

 private:
  explicit Library(void* handle) : handle_(handle) {}
  [[nodiscard]] void* symbol(const char* name) const;
  void* handle_ = nullptr;
};

}  // namespace ergon::gpu
