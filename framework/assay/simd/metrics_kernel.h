// All error metrics of one block of elements, in one pass over float64 values.
#pragma once

#include <cstddef>
#include <cstdint>

#include "assay/simd/ordinals.h"

namespace assay::inline v0_2::simd {

// The largest number of elements of a block, and the size that the caller's buffers must have.
inline constexpr std::size_t kMetricsBlock = 1024;
// Sums have eight lanes, with element i in lane i mod 8, for every width of a vector. So the bits
// are the same on every target.
inline constexpr std::size_t kMetricsLanes = 8;

// Logarithmic histograms with 2^k bins for each octave, equally wide within it. The exponent and
// the first k bits of the mantissa select the bin.
//   errors: bin 0 has errors below 2^-160 and 0, the last bin has 2^160 and more
//   ulps:   bin 0 has 0, each number below 64 has its own bin, the last bin has 2^52 and more
inline constexpr int kErrorBinBits = 4, kUlpBinBits = 5;
inline constexpr int kErrorExponent = 160, kUlpExponent = 52;
inline constexpr std::size_t kErrorBins = (2 * kErrorExponent << kErrorBinBits) + 2;
inline constexpr std::size_t kUlpBins = (kUlpExponent << kUlpBinBits) + 2;
// Every lane counts in its own column, so that no increment waits for the one before it. A column
// holds 65535.
inline constexpr std::size_t kBinsOfAllTables = 2 * kErrorBins + kUlpBins;
inline constexpr std::size_t kTableCounters = kBinsOfAllTables * kMetricsLanes;
inline constexpr std::size_t kTableElements = std::size_t{65535} / 128 * 128 * kMetricsLanes;

// The rule for the distance, in representable values, of two float64 values.
enum class UlpRule {
  kOrdinal,     // between the values of the binary float format below
  kDifference,  // between integers: |actual - rounded|
  kGiven,       // the caller's own
};

// The metrics of a block to compute. kMaxExpected and the tests for finite elements and for
// relative errors are always computed. Metrics that are not computed are 0.
enum MetricsPart : std::uint8_t {
  kPartErrors = 1,    // computes kSumAbs, kSumExpected, kMaxAbs, errors_at_zero
  kPartSquares = 2,   // computes kSumNoise, kSumSignal, kSumActual, kSumProduct
  kPartFloored = 4,   // kSumFloored, kMaxFloored
  kPartRelative = 8,  // computes kSumRel, kSumBalance, kMaxRel, kMaxBalance
  kPartUlps = 16,     // computes kSumUlps, kMaxUlps, ulps_over_1, ulps_over_32
  // Counts the elements whose relative error is at least 1e-3 (rel_over_1e3) and at least 1e-4
  // (rel_over_1e4), those with |expected| below MetricsSpec::small_domain (small), and those of
  // the latter whose error is above small_error (small_over).
  kPartCounts = 32,
  kAllSums = 63,
  kPartTables = 64,  // the rest
  kAllParts = 127,
  kPartNone = 128,  // computes only what is always computed
};

// Settings for all blocks: the output's format, the bound, and the metrics to compute.
struct MetricsSpec : Ordinals {
  unsigned parts = kAllParts;  // MetricsPart bits. Float64 values need kAllParts.
  UlpRule ulp_rule;
  double rtol, atol;
  // True if the bound is relative to the rounded expected value.
  bool judged_rounded;
  // Elements whose |expected| is below `small_domain` are counted, and those among them with an
  // error above `small_error`. 0 if there is no such domain.
  double small_domain, small_error;
};

// The largest values so far of the ratio of an error to its bound, and of the atol and the rtol
// that an error needs to be within its bound. Groups of elements that exceed one of them are
// marked. Nothing exceeds an infinite record.
struct MetricsRecords {
  double ratio, atol, rtol;
};

enum MetricsSum : std::size_t {
  kSumAbs,       // |actual - expected|
  kSumSigned,    // actual - expected
  kSumRel,       // |actual - expected| / |expected|, if expected is not 0
  kSumFloored,   // |actual - expected| / (|expected| + 1e-7)
  kSumBalance,   // (actual - expected) / max(1, |expected|)
  kSumNoise,     // (actual - expected)^2
  kSumSignal,    // expected^2
  kSumActual,    // actual^2
  kSumProduct,   // actual * expected
  kSumExpected,  // |expected|
  kSumUlps,      // distance of actual from expected, in representable values
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

// Statistics over the lanes in which both sides are finite. Zeros and subnormals are counted over
// all lanes.
struct MetricsBlock {
  double sums[kMetricsSums];
  double maxima[kMetricsMaxima];
  std::int64_t errors_at_zero;  // lanes where 0 is expected and the actual value is not 0
  std::int64_t not_finite;      // lanes in which a side is NaN or infinite
  std::int64_t no_ulps;         // lanes that count no ulps: not finite, or rounded to infinity
  std::int64_t no_relative;     // lanes without a relative error: not finite, or expected 0
  // The numbers of relative errors of at least 1e-3, and of at least 1e-4.
  std::int64_t rel_over_1e3, rel_over_1e4;
  std::int64_t small, small_over;
  std::int64_t ulps_over_1, ulps_over_32;  // only set if the tables do not count ulps
  std::int64_t zero_actual, zero_expected, subnormal_actual, subnormal_expected;
  // True if some lane's actual value differs in bits from the rounded expected value.
  bool differs;
  // True if some lane's expected value is not a value of the output's format.
  bool rounds;
  // Marks for each group of kMetricsLanes elements: kNotFinite if a lane is not finite, kRecord if
  // a lane may exceed one of the records.
  enum : std::uint8_t { kNotFinite = 1, kRecord = 2 };
  std::uint8_t groups[kMetricsBlock / kMetricsLanes];
};

// Computes the metrics of one block.
// - n is a multiple of kMetricsLanes, at most kMetricsBlock. The last group is filled up with NaN.
// - `rounded` has the expected values in the output's format, and may be `expected` itself.
// - `errors` is actual - expected if float64 values would not give it, or null.
// - `ulps` is for UlpRule::kGiven.
// - `tables` has kTableCounters counters that the block adds to, [bin][lane]: the bins of absolute
//   errors, then those of relative errors, then those of ulps. A lane without such an error counts
//   in bin 0. The tables have to be emptied after kTableElements elements.
void metrics_block(const MetricsSpec& spec, const MetricsRecords& records, const double* actual,
                   const double* expected, const double* rounded, const double* errors,
                   const double* ulps, std::size_t n, std::uint16_t* tables, MetricsBlock& block);
// Computes the same metrics for float32 values. Without kPartTables, `tables` may be null. Float32
// must hold all values of the output's format.
void metrics_block(const MetricsSpec& spec, const MetricsRecords& records, const float* actual,
                   const float* expected, std::size_t n, std::uint16_t* tables,
                   MetricsBlock& block);

}  // namespace assay::simd
