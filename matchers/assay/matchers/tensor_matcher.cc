#include "assay/matchers/tensor_matcher.h"

#include <unistd.h>

#include "assay/base/text.h"

namespace assay {

std::string Reference::text() const {
  if (case_ != nullptr) return format("the golden result of case {}", case_->name);
  return format("the {} reference of shape {}", view_.format->name, shape_text(view_.shape));
}

std::string current_test_command() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return "";
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string program =
      length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "the test program";
  return format("{} --gtest_filter={}", shell_word(program),
                shell_word(format("{}.{}", test->test_suite_name(), test->name())));
}

std::string_view outcome_verb(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "passes";
    case Outcome::kFail:
      return "fails";
    case Outcome::kUntrusted:
      return "cannot be trusted";
    case Outcome::kNotComparable:
      break;
  }
  return "cannot be compared";
}

}  // namespace assay
