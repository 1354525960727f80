// Compares a census in constant time with one that sums every check again, and both with a check of
// the whole changed matrix.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

#include "assay/abft.h"
#include "assay/base/index.h"
#include "assay/campaign/checksum_detector.h"
#include "assay/campaign/element_detector.h"
#include "assay/format/convert.h"
#include "assay/gate/gate.h"
#include "assay/judge/bound.h"
#include "assay/op/operator.h"
#include "assay/tensor/distribution.h"

namespace assay::campaign {
namespace {

enum class Fate { kDetected, kMissed, kMasked, kNotFinite, kDismissed, kNotCheckable };

Fate fate_of(std::uint16_t bin, bool was_set) {
  const int plain = bin - (was_set ? int{simd::kFlipBins} : 0);
  EXPECT_GE(plain, 0) << "the wrong direction";
  EXPECT_LT(plain, int{simd::kFlipBins}) << "the wrong direction, or a doubt left";
  switch (plain) {
    case simd::kBinMasked:
      return Fate::kMasked;
    case simd::kBinNotFinite:
      return Fate::kNotFinite;
    case simd::kBinDismissed:
      return Fate::kDismissed;
    case simd::kBinUnsure:
      return Fate::kNotCheckable;
    default:
      return plain > simd::kBinAtOne ? Fate::kDetected : Fate::kMissed;
  }
}

struct Inputs {
  std::string input, output, a, b;
  std::int64_t m = 5, k = 40, n = 37;
  std::string machine = "ascend910b";
};

struct Made {
  Case test_case;
  Tensor output;
  Epilogue epilogue;  // the accumulator before the cast of the result, if there is one
};

Made make(const Inputs& in) {
  Made made;
  Case& c = made.test_case;
  c.name = "census";
  c.op = "matmul";
  c.attributes["output_dtype"] = in.output;
  const Format& f = format_named(in.input);
  c.inputs.emplace("a", draw(parse_distribution(in.a), f, {in.m, in.k}, 11, 1, 1));
  c.inputs.emplace("b", draw(parse_distribution(in.b), f, {in.k, in.n}, 11, 2, 1));
  made.output = emulate(c, machine_named(in.machine), 1);
  if (made.output.format().precision < 24) {
    made.epilogue.accumulator = emulate_accumulator(c, machine_named(in.machine), 1);
  }
  return made;
}

// The gates of the table, with each of their parameters. A gate that has no constants for a format
// is skipped.
const std::vector<std::string> kGates = {"rounding_variance",
                                         "rounding_variance,groups=0",
                                         "rounding_variance,kappa=3",
                                         "rounding_variance,kappa=3,groups=0",
                                         "rounding_variance,confirm=0",
                                         "rounding_variance,kappa=2,confirm=0",
                                         "residual_compensated",
                                         "residual_compensated,kappa=2",
                                         "residual_compensated,kappa=1,groups=0",
                                         "v_abft",
                                         "a_abft"};

// Returns R of each check as a kernel's epilogue sums it, column by column in float32.
Tensor kernel_sums(const Made& made, const AbftChecker& checker) {
  const std::int64_t n = checker.columns(), groups = checker.groups_per_row();
  std::vector<double> sums(at(checker.rows() * groups));
  for (std::int64_t i = 0; i < checker.rows(); ++i) {
    for (std::int64_t g = 0; g < groups; ++g) {
      float sum = 0;
      for (std::int64_t j = g * checker.group_width();
           j < std::min(n, (g + 1) * checker.group_width()); ++j) {
        sum += static_cast<float>(made.epilogue.accumulator.view().value_at(i * n + j) -
                                  made.output.view().value_at(i * n + j));
      }
      sums[at(i * groups + g)] = static_cast<double>(sum);
    }
  }
  return Tensor::from_values(format_named("float32"), {checker.rows(), groups}, sums);
}

struct Census {
  std::vector<int> bits;
  std::vector<std::uint16_t> fast, exact;
};

Census census_of(const ChecksumDetector& gate, const Tensor& output) {
  Census c;
  const Format& f = output.format();
  for (int b = 0; b < f.bits; ++b) c.bits.push_back(f.padding + b);
  const std::size_t count = c.bits.size() * at(output.size());
  c.fast.resize(count, 0xffff);
  c.exact.resize(count, 0xffff);
  gate.census(c.bits, false, c.fast.data());
  gate.census(c.bits, true, c.exact.data());
  return c;
}

// Returns the verdict of AbftChecker on the whole matrix with this one element changed.
Fate brute_force(const AbftChecker& checker, Tensor& output, std::int64_t p, std::uint64_t after,
                 const Residual& residual) {
  const Format& f = output.format();
  const std::uint64_t before = output.bits_at(p);
  const double old_value = decode(f, before), value = decode(f, after);
  if (old_value == value || (std::isnan(old_value) && std::isnan(value))) return Fate::kMasked;
  output.set_bits(p, after);
  const AbftVerdict v = checker.check(output, residual);
  output.set_bits(p, before);
  if (v.flagged > 0) return std::isfinite(value) ? Fate::kDetected : Fate::kNotFinite;
  return v.confirmed_clean > 0 ? Fate::kDismissed : Fate::kMissed;
}

// Compares the fast path of a census with the exact one, and counts the fates that occurred.
class CensusOfUnits : public testing::Test {
 protected:
  void compare_paths(const ChecksumDetector& gate, const Tensor& output, const std::string& what) {
    const Census c = census_of(gate, output);
    for (std::size_t i = 0; i < c.fast.size(); ++i) {
      const auto p = static_cast<std::int64_t>(i % at(output.size()));
      const int bit = c.bits[i / at(output.size())];
      const bool was_set = ((output.bits_at(p) >> bit) & 1) != 0;
      const Fate fast = fate_of(c.fast[i], was_set), exact = fate_of(c.exact[i], was_set);
      ASSERT_EQ(fast, exact) << what << ": element " << p << " = " << output.view().value_at(p)
                             << ", bit " << bit << ", bins " << c.fast[i] << " and " << c.exact[i];
      ++fates_[exact];
      // The bins of D/T may be one apart, because float32 sums of ulps are right only to 2^-19 and
      // the edge of a bin may lie between the two results.
      if (exact == Fate::kDetected || exact == Fate::kMissed) {
        ASSERT_LE(std::abs(c.fast[i] - c.exact[i]), 1)
            << what << ": element " << p << " bit " << bit;
      }
    }
  }

