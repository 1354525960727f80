// Sums that are tried side by side agree with an output if those tried one by one do.
#include "assay/identify/lanes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "assay/identify/space.h"
#include "identify/models.h"
#include "simd/target_fixture.h"

namespace assay::identify {
namespace {

class Lanes : public simd::OnEveryTarget {};
INSTANTIATE_TEST_SUITE_P(OnTarget, Lanes, testing::ValuesIn(simd::available_targets()),
                         simd::target_of);

// Returns a product by a random model, of values that are ordinary or of any size, with or without
// a bias.
Case product_of(Random& random, const DotModel& model, bool wild) {
  Case c = product_by(model, "p", 4, 40, 5, random);
  const Format& f = format_named(model.input);
  if (wild) {
    for (const char* name : {"a", "b"}) {
      Tensor& t = c.inputs.at(name);
      for (std::int64_t i = 0; i < t.size(); i += 1 + static_cast<std::int64_t>(random.below(4))) {
        const double size = std::ldexp(random.normal(), static_cast<int>(random.below(80)) - 40);
        const double most = max_finite(f);
        t.set_bits(i, encode(f, std::clamp(size, -most, most)));
      }
    }
    compute_by(model, {}, c);
  }
  return c;
}

TEST_P(Lanes, AgreeWhereTrialsDo) {
  Random random(3, 0);
  int agree = 0, differ = 0;
  for (int i = 0; i < 400; ++i) {
    DotModel model = random_model(random, i % 2 == 0);
    if (model.kept_bits.value == 0) continue;
    const Case c = product_of(random, model, i % 4 == 0);
    const Sums s = sums_of(c, "device");
    std::vector<Candidate> candidates;
    for (int kept = 6; kept <= 44; ++kept) {
      Candidate candidate;
      candidate.model = model;
      candidate.model.kept_bits.value = kept;
      if (i % 3 != 0) candidate.split.terms = static_cast<std::int64_t>(1 + random.below(45));
      if (i % 3 == 2) candidate.inner_interval = static_cast<std::int64_t>(1 + random.below(9));
      if (random.below(4) == 0) candidate.split.order = PartOrder::kDescending;
      if (random.below(4) == 0) candidate.model.sum_bits.value = 24;
      candidates.push_back(plain(candidate));
      // A list may name a candidate twice.
      if (i % 5 == 0) candidates.push_back(candidates.back());
    }
    AllOperands operands(s);
    for (std::int64_t element = 0; element < s.count; element += 3) {
      const std::vector<char> side_by_side = agreeing(s, operands, candidates, {{element}}, 1);
      for (std::size_t j = 0; j < candidates.size(); ++j) {
        const bool alone = Trial(s, operands.of(candidates[j]), candidates[j]).agrees(element);
        ASSERT_EQ(side_by_side[j] != 0, alone)
            << text_of_model(candidates[j].model) << " element " << element << " parts of "
            << candidates[j].split.terms;
        (alone ? agree : differ) += 1;
      }
    }
  }
  EXPECT_GT(agree, 1000);
  EXPECT_GT(differ, 1000);
}

TEST_P(Lanes, ManySumsAreTheSingleOnes) {
  Random random(4, 0);
  for (int i = 0; i < 600; ++i) {
    const DotModel model = random_model(random, i % 2 == 0);
    Case c = product_of(random, model, i % 4 == 0);
    if (i % 3 == 0) {
      Tensor bias(format_named("float32"), {c.inputs.at("b").shape()[1]});
      for (std::int64_t j = 0; j < bias.size(); ++j) {
        bias.set_bits(j, encode(bias.format(), random.normal()));
      }
      c.inputs["bias"] = std::move(bias);
    }
    const Sums s = sums_of(c, "device");
    Candidate candidate;
    candidate.model = model;
    candidate.bias_first = i % 2 == 0;
    candidate.round_before_bias = i % 5 == 0;
    if (i % 2 != 0) candidate.split.terms = 7;
    if (i % 7 == 0) candidate.model.chunk.value = 1;
    candidate = plain(candidate);
    AllOperands operands(s);
    const Trial trial(s, operands.of(candidate), candidate);
    std::vector<Pairing> pairings;
    for (std::int64_t element = 0; element < 8; ++element) {
      pairings.push_back({element % 4, element % 5, element % 3, element});
    }
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{8}}) {
      const std::vector<double> sums = ManySums(trial).of(std::span(pairings).first(count));
      ASSERT_EQ(sums.size(), count);
      for (std::size_t p = 0; p < count; ++p) {
        const double alone = trial.other_sum(pairings[p]);
        ASSERT_TRUE(sums[p] == alone || (std::isnan(sums[p]) && std::isnan(alone)))
            << sums[p] << " is not " << alone << ": " << text_of_model(model);
      }
    }
    std::vector<std::int64_t> elements(static_cast<std::size_t>(s.count));
    std::iota(elements.begin(), elements.end(), 0);
    std::int64_t alone = 0;
    for (const std::int64_t element : elements) alone += trial.agrees(element) ? 1 : 0;
    const std::vector<Candidate> twice = {candidate, candidate};
    EXPECT_EQ(agreements(s, operands, twice, elements, s.count, 1),
              std::vector<std::int64_t>(2, alone));
    EXPECT_EQ(agreeing(s, operands, twice, elements, 1),
              std::vector<char>(2, alone == s.count ? 1 : 0));
  }
}

// Tests sums whose scales change along K or do not, with and without promotion.
TEST_P(Lanes, ScaledSumsAreTheSingleOnes) {
  Random random(5, 0);
  for (int i = 0; i < 60; ++i) {
    const DotModel model = random_model(random, false);
    const Case c = product_of(random, model, i % 4 == 0);
    Sums s = sums_of(c, "device");
    s.op = "scaled_matmul";
    s.cuts =
        i % 3 == 0 ? std::vector<std::int64_t>{0, s.k} : std::vector<std::int64_t>{0, 16, 32, s.k};
    const auto scales = [&](std::size_t rows) {
      std::vector<float> all;
      for (std::size_t j = 0; j < rows * (s.cuts.size() - 1); ++j) {
        all.push_back(static_cast<float>(random.normal()));
      }
      return all;
    };
    s.a_scales = scales(4);
    s.b_scales = scales(5);
    Candidate candidate;
    candidate.model = model;
    if (i % 2 != 0) candidate.split.terms = 8;
    candidate.fused = i % 5 != 0;
    candidate.scale_order = i % 7 == 0 ? ScaleOrder::kAFirst : ScaleOrder::kTogether;
    candidate = plain(candidate);
    AllOperands operands(s);
    const Trial trial(s, operands.of(candidate), candidate);
    std::vector<Pairing> pairings;
    for (std::int64_t e = 0; e < 8; ++e) {
      pairings.push_back(
          {s.a_row[static_cast<std::size_t>(e)], s.b_row[static_cast<std::size_t>(e)], e % 3, e});
    }
    const std::vector<double> sums = ManySums(trial).of(pairings);
    for (std::size_t p = 0; p < pairings.size(); ++p) {
      const double alone = trial.other_sum(pairings[p]);
      ASSERT_TRUE(sums[p] == alone || (std::isnan(sums[p]) && std::isnan(alone)))
          << sums[p] << " is not " << alone << ": " << text_of_model(model);
    }
  }
}

}  // namespace
}  // namespace assay::identify
