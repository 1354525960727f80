// Tests the count of blind elements against outputs that really have zeros there.
#include "assay/judge/blindness.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <string>
#include <vector>

#include "assay/base/int128.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/judge/pieces.h"
#include "assay/judge/rule_table.h"
#include "assay/judge/standards.h"
#include "emulated.h"
#include "every_standard.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::vector_of;
using testing::HasSubstr;
using testing::IsEmpty;

std::vector<double> normals(std::size_t n, double scale, std::uint64_t stream) {
  Random random(31, stream);
  std::vector<double> values(n);
  for (double& v : values) v = scale * random.normal();
  return values;
}

// Returns how many elements of the expected result can be set to zero before a judge of real
// outputs refuses it. The smallest elements are set first.
std::int64_t zeros_that_pass(const Format& format, std::vector<double> expected, const Bound& bound,
                             const Tensor& golden, const JudgeOptions& options) {
  std::vector<std::size_t> order(expected.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) {
    return std::abs(expected[i]) < std::abs(expected[j]);
  });
  std::int64_t passed = 0;
  for (const std::size_t i : order) {
    if (expected[i] == 0) continue;
    expected[i] = 0;
    const Verdict v = judge(vector_of(format.name, expected), golden, bound, options);
    const bool holds = v.mismatches <= v.forgiven && all_hold(v.readings);
    if (!holds) break;
    ++passed;
  }
  return passed;
}

