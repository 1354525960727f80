// Measures e_max, the only measured constant of V-ABFT (V-ABFT design specification 1.2, section
// 3). It is the largest relative difference between the row sum and the checksum of a row. A
// machine's matrix unit computes both.
#pragma once

#include <cstdint>
#include <string_view>

#include "assay/machine/machine.h"

namespace assay::inline v0_2::abft {

// Distribution of the operands (tensor/distribution.h) before they are rounded to the working
// format.
enum class CalibrationInputs : std::uint8_t {
  // N(1, 1), a normal distribution. For float16 it is multiplied by 0.01, because its sums would
  // overflow (the specification).
  kNormal,
  kFolded,  // |N(0, 1) + 1|, as for the published float32 grids
  // |N(0, 1)| + 0.5, as for the published bfloat16 and float16 grids. For float16 it is multiplied
  // by min(1, sqrt(65504 / (4 K N))).
  kShifted,
};
std::string_view inputs_word(CalibrationInputs inputs);

struct CalibrationPlan {
  const Machine* machine = nullptr;
  const Format* dtype = nullptr;  // format of the operands, of C and of both checksums
  std::int64_t m = 128, k = 1024, n = 256;
  CalibrationInputs inputs = CalibrationInputs::kNormal;
  std::int64_t trials = 100;  // number of products, each of m rows
  std::uint64_t seed = 0;
  int threads = 0;  // The result does not depend on the number of threads.
};

struct Calibration {
  // The number of rows that count, and of skipped ones. A row is skipped if its checksum is 0, or
  // if its checksum or row sum is NaN or infinite.
  std::int64_t rows = 0, skipped = 0;
  double e_max = 0;  // largest |difference| / |checksum| seen
  // Mean and standard deviation of the signed relative difference.
  double mean = 0, deviation = 0;
  // |mean| + 5.45 deviations. If the errors are normally distributed, as those of float32 sums are,
  // this is the expected largest of 12.8 million rows (100 000 trials).
  double predicted = 0;
};

// Compares (A B) 1 with A (B 1), where 1 is a column of ones. The machine's matrix unit computes
// every product, and each is rounded to the dtype. Throws Refusal if the machine does
// not take the dtype or has no matrix unit, if the dtype is an integer, or if a size is below 1.
Calibration calibrate(const CalibrationPlan& plan);

}  // namespace assay::abft
