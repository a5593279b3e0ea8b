// JSON documents as they come line by line, whole or cut.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "ergon/io.hpp"

namespace ergon::meter::logs {

/// Finds where documents end, by brackets outside of strings. The elements of an array that
/// encloses all are documents of their own.
class JsonText {
 public:
  struct Document {
    std::string text;
    std::uint64_t line = 0;
    bool whole = true;
  };
  /// Takes a line; `next` then gives what was completed by it.
  void add(std::string_view line, std::uint64_t number);
  std::optional<Document> next();
  /// What is left at the end of the input: a document that was cut.
  std::optional<Document> rest();
  /// Between documents: a line need not be JSON.
  [[nodiscard]] bool idle() const { return depth_ == 0 && !in_array_; }
  [[nodiscard]] std::size_t held() const { return text_.size() - begin_; }

 private:
  std::string text_;
  std::size_t at_ = 0;     // what was looked at
  std::size_t begin_ = 0;  // of the document
  std::size_t depth_ = 0;
  bool in_array_ = false;  // elements of the outermost array
  bool in_string_ = false;
  std::uint64_t number_ = 0;
  std::uint64_t line_ = 0;  // where the document began
};

/// The document's value; NaN and Infinity are null, so is Python's None, a cut document is closed
/// after its last whole member. nullopt: not JSON.
std::optional<Value> json_value(const JsonText::Document& document);

}  // namespace ergon::meter::logs
