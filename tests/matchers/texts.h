// Shared by the tests of matchers: tensors, a matcher's explanation, and values that are not
// finite.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "assay/tensor/tensor.h"

namespace assay {

inline constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
inline constexpr float kInf = std::numeric_limits<float>::infinity();

inline Tensor tensor(const char* dtype, Shape shape, const std::vector<double>& values) {
  return Tensor::from_values(format_named(dtype), std::move(shape), values);
}

template <typename T, typename M>
std::string explanation(const T& actual, const M& matcher) {
  testing::StringMatchResultListener listener;
  testing::SafeMatcherCast<const T&>(matcher).MatchAndExplain(actual, &listener);
  return listener.str();
}

// Returns the messages of the failures that the call adds to the current test, without adding them.
template <typename Call>
std::vector<std::string> failures_of(const Call& call) {
  testing::TestPartResultArray results;
  {
    const testing::ScopedFakeTestPartResultReporter reporter(
        testing::ScopedFakeTestPartResultReporter::INTERCEPT_ONLY_CURRENT_THREAD, &results);
    call();
  }
  std::vector<std::string> messages;
  for (int i = 0; i < results.size(); ++i) {
    messages.emplace_back(results.GetTestPartResult(i).message());
  }
  return messages;
}

}  // namespace assay
