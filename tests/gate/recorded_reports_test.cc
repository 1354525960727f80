// Compares reports of the gate, and comparisons with baselines, with recorded lines. The cases
// belong to several operators, with right and wrong outputs and every kind of request. A failure
// says how to record the lines again.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/gate/baseline.h"
#include "assay/gate/gate.h"
#include "assay/gate/known_failures.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "error_of.h"
#include "gate/reports.h"
#include "recorded.h"

namespace assay {
namespace {

using testing_reports::passed;
using testing_reports::report_with;
using Attributes = std::map<std::string, Attribute>;

std::string words_of_verdict(const Verdict& v) {
  std::string text = formatted("[{} {} {} {}/{} forgiven {} by {} {}: {}", outcome_word(v.outcome),
                               v.sites, v.mismatches, v.blind.value_or(-1), v.nonzero, v.forgiven,
                               v.bound.standard, v.bound.origin, v.because);
  if (!v.where.empty()) text += " where " + v.where;
  for (const Mismatch& m : v.worst) {
    text += formatted(" {}:{}~{}/{}", m.linear, m.actual, m.expected, m.bound);
  }
  if (v.metrics) {
    text += formatted(" at {} {}", v.metrics->max_abs_index, v.metrics->max_rel_index);
  }
  for (const std::string& note : v.notes) text += " note " + note;
  return text + "]";
}

std::string words_of_report(const CaseReport& r) {
  std::string text =
      formatted("{} {} {} {}", r.outcome_text(), r.producer, r.dtype, shape_text(r.shape));
  for (const Verdict& v : r.verdicts) text += " " + words_of_verdict(v);
  if (r.abft) {
    text += formatted(" abft {} {} {} {}: {}", outcome_word(r.abft->outcome), r.abft->spec,
                      r.abft->checks, r.abft->flagged, r.abft->because);
    for (const std::string& note : r.abft->notes) text += " note " + note;
  }
  if (r.sample) {
    text += formatted(" sample {} of {} seed {} {}", r.sample->rows, r.sample->of, r.sample->seed,
                      r.sample->seen_share);
  }
  for (const MutationResult& m : r.mutations) {
    text += formatted(" {}:{}{}{}", m.name, m.applied, outcome_word(m.elementwise),
                      m.abft ? outcome_word(*m.abft) : "");
  }
  return with_digits(text, 6);
}

Case small_case(const char* op, const char* dtype, const std::vector<std::int64_t>& sizes,
                const Attributes& attributes = {}) {
  Recipe recipe{&format_named(dtype), sizes, attributes};
  Case c = generate_case(op, recipe);
  c.output().golden = golden_result(c);
  return c;
}

// Returns the outputs of a case: right ones of a machine, and changes of these.
std::vector<std::pair<std::string, Tensor>> outputs_of(const Case& c, const char* machine) {
  const Tensor right = emulate(c, machine_named(machine));
  const Format& f = right.format();
  const auto changed = [&](const auto& value) {
    Tensor made = right;
    for (std::int64_t i = 0; i < right.size(); ++i) {
      made.set_bits(i, encode(f, value(i, right.view().value_at(i))));
    }
    return made;
  };
  return {{"right", right},
          {"off", changed([](std::int64_t, double v) { return v * (1 + 0x1p-9); })},
          {"one wrong", changed([](std::int64_t i, double v) { return i == 7 ? v + 3 : v; })},
          {"one NaN", changed([](std::int64_t i, double v) { return i == 3 ? NAN : v; })},
          {"zeros", changed([](std::int64_t, double) { return 0.0; })}};
}

std::vector<std::pair<std::string, GateRequest>> requests() {
  std::vector<std::pair<std::string, GateRequest>> all = {{"nothing", {}}};
  const auto add = [&](const char* name, const auto& change) {
    change(all.emplace_back(name, GateRequest{}).second);
  };
  add("torch", [](GateRequest& r) { r.bounds.standards = {"torch"}; });
  add("two standards", [](GateRequest& r) { r.bounds.standards = {"torch", "float16=ulp(1)"}; });
  add("expected error", [](GateRequest& r) { r.bounds.standards = {"expected_error"}; });
  add("accumulation", [](GateRequest& r) { r.bounds.standards = {"accumulation(hopper)"}; });
  add("tolerance", [](GateRequest& r) { r.bounds.rtol = 1e-2; });
  add("both", [](GateRequest& r) { r.bounds.rtol = 1e-3, r.bounds.atol = 1e-3; });
  add("budget", [](GateRequest& r) {
    r.bounds.standards = {"torch"};
    r.bounds.max_mismatches = 1;
    r.bounds.max_mismatch_fraction = 0.5;
  });
  add("policies", [](GateRequest& r) {
    r.bounds.equal_nan = true;
    r.bounds.nan_accepts = true;
    r.bounds.infinity = Infinity::kFewer;
    r.bounds.max_blind = 0.75;
  });
  add("reference_implementation", [](GateRequest& r) { r.bounds.standards = {"cann_l1"}; });
  add("checksums", [](GateRequest& r) { r.checksums = parse_threshold(kDefaultThreshold); });
  add("checksums alone", [](GateRequest& r) {
    r.checksums = parse_threshold(kDefaultThreshold);
    r.elements = false;
  });
  add("mutations", [](GateRequest& r) {
    r.mutate = true;
    r.checksums = parse_threshold(kDefaultThreshold);
  });
  add("sample", [](GateRequest& r) { r.sample = RowSample{3, 2}; });
  add("machine", [](GateRequest& r) { r.machine = &machine_named("hopper"); });
  add("linear", [](GateRequest& r) { r.bounds.standards = {"rocblas_sum"}; });
  return all;
}

TEST(RecordedReports, OfEveryRequest) {
  std::vector<std::string> recorded;
  struct {
    const char *op, *dtype;
    std::vector<std::int64_t> sizes;
    const char* machine;
  } const cases[] = {{"matmul", "float16", {4, 40, 5}, "ascend910b"},
                     {"matmul", "bfloat16", {4, 40, 5}, "hopper"},
                     {"add", "float32", {24}, "cpu_fma"},
                     {"softmax", "float32", {3, 9}, "cpu_fma"},
                     {"attention", "float16", {5, 7, 8}, "hopper"}};
  for (const auto& row : cases) {
    const Case whole = small_case(row.op, row.dtype, row.sizes);
    for (const auto& [what, output] : outputs_of(whole, row.machine)) {
      for (const bool golden : {true, false}) {
        Case c = whole;
        if (!golden) c.output().golden = {};
        c.output().recorded["cpu"].tensor = outputs_of(whole, row.machine)[0].second;
        for (auto [name, request] : requests()) {
          if (!golden && name != "sample" && name != "torch" && name != "nothing") continue;
          request.threads = 1;
          request.worst = 2;
          request.bounds.origin = "command";
          std::string line;
          const std::string error = error_of([&, &judged = output, &asked = request] {
            line = words_of_report(gate_case(c, judged, asked));
          });
          recorded.push_back(formatted("{} {} {}{}, {}: {}", row.op, row.dtype, what,
                                       golden ? "" : " without golden", name,
                                       error == "no error" ? line : error));
        }
      }
    }
  }
  expect_recorded("gate/recorded/reports.txt", recorded);
}

// Compares with baselines reports that grow by more and more, with and without repeats.
TEST(RecordedReports, AgainstBaselines) {
  std::vector<std::string> recorded;
  const auto report = [](double errors, const std::string& standard) {
    return report_with(
        {passed("a", errors, errors / 8, standard), passed("b", errors, errors / 8, standard)},
        "x.h5");
  };
  const auto all = [](const BaselineEntry&) { return true; };
  for (const int repeats : {1, 2, 3}) {
    for (const char* standard : {"torch", "numpy"}) {
      Baseline baseline;
      for (int i = 0; i < repeats; ++i) {
        baseline = updated(baseline, report(1 + 0.125 * i, "torch"), all, true);
      }
      for (const double errors :
           {0.5, 1.0, 1.0999, 1.1001, 1.25, 1.2501, 1.375, 1.3751, 1.5, 1.5001, 2.0}) {
        GateReport now = report(errors, standard);
        now.cases.pop_back();
        const BaselineComparison c = compare_with_baseline(now, baseline, all);
        std::string line =
            formatted("{} {} {}: compared {}", repeats, standard, errors, c.compared);
        for (const CaseReport& one : now.cases) {
          line +=
              formatted("; {} {} {} {}", one.name, one.outcome_text(), one.remark_text, one.rank());
        }
        for (const std::string& note : c.notes) line += "; note " + note;
        recorded.push_back(line);
      }
      for (const BaselineEntry& e : baseline.entries) {
        std::string line = formatted("{} {} {} {}", e.file, e.name, e.standard, e.repeats);
        for (const auto& [metric, value] : e.metrics) {
          line += formatted(" {} {} to {}", metric, value.low, value.high);
        }
        recorded.push_back(line);
      }
    }
  }
  for (const char* date : {"2027-01-31", "2027-02-29", "2028-02-29", "2027-13-01", "2027-00-10",
                           "2027-1-31", "2027-01-00", "2027-01-32", "2027/01/31", "20270-1-31",
                           "2027-01-3a", "0000-01-01", "2027-04-31", "2027-12-31"}) {
    recorded.push_back(formatted("{}: {}", date, is_date(date)));
  }
  for (const auto outcome : {Outcome::kPass, Outcome::kFail, Outcome::kUntrusted}) {
    for (const char* expires : {"2027-01-30", "2027-01-31", "2027-02-01"}) {
      for (const char* excused : {"", "torch", "numpy", "abft"}) {
        GateReport one = report(1, "torch");
        one.cases[0].verdicts[0].outcome = outcome;
        one.cases[1].verdicts.push_back(one.cases[1].verdicts[0]);
        one.cases[1].verdicts[1].bound.standard = "numpy";
        one.cases[1].verdicts[1].outcome = outcome;
        const std::vector<KnownFailure> list = {{"*", "a reason", expires, "", excused},
                                                {"z*", "another", expires, "", ""}};
        const auto unused = mark_known_failures(one, list, "2027-01-31");
        std::string line = formatted(
            "{} until {} of '{}': {} unused, {} {}", outcome_word(outcome), expires, excused,
            unused.size(), outcome_word(report_outcome(one)), exit_code(report_outcome(one)));
        for (const CaseReport& c : one.cases) {
          line += formatted("; {} {} {} {} {}", c.outcome_text(), c.rank(), c.passes(),
                            outcome_word(c.judged()), c.because());
        }
        recorded.push_back(line);
      }
    }
  }
  expect_recorded("gate/recorded/baselines.txt", recorded);
}

}  // namespace
}  // namespace assay
