// An input that is opened once, whatever is looked at first: a pipe cannot be read again.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "ergon/io.hpp"

namespace ergon::cli {

/// A trace or a pack file of the command line. Plain files are opened when they are read and closed
/// after a look at their beginning; pipes stay open in between.
class InputFile {
 public:
  explicit InputFile(std::string path) : path_(std::move(path)) {}
  [[nodiscard]] const std::string& path() const { return path_; }
  /// Whether it is a pack file, or says that it is another document of Ergon's: what reads pack
  /// files then names what it found. kIo when it cannot be opened.
  Result<bool> is_pack_file();
  /// All of its bytes, those that were looked at too; valid until close().
  Result<io::ByteSource*> open();
  void close();

 private:
  std::string path_;
  std::unique_ptr<io::ByteSource> source_;
  std::unique_ptr<io::ByteSource> whole_;  // source_ with its first bytes in front
};

/// kInvalidArgument where stdin is named twice.
Result<std::vector<InputFile>> input_files(const std::vector<std::string>& paths);

}  // namespace ergon::cli
