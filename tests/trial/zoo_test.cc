// A zoo of planted bugs: how many of them a trial finds, how small the reduced inputs are, and
// whether right kernels pass. With ASSAY_TRIAL_TABLE=FILE, the results are written to a file as
// tables in Markdown. ASSAY_ZOO_DRAWS is the number of random draws for right kernels, in three
// dtypes. Without it, 6 draws are made in one dtype. ASSAY_ZOO_ONLY is a part of the names of the
// bugs or operators to try.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "assay/base/child.h"
#include "assay/base/text.h"
#include "assay/op/generate.h"
#include "assay/trial/case_text.h"
#include "assay/trial/dimensions.h"
#include "assay/trial/draw.h"
#include "assay/trial/memory.h"
#include "assay/trial/trial.h"
#include "trial/zoo/bugs.h"

namespace assay::zoo {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

bool is_chosen(const std::string& name, const std::string& op) {
  const std::string only = environment("ASSAY_ZOO_ONLY");
  return name.find(only) != std::string::npos || op == only;
}

// The results of a trial and of a simple test for one bug.
struct Result {
  Bug bug;
  bool is_found = false, is_fitting = false;
  TrialFailure failure = {};
  std::int64_t draws = 0;
  double seconds_to_find = 0, seconds = 0;
  std::string lower = {};  // the dimensions that can be lowered, or why this is not checked
  bool is_lowered = false, is_repeated = false;
  bool is_found_by_allclose = false;
};

// Three random normal inputs of 64 x 64, compared by a relative tolerance of 1e-3 and an absolute
// one of 1e-5. The relative tolerance is 1e-2 for elements of 16 bits, and 1/8 for smaller ones.
bool is_close(const Tensor& actual, const Tensor& golden) {
  const int bytes = golden.format().storage_bytes;
  const double rtol = bytes == 1 ? 0.125 : bytes == 2 ? 1e-2 : 1e-3;
  const double atol = bytes == 1 && !golden.format().is_float() ? 1 : 1e-5;
  const std::vector<double> a = actual.view().values(), b = golden.view().values();
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (std::isnan(a[i]) && std::isnan(b[i])) continue;
    if (a[i] == b[i]) continue;
    if (!(std::abs(a[i] - b[i]) <= atol + rtol * std::abs(b[i]))) return false;
  }
  return true;
}

bool passes_allclose(const Bug& bug) {
  const Operator& op = *find_operator(bug.op);
  const TrialKernel kernel = trial_kernel(bug);
  const trial::Drawing drawing(op, kernel, bug.dtypes, {}, {}, 1);
  Recipe recipe = drawing.at(0).recipe;
  recipe.sizes = op.sizes == "N, C, H, W, n"  ? Shape{2, 3, 64, 64, 8}
                 : op.sizes == "..., M, K, N" ? Shape{64, 64, 64}
                 : op.sizes == "..., L, S, D" ? Shape{64, 64, 64}
                                              : Shape{64, 64};
  for (const OperatorInput& input : op.inputs) {
    // Only those that need no flag.
    if (input.optional && input.needs.empty())
      recipe.distributions[input.name] = parse_distribution("normal");
  }
  for (recipe.seed = 1; recipe.seed <= 3; ++recipe.seed) {
    const Case c = generate_case(op.name, recipe);
    const Tensor golden = golden_result(c, 1);
    // Some bugs write beside the output.
    trial::Memory output(golden.format(), golden.shape(), trial::Layout::kContiguous);
    output.fill(std::byte{0});
    const Case header = c.without_tensors();
    KernelCall call{header, {}, output.view()};
    for (const auto& [name, tensor] : c.inputs) call.inputs.emplace(name, tensor.view());
    try {
      kernel.call(call);
    } catch (const std::exception&) {
      return false;
    }
    if (!is_close(output.elements(), golden)) return false;
  }
  return true;
}

bool allclose_finds(const Bug& bug) {
  if (!bug.isolated) return !passes_allclose(bug);
  constexpr double kLimit = 5;
  const ChildEnd end = run_in_child(
      [&] {
        if (!passes_allclose(bug)) std::abort();
      },
      kLimit);
  return end.how != ChildEnd::How::kDone;
}

// Returns the case with other values in the same shapes.
Case other_values(Case c) {
  double added = 2.5;
  for (auto& [name, tensor] : c.inputs) {
    for (std::int64_t i = 0; i < tensor.size(); ++i) {
      const double value = decode(tensor.format(), tensor.bits_at(i));
      tensor.set_bits(i, encode(tensor.format(), std::isfinite(value) ? added - value / 2 : 1));
      added += 0.75;
    }
  }
  return c;
}

