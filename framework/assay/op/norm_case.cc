#include "assay/op/norm_case.h"

#include <string_view>

#include "assay/base/text.h"

namespace assay::inline v0_2 {

Norm norm_of(const Case& c, NormKind kind, const Format& output) {
  const bool has_weight = kind != NormKind::kSoftmax && c.inputs.count("weight") != 0;
  const bool has_bias = kind == NormKind::kLayernorm && c.inputs.count("bias") != 0;
  std::vector<const char*> operands = {"x"};
  if (has_weight) operands.push_back("weight");
  if (has_bias) operands.push_back("bias");
  const Format& input = operand_format(c, operands, output);
  const AxisExtent e = extent_along(c, integer_of(c, "axis"));
  if (e.outer * e.n * e.inner == 0) {
    refuse_case(c.name, "{} of no elements: x is {}", c.op, shape_text(c.input("x").shape()));
  }
  for (const char* name : {"weight", "bias"}) {
    if (!(name == std::string_view("weight") ? has_weight : has_bias)) continue;
    if (c.input(name).shape() != Shape{e.n}) {
      refuse_case(c.name, "{} is {}; {} takes [{}], as long as x along axis", name,
                  shape_text(c.input(name).shape()), c.op, e.n);
    }
  }
  const double eps = kind == NormKind::kSoftmax ? 0 : number_of(c, "eps");
  return {c, kind, input, e, eps, has_weight, has_bias};
}

}  // namespace assay
