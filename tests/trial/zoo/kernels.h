// Right, naive implementations of all operators, and the mistakes that can be put into each. A
// kernel reads its inputs as numbers, computes in float64, and rounds once to the output's format.
// Each member of a kernel is one possible mistake. Without any, the kernel is right.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/trial/kernel.h"

namespace assay::zoo {

using Values = std::vector<double>;
inline constexpr std::int64_t kAll = std::numeric_limits<std::int64_t>::max();

// An input as numbers, in row-major order.
struct Array {
  Values values;
  Shape shape;
  std::int64_t size() const { return static_cast<std::int64_t>(values.size()); }
};

// The inputs of one call as numbers.
struct Inputs {
  const Case& test_case;
  std::map<std::string, Array> arrays;
  const Format* output_format;
  Shape output_shape;

  bool has(const std::string& name) const { return arrays.count(name) != 0; }
  const Array& operator[](const std::string& name) const { return arrays.at(name); }
  std::int64_t integer(const char* name, std::int64_t otherwise) const {
    return test_case.integer(name).value_or(otherwise);
  }
  double real(const char* name, double otherwise) const {
    return test_case.real(name).value_or(otherwise);
  }
  std::string text(const char* name, const char* otherwise) const {
    return test_case.text(name).value_or(otherwise);
  }
  bool flag(const char* name) const { return test_case.flag(name).value_or(false); }
};
Inputs inputs_of(const KernelCall& call);

// Computes an output from inputs.
using Compute = std::function<Values(const Inputs&)>;
using Function = std::function<void(const KernelCall&)>;
// Writes values to an output of any strides.
void write(const MutableTensorView& to, const Values& values, const Encoding& encoding = {});
Function right(Compute compute);
// Returns the right kernel of an operator.
Compute right_compute(const std::string& op);

// A sum that is rounded after each term if it has a format.
struct Sum {
  const Format* format = nullptr;
  double value = 0;
  void add(double term) {
    value += term;
    if (format != nullptr) value = round_to(*format, value);
  }
};

// The elements of an array in lines along one axis. Without an axis, all elements are one line.
struct Lines {
  std::int64_t outer = 1, length = 1, inner = 1;
  std::size_t at(std::int64_t o, std::int64_t i, std::int64_t n) const {
    return static_cast<std::size_t>((o * length + i) * inner + n);
  }
};
Lines lines_along(const Shape& shape, std::int64_t axis);

// add, sub, mul and others: the function of the elements with the same index. An input with one
// element is combined with all.
struct Elementwise {
  std::vector<std::string> names;
  std::function<double(const double*)> f;
  Values operator()(const Inputs& in) const;
};
Elementwise unary(std::function<double(double)> f);
Elementwise binary(std::function<double(double, double)> f);
double right_gelu(double x);
double right_silu(double x);
double right_sigmoid(double x);

struct Reduce {
  enum class Kind : std::uint8_t { kSum, kMean, kMax } kind = Kind::kSum;
  const Format* accumulator = nullptr;
  std::int64_t most = kAll;       // elements of a line that are added
  std::int64_t multiple = 1;      // only a multiple of this number of elements is added
  double start = -HUGE_VAL;       // of a maximum
  bool swallows_nan = false;      // a maximum by fmax
  bool always_last = false;       // ignores the axis
  bool negative_is_zero = false;  // takes axis -1 for axis 0
  std::int64_t divisor_change = 0, divisor_multiple = 1;  // of a mean
  bool skips_infinite = false;
  bool is_by_size = false;     // the maximum of magnitudes
  bool in_two_halves = false;  // the middle element of a line of odd length is lost
  Values operator()(const Inputs& in) const;
};

struct Softmax {
  bool no_max = false;
  std::int64_t max_of_first = kAll;  // elements that the maximum is taken of
  std::int64_t most = kAll;          // elements of a row that are seen. The others become 0
  std::int64_t multiple = 1;         // only a multiple of this number of elements is seen
  const Format* accumulator = nullptr;
  const Format* exponentials = nullptr;  // rounds each exponential
  bool always_last = false;
  bool swallows_nan = false;
  bool zero_for_masked = false;  // a row of only -infinity becomes 0
  bool first_row_max = false;    // all rows use the maximum of the first
  double added = 0;              // to each denominator
  double clamp = HUGE_VAL;       // of exponents
  Values operator()(const Inputs& in) const;
};

struct Norm {
  bool centre = true;  // layernorm, otherwise rmsnorm
  bool no_centre_in_variance = false, no_centre_in_result = false;
  bool unbiased = false;
  bool eps_outside = false;  // added after the root
  double eps = -1;           // used instead of the attribute
  bool eps_squared = false;
  bool one_pass_float32 = false;  // mean x^2 - (mean x)^2
  const Format* accumulator = nullptr;
  const Format* squares = nullptr;  // rounds each square
  std::int64_t most = kAll;         // elements that statistics see
  std::int64_t multiple = 1;
  bool always_last = false;
  bool no_weight = false, no_bias = false, bias_first = false, weight_off_by_one = false;
  bool weight_plus_one = false, weight_in_mean = false;
  std::int64_t divisor_multiple = 1;
  bool first_row = false;  // all rows use the statistics of the first
  bool rounds_normalised = false;
  Values operator()(const Inputs& in) const;
};

struct Matmul {
  const Format* accumulator = nullptr;
  const Format* operands = nullptr;  // rounds the operands
  std::int64_t k_multiple = 1, k_most = kAll;
  std::int64_t k_split = 0;  // parts of K of which the last is lost
  bool ignores_transpose_a = false, ignores_transpose_b = false;
  bool no_bias = false, bias_by_row = false, bias_per_tile = false;
  bool first_batch_of_b = false;
  bool skips_zeros = false;
  bool order_by_rows = false;  // with one row, K is summed in float32 from the end
  bool saturates_int16 = false;
  std::int64_t reads_past_k = 0;  // terms of the next row that are added if K is not even
  bool transposed_output = false;
  Values operator()(const Inputs& in) const;
};

struct Dot {
  const Format* accumulator = nullptr;
  bool no_c = false, first_c = false, c_twice_after_64 = false;
  std::int64_t k_multiple = 1, k_most = kAll;
  bool row_of_b_is_first = false;
  Values operator()(const Inputs& in) const;
};

// The elements of an operand of a product, or of x of quantize, that share a scale.
struct ScaleBlocks {
  bool is_one = false, is_row = false, is_across = false;
  std::int64_t rows = 1, columns = 1;              // of the operand, K along columns
  std::int64_t block_rows = 1, block_columns = 1;  // of a block
  std::int64_t per_batch() const;
  std::int64_t at(std::int64_t batch, std::int64_t row, std::int64_t column) const;
};
ScaleBlocks scale_blocks(const std::string& scaling, std::int64_t rows, std::int64_t columns,
                         bool is_across = false);

struct ScaledMatmul {
  bool no_scale_b = false, scale_a_twice = false;
  bool first_block_of_k = false;        // the scale of the first block of K is used for all
  bool last_block_is_previous = false;  // a partial last block takes the scale before it
  bool scale_of_first_row = false;
  bool across_is_wrong = false;  // scales of b are read in the other order
  std::int64_t k_multiple = 1;
  const Format* accumulator = nullptr;
  const Format* scales = nullptr;  // rounds scales
  bool ignores_transpose_b = false;
  Values operator()(const Inputs& in) const;
};

struct Quantize {
  enum class Round : std::uint8_t { kRight, kTruncate, kAway, kUp } round = Round::kRight;
  bool signed_max = false;  // the maximum of x instead of |x|
  double smallest = 1e-4;
  bool ignores_power = false, ignores_scaling = false;
  std::int64_t block_most = kAll;  // elements of a line of a block that the maximum sees
  double largest = 0;              // used instead of the format's
  bool wraps = false;
  bool ignores_batch = false;
  bool power_down = false;
  Values operator()(const Inputs& in) const;
};

struct Dequantize {
  bool first_scale = false, last_block_is_previous = false, unsigned_codes = false;
  bool divides = false, flushes = false, scale_by_column = false, no_negative = false;
  Values operator()(const Inputs& in) const;
};

struct RoiPool {
  bool ignores_gamma = false, ignores_scale = false, ignores_ratio = false, swaps_offset = false;
  bool no_half = false, first_image = false, truncates = false, offset_of_first = false;
  bool divides_by_bins = false, no_edge = false, shift_by_pixels = false, first_channel = false;
  bool most_samples = false;  // takes at most 4 samples along a side
  Values operator()(const Inputs& in) const;
};

struct Cast {
  bool ignores_rounding = false;
  Values operator()(const Inputs& in) const { return in["x"].values; }
};

struct Attention {
  bool ignores_scale = false, scale_is_one_over_d = false, ignores_causal = false;
  std::int64_t causal_shift = 0;
  bool no_max = false;
  const Format* scores = nullptr;  // rounds scores
  const Format* accumulator = nullptr;
  std::int64_t s_multiple = 1, s_most = kAll;
  bool never_rescales = false;  // with a running maximum over tiles of 16 keys
  bool ignores_positions = false;
  bool first_batch_of_v = false, first_batch_of_k = false;
  bool masks_with_zero = false;  // masked scores are 0
  bool sums_masked = false;      // masked keys count in the denominator only
  double mask = -HUGE_VAL;
  bool no_division = false;
  std::int64_t d_multiple = 1;
  Values operator()(const Inputs& in) const;
};

}  // namespace assay::zoo
