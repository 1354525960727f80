// GoogleTest matchers that know the dtype of what they compare.
//
//   #include <assay/matchers.h>
//   using assay::CloseTo;
//
//   EXPECT_THAT(out, CloseTo(reference));                     // the default standard's tolerance
//   EXPECT_THAT(out, CloseTo(reference).rtol(1e-2).atol(0));  // your own
//   EXPECT_THAT(out, CloseTo(reference).standard("torch"));   // that of a published standard
//   EXPECT_THAT(out, MeetsStandard("torch", reference));      // the same
//   EXPECT_THAT(out, CloseTo(dataset_case));       // golden result and bound of a case
//   EXPECT_THAT(outputs, CloseTo(dataset_case));   // several outputs of a case, by name
//   EXPECT_THAT(out, WithinUlps(reference, 2));
//   EXPECT_THAT(out, SnrAtLeast(reference, 40));   // in dB; also CosineAtLeast, RelativeL2AtMost
//   EXPECT_THAT(out, NoWorseThan(other, golden));  // no larger error than another output has
//   EXPECT_THAT([&] { return op(x); }, Deterministic(10));
//   EXPECT_THAT(out, DrawnFrom("uniform,low=0,high=1"));  // random numbers, by tests of their law
//   EXPECT_THAT(out, AmplificationNear(reference, y));    // differs only where int(y) may change
//   EXPECT_THAT(c, AbftClose(a, b));               // a product by its checksums, no golden result
//   EXPECT_THAT(c, AbftClose(a, b).whole_rows());  // the same in O(N^2)
//   EXPECT_THAT(my_softmax, PassesTrial("softmax"));  // a kernel, for inputs that assay draws
//   EXPECT_THAT(rate, DetectionRateAtLeast(0.99, 0.95));  // or FalseAlarmRateAtMost
//   EXPECT_THAT(out, AllOf(Not(BitEqual(other)), CloseTo(reference)));
//
// `out` and `reference` are tensors, tensor views, DLPack tensors, vectors and spans of numbers,
// or, with <assay/matchers/eigen.h>, Eigen matrices. With <assay/cuda.h> they may also lie in a
// device's memory. Shapes must agree, because nothing is broadcast. The dtype of `out` determines
// the tolerance. A check that could not have failed (an all-zero reference, an infinite tolerance)
// does not match, and says so.
#pragma once

#include "assay/matchers/abft_close.h"
#include "assay/matchers/amplification.h"
#include "assay/matchers/deterministic.h"
#include "assay/matchers/drawn_from.h"
#include "assay/matchers/elementwise.h"
#include "assay/matchers/metric.h"
#include "assay/matchers/print.h"
#include "assay/matchers/rates.h"
#include "assay/matchers/trial.h"
