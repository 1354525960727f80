#include "assay/matchers/tensor_matcher.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include "assay/base/text.h"
#include "assay/gate/case_report.h"
#include "assay/gate/close_to.h"
#include "assay/matchers/notes.h"
#include "assay/report/gate_text.h"

namespace assay::inline v0_2 {

Reference::Reference(const Case& test_case) : case_(&test_case) {}
Reference::Reference(Case&& test_case)
    : kept_case_(std::make_shared<Case>(std::move(test_case))), case_(kept_case_.get()) {}
Reference::Reference(const Reference&) = default;
Reference::Reference(Reference&&) noexcept = default;
Reference& Reference::operator=(const Reference&) = default;
Reference& Reference::operator=(Reference&&) noexcept = default;
Reference::~Reference() = default;

AnyView Reference::tensor_or_golden() const {
  if (case_ != nullptr) return case_->golden_tensor().view();
  return view_;
}

void Reference::keep(const TensorView& temporary) {
  kept_ = std::make_shared<Tensor>(copy_of(temporary));
  view_ = kept_->view();
}

std::string Reference::text() const {
  if (case_ != nullptr) return formatted("the golden result of case {}", case_->name);
  const TensorView& tensor = layout();
  return formatted("the {} reference of shape {}", tensor.format->name, shape_text(tensor.shape));
}

std::string current_test_command() {
  const testing::TestInfo* test = testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return "";
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  const std::string program =
      length > 0 ? std::string(path, static_cast<std::size_t>(length)) : "the test program";
  return formatted("{} --gtest_filter={}", shell_word(program),
                   shell_word(formatted("{}.{}", test->test_suite_name(), test->name())));
}

void add_note(MatchReport& report, const HostCopies& copies, std::string_view because) {
  std::string note = copies.note(because);
  if (note.empty()) return;
  report.text += "\nnote: " + note;
  report.notes.push_back(std::move(note));
}

std::vector<std::string> notes_of(const CaseReport& of) {
  std::vector<std::string> notes;
  for (const Verdict& v : of.verdicts) {
    for (std::string& note : assay::notes_of(v)) notes.push_back(std::move(note));
  }
  if (of.abft) {
    for (const std::string& note : of.abft->notes) notes.push_back("checksums: " + note);
  }
  return notes;
}

bool explain_match(const MatchReport& report, testing::MatchResultListener* listener,
                   bool may_be_codes) {
  *listener << "which " << std::string(outcome_verb(report.outcome)) << ": " << report.text;
  if (report.outcome == Outcome::kPass) {
    // EXPECT_THAT may call again for the explanation, which would add the notes twice. So only the
    // first call adds them.
    if (!listener->IsInterested()) tell_notes(report.notes);
    return true;
  }
  if (may_be_codes) {
    *listener << "\nThe output's bytes were compared as integers. If they are codes of a format, "
                 "give a view: view_bits(out, assay::format_named(\"float8_e4m3fn\"), shape).";
  }
  if (const std::string command = current_test_command(); !command.empty()) {
    *listener << "\nreproduce: " << command;
  }
  return false;
}

bool explain_refusal(const std::exception& refusal, testing::MatchResultListener* listener) {
  const testing::TestInfo* const test = testing::UnitTest::GetInstance()->current_test_info();
  if (test == nullptr) return false;
  // EXPECT_THAT asks a first time without a listener that is interested.
  if (!listener->IsInterested()) {
    ADD_FAILURE_AT(test->file(), test->line()) << "a matcher cannot judge: " << refusal.what();
  }
  *listener << "which cannot be judged: " << refusal.what();
  return true;
}

}  // namespace assay
