// Helpers for the tests of dataset files: a directory of their own, calls of other programs, and
// reading whole files.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>

#include "assay/base/text.h"
#include "assay/datasets/store/dataset_file.h"

namespace assay {

// An empty directory, which is removed with its content when this object is destroyed.
class OwnDirectory {
 public:
  OwnDirectory() {
    std::string pattern = ASSAY_BINARY_DIR "/datasets_test.XXXXXX";
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp failed");
    path_ = pattern;
  }
  ~OwnDirectory() { std::filesystem::remove_all(path_); }
  OwnDirectory(const OwnDirectory&) = delete;
  OwnDirectory& operator=(const OwnDirectory&) = delete;

  std::string operator/(const std::string& name) const { return path_ + "/" + name; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

inline std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline void spill(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// Runs a shell command. Returns its output, and sets `status` to its exit status.
inline std::string output_of(const std::string& command, int* status = nullptr) {
  std::FILE* pipe = popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  std::string text;
  for (int c; (c = std::fgetc(pipe)) != EOF;) text += static_cast<char>(c);
  const int result = pclose(pipe);
  if (status != nullptr) *status = WIFEXITED(result) ? WEXITSTATUS(result) : -1;
  return text;
}

inline std::string bytes_of(const Tensor& tensor) {
  return std::string(reinterpret_cast<const char*>(tensor.bytes()), tensor.byte_count());
}

// Returns the message of the FileError that `action` throws, or "" if it throws nothing.
template <typename Action>
std::string file_error_of(Action action) {
  try {
    action();
  } catch (const FileError& error) {
    return error.what();
  } catch (const std::exception& error) {
    return std::string("not a FileError: ") + error.what();
  }
  return "";
}

}  // namespace assay