// Sets `lower` to the dimensions that can be lowered by one without the failure going away.
void check_dimensions(const Bug& bug, const Operator& op, Result& result) {
  const TrialOptions options = trial_options(bug);
  const TrialKernel kernel = trial_kernel(bug);
  const FloatEnvironment environment;
  const trial::Subject reduced = trial::parse_case(op, result.failure.reduced);
  const std::vector<trial::Dimension> dimensions = trial::dimensions_of(reduced.test_case);
  const auto fails = [&](trial::Subject subject) {
    // The reduced case has no input of the call before.
    if (result.failure.finding == TrialFinding::kStale) {
      subject.decoy = other_values(subject.test_case);
    }
    try {
      const trial::Examined examined =
          trial::examine(kernel, options.contract, options.request, environment, subject);
      return examined.how == trial::Examined::How::kFailed &&
             examined.finding == result.failure.finding;
    } catch (const Refusal&) {  // the operator does not take it
      return false;
    }
  };
  result.is_repeated = fails(reduced);
  if (dimensions.empty()) {
    result.lower = "not checked";
    return;
  }
  for (const trial::Dimension& dimension : dimensions) {
    if (dimension.extent < 2) continue;
    for (const std::int64_t begin : {0, 1}) {
      trial::Subject smaller = reduced;
      smaller.test_case = trial::cut(reduced.test_case, dimension, begin, dimension.extent - 1);
      if (!fails(smaller)) continue;
      result.is_lowered = true;
      result.lower += (result.lower.empty() ? "" : ", ") + dimension.name;
      break;
    }
  }
}

Result tried(const Bug& bug) {
  Result result{.bug = bug};
  TrialOptions options = trial_options(bug);
  const Clock::time_point begin = Clock::now();
  options.progress = [&](const TrialProgress& progress) {
    if (progress.is_shrinking && result.seconds_to_find == 0) {
      result.seconds_to_find = seconds_since(begin);
    }
    return true;
  };
  const TrialReport report = run_trial(bug.op, trial_kernel(bug), options);
  result.seconds = seconds_since(begin);
  result.draws = report.listed.all() + report.random.all();
  result.is_found = !report.failures.empty();
  if (!result.is_found) return result;
  result.failure = report.failures.front();
  result.draws = result.failure.draw + 1;
  for (const TrialFailure& failure : report.failures) {
    if (std::ranges::find(bug.findings, failure.finding) == bug.findings.end()) continue;
    if (!result.is_fitting) result.failure = failure;
    result.is_fitting = true;
  }
  return result;
}

std::string yes_or_no(bool yes) { return yes ? "yes" : "no"; }

// Writes the results as a table. The first table of a run replaces the file.
void write_table(const std::string& title, const std::string& summary,
                 const std::vector<Result>& results) {
  const std::string path = environment("ASSAY_TRIAL_TABLE");
  if (path.empty()) return;
  static bool is_first = true;
  std::ofstream to(path, is_first ? std::ios::trunc : std::ios::app);
  is_first = false;
  to << "## " << title << "\n\n"
     << summary
     << "\n\n| bug | operator | kind | found | finding | draws | seconds to find | seconds with "
        "reducing | elements that are not 0 | no dimension can be lowered | three random inputs "
        "and "
        "allclose |\n"
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n";
  for (const Result& r : results) {
    std::string finding(r.is_found ? finding_word(r.failure.finding) : "-");
    if (r.is_found && !r.is_fitting) finding += " (does not fit)";
    std::string smallest = r.is_found ? "yes" : "-";
    if (!r.lower.empty()) smallest = r.lower;
    to << formatted("| {} | {} | {} | {} | {} | {} | {:.2f} | {:.2f} | {} | {} | {} |\n",
                    r.bug.name, r.bug.op, r.bug.kind, yes_or_no(r.is_fitting), finding, r.draws,
                    r.seconds_to_find, r.seconds,
                    r.is_found ? std::to_string(r.failure.nonzero) : "-", smallest,
                    r.is_found_by_allclose ? "found" : "missed");
  }
  to << '\n';
}

