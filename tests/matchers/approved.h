// Compares texts with approved files: tests/matchers/approved/NAME.txt. If a text differs, it is
// written to NAME.received.txt in the build folder, and the failure says how to approve it.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "assay/matchers.h"

namespace assay {

inline std::string file_text(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

// The command that repeats the test depends on the machine and on the test's name. It is replaced
// before the texts are compared.
inline void expect_approved(const std::string& name, std::string text) {
  const std::string command = current_test_command();
  for (std::size_t at; (at = text.find(command)) != std::string::npos;) {
    text.replace(at, command.size(), "<this test>");
  }
  text += "\n";
  const std::filesystem::path approved =
      std::filesystem::path(ASSAY_SOURCE_DIR) / "tests/matchers/approved" / (name + ".txt");
  const std::filesystem::path received =
      std::filesystem::path(ASSAY_BINARY_DIR) / "approved" / (name + ".received.txt");
  const std::string expected = file_text(approved);
  std::filesystem::remove(received);
  if (text == expected && std::filesystem::exists(approved)) return;
  std::filesystem::create_directories(received.parent_path());
  std::ofstream(received, std::ios::binary) << text;
  ADD_FAILURE() << "the text is not the approved one of " << approved.string()
                << ":\n--- received\n"
                << text << "--- approved\n"
                << expected << "--- where the received text is right, approve it:\n  cp "
                << received.string() << " " << approved.string();
}

// Returns a matcher's texts for a value: description, negated description and explanation.
template <typename T, typename M>
std::string all_texts(const T& actual, const M& matcher) {
  const testing::Matcher<const T&> m = testing::SafeMatcherCast<const T&>(matcher);
  testing::StringMatchResultListener listener;
  const bool matched = m.MatchAndExplain(actual, &listener);
  return "Expected: " + testing::DescribeMatcher<const T&>(m) +
         "\nNegated:  " + testing::DescribeMatcher<const T&>(m, true) +
         "\nMatches:  " + (matched ? "yes" : "no") + ", " + listener.str();
}

}  // namespace assay
