// Cases for the operators of the vector unit.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "cases.h"

namespace assay::cases {

inline Tensor values(const char* format, const Shape& shape, const std::vector<double>& list) {
  return Tensor::from_values(format_named(format), shape, list);
}
inline Tensor values(const char* format, const std::vector<double>& list) {
  return values(format, {static_cast<std::int64_t>(list.size())}, list);
}

inline Case operation(const char* op, std::initializer_list<std::pair<const char*, Tensor>> inputs,
                      std::initializer_list<std::pair<const char*, Attribute>> attributes = {}) {
  Case c;
  c.name = "t";
  c.op = op;
  for (const auto& [name, tensor] : inputs) c.inputs[name] = tensor;
  for (const auto& [name, value] : attributes) c.attributes[name] = value;
  return c;
}

inline std::vector<double> on(const char* machine, const Case& c) {
  return emulate(c, machine_named(machine)).view().values();
}

// Returns how many elements of the machine's result are outside the case's own tolerance of the
// golden result. Returns 0 if there is no tolerance because a result leaves the range of the unit.
inline int outside_tolerance(const Case& c, const char* machine) {
  const auto out = on(machine, c), golden = golden_result(c).view().values();
  DerivedTolerance t{0, 0, ""};
  try {
    t = derived_tolerance(c);
  } catch (const CaseError& e) {
    EXPECT_THAT(e.reason(), testing::HasSubstr("the result may reach"));
    const auto leaves = [](double v) { return std::abs(v) > 65504; };
    EXPECT_TRUE(std::any_of(golden.begin(), golden.end(), leaves));
    return 0;
  }
  int mismatches = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (std::abs(golden[i]) > 65504) continue;
    mismatches += std::abs(out[i] - golden[i]) <= t.atol + t.rtol * std::abs(golden[i]) ? 0 : 1;
  }
  return mismatches;
}

}  // namespace assay::cases
