// The accumulators behind Metrics: one pass, in parts that are merged in order.
#pragma once

#include "assay/judge/verdict.h"

namespace assay {

class MetricsPass {
 public:
  MetricsPass(const Format& output, const Bound& bound) : format_(&output), bound_(&bound) {}

  // `expected` as stored, `rounded` in the output's format; positions begin at `first`. `errors`,
  // where it is given, are the exact differences of integers that float64 does not carry.
  void add(const double* actual, const double* expected, const double* rounded, std::size_t n,
           std::int64_t first, const double* errors);
  // Two NaN of different bits were met.
  void nan_bits_differ() { ++differing_; }
  void merge(const MetricsPass& later);
  Metrics result() const;
  // Largest error / bound over finite elements, as the tolerance rule compares them.
  double worst_ratio() const { return worst_ratio_; }

 private:
  const Format* format_;
  const Bound* bound_;
  Metrics m_;
  std::int64_t total_ = 0, relative_ = 0, differing_ = 0;
  double worst_ratio_ = 0;
  double abs_sum_ = 0, rel_sum_ = 0, mere_sum_ = 0, signed_sum_ = 0;
  // Squares of float64 values need more exponent than a float64 has.
  long double noise_ = 0, signal_ = 0, actual_square_ = 0, product_ = 0;
};

}  // namespace assay
