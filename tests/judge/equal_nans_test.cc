// Tests how verdicts count a NaN if NaN is expected.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "assay/base/text.h"
#include "assay/judge/verdict.h"
#include "oracle.h"

namespace assay {
namespace {

using oracle::bound_of;
using oracle::vector_of;

constexpr double kNotANumber = std::numeric_limits<double>::quiet_NaN();

// For several dtypes and rules, 0, 1, half, one more than half and all of 20 expected elements are
// NaN. The output has the same NaNs.
TEST(Policies, EqualNansAreCountedAndMayBeHalfOfTheReference) {
  for (const char* dtype : {"float16", "bfloat16", "float32", "float64", "float8_e5m2"}) {
    for (const std::int64_t nans : {0, 1, 10, 11, 20}) {
      std::vector<double> values(20, 1.5);
      std::fill_n(values.begin(), nans, kNotANumber);
      const Tensor golden = vector_of(dtype, values), output = golden;
      for (Bound b :
           {oracle::tolerance(0, 1e-3), oracle::within_ulps(2), bound_of("bit_equal", dtype)}) {
        SCOPED_TRACE(formatted("{} {} {}", dtype, nans, b.text()));
        b.nan_equal = true;
        const Verdict v = judge(output, golden, b);
        EXPECT_EQ(v.mismatches, 0);
        if (nans > 10) {
          EXPECT_EQ(v.outcome, Outcome::kUntrusted);
          EXPECT_EQ(v.because,
                    formatted("{} of 20 expected elements are NaN, which is more than half: check "
                              "how the golden result was made",
                              nans));
        } else {
          EXPECT_EQ(v.outcome, Outcome::kPass) << v.because;
        }
        if (nans == 0) {
          EXPECT_TRUE(v.notes.empty());
        } else {
          EXPECT_THAT(v.notes, testing::ElementsAre(
                                   formatted("{} of 20 elements {} NaN where NaN is expected", nans,
                                             nans == 1 ? "is" : "are")));
        }
      }
    }
  }
}

}  // namespace
}  // namespace assay
