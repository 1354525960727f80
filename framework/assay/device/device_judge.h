// Judges tensors in a device's memory, without copying them. A kernel finds the stretches of
// elements that match for sure, and only the others are copied to the host, where the judge of
// every other check looks at them. So a pass costs one reading of both tensors. If the verdict is
// not a pass, both tensors are copied to the host and judged there as a whole, so that every
// verdict and its words are those of gate_tensors() on the host.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/device/device_memory.h"
#include "assay/gate/case_report.h"
#include "assay/gate/request.h"
#include "assay/judge/verdict.h"

namespace assay::inline v0_2 {

// Returns why a bound cannot be judged in a device's memory for an output and expected values of
// these formats, or an empty string.
std::string why_not_on_device(const Format& output, const Format& expected, const Bound& bound);

// Judges two contiguous tensors of one device and one shape by a bound for which
// why_not_on_device() is empty. Returns the verdict if it is a pass, without metrics. Returns
// nothing if the host must judge.
std::optional<Verdict> pass_on_device(const DeviceView& output, const DeviceView& expected,
                                      const Bound& bound);

// Judges a device's tensor against another one, as gate_tensors() (gate/gate.h) does for tensors of
// the host, with the same verdicts. Only the host computes metrics: if the request asks for them,
// and if a bound cannot be judged on the device, the tensors are copied and a note says so. Throws
// Refusal if the memory of a tensor is not the device's, and std::runtime_error if the device
// fails.
std::vector<Verdict> gate_tensors(const DeviceView& output, const DeviceView& expected,
                                  const GateRequest& request = {}, std::string_view advice = "");
// The same if only one side is in a device's memory. It is copied to the host, and a note says so.
std::vector<Verdict> gate_tensors(const DeviceView& output, const TensorView& expected,
                                  const GateRequest& request = {}, std::string_view advice = "");
std::vector<Verdict> gate_tensors(const TensorView& output, const DeviceView& expected,
                                  const GateRequest& request = {}, std::string_view advice = "");

// Judges a device's tensor as an output of a case, as gate_case() of gate/gate.h does. The golden
// result lies in the host's memory and is mostly wider than the output. So the output is copied to
// the host, and a note says so.
CaseReport gate_case(const Case& test_case, const std::string& name, const DeviceView& output,
                     const GateRequest& request = {}, const Origin& origin = {});
CaseReport gate_case(const Case& test_case, const DeviceView& output,
                     const GateRequest& request = {}, const Origin& origin = {});

}  // namespace assay
