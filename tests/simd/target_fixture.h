// A test that runs on every SIMD target of this processor.
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "assay/simd/targets.h"

namespace assay::simd {

class OnEveryTarget : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { force_target(GetParam()); }
  void TearDown() override { force_target(""); }
};

inline std::string target_of(const testing::TestParamInfo<std::string>& info) { return info.param; }

}  // namespace assay::simd
