// What matcher tests share: what a matcher says of a value, and values that are not finite.
#pragma once

#include <gmock/gmock.h>

#include <limits>
#include <string>

namespace assay {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

template <typename T, typename M>
std::string explanation(const T& actual, const M& matcher) {
  testing::StringMatchResultListener listener;
  testing::SafeMatcherCast<const T&>(matcher).MatchAndExplain(actual, &listener);
  return listener.str();
}

}  // namespace assay
