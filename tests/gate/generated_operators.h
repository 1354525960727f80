// The operators of the table that can generate cases, for tests with one instance an operator.
#pragma once

#include <string>
#include <vector>

#include "assay/op/operator.h"

namespace assay {

inline std::vector<std::string> generated_operators() {
  std::vector<std::string> names;
  for (const Operator& op : operators()) {
    if (op.generate != nullptr) names.push_back(op.name);
  }
  return names;
}

}  // namespace assay
