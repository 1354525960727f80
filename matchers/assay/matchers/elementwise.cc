#include "assay/matchers/elementwise.h"

#include <unistd.h>

#include <algorithm>
#include <ostream>

#include "assay/base/text.h"
#include "assay/matchers/eigen_print.h"
#include "assay/report/report.h"

namespace assay {

void PrintTo(const TensorView& v, std::ostream* os) {
  *os << v.format->name << " " << shape_text(v.shape);
  const std::int64_t shown = std::min<std::int64_t>(v.size(), 8);
  if (shown == 0) return;
  std::vector<std::string> values;
  for (std::int64_t i = 0; i < shown; ++i) {
    values.push_back(v.format->is_float() ? short_number(v.value_at(i), 6)
                                          : element_text(*v.format, v.bits_at(i)));
  }
  *os << " {" << joined(values) << (v.size() > shown ? ", ...}" : "}");
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

ElementwiseMatcher ElementwiseMatcher::rtol(double value) const {
  ElementwiseMatcher copy = *this;
  copy.request_.rtol = value;
  return copy;
}
ElementwiseMatcher ElementwiseMatcher::atol(double value) const {
  ElementwiseMatcher copy = *this;
  copy.request_.atol = value;
  return copy;
}
ElementwiseMatcher ElementwiseMatcher::equal_nan(bool value) const {
  ElementwiseMatcher copy = *this;
  copy.request_.equal_nan = value;
  return copy;
}
ElementwiseMatcher ElementwiseMatcher::standard(const std::string& name) const {
  ElementwiseMatcher copy = *this;
  copy.request_.standards.push_back(name);
  return copy;
}

bool ElementwiseMatcher::match(const TensorView& actual,
                               testing::MatchResultListener* listener) const {
  std::vector<Verdict> verdicts;
  if (const Case* c = reference_.as_case()) {
    verdicts = judge_case(*c, actual, request_);
  } else {
    for (const ChosenBound& chosen : choose_bounds(Case{}, *actual.format, request_)) {
      verdicts.push_back(
          chosen.bound ? judge(actual, reference_.tensor(), *chosen.bound)
                       : not_comparable(chosen.why_not +
                                        "; give .rtol() and .atol(), or another .standard()"));
    }
  }
  const Outcome outcome = worst_outcome(verdicts);
  for (const Verdict& v : verdicts) {
    if (v.outcome != outcome) continue;
    *listener << "which " << (outcome == Outcome::kPass ? "passes: " : "")
              << (outcome == Outcome::kFail ? "fails: " : "")
              << (outcome == Outcome::kUntrusted ? "cannot be trusted: " : "")
              << (outcome == Outcome::kNotComparable ? "cannot be compared: " : "")
              << explain(v, outcome == Outcome::kPass ? "" : current_test_command());
    break;
  }
  return outcome == Outcome::kPass;
}

std::string ElementwiseMatcher::description() const {
  std::string bound;
  for (const std::string& s : request_.standards) {
    bound += (bound.empty() ? "" : " and ") +
             (s == "bit_equal" ? std::string("bit equality") : "standard " + s);
  }
  if (request_.rtol) bound += format("{}rtol {}", bound.empty() ? "" : ", ", *request_.rtol);
  if (request_.atol) bound += format("{}atol {}", bound.empty() ? "" : ", ", *request_.atol);
  if (request_.equal_nan) {
    bound += format("{}NaN {} NaN", bound.empty() ? "" : ", ",
                    *request_.equal_nan ? "equal to" : "unequal to");
  }
  if (bound.empty()) {
    bound = reference_.as_case() != nullptr ? "the case's bound"
                                            : format("standard {}", kDefaultStandard);
  }
  const Case* c = reference_.as_case();
  const std::string what =
      c != nullptr ? format("the golden result of case {}", c->name)
                   : format("the {} reference of shape {}", reference_.tensor().format->name,
                            shape_text(reference_.tensor().shape));
  return format("to {} ({})", what, bound);
}

void ElementwiseMatcher::DescribeTo(std::ostream* os) const { *os << "is close " << description(); }
void ElementwiseMatcher::DescribeNegationTo(std::ostream* os) const {
  *os << "is not close " << description();
}

}  // namespace assay
