#include "assay/matchers/notes.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <set>
#include <string_view>

#include "assay/base/printable.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::size_t kMostNotes = 100;  // the most notes that become properties of a test

bool notes_are_printed() {
  const char* value = std::getenv("ASSAY_NOTES");
  const std::string_view word = value == nullptr ? "" : value;
  if (word.empty() || word == "0") return false;
  if (word == "1") return true;
  refuse("the environment's ASSAY_NOTES='{}' must be 0 or 1", word);
}

// The notes that already are properties of the running test.
class Recorded {
 public:
  void add(const testing::TestInfo& test, const std::string& note) {
    const std::lock_guard lock(mutex_);
    // A test that is repeated has no properties when it starts again, so its notes are forgotten.
    const std::int64_t start = test.result()->start_timestamp();
    if (&test != test_ || start != start_) {
      test_ = &test;
      start_ = start;
      notes_.clear();
      left_out_ = 0;
    }
    if (notes_.count(note) != 0) return;
    if (notes_.size() == kMostNotes) {
      testing::Test::RecordProperty("assay_notes_left_out", std::to_string(++left_out_));
      return;
    }
    notes_.insert(note);
    testing::Test::RecordProperty(formatted("assay_note_{}", notes_.size()), note);
  }

 private:
  std::mutex mutex_;
  const testing::TestInfo* test_ = nullptr;
  std::int64_t start_ = 0;
  std::set<std::string> notes_;
  std::int64_t left_out_ = 0;
};

}  // namespace

void tell_notes(const std::vector<std::string>& notes) {
  if (notes.empty()) return;
  static Recorded recorded;
  const bool printed = notes_are_printed();
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  std::string lines;
  for (const std::string& note : notes) {
    const std::string text = printable_sentence(note);
    if (test != nullptr) recorded.add(*test, text);
    const std::string name =
        test == nullptr ? "" : formatted("{}.{}: ", test->test_suite_name(), test->name());
    lines += formatted("[ assay    ] {}note: {}\n", name, text);
  }
  if (!printed) return;
  // All lines are written at once, so that the lines of several threads do not mix.
  std::fwrite(lines.data(), 1, lines.size(), stdout);
  std::fflush(stdout);
}

}  // namespace assay
