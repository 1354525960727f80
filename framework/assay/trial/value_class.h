// The kinds of values that trials draw: which distributions reveal mistakes of which operators.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/format/format.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::trial {

// The ends of drawn integers. Those beyond the range of a format are its own.
struct Integers {
  double low, high;
};

// Values that reveal mistakes of some operators. The texts are those of parse_distribution().
struct ValueClass {
  std::string name;
  std::string all;                                // the distribution of all inputs
  std::map<std::string, std::string> named = {};  // of single inputs
  // The ends of inputs of integers. Without them, the class is only for other inputs.
  std::optional<Integers> integers = {};
  // The operators that the class is for: "" for all, otherwise a word of kinds_of()
  // (value_class.cc).
  std::string_view kind = "";
  int weight = 2;           // how often it is drawn at random
  bool is_special = false;  // infinities and NaN are among the values
  bool is_subnormal = false;
};
// Returns the table. Its first row is drawn for every operator and dtype.
const std::vector<ValueClass>& value_classes();

// Returns false if an operator is never tried with infinities and NaN. Right kernels of gelu, silu
// and attention multiply them by weights that are 0, which gives NaN, although the limit of the
// function is 0, or the mask of attention excludes the value.
bool takes_specials(const Operator& op);

// Returns true if an operator with inputs of this dtype is tried with these values. Without
// `subnormals`, no class of subnormal numbers is.
bool takes(const Operator& op, const ValueClass& values, const Format& dtype, bool subnormals);

// Sets the distributions of a recipe, whose other parts are complete.
void set_values(const Operator& op, const ValueClass& values, Recipe& recipe);

}  // namespace assay::trial