TEST(BlindnessTest, OfEveryStandardIsWhatZerosInPlaceShow) {
  std::int64_t checked = 0, blind = 0;
  // Each dtype takes every second standard, and the next dtype takes the others.
  std::size_t place = 0;
  for (const char* dtype : {"float32", "float16", "bfloat16", "int8"}) {
    for (const std::string& standard : every_standard(2, place++)) {
      const Format& f = format_named(dtype);
      const auto bound = standard_bound(standard, f, 64);
      if (!bound || by_element_bounds(*bound)) continue;
      for (const double scale : {1.0, 1e-3, 1e-6, 30.0}) {
        SCOPED_TRACE(formatted("{} of {}, scale {}", standard, dtype, scale));
        std::vector<double> values = normals(120, scale, 1);
        for (std::size_t i = 0; i < values.size(); ++i) {
          values[i] = i % 10 == 3 ? 0 : round_to(f, values[i]);
        }
        const Tensor golden = vector_of(f.name, values), actual = golden;
        std::vector<double> other = values;
        for (double& v : other) v = round_to(f, v * (1 + 1e-3));
        const Tensor reference_implementation = vector_of(f.name, other);
        JudgeOptions options{.metrics = false};
        if (bound->needs_reference())
          options.reference_implementation = reference_implementation.view();
        const Verdict v = judge(actual, golden, *bound, options);
        ASSERT_TRUE(v.blind) << v.because;
        if (bound->limits.empty()) {
          // The elements are judged separately. Each blind one may be zero while the others are
          // right, and all may be zero together.
          EXPECT_LE(zeros_that_pass(f, values, *bound, golden, options), *v.blind);
          std::vector<double> zeroed = values;
          std::int64_t alone = 0;
          for (std::size_t i = 0; i < values.size(); ++i) {
            std::vector<double> one = values;
            one[i] = 0;
            const bool passes =
                judge(vector_of(f.name, one), golden, *bound, options).mismatches == 0;
            alone += values[i] != 0 && passes ? 1 : 0;
            if (passes) zeroed[i] = 0;
          }
          EXPECT_EQ(*v.blind, alone);
          EXPECT_EQ(judge(vector_of(f.name, zeroed), golden, *bound, options).mismatches, 0);
        } else {
          // The error balance of `atb` may fail and then hold again as more elements become zero.
          // The trial then finds one of these changes, which need not be the first.
          const std::int64_t passed = zeros_that_pass(f, values, *bound, golden, options);
          if (standard.starts_with("atb"))
            EXPECT_GE(*v.blind, passed);
          else
            EXPECT_EQ(*v.blind, passed);
        }
        blind += *v.blind;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, walks_a_share() ? 15 : 75);
  EXPECT_GT(blind, walks_a_share() ? 60 : 500);
}

TEST(BlindnessTest, AboveHalfAPassIsUntrustedAndTheReasonSaysWhatWouldSee) {
  const Format& f32 = format_named("float32");
  std::vector<double> values(100, 1e-6);
  for (std::size_t i = 0; i < 40; ++i) values[i] = 1;
  for (std::size_t i = 40; i < 50; ++i) values[i] = 2e-6;
  const Tensor golden = vector_of(f32.name, values), actual = golden;
  const Bound torch = *standard_bound("torch", f32);
  const Verdict v = judge(actual, golden, torch);
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_EQ(v.because,
            "the check is blind to 60 of the 100 elements that are not zero (60.0 %): as zeros "
            "they would pass atol 1e-05 + rtol 1.3e-06 * |expected|; an absolute tolerance below "
            "2e-06 would see half of what is not zero");
  // With a tolerance below 2e-06, the check sees half of these elements and passes.
  Bound seeing = torch;
  seeing.atol = 1.9e-6;
  EXPECT_EQ(judge(actual, golden, seeing).outcome, Outcome::kPass);
  EXPECT_EQ(judge(actual, golden, seeing).blind, 50);
  Bound allowed = torch;
  allowed.max_blind = 0.6;
  EXPECT_EQ(judge(actual, golden, allowed).outcome, Outcome::kPass);
  // A mismatch is a failure, however blind the check is.
  values[0] = 2;
  EXPECT_EQ(judge(vector_of(f32.name, values), golden, torch).outcome, Outcome::kFail);
}

TEST(BlindnessTest, LimitsOnStatisticsAreTried) {
  const Format& f32 = format_named("float32");
  // With an SNR of 9 dB, most elements contribute almost nothing to the sum of squares.
  std::vector<double> values = normals(5000, 1e-3, 2);
  for (std::size_t i = 0; i < values.size(); i += 50) values[i] = 10;
  const Tensor golden = vector_of(f32.name, values), actual = golden;
  const Verdict v = judge(actual, golden, *standard_bound("deepgemm", format_named("bfloat16")));
  EXPECT_EQ(v.outcome, Outcome::kUntrusted) << v.because;
  EXPECT_THAT(v.because, HasSubstr("the check is blind to 4 900 of the 5 000 elements"));
}

TEST(BlindnessTest, AnOutputIsNoGoldenResultOfItself) {
  const std::vector<float> values = {1, 2, 3};
  const Bound bound = *standard_bound("torch", format_named("float32"));
  const Verdict v = judge(view(values), view(values), bound);
  EXPECT_EQ(v.outcome, Outcome::kUntrusted);
  EXPECT_EQ(v.because,
            "the output is the expected result itself, in the same memory: the check could not "
            "have failed");
  // Strides along a dimension of one element do not matter. Other elements of the same memory do.
  EXPECT_EQ(judge(view(values.data(), {1, 3}, {7, 1}), view(values.data(), {1, 3}), bound).outcome,
            Outcome::kUntrusted);
  const std::vector<float> same = {1, 1, 1, 1};
  EXPECT_EQ(judge(view(same.data(), {2}), view(same.data() + 2, {2}), bound).outcome,
            Outcome::kPass);
}

TEST(BlindnessTest, MissesWithinOneUlpAreSaidToBeSo) {
  const Format& bf16 = format_named("bfloat16");
  const Tensor golden = vector_of(bf16.name, {1, 2, 3}),
               actual = vector_of(bf16.name, {1.0078125, 2, 3});
  const Bound bound = *standard_bound("triton_ascend", bf16);
  Bound strict = bound;
  strict.atol = strict.rtol = 1e-3;
  EXPECT_THAT(judge(actual, golden, strict).because,
              HasSubstr("; it is within one bfloat16 ulp: the bound asks for less than that"));
  const Tensor two = vector_of(bf16.name, {1.015625, 2, 3});
  EXPECT_THAT(judge(two, golden, strict).because, testing::Not(HasSubstr("within one")));
  EXPECT_THAT(judge(actual, golden, *standard_bound("bit_equal", bf16)).because,
              testing::Not(HasSubstr("within one")));
}

TEST(BlindnessTest, PiecesAndTheWholeSayTheSame) {
  const Format& f32 = format_named("float32");
  const auto n = static_cast<std::size_t>(PiecewiseJudge::kUnit) + 1000;
  const Tensor golden = vector_of(f32.name, normals(n, 1e-5, 3)), actual = golden;
  const Bound bound = *standard_bound("torch", f32);
  const Verdict whole = judge(actual, golden, bound);
  PiecewiseJudge pieces(f32, golden.shape(), bound);
  for (std::int64_t begin = 0; begin < golden.size(); begin += PiecewiseJudge::kUnit) {
    const std::int64_t count = std::min(PiecewiseJudge::kUnit, golden.size() - begin);
    pieces.add(actual.view().slice(begin, count), golden.view().slice(begin, count));
  }
  EXPECT_EQ(whole.outcome, Outcome::kUntrusted);
  EXPECT_EQ(pieces.result().because, whole.because);
  EXPECT_EQ(pieces.result().blind, whole.blind);
}

TEST(BlindnessTest, SampledPositionsAreOneOfEachStretch) {
  EXPECT_THAT(sampled_positions(0), IsEmpty());
  EXPECT_THAT(sampled_positions(3), testing::ElementsAre(0, 1, 2));
  for (const std::int64_t size :
       {kSampledElements, kSampledElements + 1, 3 * kSampledElements - 1, std::int64_t{1} << 40}) {
    const std::vector<std::int64_t> positions = sampled_positions(size);
    ASSERT_EQ(positions.size(), static_cast<std::size_t>(kSampledElements));
    for (std::size_t i = 0; i < positions.size(); ++i) {
      const auto begin =
          static_cast<std::int64_t>(static_cast<Int128>(i) * size / kSampledElements);
      const auto end =
          static_cast<std::int64_t>(static_cast<Int128>(i + 1) * size / kSampledElements);
      ASSERT_TRUE(begin <= positions[i] && positions[i] < end) << size << " " << i;
    }
  }
}

// Nine of eleven elements are not 0. A trial that refuses outputs with n or more zeros, two of
// which are there already, lets n - 3 others be 0.
TEST(BlindnessTest, ATrialFindsTheShareThatMayBeZero) {
  const Tensor expected = vector_of("float64", {0, 5, -3, 0.1, 2, 0, 7, 1e-9, 4, 6, -8});
  const auto share = [&](std::int64_t refused) {
    return blind_share_by_trial(expected, format_named("float32"), [&](const TensorView& output) {
      std::int64_t zeros = 0;
      for (std::int64_t i = 0; i < output.size(); ++i) zeros += output.value_at(i) == 0 ? 1 : 0;
      return zeros < refused;
    });
  };
  for (const std::int64_t refused : {0, 1, 2, 3}) EXPECT_EQ(share(refused), 0) << refused;
  for (std::int64_t refused = 4; refused <= 12; ++refused) {
    EXPECT_DOUBLE_EQ(share(refused), static_cast<double>(refused - 3) / 9);
  }
}

TEST(BlindnessTest, WordsOfAToleranceThatSees) {
  const auto words = [](double max_blind, std::vector<double> sizes) {
    Verdict v;
    v.bound.max_blind = max_blind;
    return tolerance_that_sees(v, [&] { return sizes; });
  };
  // Zeros, NaN and infinity have no part in it.
  EXPECT_EQ(words(0.5, {0, INFINITY, NAN}), "");
  EXPECT_EQ(words(0.5, {0, INFINITY, 3, NAN, 1, 2}),
            "; an absolute tolerance below 2 would see half of what is not zero");
  EXPECT_EQ(words(0.1, {11, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10}),
            "; an absolute tolerance below 2 would see 90 % of what is not zero");
  EXPECT_EQ(words(0, {4, 2}),
            "; an absolute tolerance below 2 would see 100 % of what is not zero");
  EXPECT_EQ(words(1, {4, 2}), "");
}

// Only limits on statistics of more elements than are sampled are estimates.
TEST(BlindnessTest, WordsSayWhetherTheNumberIsAnEstimate) {
  Verdict v;
  v.sites = kSampledElements + 1;
  v.nonzero = 50;
  v.blind = 0;
  EXPECT_EQ(blind_words(v), "");
  v.blind = 12;
  EXPECT_EQ(blind_words(v),
            "the check is blind to 12 of the 50 elements that are not zero (24.0 %): as zeros they "
            "would pass equality");
  v.bound.limits = {{.statistic = Statistic::kMere, .limit = 1}};
  EXPECT_EQ(blind_words(v),
            "the check is blind to about 12 of the 50 elements that are not zero (24.0 %): as "
            "zeros they would pass equality, MERE < 1");
  v.sites = kSampledElements;
  EXPECT_THAT(blind_words(v), testing::StartsWith("the check is blind to 12 of"));
}

// A case may allow more blind elements than half, and says why. A bound that the case did not widen
// has no reason to name.
TEST(BlindnessTest, TheReasonIsNamedOnlyIfTheCaseGivesOne) {
  Verdict v;
  v.outcome = Outcome::kPass;
  v.nonzero = 10;
  v.blind = 6;
  v.bound.max_blind = 0.9;
  ASSERT_EQ(notes_of(v).size(), 1u);
  EXPECT_THAT(notes_of(v)[0], testing::EndsWith("would pass equality"));
  v.bound.max_blind_why = "it is sparse";
  EXPECT_THAT(notes_of(v)[0],
              testing::EndsWith("would pass equality; the case allows it: it is sparse"));
  v.blind = 5;  // half is not more than any case allows
  EXPECT_THAT(notes_of(v)[0], testing::EndsWith("would pass equality"));
}

}  // namespace
}  // namespace assay
