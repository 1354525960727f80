// Cases that a known machine computed, and the results of identify for them.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/random.h"
#include "assay/cases/case.h"
#include "assay/identify/identify.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"

namespace assay::identify {

inline std::vector<Finding> identified(const std::vector<Case>& cases, bool evidence = false) {
  std::vector<Recorded> recorded;
  for (const Case& c : cases) {
    for (const auto& [producer, output] : c.output().recorded) recorded.push_back({&c, producer});
  }
  return identify(recorded, {.threads = 0, .evidence = evidence});
}

// Returns normal values, drawn from the generator one after the other.
inline Tensor normal_values(Random& random, const std::string& dtype, Shape shape) {
  std::vector<double> values;
  for (std::int64_t i = 0; i < element_count(shape); ++i) values.push_back(random.normal());
  return Tensor::from_values(format_named(dtype), std::move(shape), values);
}

// Returns the case with the output of the machine that the text names, and without the parameters
// that identify must find.
inline Case computed_by(const std::string& machine, Case c) {
  Tensor output = emulate(c, machine_named(machine), 0);
  for (const char* own :
       {"split_k", "split_first", "split_parts", "split_order", "split_dtype", "split_sum_dtype",
        "promotion_interval", "compute_dtype", "compute_rounding", "compute_terms",
        "round_before_bias", "output_rounding", "scale_order", "fused"}) {
    c.attributes.erase(own);
  }
  c.output().recorded.clear();
  c.output().recorded["device"].tensor = std::move(output);
  return c;
}

// Returns a product that the machine of this text computes. The attribute with_bias adds a bias.
inline Case computed(const std::string& machine, const char* dtype, std::int64_t m, std::int64_t k,
                     std::int64_t n, const std::map<std::string, Attribute>& attributes = {},
                     std::uint64_t seed = 1) {
  Random random(seed, 0);
  Case c;
  c.name = "product";
  c.op = "matmul";
  c.attributes = attributes;
  c.inputs["a"] = normal_values(random, dtype, {m, k});
  c.inputs["b"] = normal_values(random, dtype, {k, n});
  if (c.attributes.erase("with_bias") != 0)
    c.inputs["bias"] = normal_values(random, "float32", {n});
  c.attributes.try_emplace("output_dtype", std::string("float32"));
  return computed_by(machine, std::move(c));
}

// Returns how many elements equal the recorded ones if the model and the parameters of a finding
// compute the case anew.
inline std::int64_t computed_again(Case c, const Finding& f) {
  for (const auto& [name, value] : f.parameters) c.attributes[name] = value;
  const Tensor ours = emulate(c, machine_named(f.model), 0);
  const Tensor& recorded = c.output().recorded.at(f.producer).tensor;
  std::int64_t same = 0;
  for (std::int64_t i = 0; i < ours.size(); ++i) {
    const std::uint64_t x = ours.bits_at(i), y = recorded.bits_at(i);
    same += x == y || (is_nan(ours.format(), x) && is_nan(ours.format(), y)) ? 1 : 0;
  }
  return same;
}

}  // namespace assay::identify
