// Compares reports of the gate, and the bounds that each case gets, with recorded lines. The cases
// belong to several operators, with right and wrong outputs, every kind of request, and all
// attributes that a case may have. A failure says how to record the lines again.
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/gate/baseline.h"
#include "assay/gate/close_to.h"
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

std::string words_of_bounds(const Case& c, const Format& f, const BoundRequest& request) {
  std::string text;
  const std::string error = error_of([&] {
    for (const ChosenBound& chosen : choose_bounds(c, f, request)) {
      text += formatted("[{} {}", chosen.standard, chosen.why_not);
      if (const auto& b = chosen.bound) {
        text += formatted("{} {} {} {} {} {} {} {} {} {} {} {} '{}' {}", static_cast<int>(b->rule),
                          b->rtol, b->atol, b->ulps, b->nan_equal, b->nan_accepts,
                          b->round_expected, infinity_word(b->infinity),
                          b->max_mismatches.value_or(-1), b->max_mismatch_fraction.value_or(-1),
                          b->max_blind, b->origin, b->max_blind_why, b->standard);
      }
      for (const std::string& note : chosen.notes) text += " note " + note;
      text += "]";
    }
  });
  return with_digits(error == "no error" ? text : error, 8);
}

// Returns the first words, and a digest of the whole text.
std::string short_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return formatted("{}.. {:08x}", text.substr(0, 24), (hash ^ hash >> 32) & 0xffffffff);
}

TEST(RecordedReports, BoundsOfEveryCaseAndRequest) {
  std::vector<std::string> recorded;
  const std::vector<std::pair<const char*, Attributes>> attributes = {
      {"nothing", {}},
      {"rtol", {{"rtol", 1e-2}}},
      {"both", {{"rtol", 1e-2}, {"atol", 1e-5}}},
      {"both, exact", {{"rtol", 1e-2}, {"atol", 1e-5}, {"round_expected", std::int64_t{0}}}},
      {"negative", {{"atol", -1e-5}}},
      {"standard", {{"standard", std::string("numpy")}}},
      {"standards", {{"standard", std::string("numpy,ulp(3)")}, {"rtol", 0.5}}},
      {"unknown", {{"standard", std::string("nump")}}},
      {"indices", {{"standard", std::string("indices(unsorted)")}}},
      {"empty", {{"standard", std::string("")}}},
      {"policies",
       {{"equal_nan", std::int64_t{1}},
        {"infinity", std::string("fewer")},
        {"max_mismatches", std::int64_t{3}},
        {"max_mismatch_fraction", 0.25}}},
      {"wrong budget", {{"max_mismatch_fraction", 1.5}}},
      {"wrong count", {{"max_mismatches", std::int64_t{-1}}}},
      {"blind", {{"max_blind", 0.9}, {"why", std::string("as it is")}}},
      {"blind without why", {{"max_blind", 0.9}}},
      {"blind beyond", {{"max_blind", 1.1}, {"why", std::string("as it is")}}},
      {"accumulations",
       {{"accumulations", std::int64_t{9}}, {"standard", std::string("rocblas_sum")}}},
      {"no accumulations",
       {{"accumulations", std::int64_t{0}}, {"standard", std::string("rocblas_sum")}}}};
  std::vector<std::pair<const char*, BoundRequest>> requests = {
      {"nothing", {}},
      {"rtol", {.rtol = 1e-4}},
      {"wrong rtol", {.rtol = -1.0}},
      {"standard", {.standards = {"torch"}}},
      {"standard of a dtype", {.standards = {"float16=torch"}}},
      {"standard and atol", {.standards = {"torch", "ulp(2)", "numpy"}, .atol = 0.125}},
      {"ulp and atol", {.standards = {"ulp(2)"}, .atol = 0.125}},
      {"as published", {.standards = {"ttk_close,as_published"}}},
      {"as published with atol", {.standards = {"ttk_close,as_published"}, .atol = 0.5}},
      {"accumulation", {.standards = {"accumulation"}}},
      {"linear", {.standards = {"rocblas_sum"}}},
      {"policies", {.equal_nan = false, .infinity = Infinity::kSaturating, .nan_accepts = true}},
      {"budgets", {.max_mismatches = 7}},
      {"fraction", {.max_mismatch_fraction = 1.0}},
      {"wrong fraction", {.max_mismatch_fraction = 1.0000001}},
      {"wrong count", {.max_mismatches = -1}},
      {"blind", {.max_blind = 0.25}},
      {"wrong blind", {.max_blind = 1.25}}};
  const Case product = small_case("matmul", "float16", {3, 12, 2});
  Case plain;
  plain.name = "plain";
  plain.output().golden =
      Tensor::from_values(format_named("bfloat16"), {2}, std::vector<double>{1, 2});
  for (const Case& base : {product, plain}) {
    for (const auto& [said, own] : attributes) {
      Case c = base;
      for (const auto& [name, value] : own) c.attributes[name] = value;
      for (auto& [asked, request] : requests) {
        request.origin = "command";
        std::string error =
            error_of([&, &wanted = request] { (void)needs_inputs(c, {.bounds = wanted}); });
        if (error == "no error") {
          error = needs_inputs(c, {.bounds = request}) ? "needs inputs" : "needs none";
        }
        std::string line =
            formatted("{}, {}, {}: {} {} {}", c.name, said, asked, names_bound(c, request), error,
                      closeness_text(request, "x", is_product(base), "", false));
        for (const char* dtype : {"float16", "float32", "int8"}) {
          line += formatted(" {} {}", dtype,
                            short_of(words_of_bounds(c, format_named(dtype), request)));
        }
        recorded.push_back(line);
      }
    }
  }
  expect_recorded("gate/recorded/bounds.txt", recorded);
}

// Records how reports whose errors grow more and more compare with baselines, with and without
// repeats.
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
