#include "assay/trial/value_class.h"

#include <algorithm>
#include <cmath>

#include "assay/base/constants.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/op/parameter.h"

namespace assay::inline v0_2::trial {
namespace {

// Returns the kinds of an operator, separated by blanks: "product", "inner" (adds products), "sum",
// "attention", "exponential", "rounding", "pair" (of two inputs, element by element), "root" (of
// numbers that are not negative) and "weighted" (x times a weight that vanishes for large -x).
std::string kinds_of(const Operator& op) {
  std::string kinds;
  const bool has_a = find_row(op.inputs, "a", &OperatorInput::name) != nullptr;
  const bool has_x = op.inputs.front().name == "x";
  const bool sums = op.expected_errors != nullptr && op.element_bounds != nullptr;
  if (op.product && has_a) kinds += "product ";
  if ((op.product || sums) && has_a) kinds += "inner ";
  if (sums && has_x && op.inputs.size() <= 3) kinds += "sum ";
  if (op.attention) kinds += "attention ";
  if (op.name == "softmax") kinds += "exponential ";
  if (op.name == "cast" || op.name == "quantize") kinds += "rounding ";
  if (op.name == "log" || op.name == "sqrt" || op.name == "rsqrt") kinds += "root ";
  if (has_a && !sums) kinds += "pair ";
  if (op.name == "gelu" || op.name == "silu") kinds += "weighted ";
  return kinds;
}

bool has_kind(const std::string& kinds, std::string_view kind) {
  return kinds.find(kind) != std::string::npos;
}

// The properties that a distribution of a draw must fit.
struct Fit {
  const Format &format, &output;
  bool multiplies;      // the operator multiplies elements with each other and adds them
  std::int64_t length;  // the number of elements that meet in one element of the result
};

// Returns the distribution of integers between these ends, as far as the format has them. If the
// operator adds or multiplies elements of more than 8 bits, none is beyond 100, so that no result
// leaves the range.
DistributionSpec integers_between(const Integers& ends, const Format& format, bool adds) {
  const bool has_sign = format.name.front() != 'u';
  // The distribution takes no larger numbers than 2^52.
  const double most = max_finite(format),
               limit = adds && format.bits > 8 ? std::min(most, 100.0) : std::min(most, 0x1p52);
  const double high = std::min(ends.high, limit);
  double low = has_sign ? std::max(ends.low, -limit) : std::max(ends.low, 0.0);
  if (has_sign && ends.low == -kInfinity && limit == most) low = -most - 1;
  return parse_distribution(formatted("integers,low={},high={}",
                                      number_text(std::min(low, high - 1)), number_text(high)));
}

// Makes a distribution fit the format and the shape: large values whose sums still are finite,
// sums that stall, and special values that do not fill every row.
std::string fitted(std::string text, const Fit& fit) {
  const auto replace = [&](std::string_view word, double value) {
    for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word)) {
      text.replace(at, word.size(), number_text(value));
    }
  };
  const double most = max_finite(fit.format);
  // No sum of as many products or squares as a trial draws overflows.
  constexpr double kMargin = 64, kTerms = 1 << 16;
  const double large = std::min(most / kMargin, 1e300);
  replace("$LARGE", fit.multiplies ? std::sqrt(large / kTerms) : large);
  // A float16 sum stalls at 2^11, a float32 sum at 2^24.
  replace("$STALL", std::ilogb(most) < 24 ? 11 : 24);
  replace("$MANTISSA", static_cast<double>(fit.output.is_float() ? fit.output.mantissa_bits() : 3));
  replace("$SPECIAL",
          std::min(0.02, 0.3 / static_cast<double>(std::max<std::int64_t>(fit.length, 1))));
  return text;
}

}  // namespace

