// The result of a team's operator for a case.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "assay/cases/case.h"

namespace assay::inline v0_2 {

// The result of one case. It is made from a Tensor, or from a Tensor and the arrays that the
// kernel's epilogue returned with it, for the checksums of residual_compensated. An operator with
// several outputs returns all outputs of the case by name, as in
// `return {{"y", y}, {"mean", mean}};`.
struct Computed {
  struct Result {
    Tensor tensor;
    Epilogue epilogue = {};
  };

  Computed(Tensor result, Epilogue epilogue = {}) {  // NOLINT: `return tensor;` is usual
    outputs[""] = {std::move(result), std::move(epilogue)};
  }
  Computed(std::map<std::string, Tensor> several) {  // NOLINT: likewise
    for (auto& [name, tensor] : several) outputs[name] = {std::move(tensor)};
  }
  Computed(std::initializer_list<std::pair<const std::string, Tensor>> several)
      : Computed(std::map<std::string, Tensor>(several)) {}

  std::map<std::string, Result> outputs = {};  // by name; a case's only output has the name ""
};

}  // namespace assay
