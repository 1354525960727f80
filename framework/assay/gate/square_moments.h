// The squared errors of elements that are normal by chance and rounded last
// (docs/expected_error.md): their mean and variance.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "assay/format/nearest.h"
#include "assay/op/chance_unit.h"

namespace assay::inline v0_2 {

// The mean and variance of one element's squared error, and the mean of the error, if the error is
// random.
struct SquareMoments {
  double mean = 0, variance = 0;
  double jump = 0;        // the largest step of the square, if it takes only a few values
  double mean_error = 0;  // the mean of the error itself
};

// The last rounding of a computation, to nearest even.
class LastRounding : public NearestRounding {
 public:
  explicit LastRounding(const Format& format);
  // The deviation, in ulps, above which a rounded normal number has the moments of the number plus
  // those of the rounding error.
  double smooth() const { return smooth_; }

 private:
  double smooth_;
};

// Returns the last rounding of the elements, or nothing if `errors.last` is null. The errors are
// then those of the results themselves.
std::optional<LastRounding> last_rounding(const ExpectedErrors& errors);

// Returns the moments of round(e + x) - e, where x is normal with mean and deviation. Without
// `last` they are those of x itself.
SquareMoments square_moments(const std::optional<LastRounding>& last, double e, double mean,
                             double deviation);

// The moments of a block of elements. Each has the same bits as square_moments() of that element.
class BlockMoments {
 public:
  explicit BlockMoments(std::size_t most);
  void compute(const std::optional<LastRounding>& last, std::size_t n, const double* e,
               const double* mean, const double* deviation);
  // Raises mean, variance and jump of element i to those of the other block if the latter are
  // larger.
  void raise(const BlockMoments& other, std::size_t i);

  std::vector<double> mean, variance, jump, mean_error;
};

}  // namespace assay