const std::vector<ValueClass>& value_classes() {
  static const std::vector<ValueClass> all = {
      {.name = "normal", .all = "normal", .integers = Integers{-100, 100}, .weight = 6},
      {.name = "positive", .all = "uniform,low=0,high=1", .integers = Integers{1, 100}},
      {.name = "small whole numbers", .all = "integers,low=-4,high=4", .integers = Integers{-4, 4}},
      {.name = "one outlier", .all = "outlier_channels,count=1,factor=1000"},
      {.name = "heavy tails", .all = "student_t,nu=2"},
      {.name = "large mean, small variance", .all = "normal,mean=64,deviation=0.5"},
      {.name = "sparse", .all = "sparse,density=0.05"},
      {.name = "one value", .all = "normal,mean=0.75,deviation=0"},
      {.name = "subnormal", .all = "subnormals", .weight = 1, .is_subnormal = true},
      {.name = "large",
       .all = "uniform,low=-1,high=1,scale=$LARGE",
       .integers = Integers{-kInfinity, kInfinity},
       .weight = 1},
      {.name = "zeros of both signs",
       .all = "specials,zeros=0.4,negative_zeros=0.4,infinities=0,nans=0,largest=0",
       .weight = 1},
      {.name = "infinities and NaN",
       .all = "specials,zeros=0.02,negative_zeros=0.02,infinities=$SPECIAL,nans=$SPECIAL,largest=0",
       .weight = 1,
       .is_special = true},
      {.name = "cancelling sums",
       .all = "normal",
       .named = {{"a", "cancelling"}, {"b", "constant_columns"}},
       .kind = "product"},
      {.name = "stalling sums",
       .all = "normal",
       .named = {{"a", "stalling,exponent=$STALL"}, {"b", "normal,mean=1,deviation=0"}},
       .kind = "product"},
      {.name = "one term in each sum",
       .all = "normal",
       .named = {{"a", "one_hot"}},
       .kind = "product",
       .weight = 1},
      {.name = "cancelling sums", .all = "cancelling", .kind = "sum"},
      {.name = "stalling sums", .all = "stalling,exponent=$STALL", .kind = "sum"},
      {.name = "large logits", .all = "normal,deviation=30", .kind = "exponential", .weight = 4},
      {.name = "large logits of one sign",
       .all = "normal,mean=100,deviation=4",
       .kind = "exponential"},
      {.name = "infinities",
       .all = "specials,zeros=0.02,negative_zeros=0.02,infinities=$SPECIAL,nans=0,largest=0",
       .weight = 1,
       .is_special = true},
      {.name = "subnormal times large",
       .all = "normal",
       .named = {{"a", "subnormals"}, {"b", "normal,scale=4096"}},
       .kind = "pair",
       .weight = 1,
       .is_subnormal = true},
      {.name = "fully masked rows",
       .all = "masked,rows=0.3",
       .kind = "exponential",
       .is_special = true},
      {.name = "masked rows", .all = "masked", .kind = "exponential", .is_special = true},
      {.name = "large logits", .all = "normal,deviation=6", .kind = "attention"},
      {.name = "one key that wins",
       .all = "normal",
       .named = {{"k", "outlier_channels,axis=-2,count=1,factor=20"}},
       .kind = "attention"},
      {.name = "ties of the rounding",
       .all = "halfway,mantissa=$MANTISSA",
       .kind = "rounding",
       .weight = 6}};
  return all;
}

bool takes_specials(const Operator& op) {
  const std::string kinds = kinds_of(op);
  return !has_kind(kinds, "weighted") && !has_kind(kinds, "attention");
}

bool takes(const Operator& op, const ValueClass& values, const Format& dtype, bool subnormals) {
  if (!values.kind.empty() && !has_kind(kinds_of(op), values.kind)) return false;
  if (values.is_special && (dtype.specials != Specials::kInfNan || !takes_specials(op))) {
    return false;
  }
  if (values.is_subnormal && !subnormals) return false;
  if (!dtype.is_float() && !values.integers) return false;
  return true;
}

void set_values(const Operator& op, const ValueClass& values, Recipe& recipe) {
  const Format& dtype = *recipe.dtype;
  const auto stated = recipe.attributes.find("output_dtype");
  const Format& output =
      stated == recipe.attributes.end() ? dtype : format_named(attribute_text(stated->second));
  const std::string kinds = kinds_of(op);
  const bool multiplies =
      has_kind(kinds, "inner") || has_kind(kinds, "attention") || has_kind(kinds, "sum");
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  const std::size_t from_end = op.sizes == "..., M, K, N" || op.sizes == "..., L, S, D" ? 2 : 1;
  const std::int64_t length =
      multiplies && sizes.size() >= from_end ? sizes[sizes.size() - from_end] : 1;
  const Fit fit{dtype, output, multiplies, length};
  if (!dtype.is_float()) {
    const bool adds = multiplies || has_kind(kinds, "pair");
    recipe.distribution = integers_between(*values.integers, dtype, adds);
    return;
  }
  std::string all = values.all;
  // Half of the results would be NaN for numbers of both signs.
  if (has_kind(kinds, "root") && all == "normal") all = "folded_normal";
  recipe.distribution = parse_distribution(fitted(all, fit));
  for (const auto& [input, text] : values.named) {
    recipe.distributions[input] = parse_distribution(fitted(text, fit));
  }
}

}  // namespace assay::trial