  std::map<Fate, std::int64_t> fates_;
};

class CensusTest : public CensusOfUnits,
                   public testing::WithParamInterface<std::tuple<const char*, const char*>> {
 protected:
  // Compares all three paths of every gate on one matrix, and counts the fates that occurred.
  void compare(const Inputs& in, bool with_brute_force) {
    const Made made = make(in);
    Tensor output = made.output;
    for (const std::string& text : kGates) {
      for (const char* arithmetic : {"", ",arithmetic=output"}) {
        for (const char* columns : {"", ",columns=1"}) {
          AbftOptions options;
          options.threads = 1;
          options.model = nullptr;
          if (*arithmetic != 0 && !parse_threshold(text).threshold->takes("arithmetic")) continue;
          options.spec = parse_threshold(text + arithmetic + columns);
          std::optional<ChecksumDetector> gate;
          try {
            gate.emplace(options, made.test_case, made.output, made.epilogue);
          } catch (const std::invalid_argument& e) {
            ++refused_[text];
            continue;
          }
          const std::string what =
              options.spec.text() + " on " + in.output + " of " + in.a + ", " + in.b;
          compare_paths(*gate, made.output, what);
          if (HasFatalFailure()) return;
          if (!with_brute_force) continue;
          compare_brute_force(options, made, *gate, output, what);
          if (HasFatalFailure()) return;
        }
      }
    }
  }

  void compare_brute_force(const AbftOptions& options, const Made& made,
                           const ChecksumDetector& gate, Tensor& output, const std::string& what) {
    const AbftChecker checker =
        AbftChecker::of_product(made.test_case.input("a"), made.test_case.input("b"), options);
    const bool compensated = options.spec.threshold->takes_residuals;
    // No kernel gives R for checks of columns, so that these are not tested.
    if (compensated && options.spec.columns) return;
    const Tensor sums = compensated ? kernel_sums(made, checker) : Tensor();
    const Residual residual = compensated ? Residual::sums(sums) : Residual{};
    const AbftVerdict clean = checker.check(output, residual);
    // Alarms on the clean result would hide the effect of one element.
    if (clean.flagged > 0 || clean.confirmed_clean > 0 || clean.not_checkable > 0) return;
    ++compared_;
    const Census c = census_of(gate, output);
    for (std::size_t i = 0; i < c.exact.size(); ++i) {
      const auto p = static_cast<std::int64_t>(i % at(output.size()));
      const int bit = c.bits[i / at(output.size())];
      const std::uint64_t before = output.bits_at(p);
      Fate right = brute_force(checker, output, p, before ^ (std::uint64_t{1} << bit), residual);
      Fate got = fate_of(c.exact[i], ((before >> bit) & 1) != 0);
      // If rows and columns are checked, one check may be dismissed while the other is below its
      // threshold. Dismissed flips therefore count as missed.
      if (options.spec.columns) {
        if (right == Fate::kDismissed) right = Fate::kMissed;
        if (got == Fate::kDismissed) got = Fate::kMissed;
      }
      ASSERT_EQ(got, right) << what << ": element " << p << " = " << output.view().value_at(p)
                            << ", bit " << bit;
    }
  }

  std::map<std::string, int> refused_;
  int compared_ = 0;
};

const char* kNormal = "normal";
INSTANTIATE_TEST_SUITE_P(OnFormat, CensusTest,
                         testing::Values(std::tuple{"bfloat16", "bfloat16"},
                                         std::tuple{"float16", "float16"},
                                         std::tuple{"float32", "float32"},
                                         std::tuple{"bfloat16", "float8_e4m3fn"},
                                         std::tuple{"float32", "tfloat32"}),
                         [](const auto& one) { return std::string(std::get<1>(one.param)); });

TEST_P(CensusTest, SameVerdictsInConstantTime) {
  const auto& [input, output] = GetParam();
  const std::vector<std::pair<const char*, const char*>> distributions = {
      {kNormal, kNormal},
      {"uniform", "uniform"},
      {"normal,mean=1", "normal,mean=1"},
      {"normal", "outlier_channels,factor=200"},
      {"normal", "identical_columns"},
      {"integers,low=-2,high=2", "integers,low=-1,high=1"},  // many elements of the same size
      {"normal,deviation=0", "normal"},                      // a product of zeros
      {"lognormal,sigma=4", "lognormal,sigma=4"},            // sums that overflow the small formats
      {"specials", "normal"},                                // infinities and NaN: not checkable
      {"normal,scale=1e-4", "normal,scale=1e-4"}};           // subnormals of float16
  for (const auto& [a, b] : distributions) {
    compare({input, output, a, b}, false);
    if (HasFatalFailure()) return;
  }
  for (const Fate fate : {Fate::kDetected, Fate::kMissed, Fate::kMasked, Fate::kNotFinite,
                          Fate::kDismissed, Fate::kNotCheckable}) {
    // The bounds of float8 are too wide for a flagged check to be dismissed.
    if (fate == Fate::kDismissed && std::string(output) == "float8_e4m3fn") continue;
    EXPECT_GT(fates_[fate], 0) << static_cast<int>(fate);
  }
  EXPECT_EQ(refused_.count("rounding_variance"), 0u);
}

TEST_P(CensusTest, AsAWholeCheckOfTheChangedMatrix) {
  const auto& [input, output] = GetParam();
  const std::vector<std::pair<const char*, const char*>> distributions = {
      {kNormal, kNormal},
      {"normal,mean=1", "normal,mean=1"},
      {"uniform", "outlier_channels,factor=200"},
      {"integers,low=-2,high=2", "integers,low=-1,high=1"}};
  for (const auto& [a, b] : distributions) {
    compare({input, output, a, b, 3, 24, 19}, true);
    if (HasFatalFailure()) return;
  }
  EXPECT_GE(compared_, 40);
}

TEST_P(CensusTest, Edges) {
  const auto& [input, output] = GetParam();
  compare({input, output, "normal", "normal", 1, 1, 1}, true);
  compare({input, output, "normal", "normal", 1, 7, 2}, true);
  compare({input, output, "normal", "normal", 2, 3, 16}, true);
  compare({input, output, "normal", "normal", 17, 5, 1}, true);
}

// Tests matrix units that truncate, align, promote, round inside a chunk or flush. The fast path's
// certain verdicts must agree with an exact check. Confirmation allows an element the worst-case
// error of its own unit. With products of 8 bits, that is thousands of times a float32 rounding.
// With thresholds of few deviations, many flips lie between the threshold and this bound.
TEST_F(CensusOfUnits, SameVerdictsInConstantTime) {
  struct Unit {
    const char *machine, *input, *output, *data;
  };
  for (const Unit& u :
       {Unit{"hopper,promotion_interval=128", "float8_e4m3fn", "bfloat16", "normal"},
        Unit{"hopper,promotion_interval=64", "float8_e5m2", "float32", "normal"},
        Unit{"hopper", "float16", "float32", "normal,mean=1"},
        Unit{"volta", "float16", "float16", "normal"},
        Unit{"ascend910b,order=sequential", "float16", "float32", "uniform"},
        Unit{"cpu_mul_add", "float32", "float32", "normal"},
        Unit{"cpu_fma,flush_inputs=1,flush_sums=1", "float32", "float32", "normal,scale=1e-19"}}) {
    const Made made = make({u.input, u.output, u.data, "normal", 3, 200, 20, u.machine});
    const DotModel& model = dot_model(machine_named(u.machine), format_named(u.input));
    for (const char* text : {"rounding_variance,kappa=0.3,groups=1", "rounding_variance,kappa=1",
                             "rounding_variance,groups=4", "v_abft,e_max=1e-5,confirm=1"}) {
      AbftOptions options;
      options.threads = 1;
      options.model = &model;
      options.spec = parse_threshold(text);
      const ChecksumDetector gate(options, made.test_case, made.output);
      compare_paths(gate, made.output, std::string(text) + " on " + u.machine);
      if (HasFatalFailure()) return;
    }
  }
  EXPECT_GT(fates_[Fate::kDismissed], 100);
  EXPECT_GT(fates_[Fate::kDetected], 1000);
}

// A census of some bits gives the same bins for these bits as a census of all bits.
TEST(Census, BitsAlone) {
  const Made made = make({"bfloat16", "bfloat16", "normal", "normal"});
  AbftOptions options;
  options.threads = 1;
  const ChecksumDetector gate(options, made.test_case, made.output);
  const Census all = census_of(gate, made.output);
  const std::vector<int> some = {3, 14};
  std::vector<std::uint16_t> bins(2 * at(made.output.size()));
  gate.census(some, false, bins.data());
  for (std::size_t i = 0; i < at(made.output.size()); ++i) {
    EXPECT_EQ(bins[i], all.fast[3 * at(made.output.size()) + i]);
    EXPECT_EQ(bins[at(made.output.size()) + i], all.fast[14 * at(made.output.size()) + i]);
  }
}

// detect() and the census give the same verdict on one flip.
TEST(Census, LooksAgree) {
  for (const char* text :
       {"rounding_variance,kappa=3", "rounding_variance,columns=1", "residual_compensated,kappa=2",
        "residual_compensated,columns=1", "v_abft,arithmetic=output", "a_abft"}) {
    const Made made = make({"bfloat16", "bfloat16", "normal", "normal"});
    AbftOptions options;
    options.threads = 1;
    options.spec = parse_threshold(text);
    const ChecksumDetector gate(options, made.test_case, made.output, made.epilogue);
    const Census c = census_of(gate, made.output);
    const std::int64_t n = made.output.shape()[1];
    for (std::size_t i = 0; i < c.fast.size(); ++i) {
      const auto p = static_cast<std::int64_t>(i % at(made.output.size()));
      const int bit = c.bits[i / at(made.output.size())];
      const std::uint64_t before = made.output.bits_at(p);
      const Fate fate = fate_of(c.fast[i], ((before >> bit) & 1) != 0);
      if (fate == Fate::kMasked) continue;
      const ElementChange change{p / n, p % n, before ^ (std::uint64_t{1} << bit)};
      const Detection detection = gate.detect({&change, 1});
      ASSERT_EQ(detection.flagged, fate == Fate::kDetected || fate == Fate::kNotFinite)
          << text << " " << p << " " << bit;
      ASSERT_FALSE(detection.not_checkable);
    }
  }
}

// The thresholds torch_npu and mindspore depend on the peaks of all rows. The peak of a row is
// max|c| / mean|c|. A campaign looks at all rows too, so its verdicts equal those of a check of the
// whole matrix. Rows with one large element among small ones have high peaks.
TEST(Census, PeaksOfAllRows) {
  int by_peak = 0, by_mean = 0, seen = 0;
  for (const char* text : {"torch_npu,confirm=0", "mindspore,confirm=0"}) {
    for (const int zeros : {0, 1}) {
      Made made = make({"float32", "float32", "normal", "normal", 5, 24, 40});
      Tensor& c = made.output;
      for (std::int64_t i = zeros; i < 5; ++i) c.set_bits(i * 40 + 3, 0x44000000);  // 512
      AbftOptions options;
      options.threads = 1;
      options.spec = parse_threshold(text);
      const AbftChecker checker =
          AbftChecker::of_product(made.test_case.input("a"), made.test_case.input("b"), options);
      const ChecksumDetector gate(options, made.test_case, c);
      RatioCounts ratios{};
      EXPECT_EQ(gate.clean(ratios).worst, checker.check(c).worst_ratio) << text << " " << zeros;
      (zeros == 0 ? by_peak : by_mean) += checker.check(c).flagged > 0 ? 1 : 0;
      // Two rows change together. One of them may become the row with the least peak, or stop being
      // it.
      for (const std::uint64_t bits : {0x00000000u, 0x44000000u, 0x47000000u}) {
        const std::vector<ElementChange> changes = {{0, 3, bits}, {4, 3, 0x3f800000}};
        Tensor changed = c;
        for (const ElementChange& e : changes) changed.set_bits(e.row * 40 + e.column, e.bits);
        const AbftVerdict whole = checker.check(changed);
        const bool right =
            std::any_of(whole.flags.begin(), whole.flags.end(),
                        [](const AbftFlag& f) { return f.index == 0 || f.index == 4; });
        EXPECT_EQ(gate.detect(changes).flagged, right) << text << " " << zeros << " " << bits;
        seen += right ? 1 : 0;
      }
    }
  }
  EXPECT_GT(seen, 0);
  EXPECT_GT(by_peak + by_mean, 0);
}

// For an elementwise standard, the verdict of a census on each flip equals that on the whole
// result.
TEST(Census, ElementwiseStandards) {
  for (const char* name : {"torch", "atb"}) {
    const Made made = make({"bfloat16", "bfloat16", "normal", "normal", 4, 24, 9});
    const ElementCheck check =
        element_checks(made.test_case, made.output.format(), {.bounds = {.standards = {name}}})
            .front();
    ASSERT_TRUE(check.bound.has_value()) << name;
    if (!check.bound->limits.empty()) continue;
    const ElementDetector gate(check, made.test_case, made.output);
    std::vector<int> bits(16);
    for (int b = 0; b < 16; ++b) bits[at(b)] = b;
    const std::size_t elements = at(made.output.size());
    std::vector<std::uint16_t> bins(16 * elements);
    gate.census(bits, bins.data());
    std::map<Fate, int> fates;
    for (std::size_t i = 0; i < bins.size(); ++i) {
      const auto p = static_cast<std::int64_t>(i % elements);
      const int bit = bits[i / elements];
      const std::uint64_t before = made.output.bits_at(p);
      const Fate fate = fate_of(bins[i], ((before >> bit) & 1) != 0);
      ++fates[fate];
      if (fate == Fate::kMasked) continue;
      const ElementChange change{p / 9, p % 9, before ^ (std::uint64_t{1} << bit)};
      EXPECT_EQ(gate.detect({&change, 1}).flagged,
                fate == Fate::kDetected || fate == Fate::kNotFinite)
          << name << " " << p << " " << bit;
    }
    EXPECT_GT(fates[Fate::kDetected], 0);
    EXPECT_GT(fates[Fate::kDetected] + fates[Fate::kNotFinite], 0);
  }
}

}  // namespace
}  // namespace assay::campaign
