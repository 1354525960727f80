// DrawnFrom: random numbers, masks and samples against the law that they are drawn from.
//
//   EXPECT_THAT(noise, DrawnFrom("normal,mean=0,deviation=2"));
//   EXPECT_THAT(dropped, DrawnFrom("dropout,p=0.1", x));             // 0, or x / (1 - p)
//   EXPECT_THAT(tokens, DrawnFrom("categorical", probabilities));
#pragma once

#include <optional>
#include <string>

#include "assay/matchers/tensor_matcher.h"

namespace assay {

// Judged by the standard distribution(LAW), as `assay gate` does (docs/judging.md): tests that
// right draws fail with probability 1e-6 at most, all together, or delta=... of the law.
class DrawnFromMatcher : public TensorMatcher<DrawnFromMatcher> {
 public:
  DrawnFromMatcher(std::string law, std::optional<Reference> reference);

  MatchReport check(const TensorView& actual) const;
  std::string describe(bool negated) const;

 private:
  std::string law_;
  std::optional<Reference> reference_;
};

// A law that needs nothing but its parameters. Throws std::invalid_argument, when it is matched, on
// a law that is none.
DrawnFromMatcher DrawnFrom(std::string law);
// A law of a reference: what dropout drops from, the probabilities of a categorical law. Of a case
// its own words complete the law, and its golden result is the reference.
DrawnFromMatcher DrawnFrom(std::string law, Reference reference);

}  // namespace assay
