// Compares lines that a test computes with recorded ones. If they differ, the computed lines are
// written to the build folder, and the failure shows the first line that differs and how to record
// the new ones. Look at a change of a recorded line as carefully as at a change of a golden file.
#pragma once

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace assay {

inline std::vector<std::string> lines_of(const std::filesystem::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with('#')) lines.push_back(line);
  }
  return lines;
}

// Compares `lines` with those of `file`, which is a path below tests/. Lines of the file that begin
// with # are comments, and are kept.
inline void expect_recorded(const std::string& file, const std::vector<std::string>& lines) {
  const std::filesystem::path recorded = std::filesystem::path(ASSAY_SOURCE_DIR) / "tests" / file;
  const std::filesystem::path received =
      std::filesystem::path(ASSAY_BINARY_DIR) / "recorded" / file;
  const std::vector<std::string> wanted = lines_of(recorded);
  if (lines == wanted) return;
  std::error_code ignored;
  std::filesystem::create_directories(received.parent_path(), ignored);
  std::ofstream out(received);
  std::ifstream in(recorded);
  for (std::string line; std::getline(in, line) && line.starts_with('#');) out << line << "\n";
  for (const std::string& line : lines) out << line << "\n";
  std::size_t at = 0;
  while (at < lines.size() && at < wanted.size() && lines[at] == wanted[at]) ++at;
  ADD_FAILURE() << "line " << at + 1 << " is not that of " << recorded.string() << "\n  recorded "
                << (at < wanted.size() ? wanted[at] : "nothing") << "\n  received "
                << (at < lines.size() ? lines[at] : "nothing")
                << "\nwhere the received ones are right, record them:\n  cp " << received.string()
                << " " << recorded.string();
}

// Returns the text with its numbers that have a point rounded to `digits` digits, because the last
// digits of a float64 may depend on the compiler's functions.
inline std::string with_digits(const std::string& text, int digits) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::string made;
  for (std::size_t i = 0; i < text.size();) {
    if (!is_digit(text[i])) {
      made += text[i++];
      continue;
    }
    std::size_t end = i;
    bool point = false;
    while (end < text.size()) {
      const char c = text[end];
      const bool sign = (c == '-' || c == '+') && text[end - 1] == 'e';
      const bool exponent =
          c == 'e' && end + 1 < text.size() &&
          (is_digit(text[end + 1]) || text[end + 1] == '-' || text[end + 1] == '+');
      if (!is_digit(c) && c != '.' && !sign && !exponent) break;
      point |= c == '.' || exponent;
      ++end;
    }
    const std::string number = text.substr(i, end - i);
    if (point) {
      char shorter[40];
      (void)std::snprintf(shorter, sizeof shorter, "%.*g", digits,
                          std::strtod(number.c_str(), nullptr));
      made += shorter;
    } else {
      made += number;
    }
    i = end;
  }
  return made;
}

}  // namespace assay
