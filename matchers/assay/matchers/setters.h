// The setters that several matchers share. Each is defined once, in a class that a matcher derives
// from in addition to TensorMatcher. The matcher documents what the setter means for it. All
// setters return a changed copy.
#pragma once

#include <optional>
#include <string>

namespace assay::inline v0_2 {

// Returns a copy of a matcher in which a member of its base has this value.
template <typename Matcher, typename Base, typename Member, typename Value>
Matcher with_value(const Base& matcher, Member Base::*member, const Value& value) {
  Matcher changed = static_cast<const Matcher&>(matcher);
  changed.*member = value;
  return changed;
}

// rtol() and atol() set the tolerance of |actual - expected| <= atol + rtol |expected|.
template <typename Matcher>
class ToleranceSetters {
 public:
  Matcher rtol(double value) const {
    return with_value<Matcher>(*this, &ToleranceSetters::rtol_, value);
  }
  Matcher atol(double value) const {
    return with_value<Matcher>(*this, &ToleranceSetters::atol_, value);
  }

 protected:
  std::optional<double> rtol_, atol_;
};

// equal_nan() says if NaN matches NaN.
template <typename Matcher>
class EqualNanSetter {
 public:
  Matcher equal_nan(bool value = true) const {
    return with_value<Matcher>(*this, &EqualNanSetter::equal_nan_, value);
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
    return with_value<Matcher>(*this, &MaxBlindSetter::max_blind_, share);
  }

 protected:
  std::optional<double> max_blind_;
};

// allow_empty() lets an output without elements pass, if the shapes agree. By default it is not
// trusted.
template <typename Matcher>
class AllowEmptySetter {
 public:
  Matcher allow_empty(bool value = true) const {
    return with_value<Matcher>(*this, &AllowEmptySetter::allow_empty_, value);
  }

 protected:
  bool allow_empty_ = false;
};

// producer() is for a case. It names the producer of the output that is tested. For an emulated
// output it is the machine's name.
template <typename Matcher>
class ProducerSetter {
 public:
  Matcher producer(const std::string& name) const {
    return with_value<Matcher>(*this, &ProducerSetter::producer_, name);
  }

 protected:
  std::string producer_;
};

}  // namespace assay