void check_zoo(const std::string& title, const std::vector<Bug>& fresh,
               const std::vector<Bug>& again, const std::vector<Bug>& third) {
  const bool writes_table = !environment("ASSAY_TRIAL_TABLE").empty();
  std::vector<Result> results;
  std::vector<std::int64_t> nonzero;
  std::int64_t found = 0, by_allclose = 0, lowered = 0, repeated = 0;
  double to_find = 0;
  const Clock::time_point begin = Clock::now();
  for (std::size_t i = 0; i < fresh.size(); ++i) {
    if (!is_chosen(fresh[i].name, fresh[i].op)) continue;
    Result r{.bug = fresh[i]};
    if (fresh[i].missed.empty() || writes_table) r = tried(fresh[i]);
    if (r.is_found) check_dimensions(again[i], *find_operator(r.bug.op), r);
    r.is_found_by_allclose = allclose_finds(third[i]);
    if (r.is_fitting) {
      ++found;
      nonzero.push_back(r.failure.nonzero);
      to_find += r.seconds_to_find;
    }
    by_allclose += r.is_found_by_allclose ? 1 : 0;
    lowered += r.is_lowered ? 1 : 0;
    repeated += r.is_repeated ? 1 : 0;
    if (!r.is_fitting || !r.is_repeated || r.is_lowered || !environment("ASSAY_ZOO_SHOW").empty()) {
      std::printf(
          "%-26s %-14s %s\n    %s\n    %s\n    nonzero %d, %.2f s of %.2f s, draw %d, lower: "
          "%s%s\n",
          r.bug.name.c_str(), r.bug.op.c_str(),
          r.is_fitting ? ""
          : r.is_found ? "DOES NOT FIT"
                       : "MISSED",
          r.is_found ? r.failure.sentence().substr(0, 300).c_str() : r.bug.missed.c_str(),
          r.failure.reduced.substr(0, 200).c_str(), static_cast<int>(r.failure.nonzero),
          r.seconds_to_find, r.seconds, static_cast<int>(r.draws), r.lower.c_str(),
          r.is_repeated ? "" : ", does not repeat");
      std::fflush(stdout);
    }
    results.push_back(std::move(r));
  }
  ASSERT_FALSE(nonzero.empty());
  std::ranges::sort(nonzero);
  const std::int64_t median = nonzero[nonzero.size() / 2];
  const std::string summary = formatted(
      "The trial finds {} of {} bugs, and three random inputs with allclose find {}. The reduced "
      "inputs have a median of {} elements that are not 0; a dimension can be lowered in {} of "
      "them, "
      "and {} fail again. It takes {:.1f} s to find the bugs, and {:.1f} s with reducing.",
      found, results.size(), by_allclose, median, lowered, repeated, to_find, seconds_since(begin));
  std::printf("%s: %s\n", title.c_str(), summary.c_str());
  write_table(title, summary, results);
  EXPECT_GE(static_cast<double>(found), 0.95 * static_cast<double>(results.size()));
  EXPECT_LE(median, 16);
  EXPECT_EQ(lowered, 0);
  EXPECT_GE(static_cast<double>(repeated), 0.9 * static_cast<double>(found));
  EXPECT_LT(by_allclose, found);
}

TEST(Zoo, HasThreeBugsOfEachOperator) {
  std::map<std::string, int> counts;
  std::set<std::string> names;
  for (const Bug& bug : bugs()) {
    ++counts[bug.op];
    EXPECT_TRUE(names.insert(bug.name).second) << bug.name;
    EXPECT_FALSE(bug.findings.empty()) << bug.name;
  }
  EXPECT_GE(names.size(), 120u);
  for (const Operator& op : operators()) {
    if (op.generate == nullptr) continue;
    EXPECT_GE(counts[std::string(op.name)], 3) << op.name;
  }
}

TEST(Zoo, RightKernelsPass) {
  const std::string draws = environment("ASSAY_ZOO_DRAWS");
  for (const Operator& op : operators()) {
    if (op.generate == nullptr || !is_chosen("", std::string(op.name))) continue;
    for (const char* dtype : {"", "float16", "bfloat16"}) {
      if (*dtype != 0 && draws.empty()) continue;
      Bug none{.name = "right " + std::string(op.name),
               .op = std::string(op.name),
               .kind = "no bug",
               .findings = {},
               .kernel = right(right_compute(std::string(op.name)))};
      if (*dtype != 0) none.dtypes = {dtype};
      TrialOptions options = trial_options(none);
      options.seconds = 0;
      options.draws = draws.empty() ? 6 : std::stoll(draws);
      options.keep_going = true;
      TrialReport report;
      try {
        report = run_trial(none.op, trial_kernel(none), options);
      } catch (const Refusal& e) {  // the operator does not take the dtype
        EXPECT_NE(*dtype, 0) << op.name << ": " << e.what();
        continue;
      }
      for (const TrialFailure& failure : report.failures) {
        ADD_FAILURE() << op.name << " " << dtype << ", draw " << failure.draw << " ("
                      << failure.drawn << "): " << failure.sentence() << "\n  "
                      << failure.reduced.substr(0, 600);
      }
      if (*dtype == 0) {
        EXPECT_GT(report.listed.passed + report.random.passed, 0) << op.name;
      }
      if (!draws.empty()) {
        std::printf("%-16s %-9s passed %d + %d, failed %d, not judged %d, %.1f s\n",
                    std::string(op.name).c_str(), dtype, static_cast<int>(report.listed.passed),
                    static_cast<int>(report.random.passed),
                    static_cast<int>(report.listed.failed + report.random.failed),
                    static_cast<int>(report.listed.not_judged + report.random.not_judged),
                    report.seconds);
        for (const auto& [reason, count] : report.not_judged) {
          std::printf("    %d: %s\n", static_cast<int>(count), reason.substr(0, 160).c_str());
        }
        std::fflush(stdout);
      }
    }
  }
}

TEST(Zoo, BugsAreFound) { check_zoo("Planted bugs", bugs(), bugs(), bugs()); }

TEST(Zoo, HeldOutBugsAreFound) {
  EXPECT_GE(held_out_bugs().size(), 30u);
  check_zoo("Held-out bugs", held_out_bugs(), held_out_bugs(), held_out_bugs());
}

}  // namespace
}  // namespace assay::zoo
