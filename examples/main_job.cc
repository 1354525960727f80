// The main job. It judges every operator, as an emulated Ascend 910B (or the machine that the case
// names) computes it, against golden results, and injects faults. Then it judges matrix products,
// recorded on an H200 and emulated, by elements and by checksums.
//
//   main_job datasets/samples/operators.h5 datasets/samples/transformer_gemms.h5
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <exception>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/abft.h"
#include "assay/datasets.h"
#include "assay/fault.h"
#include "assay/gate.h"
#include "assay/judge.h"
#include "assay/operator.h"

namespace {

// --- Every operator -----------------------------------------------------------------------------

// The part of a number in which a fault flips one bit.
enum Part : std::size_t { kSign, kExponent, kMantissa, kParts };
constexpr int kFlipsAPart = 60;  // number of flips in each part of a number, for each case

struct OperatorRow {
  std::string name;
  std::set<std::string> dtypes;
  int cases = 0, passed = 0;
  double worst_ratio = 0;
  std::uint64_t max_ulps = 0;
  double lowest_snr = HUGE_VAL;
  std::array<int, kParts> flipped = {}, seen = {};
};

// Returns the bits that a part of a number occupies: the lowest one, and one beyond the highest.
// The range is empty if the format has no such part.
std::pair<int, int> bits_of(const assay::Format& f, Part part) {
  const int low = f.padding, high = f.padding + f.bits, sign = f.is_signed() ? 1 : 0;
  if (part == kSign) return {high - sign, high};
  if (!f.is_float()) return part == kMantissa ? std::pair{low, high - sign} : std::pair{low, low};
  const int point = low + f.mantissa_bits();
  return part == kMantissa ? std::pair{low, point} : std::pair{point, high - sign};
}

// Flips one bit at a time, judges the output by the case's own bound, and restores the element. A
// flip that changes no value (the sign of a zero) does not count.
void flip_and_judge(const assay::Case& c, assay::Tensor& output, OperatorRow& row) {
  const auto checks = assay::element_checks(c, output.format(), {});
  for (std::size_t part = 0; part < kParts; ++part) {
    const auto [low, high] = bits_of(output.format(), static_cast<Part>(part));
    for (int trial = 0; low < high && trial < kFlipsAPart; ++trial) {
      assay::FaultSpec spec;
      spec.change.bit = low + trial % (high - low);
      spec.seed = static_cast<std::uint64_t>(trial);
      const assay::Flip flip = assay::inject(output, spec, assay::stream_of(c.name)).flips.at(0);
      if (!assay::is_masked(output.format(), flip.before, flip.after)) {
        const auto verdicts = assay::judge_by(checks, output, c.output().golden->view(),
                                              {.metrics = false, .worst = 1});
        ++row.flipped[part];
        row.seen[part] += assay::worst_outcome(verdicts) == assay::Outcome::kFail ? 1 : 0;
      }
      output.set_bits(flip.linear, flip.before);
    }
  }
}

std::string short_name(std::string_view dtype) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kShort = {
      {{"float8_", ""},
       {"bfloat", "bf"},
       {"float", "fp"},
       {"uint", "u"},
       {"int", "i"},
       {"hifloat", "hif"}}};
  for (const auto& [prefix, word] : kShort) {
    if (dtype.starts_with(prefix))
      return std::string(word) + std::string(dtype.substr(prefix.size()));
  }
  return std::string(dtype);
}

