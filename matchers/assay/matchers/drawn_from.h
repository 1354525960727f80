// DrawnFrom: checks random numbers, masks and samples against the law that they are drawn from.
//
//   EXPECT_THAT(noise, DrawnFrom("normal,mean=0,deviation=2"));
//   EXPECT_THAT(dropped, DrawnFrom("dropout,p=0.1", x));             // 0, or x / (1 - p)
//   EXPECT_THAT(tokens, DrawnFrom("categorical", probabilities));
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "assay/matchers/tensor_matcher.h"

namespace assay::inline v0_2 {

// Judges by the standard distribution(LAW), as `assay gate` does (docs/judging.md). Correct draws
// fail any of its tests with a probability of at most 1e-6, or of the law's delta=... if it is
// given.
class DrawnFromMatcher : public TensorMatcher<DrawnFromMatcher> {
 public:
  DrawnFromMatcher(std::string law, std::optional<Reference> reference);

  static constexpr std::string_view kWhyOnHost = "draws are judged there";
  MatchReport check_on_host(const TensorView& actual, HostCopies& copies) const;
  std::string describe(bool negated) const;

 private:
  std::string law_;
  std::optional<Reference> reference_;
};

// Checks draws of a law that needs only its parameters.
DrawnFromMatcher DrawnFrom(std::string law);
// Checks draws of a law that needs a reference. For dropout this is the tensor from which values
// are dropped, and for a categorical law the probabilities. If the reference is a case, its
// attributes complete the law, and its golden result is the reference.
DrawnFromMatcher DrawnFrom(std::string law, Reference reference);

}  // namespace assay
