// Judges every shipped case through all callers of the gate: matchers, the command line, the runner
// of the dataset tests and campaigns. Each case gets a quarter or a sixteenth of the standards. All
// callers must report the same outcome, mismatches, worst element and reason.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/sanitized.h"
#include "assay/base/text.h"
#include "assay/campaign/detector.h"
#include "assay/datasets/store/dataset_file.h"
#include "assay/gate/gate.h"
#include "assay/matchers/abft_close.h"
#include "assay/matchers/elementwise.h"
#include "assay/op/operator.h"
#include "assay/report.h"
#include "error_of.h"
#include "every_standard.h"
#include "tools/program.h"

namespace assay {
namespace {

// The cases of a file, emulated by a machine or as a producer recorded them.
struct Judged {
  std::string file, machine, producer;
  // The position in the list of all files and their producers or machines.
  std::size_t place = 0;

  std::string name() const { return file + "_" + (machine.empty() ? producer : machine); }
  std::string options() const {
    return machine.empty() ? " --recorded " + producer : " --machine " + machine;
  }
};

// Returns every fourth standard for the operators' samples, and every sixteenth for the others. The
// first one differs from row to row, so that together they apply every standard to almost every
// operator.
std::vector<std::string> standards_for(const Judged& judged) {
  // expected_error is not tried with a machine: it takes the same path as accumulation with one,
  // and needs an emulation each time.
  std::vector<std::string> own = {"accumulation", "accumulation(hopper)", "expected_error",
                                  "ulp(4)", "bit_equal"};
  const bool is_small = judged.file.starts_with("operators");
  // For large products, the standard expected_error takes most of the time, so that a run of a
  // share of the tests leaves it out.
  if (!is_small && walks_a_share()) std::erase(own, "expected_error");
  std::vector<std::string> names =
      is_small ? own : std::vector<std::string>{own[judged.place % own.size()]};
  for (std::string& name : every_standard(is_small ? 4 : 16, judged.place)) {
    names.push_back(std::move(name));
  }
  return names;
}

// Returns each file with each of its producers (recorded outputs) and with each of two machines
// (computed outputs).
std::vector<Judged> all_judged() {
  std::vector<Judged> all;
  const std::filesystem::path samples = ASSAY_SOURCE_DIR "/datasets/samples";
  std::set<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(samples)) files.insert(entry.path());
  for (const std::filesystem::path& path : files) {
    if (path.extension() != ".h5") continue;
    const std::string stem = path.stem();
    // The large files take minutes with the address sanitizer.
    if (kAddressSanitizer && !stem.starts_with("operators")) continue;
    for (const char* machine : {"ascend910b", "hopper"}) all.push_back({stem, machine, ""});
    const DatasetFile file(path);
    std::map<std::string, bool> producers;
    for (const std::string& name : file.case_names()) {
      for (const std::string& producer : producers_of(file.info(name))) producers[producer] = true;
    }
    for (const auto& [producer, yes] : producers) all.push_back({stem, "", producer});
  }
  for (std::size_t i = 0; i < all.size(); ++i) all[i].place = i;
  return all;
}

class Callers : public ProgramTest, public testing::WithParamInterface<Judged> {
 protected:
  std::string file() const {
    return formatted("{}/datasets/samples/{}.h5", ASSAY_SOURCE_DIR, GetParam().file);
  }
  std::string producer() const {
    return GetParam().machine.empty() ? GetParam().producer : GetParam().machine;
  }
  static std::vector<std::string> all_standards() { return standards_for(GetParam()); }
  // Returns all standards as options of a command line.
  static std::string options() {
    std::string text;
    for (const std::string& s : all_standards()) text += " --standard " + shell_word(s);
    return text;
  }

  // Returns the case's output under test. Without one, returns nothing and sets `why_not`.
  std::optional<Tensor> output_of(const Case& c, std::string& why_not) const {
    if (GetParam().machine.empty()) {
      const auto recorded = c.output().recorded.find(producer());
      if (recorded != c.output().recorded.end()) return recorded->second.tensor;
      why_not = formatted("there is no recorded output of '{}'", producer());
      return std::nullopt;
    }
    try {
      return emulate(c, machine_named(GetParam().machine));
    } catch (const CaseError& e) {
      why_not = e.reason();
      return std::nullopt;
    }
  }

  // Returns one report of the matcher for each standard, each from a separate check.
  std::vector<MatchReport> by_matcher(const Case& c, const Tensor& output) const {
    std::vector<MatchReport> reports;
    for (const std::string& s : all_standards()) {
      reports.push_back(MeetsStandard(s, c).producer(producer()).check(output));
    }
    return reports;
  }

  // Writes a file with the samples that have golden results, but without any attributes for their
  // bounds.
  std::string unnamed_file() const {
    const DatasetFile sample(file());
    DatasetWriter writer(path("unnamed.h5"));
    for (const std::string& name : sample.case_names()) {
      Case c = sample.read(name);
      for (const char* word :
           {"rtol", "atol", "standard", "round_expected", "equal_nan", "infinity"}) {
        c.attributes.erase(word);
      }
      if (!c.output().golden) c.output().golden = golden_result(c);
      writer.write(c);
    }
    writer.commit();
    return path("unnamed.h5");
  }

