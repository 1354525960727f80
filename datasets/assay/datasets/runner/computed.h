// The result of a team's operator for a case.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "assay/cases/case.h"
#include "assay/device/device_memory.h"

namespace assay::inline v0_2 {

// The result of one case. It is made from a Tensor, or from a Tensor and the arrays that the
// kernel's epilogue returned with it, for the checksums of residual_compensated. An operator with
// several outputs returns all outputs of the case by name, as in
// `return {{"y", y}, {"mean", mean}};`.
//
// Each of these may be a DeviceView instead of a Tensor. It is copied to the host at once, after
// the work before it in its stream. So the operator may free its memory on return.
struct Computed {
  struct Result {
    Result() = default;
    Result(Tensor result, Epilogue arrays = {})  // NOLINT: `return tensor;` is usual
        : tensor(std::move(result)), epilogue(std::move(arrays)) {}
    // Throws Refusal if the elements are not in the device's memory.
    Result(const DeviceView& result, Epilogue arrays = {});  // NOLINT: likewise

    Tensor tensor = {};
    Epilogue epilogue = {};
    std::string note = {};  // says from which device the tensor was copied, if it was
  };

  Computed(Tensor result, Epilogue epilogue = {}) {  // NOLINT: likewise
    outputs[""] = {std::move(result), std::move(epilogue)};
  }
  Computed(const DeviceView& result, Epilogue epilogue = {}) {  // NOLINT: likewise
    outputs[""] = {result, std::move(epilogue)};
  }
  Computed(std::map<std::string, Tensor> several) {  // NOLINT: likewise
    for (auto& [name, tensor] : several) outputs[name] = {std::move(tensor)};
  }
  Computed(std::initializer_list<std::pair<const std::string, Result>> several)
      : outputs(several) {}

  std::map<std::string, Result> outputs = {};  // by name; a case's only output has the name ""
};

}  // namespace assay
