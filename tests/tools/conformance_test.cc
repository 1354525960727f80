// Tests assay's rule against those who published it: NumPy, h5diff, and torch's documentation.
// They evaluate it in different precisions. assay judges in float64, whatever the dtype. NumPy and
// h5diff -d use the arrays' own dtype, so that float32 pairs within rounding of the bound may
// differ. These pairs are left out. h5diff -p uses float64, and torch the promoted dtype of the two
// tensors.
#include <cmath>
#include <limits>

#include "assay/datasets/arrays/array_file.h"
#include "assay/gate/bounds.h"
#include "assay/judge/verdict.h"
#include "emulated.h"
#include "program.h"

namespace assay {
namespace {

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

class Conformance : public ProgramTest {
 protected:
  Tensor array(const std::string& name) const {
    return read_array({path("close.npz:/" + name), "", {}});
  }
  Bound rule(const std::string& k) const {
    const std::vector<double> r = array("rule_" + k).view().values();
    Bound bound;
    bound.rtol = r[0];
    bound.atol = r[1];
    bound.nan_equal = r[2] != 0;
    return bound;
  }
};

// Returns true if the judge passes all elements of [first, first + count).
bool within(const Tensor& a, const Tensor& e, std::int64_t first, std::int64_t count,
            const Bound& bound) {
  const auto part = [&](const Tensor& t) {
    return view_bytes(t.bytes() + first * t.format().storage_bytes, t.format(), {count});
  };
  JudgeOptions options;
  options.metrics = false;
  options.threads = 1;
  return judge(part(a), part(e), bound, options).mismatches == 0;
}

// Compares with numpy.isclose on 301 440 pairs: random ones, pairs at the bound and a few units in
// the last place around it, and all pairs of special values. No pair of float64 is left out.
TEST_F(Conformance, NumpyIsclose) {
  ASSERT_EQ(run(ASSAY_PYTHON " '" ASSAY_SOURCE_DIR "/tests/tools/numpy_close.py'").code, 0);
  const int rules = static_cast<int>(array("rules").view().value_at(0));
  std::int64_t compared = 0, left_out = 0;
  for (int r = 0; r < rules; ++r) {
    const std::string k = std::to_string(r);
    const Bound bound = rule(k);
    for (const std::string bits : {"64", "32"}) {
      const Tensor a = array("a" + bits + "_" + k), e = array("e" + bits + "_" + k);
      const Tensor close = array("close" + bits + "_" + k);
      const Tensor near = bits == "32" ? array("near32_" + k) : Tensor();
      std::int64_t agreed = 0, differing = 0;
      const std::int64_t step = walks_a_share() ? 4 : 1;
      for (std::int64_t i = r % step; i < a.size(); i += step) {
        if (!near.empty() && near.bits_at(i) != 0) {
          ++left_out;
          continue;
        }
        ++compared;
        const bool numpys = close.bits_at(i) != 0;
        if (within(a, e, i, 1, bound) == numpys) {
          ++agreed;
        } else if (++differing <= 3) {
          ADD_FAILURE() << "rule " << bound.text() << ", float" << bits << ": "
                        << a.view().value_at(i) << " and " << e.view().value_at(i)
                        << ": NumPy says " << (numpys ? "close" : "not close");
        }
      }
      EXPECT_EQ(differing, 0);
      EXPECT_GT(agreed * step, bits == "64" ? 30000 : 5000);
    }
    // Compares with assert_allclose, which gives one answer for a block of 64 pairs.
    const Tensor a = array("blocks_a_" + k), e = array("blocks_e_" + k),
                 passes = array("passes_" + k);
    int passed = 0;
    for (std::int64_t b = 0; b < passes.size(); ++b) {
      EXPECT_EQ(within(a, e, 64 * b, 64, bound), passes.bits_at(b) != 0) << "block " << b;
      passed += passes.bits_at(b) != 0 ? 1 : 0;
    }
    EXPECT_GT(passed, 50);
    EXPECT_GT(passes.size() - passed, 50);
  }
  EXPECT_GT(compared, walks_a_share() ? 50000 : 200000);
  EXPECT_LT(left_out, compared / 2) << "of float32, near the bound";
}

TEST_F(Conformance, H5diffCounts) {
  ASSERT_EQ(run("command -v h5diff").code, 0) << "h5diff is of the package hdf5-tools";
  const Ran ran = run(ASSAY_PYTHON " '" ASSAY_SOURCE_DIR "/tests/tools/h5diff_counts.py'");
  EXPECT_EQ(ran.code, 0) << ran.out << ran.err;
}

// Tests the examples in the documentation of torch.testing.assert_close.
struct Torch {
  Outcome operator()(const char* dtype, std::vector<double> actual, std::vector<double> expected,
                     std::optional<bool> equal_nan = {}, const char* expected_dtype = nullptr,
                     std::optional<double> rtol = {}, std::optional<double> atol = {}) const {
    const auto size = static_cast<std::int64_t>(actual.size());
    const Tensor a = Tensor::from_values(format_named(dtype), {size}, actual);
    const Tensor e =
        Tensor::from_values(format_named(expected_dtype == nullptr ? dtype : expected_dtype),
                            {static_cast<std::int64_t>(expected.size())}, expected);
    BoundRequest request;
    request.standards = {"torch"};
    request.equal_nan = equal_nan;
    request.rtol = rtol;
    request.atol = atol;
    return judge(a, e, *choose_bounds(Case{}, a.format(), request).front().bound).outcome;
  }
};
constexpr Torch torch;
constexpr Outcome kPass = Outcome::kPass, kFail = Outcome::kFail;

TEST(TorchRules, ToleranceOfTheDtype) {
  EXPECT_EQ(torch("float32", {1 + 1.1e-5, 5}, {1, 5}), kPass);  // 1e-5 + 1.3e-6
  EXPECT_EQ(torch("float32", {1 + 1.2e-5, 5}, {1, 5}), kFail);
  EXPECT_EQ(torch("float64", {1 + 1.9e-7, 5}, {1, 5}), kPass);  // 1e-7 + 1e-7
  EXPECT_EQ(torch("float64", {1 + 2.1e-7, 5}, {1, 5}), kFail);
  EXPECT_EQ(torch("float16", {1 + 0x1p-10, 5}, {1, 5}), kPass);  // 9.8e-4 within 1.01e-3
  EXPECT_EQ(torch("float16", {1 + 0x1p-9, 5}, {1, 5}), kFail);
  EXPECT_EQ(torch("bfloat16", {1 + 0x1p-6, 5}, {1, 5}), kPass);  // 1.5625e-2 within 1.601e-2
  EXPECT_EQ(torch("bfloat16", {1 + 3 * 0x1p-7, 5}, {1, 5}), kFail);
}

// "If the dtypes differ, the maximum of both tolerances" is the tolerance of the coarser dtype.
// This is the output's dtype, because a golden result has no less precision. The golden result is
// first rounded to the output's dtype.
TEST(TorchRules, TwoDtypesTakeTheLooserTolerance) {
  EXPECT_EQ(torch("bfloat16", {1 + 0x1p-6, 5}, {1, 5}, {}, "float32"), kPass);
  EXPECT_EQ(torch("bfloat16", {1 + 3 * 0x1p-7, 5}, {1, 5}, {}, "float32"), kFail);
  EXPECT_EQ(torch("float32", {1 + 1.1e-5, 5}, {1, 5}, {}, "float64"), kPass);
  EXPECT_EQ(torch("float32", {1 + 1.2e-5, 5}, {1, 5}, {}, "float64"), kFail);
}

TEST(TorchRules, NanAndInfinity) {
  EXPECT_EQ(torch("float32", {kNaN, 1}, {kNaN, 1}), kFail);
  EXPECT_EQ(torch("float32", {kNaN, 1}, {kNaN, 1}, true), kPass);
  EXPECT_EQ(torch("float32", {kNaN, 1}, {1, 1}, true), kFail);
  EXPECT_EQ(torch("float32", {kInf, 1}, {kInf, 1}), kPass);
  EXPECT_EQ(torch("float32", {kInf, 1}, {-kInf, 1}), kFail);
  EXPECT_EQ(torch("float32", {3e38, 1}, {kInf, 1}), kFail);
}

TEST(TorchRules, IntegersAndBoolAreExact) {
  for (const char* dtype : {"int8", "int16", "int32", "int64", "uint8"}) {
    EXPECT_EQ(torch(dtype, {1, 100}, {1, 100}), kPass);
    EXPECT_EQ(torch(dtype, {1, 101}, {1, 100}), kFail);
  }
  EXPECT_EQ(torch("bool", {1, 0}, {1, 0}), kPass);
  EXPECT_EQ(torch("bool", {1, 1}, {1, 0}), kFail);
  // Integers may differ if tolerances are given, as in torch.
  EXPECT_EQ(torch("int32", {101, 7}, {100, 7}, {}, nullptr, 0.0, 1.0), kPass);
  EXPECT_EQ(torch("int32", {102, 7}, {100, 7}, {}, nullptr, 0.0, 1.0), kFail);
  EXPECT_EQ(torch("int32", {101, 7}, {100, 7}, {}, nullptr, 0.01, 0.0), kPass);
}

// torch requires both of rtol and atol or neither. In assay the one that is not given is 0.
TEST(TorchRules, OneToleranceAlone) {
  EXPECT_EQ(torch("float32", {1.05, 5}, {1, 5}, {}, nullptr, 0.1), kPass);
  EXPECT_EQ(torch("float32", {0.9e-5, 5}, {0, 5}, {}, nullptr, 0.0), kFail);
  EXPECT_EQ(torch("float32", {0, 5}, {0, 5}, {}, nullptr, 0.0), kPass);
}

TEST(TorchRules, NothingIsBroadcast) {
  EXPECT_EQ(torch("float32", {1, 1}, {1}), Outcome::kNotComparable);
}

}  // namespace
}  // namespace assay
