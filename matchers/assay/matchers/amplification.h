// AmplificationNear: passes if there are differences, and each of them comes from an index that a
// small difference of its coordinate changes.
//
//   EXPECT_THAT(out, AmplificationNear(reference, y));  // out = table[int(y)] of some kind
#pragma once

#include <string>
#include <string_view>

#include "assay/matchers/setters.h"
#include "assay/matchers/tensor_matcher.h"

namespace assay::inline v0_2 {

// rtol() and atol() say what counts as a difference: |actual - expected| > atol + rtol |expected|.
// If only one of the two is set, the other is 0. If neither is set, the case's own bound applies.
// For a tensor, it is the default standard's bound for its dtype.
class AmplificationMatcher : public TensorMatcher<AmplificationMatcher>,
                             public ToleranceSetters<AmplificationMatcher> {
 public:
  AmplificationMatcher(Reference reference, Reference coordinates)
      : reference_(std::move(reference)), coordinates_(std::move(coordinates)) {}

  // Sets the largest distance from a whole number that counts as near. It is a number of spacings
  // of the coordinate's format at that whole number. The default is 4.
  AmplificationMatcher ulps(int value) const {
    return with([&](auto& m) { m.ulps_ = value; });
  }

  static constexpr std::string_view kWhyOnHost = "the elements that differ are found there";
  MatchReport check_on_host(const TensorView& actual, HostCopies& copies) const;
  std::string describe(bool negated) const;

 private:
  Reference reference_, coordinates_;
  int ulps_ = 4;
};

// Matches if there are differences, and each of them is at a coordinate of the reference that is
// within a few ulps of a whole number. Another rounding of such a coordinate gives another int().
// The explanation names these elements. int() truncates towards zero, so 0 is not such a number.
//
// `coordinates` are those of the reference. They have the reference's shape, or additional
// dimensions after it if an element comes from several coordinates. One of these near a whole
// number is enough.
inline AmplificationMatcher AmplificationNear(Reference reference, Reference coordinates) {
  return {std::move(reference), std::move(coordinates)};
}

}  // namespace assay
