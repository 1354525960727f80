// The output that dual-benchmark standards compare with.
#pragma once

#include <memory>
#include <string>

#include "assay/gate/gate.h"

namespace assay {

// The output, or why there is none.
struct Benchmark {
  std::shared_ptr<const Tensor> output;
  std::string why_not;
};

// The recorded output of the producer that the request names, else of the one other than the
// judged output's.
Benchmark find_benchmark(const Case& test_case, const GateRequest& request, const Origin& origin);

}  // namespace assay