  // Compares a campaign's verdict on the clean result with `verdict`. `standard` is empty if the
  // campaign names none.
  void expect_campaign(const Case& c, const Tensor& output, const std::string& standard,
                       const Verdict& verdict) const {
    campaign::Cell cell;
    cell.name = "cell";
    cell.op = c.op;
    cell.dataset = file();
    cell.case_name = c.name;
    cell.machine = &machine_named(GetParam().machine.empty() ? "hopper" : GetParam().machine);
    cell.recorded = GetParam().producer;
    campaign::Matrix matrix;
    matrix.test_case = c;
    matrix.output = output;
    campaign::GateSpec spec;
    spec.text = standard.empty() ? "tolerance" : "standard:" + standard;
    spec.standard = standard;
    const auto look = [&] {
      campaign::RatioCounts ratios{};
      return campaign::MatrixDetector(spec, cell, matrix).clean(ratios);
    };
    if (verdict.outcome == Outcome::kNotComparable) {
      EXPECT_THAT(error_of(look), testing::EndsWith(verdict.because));
      return;
    }
    const campaign::CleanCounts counts = look();
    EXPECT_EQ(counts.alarms > 0, verdict.outcome == Outcome::kFail);
    EXPECT_EQ(counts.not_checkable > 0, verdict.outcome == Outcome::kUntrusted);
    EXPECT_EQ(counts.checks, verdict.sites);
    EXPECT_EQ(counts.worst, verdict.worst_ratio);
  }
};

// Returns the text without the line that reproduces it, which names the caller.
std::string without_reproducer(const std::string& text) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    if (!line.starts_with("reproduce: ")) out += line + "\n";
  }
  return out;
}

TEST_P(Callers, SayTheSame) {
  const std::vector<std::string> names = all_standards();
  const std::string line = formatted("assay gate {}{}{} --json r.json -q", shell_word(file()),
                                     GetParam().options(), options());
  ASSERT_LT(run(line).code, 5);
  const auto cases = json("r.json")["cases"];
  std::string runner_text;
  if (!GetParam().machine.empty()) {
    runner_text =
        without_reproducer(run(formatted("{} {}{}{}", shell_word(ASSAY_RUNNER), shell_word(file()),
                                         GetParam().options(), options()))
                               .out);
  }
  std::string expected_text;
  const DatasetFile golden(file());
  std::size_t i = 0;
  std::vector<std::string> cases_in_order = golden.case_names();
  std::sort(cases_in_order.begin(), cases_in_order.end(), natural_less);
  for (const std::string& name : cases_in_order) {
    SCOPED_TRACE(name);
    const Case c = golden.read(name);
    const auto& row = cases.at(i++);
    ASSERT_EQ(row["case"], name);
    std::string why_not;
    const std::optional<Tensor> output = output_of(c, why_not);
    if (!output) {
      EXPECT_EQ(row["outcome"], "not_comparable");
      EXPECT_EQ(row["because"], why_not);
      expected_text += formatted("{}: not_comparable: {}\n", name, why_not);
      continue;
    }
    Origin origin;
    origin.producer = producer();
    const GateRequest request{.bounds = {.standards = names}};
    const CaseReport report = gate_case(c, *output, request, origin);
    EXPECT_EQ(row["outcome"], report.outcome_text());
    EXPECT_EQ(row["because"], report.because());
    const std::vector<MatchReport> matched = by_matcher(c, *output);
    if (!c.output().golden) {
      // There is no reference for the output, whatever the standard.
      ASSERT_EQ(report.verdicts.size(), 1u);
      EXPECT_EQ(report.outcome(), Outcome::kNotComparable);
      for (const MatchReport& match : matched) EXPECT_EQ(match.text, report.because());
      expected_text += formatted("{}: not_comparable: {}\n", name, report.because());
      continue;
    }
    ASSERT_EQ(report.verdicts.size(), names.size());
    for (std::size_t s = 0; s < names.size(); ++s) {
      SCOPED_TRACE(names[s]);
      const Verdict& v = report.verdicts[s];
      EXPECT_EQ(matched[s].outcome, v.outcome);
      Verdict by_test = v;
      by_test.bound.origin = "matcher";
      EXPECT_EQ(matched[s].text, explain(by_test));
      const auto& told = row["verdicts"].at(s);
      EXPECT_EQ(told["outcome"], outcome_word(v.outcome));
      EXPECT_EQ(told["because"], v.because);
      EXPECT_EQ(told["mismatches"], v.mismatches);
      EXPECT_EQ(told["sites"], v.sites);
      ASSERT_EQ(told["worst"].size(), v.worst.size());
      for (std::size_t w = 0; w < v.worst.size(); ++w) {
        EXPECT_EQ(told["worst"][w]["index"], v.worst[w].index);
      }
      expected_text += formatted("{}: {}: {}\n", name, outcome_word(v.outcome), explain(v));
      expect_campaign(c, *output, names[s], v);
    }
  }
  EXPECT_EQ(i, cases.size());
  if (!GetParam().machine.empty()) {
    EXPECT_EQ(runner_text, expected_text);
  }
}

