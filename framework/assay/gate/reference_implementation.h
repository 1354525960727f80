// The output that dual-benchmark standards compare with.
#pragma once

#include <memory>
#include <string>

#include "assay/gate/gate.h"

namespace assay::inline v0_2 {

// The output, or the reason why there is no such output.
struct ReferenceImplementation {
  std::shared_ptr<const Tensor> output;
  std::string why_not;
};

// Returns the recorded output of the producer that the request names. If it names no producer,
// returns the only recorded output of a producer other than the judged output's.
ReferenceImplementation find_reference_implementation(const Case& test_case,
                                                      const GateRequest& request,
                                                      const Origin& origin);

}  // namespace assay
