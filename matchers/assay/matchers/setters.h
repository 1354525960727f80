// The setters that several matchers share. Each stands here once, in a class that a matcher derives
// from beside TensorMatcher; what it means to that matcher is said there. All return a changed
// copy.
#pragma once

#include <optional>
#include <string>

namespace assay {

// rtol() and atol(): |actual - expected| <= atol + rtol |expected|.
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

// equal_nan(): whether NaN matches NaN.
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

// max_blind(): a pass cannot be trusted where a larger share of the elements that are not zero
// could be zero and pass as well (docs/judging.md); 0.5 where nothing else is said.
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

// producer(): of a case, whose output is tested; a machine's name where it was emulated.
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
