// Checks matrix products in a device's memory by their row sums. A check is only started: it waits
// for nothing, and its findings are added up in the device's memory until they are fetched.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/options.h"
#include "assay/device/device_memory.h"

namespace assay::inline v0_2 {

// The findings of the checks of one or more calls. The sums are float64's, whose roundings differ
// from those of the host's checks: differences and thresholds agree within 1e-10 of the threshold.
struct ChecksumFindings {
  std::int64_t flagged = 0;
  std::int64_t not_checkable = 0;  // checks whose operands are infinite or NaN
  double worst_ratio = 0;          // the largest difference / threshold
  // If a check was flagged: the number of the first call that flagged one, and one of its checks.
  std::uint64_t first_call = 0;
  std::int64_t first_matrix = 0, first_row = 0;
  double first_difference = 0, first_threshold = 0;
};

// Places in a device's memory where checks add up what they find.
class FindingsArray {
 public:
  FindingsArray(const DeviceView& beside, std::int64_t count);
  // The place of findings `index`, for DeviceChecksum::start().
  void* at(std::int64_t index) const;
  // Waits for the work in the stream, and returns all findings.
  std::vector<ChecksumFindings> fetch() const;

 private:
  std::int64_t count_;
  DeviceView beside_;
  DeviceArray memory_;
};

// The tensors of a product C = A B + bias, [..., M, K] and [..., K, N] and [..., M, N]. B may be
// one matrix for all of a batch. The bias has N values. Rows or columns of A and B are contiguous,
// so that they may be transposed, and rows of C are.
struct DeviceProduct {
  DeviceView a, b, c;
  std::optional<DeviceView> bias = {};
};

// Returns why products like this one cannot be checked in the device's memory, or an empty string.
// They can by rounding_variance, v_abft and a_abft with whole rows (groups=0), in float64, and
// without confirmation: a check above its threshold is flagged.
std::string why_not_on_device(const DeviceProduct& product, const AbftOptions& options);

// The checks of products of one layout: formats, shapes, strides and stream of `like`.
class DeviceChecksum {
 public:
  // Throws Refusal with why_not_on_device() if that is not empty.
  DeviceChecksum(const DeviceProduct& like, const AbftOptions& options);
  ~DeviceChecksum();
  DeviceChecksum(const DeviceChecksum&) = delete;
  DeviceChecksum& operator=(const DeviceChecksum&) = delete;

  // The sums of B and of the bias, in the device's memory. They can be used again until B or the
  // bias changes.
  class Weights;
  // Starts the sums.
  std::shared_ptr<const Weights> weights(const void* b, const void* bias) const;

  // Starts the check of a product of this layout. `number` is that of the call, from 1. The
  // findings are added to those at `to`.
  void start(const void* a, const Weights& weights, const void* c, std::uint64_t number,
             void* to) const;

  std::int64_t checks() const;  // of each call

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