// Without any attributes, the operators' own bounds apply. (A case of a cast or of a product of
// integers is exact.)
TEST_P(Callers, SayTheSameWhereNothingIsAsked) {
  const std::string unnamed = unnamed_file();
  const std::string line =
      formatted("assay gate {}{} --json r.json -q", shell_word(unnamed), GetParam().options());
  ASSERT_LT(run(line).code, 5);
  std::string runner_text, expected_text;
  if (!GetParam().machine.empty()) {
    runner_text = without_reproducer(run(formatted("{} {}{}", shell_word(ASSAY_RUNNER),
                                                   shell_word(unnamed), GetParam().options()))
                                         .out);
  }
  const nlohmann::json cases = json("r.json")["cases"];
  const DatasetFile golden(unnamed);
  ASSERT_EQ(cases.size(), golden.case_names().size());
  for (const auto& row : cases) {
    const std::string name = row["case"];
    SCOPED_TRACE(name);
    const Case c = golden.read(name);
    std::string why_not;
    const std::optional<Tensor> output = output_of(c, why_not);
    if (!output) {
      EXPECT_EQ(row["outcome"], "not_comparable");
      expected_text += formatted("{}: not_comparable: {}\n", name, why_not);
      continue;
    }
    Origin origin;
    origin.producer = producer();
    const CaseReport report = gate_case(c, *output, {}, origin);
    ASSERT_EQ(report.verdicts.size(), 1u);
    const Verdict& v = report.verdicts.front();
    EXPECT_EQ(row["outcome"], report.outcome_text());
    EXPECT_EQ(row["because"], report.because());
    EXPECT_EQ(row["verdicts"][0]["bound"]["origin"], v.bound.origin);
    EXPECT_EQ(row["verdicts"][0]["bound"]["standard"], v.bound.standard);
    EXPECT_TRUE(v.bound.origin == "operator" || !v.notes.empty());
    // The results are right. Only the bound's own blindness may keep them from passing.
    EXPECT_NE(v.outcome, Outcome::kFail) << explain(v);
    const MatchReport close = CloseTo(c).producer(producer()).check(*output);
    EXPECT_EQ(close.outcome, v.outcome);
    EXPECT_EQ(close.text, explain(v));
    expected_text += formatted("{}: {}: {}\n", name, outcome_word(v.outcome), close.text);
    expect_campaign(c, *output, "", v);
  }
  if (!GetParam().machine.empty()) {
    EXPECT_EQ(runner_text, expected_text);
  }
}

// The case's own attributes apply, without a standard in the request, and with checksums.
TEST_P(Callers, SayTheSameOfTheCasesOwnBoundsAndChecksums) {
  const std::string line = formatted("assay gate {}{} --abft rounding_variance --json r.json -q",
                                     shell_word(file()), GetParam().options());
  ASSERT_LT(run(line).code, 5);
  std::string runner_text;
  if (!GetParam().machine.empty()) {
    runner_text = without_reproducer(
        run(formatted("{} {}{} --abft rounding_variance", shell_word(ASSAY_RUNNER),
                      shell_word(file()), GetParam().options()))
            .out);
  }
  std::string expected_text;
  const nlohmann::json cases = json("r.json")["cases"];
  ASSERT_FALSE(cases.empty());
  for (const auto& row : cases) {
    const std::string name = row["case"];
    SCOPED_TRACE(name);
    const Case c = DatasetFile(file()).read(name);
    std::string why_not;
    const std::optional<Tensor> output = output_of(c, why_not);
    if (!output) {
      expected_text += formatted("{}: not_comparable: {}\n", name, why_not);
      continue;
    }
    const MatchReport close = CloseTo(c).producer(producer()).check(*output);
    expected_text += formatted("{}: {}: {}\n", name, outcome_word(close.outcome), close.text);
    MatchReport decides = close;
    if (row.contains("abft")) {
      const MatchReport sums = AbftClose(c).producer(producer()).check(*output);
      EXPECT_EQ(row["abft"]["outcome"], outcome_word(sums.outcome));
      EXPECT_THAT(sums.text, testing::StartsWith(row["abft"]["because"].get<std::string>()));
      expected_text += formatted("{}: abft: {}: {}\n", name, outcome_word(sums.outcome), sums.text);
      if (worse(close.outcome, sums.outcome) != close.outcome) decides = sums;
    }
    EXPECT_EQ(row["outcome"], outcome_word(decides.outcome));
    EXPECT_THAT(decides.text, testing::StartsWith(row["because"].get<std::string>()));
  }
  if (!GetParam().machine.empty()) {
    EXPECT_EQ(runner_text, expected_text);
  }
}

INSTANTIATE_TEST_SUITE_P(Samples, Callers, testing::ValuesIn(all_judged()),
                         [](const auto& test) { return test.param.name(); });

}  // namespace
}  // namespace assay