// Prints one row for each operator. Returns true if all cases passed.
bool print_operators(const std::string& path) {
  const assay::DatasetFile file(path);
  std::vector<OperatorRow> rows;
  for (const std::string& name : file.case_names()) {
    const assay::Case c = file.read(name);
    auto row =
        std::find_if(rows.begin(), rows.end(), [&](const auto& r) { return r.name == c.op; });
    if (row == rows.end()) {
      row = rows.emplace(row);
      row->name = c.op;
    }
    assay::Tensor output =
        assay::emulate(c, assay::machine_named(c.text("machine").value_or("ascend910b")));
    const assay::Verdict v = assay::gate_case(c, output).verdicts.front();
    ++row->cases;
    row->passed += v.outcome == assay::Outcome::kPass ? 1 : 0;
    row->dtypes.insert(short_name(output.format().name));
    row->worst_ratio = std::max(row->worst_ratio, v.worst_ratio);
    if (v.metrics) {
      row->max_ulps = std::max(row->max_ulps, v.metrics->max_ulps);
      if (v.metrics->snr_db < row->lowest_snr) row->lowest_snr = v.metrics->snr_db;
    }
    flip_and_judge(c, output, *row);
  }
  std::printf(
      "\nEvery operator, emulated as an Ascend 910B computes it, against golden results\n\n"
      "                                                                         one bit flipped: "
      "seen\n"
      "  operator         results                pass     max/bound  max ulp  SNR dB  sign "
      "exponent "
      "mantissa\n");
  int cases = 0, passed = 0, flips = 0;
  for (const OperatorRow& row : rows) {
    std::string dtypes;
    for (const std::string& dtype : row.dtypes) dtypes += (dtypes.empty() ? "" : " ") + dtype;
    // An ulp near 0 is tiny, so a large number of ulps has no meaning and is not printed.
    const std::string ulps = row.max_ulps > 99999 ? "> 99999" : std::to_string(row.max_ulps);
    std::printf("  %-16s %-20s %2d of %2d %11.3f %8s", row.name.c_str(), dtypes.c_str(), row.passed,
                row.cases, row.worst_ratio, ulps.c_str());
    if (row.lowest_snr < HUGE_VAL) {
      std::printf(" %7.1f", row.lowest_snr);
    } else {
      std::printf("   exact");
    }
    for (std::size_t part = 0; part < kParts; ++part) {
      flips += row.flipped[part];
      if (row.flipped[part] == 0) {
        std::printf("       -");
      } else {
        std::printf("  %4.0f %%", 100.0 * row.seen[part] / row.flipped[part]);
      }
    }
    std::printf("\n");
    cases += row.cases;
    passed += row.passed;
  }
  std::printf(
      "\n  %d of %d cases of %zu operators pass, each by the bound derived from its own data; %d "
      "flips put in.\n  A flip that is missed moves its element by less than the bound.\n",
      passed, cases, rows.size(), flips);
  return passed == cases;
}

// --- Matrix products ----------------------------------------------------------------------------

struct Row {
  int cases = 0, passed = 0;
  double worst_ratio = 0, lowest_snr = 1e9;
  std::uint64_t max_ulps = 0;

  void add(const assay::Verdict& v) {
    ++cases;
    passed += v.outcome == assay::Outcome::kPass ? 1 : 0;
    worst_ratio = std::max(worst_ratio, v.worst_ratio);
    if (v.metrics) {
      lowest_snr = std::min(lowest_snr, v.metrics->snr_db);
      max_ulps = std::max(max_ulps, v.metrics->max_ulps);
    }
  }
  void print(const char* what, const std::array<int, 3>& alarms) const {
    std::printf("  %-22s %2d of %2d %9.3f %7llu %7.1f %8d %6d %9d\n", what, passed, cases,
                worst_ratio, static_cast<unsigned long long>(max_ulps), lowest_snr, alarms[0],
                alarms[1], alarms[2]);
  }
};

// The checksum thresholds that judge every output, in addition to the case's own elementwise bound.
constexpr std::array<const char*, 3> kThresholds = {"v_abft", "a_abft", "rounding_variance"};

struct FaultRow {
  int bit;
  const char* what;
  int injected = 0, elementwise = 0;
  std::array<int, kThresholds.size()> checksums = {};
};

constexpr int kFlipsPerCase = 50;

std::vector<assay::AbftChecker> checkers_of(const assay::Case& c) {
  std::vector<assay::AbftChecker> checkers;
  for (const char* name : kThresholds) {
    assay::AbftOptions options;
    options.spec = assay::parse_threshold(name);
    options.threads = 1;
    checkers.push_back(assay::AbftChecker::of_product(assay::matmul_matrix(c, "a", 0),
                                                      assay::matmul_matrix(c, "b", 0), options));
  }
  return checkers;
}

