// The setters that several matchers share. Each is defined once, in a class that a matcher derives
// from in addition to TensorMatcher. The matcher documents what the setter means for it. All
// setters return a changed copy.
#pragma once

#include <optional>
#include <string>

namespace assay {

// rtol() and atol() set the tolerance of |actual - expected| <= atol + rtol |expected|.
template <typename Matcher>
class ToleranceSetters {
 public:
  Matcher rtol(double value) const {
    Matcher changed = static_cast<const Matcher&>(*this);
    changed.rtol_ = value;
    return changed;
  }
  Matcher atol(double value) const {
    Matcher changed = static_cast<const Matcher&>(*this);
    changed.atol_ = value;
    return changed;
  }

 protected:
  std::optional<double> rtol_, atol_;
};

// equal_nan() says if NaN matches NaN.
template <typename Matcher>
class EqualNanSetter {
 public:
  Matcher equal_nan(bool value = true) const {
    Matcher changed = static_cast<const Matcher&>(*this);
    changed.equal_nan_ = value;
    return changed;
  }

 protected:
  std::optional<bool> equal_nan_;
};

// max_blind() sets the largest share of the nonzero elements that could be 0 without the check
// failing. A pass with a larger share is not trusted (docs/judging.md). The default is 0.5.
template <typename Matcher>
class MaxBlindSetter {
 public:
  Matcher max_blind(double share) const {
    Matcher changed = static_cast<const Matcher&>(*this);
    changed.max_blind_ = share;
    return changed;
  }

 protected:
  std::optional<double> max_blind_;
};

// producer() is for a case. It names the producer of the output that is tested. For an emulated
// output it is the machine's name.
template <typename Matcher>
class ProducerSetter {
 public:
  Matcher producer(const std::string& name) const {
    Matcher changed = static_cast<const Matcher&>(*this);
    changed.producer_ = name;
    return changed;
  }

 protected:
  std::string producer_;
};

}  // namespace assay
