// What a team's operator gives for a case.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <utility>

#include "assay/tensor/case.h"

namespace assay {

// The result alone, which a Tensor converts to; or with what its kernel gave beside it, for the
// checksums of residual_compensated. Of a case with several outputs all of them by name, as in
// `return {{"y", y}, {"mean", mean}};`: those that the case has, no more and no fewer.
struct Computed {
  Computed(Tensor result) : output(std::move(result)) {}  // NOLINT: a result is all that most give
  Computed(Tensor result, Epilogue beside)
      : output(std::move(result)), epilogue(std::move(beside)) {}
  Computed(std::map<std::string, Tensor> several)  // NOLINT: likewise
      : results(std::move(several)) {}
  Computed(std::initializer_list<std::pair<const std::string, Tensor>> several)
      : results(several) {}

  Tensor output;
  Epilogue epilogue = {};
  std::map<std::string, Tensor> results = {};      // by name; then there is no `output`
  std::map<std::string, Epilogue> epilogues = {};  // of results that have one
};

}  // namespace assay