// Flips one bit of one element, judges the output by the elementwise bound and by every threshold,
// and restores the element.
void inject_and_judge(const assay::Case& c, const std::vector<assay::AbftChecker>& checkers,
                      assay::Tensor& output, FaultRow& row) {
  const auto checks = assay::element_checks(c, output.format(), {});
  for (int trial = 0; trial < kFlipsPerCase; ++trial) {
    assay::FaultSpec spec;
    spec.change.bit = row.bit;
    spec.seed = static_cast<std::uint64_t>(trial);
    const assay::Injection done = assay::inject(output, spec, assay::stream_of(c.name));
    const auto verdicts =
        assay::judge_by(checks, output, c.output().golden->view(), {.metrics = false, .worst = 1});
    ++row.injected;
    row.elementwise += assay::worst_outcome(verdicts) == assay::Outcome::kFail ? 1 : 0;
    for (std::size_t t = 0; t < checkers.size(); ++t) {
      row.checksums[t] += checkers[t].check(output).outcome == assay::Outcome::kFail ? 1 : 0;
    }
    output.set_bits(done.flips[0].linear, done.flips[0].before);
  }
}

// Returns true if all outputs pass, and the tightest checksum raises no alarm.
bool print_products(const std::string& path) {
  const assay::DatasetFile file(path);
  const auto names = file.case_names();
  const assay::Machine& ascend = assay::machine_named("ascend910b");
  Row h200, npu;
  std::vector<FaultRow> faults = {{15, "sign"},
                                  {14, "exponent, highest"},
                                  {10, "exponent"},
                                  {8, "exponent"},
                                  {7, "exponent, lowest"},
                                  {3, "mantissa"},
                                  {0, "mantissa, lowest: 1 ulp"}};
  std::array<int, kThresholds.size()> alarms_h200 = {}, alarms_npu = {};
  for (const std::string& name : names) {
    const assay::Case c = file.read(name);
    const std::vector<assay::AbftChecker> checkers = checkers_of(c);
    h200.add(assay::gate_case(c, c.output().recorded.at("h200").tensor).verdicts.front());
    assay::Tensor output = assay::emulate(c, ascend);
    npu.add(assay::gate_case(c, output).verdicts.front());
    for (std::size_t t = 0; t < checkers.size(); ++t) {
      alarms_h200[t] +=
          checkers[t].check(c.output().recorded.at("h200").tensor).flagged > 0 ? 1 : 0;
      alarms_npu[t] += checkers[t].check(output).flagged > 0 ? 1 : 0;
    }
    for (FaultRow& row : faults) inject_and_judge(c, checkers, output, row);
  }
  std::printf(
      "\n%zu bf16 matrix products of a transformer in training, against float64 golden "
      "results\n\n",
      names.size());
  std::printf(
      "                             by elements                             alarms by "
      "checksum\n");
  std::printf(
      "  output                 pass       max/bound max ulp  SNR dB   V-ABFT A-ABFT "
      "rounding_variance\n");
  h200.print("recorded on an H200", alarms_h200);
  npu.print("emulated Ascend 910B", alarms_npu);
  std::printf(
      "\n  single bit flips in the 910B's output, one a run, %d runs a case: how many were "
      "seen\n\n",
      kFlipsPerCase);
  std::printf(
      "  flipped bit                 injected  by elements   V-ABFT  A-ABFT  "
      "rounding_variance\n");
  for (const FaultRow& row : faults) {
    const auto percent = [&](int seen) { return 100.0 * seen / row.injected; };
    std::printf("  %2d %-24s %8d %10.1f %% %6.1f %% %5.1f %% %10.1f %%\n", row.bit, row.what,
                row.injected, percent(row.elementwise), percent(row.checksums[0]),
                percent(row.checksums[1]), percent(row.checksums[2]));
  }
  std::printf(
      "\n  by elements: the case's own bound, rtol one bf16 ulp and an atol from K and its "
      "magnitude; it\n  needs the golden result. The checksums need only the operands. What "
      "is missed changes the\n  element by less than the bound or threshold.\n");
  return h200.passed == h200.cases && npu.passed == npu.cases &&
         alarms_h200[2] + alarms_npu[2] == 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: main_job OPERATORS PRODUCTS\n");
    return 2;
  }
  try {
    const bool operators = print_operators(argv[1]);
    const bool products = print_products(argv[2]);
    return operators && products ? 0 : 1;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "error: %s\n", e.what());
    return 2;
  }
}
