// AmplificationNear: every difference comes from an index that was about to change anyway.
//
//   EXPECT_THAT(out, AmplificationNear(reference, y));  // out = table[int(y)] of some kind
#pragma once

#include <string>

#include "assay/matchers/setters.h"
#include "assay/matchers/tensor_matcher.h"

namespace assay {

// rtol(), atol(): what counts as a difference, |actual - expected| > atol + rtol |expected|. Where
// one of the two is given, the other is 0; without both, the case's own bound, or of a tensor the
// default standard's for its dtype.
class AmplificationMatcher : public TensorMatcher<AmplificationMatcher>,
                             public ToleranceSetters<AmplificationMatcher> {
 public:
  AmplificationMatcher(Reference reference, Reference coordinates)
      : reference_(std::move(reference)), coordinates_(std::move(coordinates)) {}

  // How near is near, in spacings of the coordinate's format at the whole number (4).
  AmplificationMatcher ulps(int value) const {
    return with([&](auto& m) { m.ulps_ = value; });
  }

  MatchReport check(const TensorView& actual) const;
  std::string describe(bool negated) const;

 private:
  Reference reference_, coordinates_;
  int ulps_ = 4;
};

// There are differences, and each of them is where a coordinate of the reference is within a few
// ulps of a whole number, so that another rounding of it gives another int(). The explanation names
// these elements. int() cuts towards zero: 0 is no such number.
// `coordinates`: the reference's, of the reference's shape, or with more dimensions behind it where
// an element comes from several; one of them near a whole number is enough.
inline AmplificationMatcher AmplificationNear(Reference reference, Reference coordinates) {
  return {std::move(reference), std::move(coordinates)};
}

}  // namespace assay
