// The operators of the table that can generate cases, and the parameters that tests give them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "assay/op/operator.h"
#include "assay/op/parameter.h"

namespace assay {

inline std::vector<std::string> generated_operators() {
  std::vector<std::string> names;
  for (const Operator& op : operators()) {
    if (op.generate != nullptr) names.push_back(op.name);
  }
  return names;
}

// Returns sets of parameters of an operator, each of which changes how it computes.
inline std::vector<std::map<std::string, Attribute>> variants_of(const Operator& op) {
  std::vector<std::map<std::string, Attribute>> all = {{}};
  const auto add = [&](const char* name, const Attribute& value) {
    if (find_parameter(op, name) != nullptr) all.push_back({{name, value}});
  };
  add("output_dtype", std::string("float32"));
  add("output_dtype", std::string("float16"));
  add("compute_dtype", std::string("float32"));
  add("order", std::string("sequential"));
  add("split_k", std::int64_t{7});
  add("promotion_interval", std::int64_t{16});
  add("fused", std::int64_t{0});
  add("axis", std::int64_t{1});
  add("approximate", std::string("tanh"));
  add("tile", std::int64_t{16});
  if (find_parameter(op, "split_first") != nullptr) {
    const auto splits = [&](std::map<std::string, Attribute> more) {
      more["split_k"] = std::int64_t{7};
      all.push_back(more);
    };
    splits({{"split_first", std::int64_t{3}}, {"split_order", std::string("descending")}});
    splits({{"split_parts", std::int64_t{3}}, {"split_order", std::string("pairwise")}});
    splits({{"split_dtype", std::string("bfloat16")}});
    splits({{"split_sum_dtype", std::string("float16")}, {"split_dtype", std::string("float16")}});
    for (const char* rounding : {"toward_zero", "up"}) {
      all.push_back(
          {{"output_rounding", std::string(rounding)}, {"output_dtype", std::string("bfloat16")}});
    }
    all.push_back(
        {{"round_before_bias", std::int64_t{1}}, {"output_dtype", std::string("float16")}});
    for (const char* dtype : {"tfloat32", "bfloat16"}) {
      all.push_back({{"compute_dtype", std::string(dtype)}, {"compute_terms", std::int64_t{2}}});
    }
  }
  if (find_parameter(op, "block_size") != nullptr) {
    all.push_back({{"order", std::string("block")}, {"block_size", std::int64_t{8}}});
  }
  return all;
}

}  // namespace assay
