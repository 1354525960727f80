// What a team's operator gives for a case.
#pragma once

#include <utility>

#include "assay/tensor/case.h"

namespace assay {

// The result alone, which a Tensor converts to; or with what its kernel gave beside it, for the
// checksums of residual_compensated.
struct Computed {
  Computed(Tensor result) : output(std::move(result)) {}  // NOLINT: a result is all that most give
  Computed(Tensor result, Epilogue beside)
      : output(std::move(result)), epilogue(std::move(beside)) {}

  Tensor output;
  Epilogue epilogue = {};
};

}  // namespace assay
