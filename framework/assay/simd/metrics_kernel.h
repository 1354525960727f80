// All error metrics of one block of elements, in one pass over float64 values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/simd/ordinals.h"

namespace assay::simd {

// Elements of a block at most; also what the buffers of the caller must hold.
inline constexpr std::size_t kMetricsBlock = 1024;
// Sums run in eight lanes, element i in lane i mod 8, whatever the width of a vector: the same bits
// on every target.
inline constexpr std::size_t kMetricsLanes = 8;

// Logarithmic histograms: 2^k bins an octave, equally wide within it, told apart by the exponent
// and the first k bits of the mantissa.
//   errors: bin 0 is what lies below 2^-160 (0 too), the last one 2^160 and more
//   ulps:   bin 0 is 0, each number below 64 has its own bin, the last one is 2^52 and more
inline constexpr int kErrorBinBits = 4, kUlpBinBits = 5;
inline constexpr int kErrorExponent = 160, kUlpExponent = 52;
inline constexpr std::size_t kErrorBins = (2 * kErrorExponent << kErrorBinBits) + 2;
inline constexpr std::size_t kUlpBins = (kUlpExponent << kUlpBinBits) + 2;
// Every lane counts in its own column, so that no increment waits for the one before it; a column
// holds 65535.
inline constexpr std::size_t kBinsOfAllTables = 2 * kErrorBins + kUlpBins;
inline constexpr std::size_t kTableCounters = kBinsOfAllTables * kMetricsLanes;
inline constexpr std::size_t kTableElements = std::size_t{65535} / 128 * 128 * kMetricsLanes;

// How the distance in representable values follows from two float64 values.
enum class UlpRule {
  kOrdinal,     // of a binary float format, by the fields below
  kDifference,  // integers: |actual - rounded|
  kGiven,       // the caller's own
};

// What of a block is computed, beside kMaxExpected and which elements are finite and have a
// relative error; what is not is 0.
enum MetricsPart : std::uint8_t {
  kPartErrors = 1,    // kSumAbs, kSumExpected, kMaxAbs, errors_at_zero
  kPartSquares = 2,   // kSumNoise, kSumSignal, kSumActual, kSumProduct
  kPartFloored = 4,   // kSumFloored, kMaxFloored
  kPartRelative = 8,  // kSumRel, kSumBalance, kMaxRel, kMaxBalance
  kPartUlps = 16,     // kSumUlps, kMaxUlps, ulps_over_1, ulps_over_32
  kPartCounts = 32,   // rel_over_1e3, rel_over_1e4, small, small_over
  kAllSums = 63,
  kPartTables = 64,  // the rest
  kAllParts = 127,
  kPartNone = 128,  // what is computed anyway
};

// What is fixed for all blocks: the output's format, the bound, and what is asked for.
struct MetricsSpec : Ordinals {
  unsigned parts = kAllParts;  // of MetricsPart; of float64 values all
  UlpRule ulp_rule;
  double rtol, atol;
  bool judged_rounded;  // the bound is about the rounded expected value
  // Elements whose |expected| is below `small_domain`, and of these the errors above `small_error`,
  // are counted; 0 where there is no such domain.
  double small_domain, small_error;
};

// The largest so far; groups of elements that exceed one of them are marked. Nothing exceeds an
// infinite one.
struct MetricsRecords {
  double ratio, atol, rtol;
};

enum MetricsSum : std::size_t {
  kSumAbs,       // |actual - expected|
  kSumSigned,    // actual - expected
  kSumRel,       // |actual - expected| / |expected|, where expected is not 0
  kSumFloored,   // |actual - expected| / (|expected| + 1e-7)
  kSumBalance,   // (actual - expected) / max(1, |expected|)
  kSumNoise,     // (actual - expected)^2
  kSumSignal,    // expected^2
  kSumActual,    // actual^2
  kSumProduct,   // actual * expected
  kSumExpected,  // |expected|
  kSumUlps,      // distance in representable values
  kMetricsSums
};

enum MetricsMax : std::size_t {
  kMaxAbs,
  kMaxRel,
  kMaxFloored,
  kMaxBalance,   // |actual - expected| / max(1, |expected|)
  kMaxExpected,  // |expected|
  kMaxUlps,      // rounded to float64
  kMetricsMaxima
};

// Over the lanes where both sides are finite, but for the tallies of zeros and subnormals, which
// are over all.
struct MetricsBlock {
  double sums[kMetricsSums];
  double maxima[kMetricsMaxima];
  std::int64_t errors_at_zero;  // lanes with an error where 0 is expected
  std::int64_t not_finite;      // lanes where a side is NaN or infinite
  std::int64_t no_ulps;         // lanes that count no ulps: not finite, or rounded to infinity
  std::int64_t no_relative;     // lanes without a relative error: not finite, or expected 0
  std::int64_t rel_over_1e3, rel_over_1e4;  // relative errors of 1e-3, of 1e-4, or more
  std::int64_t small, small_over;
  std::int64_t ulps_over_1, ulps_over_32;  // where the tables do not count them
  std::int64_t zero_actual, zero_expected, subnormal_actual, subnormal_expected;
  bool differs;  // some lane's actual value is not the rounded one, bit for bit
  bool rounds;   // some lane's expected value is not a value of the output's format
  // A group of kMetricsLanes elements: kNotFinite where a lane is, kRecord where a lane may exceed
  // one of the records.
  enum : std::uint8_t { kNotFinite = 1, kRecord = 2 };
  std::uint8_t groups[kMetricsBlock / kMetricsLanes];
};

// n: a multiple of kMetricsLanes, at most kMetricsBlock; what fills up the last group is NaN.
// `rounded`: the expected values in the output's format; may be `expected` itself. `errors`:
// actual - expected where float64 values would not give it, else null; `ulps`: for UlpRule::kGiven.
// `tables`: kTableCounters counters that the block adds to, [bin][lane], the bins of absolute
// errors, then those of relative errors, then those of ulps; a lane that has no such error counts
// in bin 0. After kTableElements elements they have to be emptied.
void metrics_block(const MetricsSpec& spec, const MetricsRecords& records, const double* actual,
                   const double* expected, const double* rounded, const double* errors,
                   const double* ulps, std::size_t n, std::uint16_t* tables, MetricsBlock& block);
// The same of float32 values. Without kPartTables `tables` may be null and the output's format is
// one all of whose values float32 holds.
void metrics_block(const MetricsSpec& spec, const MetricsRecords& records, const float* actual,
                   const float* expected, std::size_t n, std::uint16_t* tables,
                   MetricsBlock& block);

}  // namespace assay::simd
