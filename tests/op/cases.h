// Cases for operator tests.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/random.h"
#include "assay/machine/machine.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "error_of.h"

namespace assay::cases {

using assay::error_of;

inline const Machine& ascend() { return machine_named("ascend910b"); }

inline Tensor random_tensor(const char* format, const Shape& shape, std::uint64_t stream,
                            double scale = 1) {
  Random random(40, stream);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) v = scale * random.normal();
  return Tensor::from_values(format_named(format), shape, values);
}

// Returns integers from -low to low. Sums of their products are exact on every machine.
inline Tensor integer_tensor(const char* format, const Shape& shape, std::uint64_t stream,
                             std::int64_t low = 4) {
  Random random(41, stream);
  std::vector<double> values(static_cast<std::size_t>(element_count(shape)));
  for (double& v : values) {
    v = static_cast<double>(
        static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(2 * low + 1))) - low);
  }
  return Tensor::from_values(format_named(format), shape, values);
}

inline Case matmul(Tensor a, Tensor b) {
  Case c;
  c.name = "t";
  c.op = "matmul";
  c.inputs["a"] = std::move(a);
  c.inputs["b"] = std::move(b);
  return c;
}

// Returns a recipe from which any operator of the table makes a small case.
inline Recipe small_recipe(std::string_view op, const char* format = "float16") {
  Recipe recipe{&format_named(format), {3, 4, 5}};
  if (op == "dot") recipe.sizes = {3, 4};
  if (op == "cast") recipe.attributes["output_dtype"] = std::string("bfloat16");
  if (op == "quantize") recipe.attributes["output_dtype"] = std::string("float8_e4m3fn");
  if (op == "deform_roi_pool") {
    recipe.sizes = {2, 3, 9, 8, 4};
    recipe.attributes["pooled_height"] = std::int64_t{2};
    recipe.attributes["pooled_width"] = std::int64_t{3};
  }
  return recipe;
}

}  // namespace assay::cases
