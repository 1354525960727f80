#include "trial/zoo/kernels.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace assay::zoo {
namespace {

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

std::int64_t up_to(std::int64_t n, std::int64_t most, std::int64_t multiple) {
  return std::min(n, most) / multiple * multiple;
}

// Returns the product of the first `count` extents.
std::int64_t leading(const Shape& shape, std::size_t count) {
  std::int64_t product = 1;
  for (std::size_t d = 0; d < count; ++d) product *= shape[d];
  return product;
}

// Returns the number of the batch of an operand for a batch of the output. The operand has the same
// batches, or none.
std::int64_t batch_of(const Array& array, std::int64_t batch) {
  return leading(array.shape, array.shape.size() - 2) > 1 ? batch : 0;
}

double rounded(const Format* format, double value) {
  return format == nullptr ? value : round_to(*format, value);
}

}  // namespace

Inputs inputs_of(const KernelCall& call) {
  Inputs in{call.test_case, {}, call.output.format, call.output.shape};
  for (const auto& [name, view] : call.inputs) in.arrays[name] = {view.values(), view.shape};
  return in;
}

void write(const MutableTensorView& to, const Values& values, const Encoding& encoding) {
  Tensor dense(*to.format, to.shape);
  for (std::int64_t i = 0; i < dense.size(); ++i) {
    dense.set_bits(i, encode(*to.format, values[at(i)], encoding));
  }
  copy_elements(dense, to);
}

Function right(Compute compute) {
  return [compute = std::move(compute)](const KernelCall& call) {
    const Inputs in = inputs_of(call);
    const auto rounding = call.test_case.text("rounding").value_or("nearest_even");
    Encoding encoding;
    for (const Rounding mode : {Rounding::kNearestEven, Rounding::kNearestAway,
                                Rounding::kTowardZero, Rounding::kUp, Rounding::kDown}) {
      if (rounding_name(mode) == rounding) encoding.rounding = mode;
    }
    write(call.output, compute(in), encoding);
  };
}

Lines lines_along(const Shape& shape, std::int64_t axis) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  if (axis < 0) axis += rank;
  if (rank == 0) return {};
  Lines lines;
  for (std::int64_t d = 0; d < rank; ++d) {
    (d < axis ? lines.outer : d == axis ? lines.length : lines.inner) *= shape[at(d)];
  }
  return lines;
}

Values Elementwise::operator()(const Inputs& in) const {
  const std::int64_t size = element_count(in.output_shape);
  Values result(at(size));
  double operands[3] = {};
  for (std::int64_t i = 0; i < size; ++i) {
    for (std::size_t j = 0; j < names.size(); ++j) {
      const Values& values = in[names[j]].values;
      operands[j] = values[values.size() == 1 ? 0 : at(i)];
    }
    result[at(i)] = f(operands);
  }
  return result;
}
Elementwise unary(std::function<double(double)> f) {
  return {{"x"}, [f = std::move(f)](const double* x) { return f(x[0]); }};
}
Elementwise binary(std::function<double(double, double)> f) {
  return {{"a", "b"}, [f = std::move(f)](const double* x) { return f(x[0], x[1]); }};
}
double right_sigmoid(double x) { return 1 / (1 + std::exp(-x)); }
// The operators define the limits for -infinity, where the formulas give NaN.
double right_silu(double x) { return x == -HUGE_VAL ? -0.0 : x / (1 + std::exp(-x)); }
double right_gelu(double x) {
  return x == -HUGE_VAL ? -0.0 : x * 0.5 * std::erfc(-x / std::sqrt(2.0));
}

Values Reduce::operator()(const Inputs& in) const {
  const Array& x = in["x"];
  auto axis = in.test_case.integer("axis");
  if (axis && always_last) axis = -1;
  if (axis && negative_is_zero && *axis < 0) axis = 0;
  const Lines lines = axis ? lines_along(x.shape, *axis) : Lines{1, x.size(), 1};
  Values result;
  const std::int64_t n = up_to(lines.length, most, multiple);
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t j = 0; j < lines.inner; ++j) {
      Sum sum{accumulator};
      double largest = start;
      for (std::int64_t i = 0; i < n; ++i) {
        if (in_two_halves && n % 2 == 1 && n > 1 && i == n / 2) continue;
        double value = x.values[lines.at(o, i, j)];
        if (skips_infinite && std::isinf(value)) continue;
        if (is_by_size) value = std::abs(value);
        sum.add(value);
        if (std::isnan(value) && !swallows_nan) largest = value;
        if (value > largest) largest = value;
      }
      if (kind == Kind::kMax) {
        result.push_back(largest);
      } else if (kind == Kind::kMean) {
        const std::int64_t divisor =
            (lines.length + divisor_multiple - 1) / divisor_multiple * divisor_multiple +
            divisor_change;
        result.push_back(sum.value / static_cast<double>(divisor));
      } else {
        result.push_back(sum.value);
      }
    }
  }
  result.resize(at(element_count(in.output_shape)));
  return result;
}

Values Softmax::operator()(const Inputs& in) const {
  const Array& x = in["x"];
  const Lines lines = lines_along(x.shape, always_last ? -1 : in.integer("axis", -1));
  Values result(x.values.size());
  const std::int64_t n = up_to(lines.length, most, multiple);
  double first_max = std::numeric_limits<double>::quiet_NaN();
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t j = 0; j < lines.inner; ++j) {
      double largest = -HUGE_VAL;
      for (std::int64_t i = 0; i < std::min(n, max_of_first); ++i) {
        const double value = x.values[lines.at(o, i, j)];
        if (std::isnan(value) && !swallows_nan) largest = value;
        if (value > largest) largest = value;
      }
      if (first_row_max) {
        if (o == 0 && j == 0) first_max = largest;
        largest = first_max;
      }
      if (no_max) largest = 0;
      Sum sum{accumulator};
      Values row;
      for (std::int64_t i = 0; i < n; ++i) {
        const double value = x.values[lines.at(o, i, j)];
        if (swallows_nan && std::isnan(value)) {
          row.push_back(0);
          continue;
        }
        // A kernel has float32's range.
        double e = std::exp(std::min(value - largest, clamp));
        if (no_max || max_of_first != kAll || first_row_max) e = static_cast<float>(e);
        row.push_back(rounded(exponentials, e));
        sum.add(row.back());
      }
      for (std::int64_t i = 0; i < n; ++i) {
        double value = row[at(i)] / (sum.value + added);
        if (zero_for_masked && largest == -HUGE_VAL) value = 0;
        result[lines.at(o, i, j)] = value;
      }
    }
  }
  return result;
}

Values Norm::operator()(const Inputs& in) const {
  const Array& x = in["x"];
  const Lines lines = lines_along(x.shape, always_last ? -1 : in.integer("axis", -1));
  const double with_eps = eps >= 0 ? eps : in.real("eps", centre ? 1e-5 : 1e-6);
  Values result(x.values.size());
  const std::int64_t n = up_to(lines.length, most, multiple);
  double mean = 0, variance = 0;
  for (std::int64_t o = 0; o < lines.outer; ++o) {
    for (std::int64_t j = 0; j < lines.inner; ++j) {
      const auto value = [&](std::int64_t i) { return x.values[lines.at(o, i, j)]; };
      if (!first_row || (o == 0 && j == 0)) {
        const std::int64_t seen =
            most == kAll && multiple == 1 ? lines.length : std::max<std::int64_t>(n, 1);
        const auto count = static_cast<double>((seen + divisor_multiple - 1) / divisor_multiple *
                                               divisor_multiple);
        Sum sum{accumulator}, squared{accumulator};
        for (std::int64_t i = 0; i < n; ++i) sum.add(value(i));
        mean = centre ? sum.value / count : 0;
        const double shift = no_centre_in_variance ? 0 : mean;
        for (std::int64_t i = 0; i < n; ++i) {
          squared.add(rounded(squares, (value(i) - shift) * (value(i) - shift)));
        }
        variance = squared.value / (unbiased ? count - 1 : count);
        if (one_pass_float32) {
          float s = 0, q = 0;
          for (std::int64_t i = 0; i < n; ++i) {
            const auto v = static_cast<float>(value(i));
            s += v;
            q += v * v;
          }
          const float m = s / static_cast<float>(count);
          variance = std::max(0.0f, q / static_cast<float>(count) - m * m);
        }
      }
      const double added = eps_squared ? with_eps * with_eps : with_eps;
      const double root = eps_outside ? std::sqrt(variance) + added : std::sqrt(variance + added);
      for (std::int64_t i = 0; i < lines.length; ++i) {
        double y = (value(i) - (no_centre_in_result ? 0 : mean)) / root;
        if (rounds_normalised) y = round_to(format_named("bfloat16"), y);
        const std::int64_t w = weight_off_by_one ? std::min(i + 1, lines.length - 1) : i;
        const double bias = in.has("bias") && !no_bias ? in["bias"].values[at(i)] : 0;
        if (bias_first) y += bias;
        if (in.has("weight") && !no_weight) {
          y *= in["weight"].values[at(w)] + (weight_plus_one ? 1 : 0);
        }
        if (!bias_first) y += bias;
        result[lines.at(o, i, j)] = y;
      }
    }
  }
  return result;
}

Values Matmul::operator()(const Inputs& in) const {
  const Array &a = in["a"], &b = in["b"];
  const std::size_t rank = in.output_shape.size();
  const std::int64_t m = in.output_shape[rank - 2], n = in.output_shape[rank - 1];
  const bool ta = in.flag("transpose_a"), tb = in.flag("transpose_b");
  const std::int64_t k = a.shape[a.shape.size() - (ta ? 2 : 1)];
  const std::int64_t batches = leading(in.output_shape, rank - 2);
  std::int64_t seen = up_to(k, k_most, k_multiple);
  if (k_split > 0 && k >= k_split) seen = k / k_split * k_split;
  Values result(at(batches * m * n));
  const auto load = [&](double value) { return rounded(operands, value); };
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const double* const of_a = a.values.data() + batch_of(a, batch) * m * k;
    const double* const of_b =
        b.values.data() + (first_batch_of_b ? 0 : batch_of(b, batch)) * k * n;
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Sum sum{accumulator};
        const auto term = [&](std::int64_t p) {
          const double left = load(ta && !ignores_transpose_a ? of_a[p * m + i] : of_a[i * k + p]);
          const double right = load(tb && !ignores_transpose_b ? of_b[j * k + p] : of_b[p * n + j]);
          if (skips_zeros && left == 0) return 0.0;
          return left * right;
        };
        if (order_by_rows && m == 1) {
          float backwards = 0;
          for (std::int64_t p = seen; p-- > 0;) backwards += static_cast<float>(term(p));
          sum.value = backwards;
        } else if (order_by_rows) {
          float forwards = 0;
          for (std::int64_t p = 0; p < seen; ++p) forwards += static_cast<float>(term(p));
          sum.value = forwards;
        } else {
          for (std::int64_t p = 0; p < seen; ++p) {
            sum.add(term(p));
            if (saturates_int16) sum.value = std::clamp(sum.value, -32768.0, 32767.0);
          }
        }
        if (reads_past_k > 0 && k % 2 == 1 && !ta && !tb && i + 1 < m) {
          sum.add(of_a[i * k + k] * of_b[(k - 1) * n + j]);
        }
        if (in.has("bias") && !no_bias) {
          const Values& bias = in["bias"].values;
          sum.value += bias[at(bias_by_row ? i % std::max<std::int64_t>(n, 1) : j)] *
                       (bias_per_tile ? static_cast<double>((k + 63) / 64) : 1);
        }
        const std::int64_t place = transposed_output ? j * m + i : i * n + j;
        result[at(batch * m * n + place)] = sum.value;
      }
    }
  }
  return result;
}

Values Dot::operator()(const Inputs& in) const {
  const Array &a = in["a"], &b = in["b"], &c = in["c"];
  const std::int64_t n = a.shape[0], k = a.shape[1], seen = up_to(k, k_most, k_multiple);
  Values result;
  for (std::int64_t i = 0; i < n; ++i) {
    Sum sum{accumulator};
    const double start = no_c ? 0 : c.values[at(first_c ? 0 : i)];
    sum.add(start);
    for (std::int64_t p = 0; p < seen; ++p) {
      sum.add(a.values[at(i * k + p)] * b.values[at((row_of_b_is_first ? 0 : i) * k + p)]);
    }
    if (c_twice_after_64 && k > 64) sum.add(start);
    result.push_back(sum.value);
  }
  return result;
}

std::int64_t ScaleBlocks::per_batch() const {
  return (rows + block_rows - 1) / block_rows * ((columns + block_columns - 1) / block_columns);
}
std::int64_t ScaleBlocks::at(std::int64_t batch, std::int64_t row, std::int64_t column) const {
  if (is_one) return 0;
  const std::int64_t of_rows = (rows + block_rows - 1) / block_rows;
  const std::int64_t of_columns = (columns + block_columns - 1) / block_columns;
  const std::int64_t r = row / block_rows, c = column / block_columns;
  return batch * per_batch() + (is_across ? c * of_rows + r : r * of_columns + c);
}
ScaleBlocks scale_blocks(const std::string& scaling, std::int64_t rows, std::int64_t columns,
                         bool is_across) {
  ScaleBlocks blocks{.is_across = is_across, .rows = rows, .columns = columns};
  if (scaling == "tensor") {
    blocks.is_one = true;
  } else if (scaling == "row") {
    blocks.is_row = true;
    blocks.block_columns = std::max<std::int64_t>(columns, 1);
  } else {
    const std::size_t x = scaling.find('x');
    blocks.block_rows = std::stoll(scaling.substr(0, x));
    blocks.block_columns = std::stoll(scaling.substr(x + 1));
  }
  return blocks;
}

Values ScaledMatmul::operator()(const Inputs& in) const {
  const Array &a = in["a"], &b = in["b"], &sa = in["scale_a"], &sb = in["scale_b"];
  const std::size_t rank = in.output_shape.size();
  const std::int64_t m = in.output_shape[rank - 2], n = in.output_shape[rank - 1];
  const bool ta = in.flag("transpose_a"), tb = in.flag("transpose_b");
  const std::int64_t k = a.shape[a.shape.size() - (ta ? 2 : 1)];
  const std::int64_t batches = leading(in.output_shape, rank - 2);
  const ScaleBlocks blocks_a = scale_blocks(in.text("a_scaling", "tensor"), m, k, ta);
  const ScaleBlocks blocks_b =
      scale_blocks(in.text("b_scaling", "tensor"), n, k, across_is_wrong ? tb : !tb);
  const std::int64_t seen = up_to(k, kAll, k_multiple);
  const auto block_of = [&](const ScaleBlocks& blocks, std::int64_t p) {
    if (first_block_of_k) return std::int64_t{0};
    const std::int64_t width = blocks.block_columns;
    if (last_block_is_previous && k % width != 0 && p >= k / width * width && p >= width) {
      return p - width;
    }
    return p;
  };
  Values result(at(batches * m * n));
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t ba = batch_of(a, batch), bb = batch_of(b, batch);
    for (std::int64_t i = 0; i < m; ++i) {
      for (std::int64_t j = 0; j < n; ++j) {
        Sum sum{accumulator};
        for (std::int64_t p = 0; p < seen; ++p) {
          const double left = a.values[at(ba * m * k + (ta ? p * m + i : i * k + p))];
          const double right =
              b.values[at(bb * k * n + (tb && !ignores_transpose_b ? j * k + p : p * n + j))];
          double scale_a = rounded(
              scales,
              sa.values[at(blocks_a.at(ba, scale_of_first_row ? 0 : i, block_of(blocks_a, p)))]);
          const double scale_b =
              no_scale_b
                  ? 1
                  : rounded(scales, sb.values[at(blocks_b.at(bb, j, block_of(blocks_b, p)))]);
          if (scale_a_twice) scale_a *= scale_a;
          sum.add(left * scale_a * (right * scale_b));
        }
        result[at((batch * m + i) * n + j)] = sum.value;
      }
    }
  }
  return result;
}

namespace {

// The rows and columns of x for scales. A vector is one row.
struct Matrix {
  std::int64_t batches = 1, rows = 1, columns = 1;
};
Matrix matrix_of(const Shape& shape) {
  Matrix matrix;
  const std::size_t rank = shape.size();
  if (rank >= 1) matrix.columns = shape[rank - 1];
  if (rank >= 2) matrix.rows = shape[rank - 2];
  if (rank > 2) matrix.batches = leading(shape, rank - 2);
  return matrix;
}

}  // namespace

Values Quantize::operator()(const Inputs& in) const {
  const Array& x = in["x"];
  const Matrix matrix = matrix_of(x.shape);
  const ScaleBlocks blocks = scale_blocks(ignores_scaling ? "tensor" : in.text("scaling", "tensor"),
                                          matrix.rows, matrix.columns);
  const double top = largest > 0 ? largest : max_finite(*in.output_format);
  std::map<std::int64_t, double> sizes;
  const auto block = [&](std::int64_t batch, std::int64_t row, std::int64_t column) {
    return blocks.at(ignores_batch ? 0 : batch, row, column);
  };
  std::int64_t i = 0;
  for (std::int64_t batch = 0; batch < matrix.batches; ++batch) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t column = 0; column < matrix.columns; ++column, ++i) {
        const double size = signed_max ? x.values[at(i)] : std::abs(x.values[at(i)]);
        double& largest_size = sizes[block(batch, row, column)];
        if (column % (blocks.is_one ? kAll : blocks.block_columns) >= block_most) continue;
        if (std::isnan(size) || std::isnan(largest_size)) {
          largest_size = std::numeric_limits<double>::quiet_NaN();
        } else {
          largest_size = std::max(largest_size, size);
        }
      }
    }
  }
  std::map<std::int64_t, double> scales;
  for (const auto& [at_block, size] : sizes) {
    double scale = (size < smallest ? smallest : size) / top;
    if (in.text("scales", "free") == "power_of_two" && !ignores_power && std::isfinite(scale)) {
      int exponent = 0;
      const double part = std::frexp(scale, &exponent);
      scale = std::ldexp(1.0, part > 0.5 && !power_down ? exponent : exponent - 1);
    }
    scales[at_block] = scale;
  }
  Values result;
  i = 0;
  for (std::int64_t batch = 0; batch < matrix.batches; ++batch) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t column = 0; column < matrix.columns; ++column, ++i) {
        double q = x.values[at(i)] / scales[block(batch, row, column)];
        const bool is_whole = !in.output_format->is_float();
        if (is_whole && std::isfinite(q)) {
          if (round == Round::kTruncate) q = std::trunc(q);
          if (round == Round::kAway) q = std::round(q);
          if (round == Round::kUp) q = std::floor(q + 0.5);
          if (wraps) q = static_cast<std::int8_t>(static_cast<std::int64_t>(std::nearbyint(q)));
        } else if (std::isfinite(q)) {
          if (round == Round::kTruncate) q = round_to(*in.output_format, q, Rounding::kTowardZero);
          if (round == Round::kAway) q = round_to(*in.output_format, q, Rounding::kNearestAway);
        }
        result.push_back(q);
      }
    }
  }
  return result;
}

Values Dequantize::operator()(const Inputs& in) const {
  const Array &x = in["x"], &scale = in["scale"];
  const Matrix matrix = matrix_of(x.shape);
  const ScaleBlocks blocks =
      scale_blocks(in.text("scaling", "tensor"), matrix.rows, matrix.columns);
  Values result;
  std::int64_t i = 0;
  for (std::int64_t batch = 0; batch < matrix.batches; ++batch) {
    for (std::int64_t row = 0; row < matrix.rows; ++row) {
      for (std::int64_t column = 0; column < matrix.columns; ++column, ++i) {
        double code = x.values[at(i)];
        if (unsigned_codes && code < 0) code += 256;
        if (flushes && std::abs(code) < 0x1p-6) code = 0;
        if (no_negative && code < 0) code = -code;
        std::int64_t from = column;
        const std::int64_t width = blocks.block_columns;
        if (last_block_is_previous && column >= width && matrix.columns % width != 0 &&
            column >= matrix.columns / width * width) {
          from -= width;
        }
        std::int64_t place = first_scale ? 0 : blocks.at(batch, row, from);
        if (scale_by_column && blocks.is_row) {
          place = batch * matrix.rows + column % std::max<std::int64_t>(matrix.rows, 1);
        }
        const double factor = scale.values[at(place)];
        result.push_back(divides ? code / factor : code * factor);
      }
    }
  }
  return result;
}

Values RoiPool::operator()(const Inputs& in) const {
  const Array &image = in["input"], &rois = in["rois"];
  const std::int64_t channels = image.shape[1], height = image.shape[2], width = image.shape[3];
  const std::int64_t count = rois.shape[0], ph = in.output_shape[2], pw = in.output_shape[3];
  const double scale = ignores_scale ? 1 : in.real("spatial_scale", 1);
  const double gamma = ignores_gamma ? 0.1 : in.real("gamma", 0.1);
  const std::int64_t ratio = ignores_ratio ? 0 : in.integer("sampling_ratio", 0);
  const double half = no_half ? 0 : 0.5;
  Values result;
  for (std::int64_t roi = 0; roi < count; ++roi) {
    const double* const box = rois.values.data() + roi * 5;
    const std::int64_t batch = first_image ? 0 : static_cast<std::int64_t>(box[0]);
    const double sw = box[1] * scale - half, sh = box[2] * scale - half;
    const double rw = box[3] * scale - half - sw, rh = box[4] * scale - half - sh;
    const double bw = rw / static_cast<double>(pw), bh = rh / static_cast<double>(ph);
    std::int64_t gh =
        ratio > 0 ? ratio : std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(bh)));
    std::int64_t gw =
        ratio > 0 ? ratio : std::max<std::int64_t>(0, static_cast<std::int64_t>(std::ceil(bw)));
    if (most_samples) {
      gh = std::min<std::int64_t>(gh, 4);
      gw = std::min<std::int64_t>(gw, 4);
    }
    for (std::int64_t c = 0; c < channels; ++c) {
      const double* const plane =
          image.values.data() + (batch * channels + (first_channel ? 0 : c)) * height * width;
      for (std::int64_t p = 0; p < ph; ++p) {
        for (std::int64_t q = 0; q < pw; ++q) {
          double shift_w = 0, shift_h = 0;
          if (in.has("offset")) {
            const std::int64_t bin = offset_of_first ? 0 : p * pw + q;
            const Values& offset = in["offset"].values;
            shift_w = offset[at((roi * 2 + (swaps_offset ? 1 : 0)) * ph * pw + bin)];
            shift_h = offset[at((roi * 2 + (swaps_offset ? 0 : 1)) * ph * pw + bin)];
          }
          const double start_h =
              sh + gamma * (shift_by_pixels ? 1 : rh) * shift_h + static_cast<double>(p) * bh;
          const double start_w =
              sw + gamma * (shift_by_pixels ? 1 : rw) * shift_w + static_cast<double>(q) * bw;
          double sum = 0;
          for (std::int64_t iy = 0; iy < gh; ++iy) {
            double y = start_h + (static_cast<double>(iy) + 0.5) * bh / static_cast<double>(gh);
            for (std::int64_t ix = 0; ix < gw; ++ix) {
              double x = start_w + (static_cast<double>(ix) + 0.5) * bw / static_cast<double>(gw);
              double v = y;
              const auto limit_h = static_cast<double>(height),
                         limit_w = static_cast<double>(width);
              if (!no_edge && (v < -1 || v > limit_h || x < -1 || x > limit_w)) continue;
              v = std::clamp(v, 0.0, limit_h - 1);
              x = std::clamp(x, 0.0, limit_w - 1);
              if (truncates) {
                v = std::trunc(v);
                x = std::trunc(x);
              }
              const auto low_h = static_cast<std::int64_t>(v), low_w = static_cast<std::int64_t>(x);
              const std::int64_t high_h = std::min(low_h + 1, height - 1),
                                 high_w = std::min(low_w + 1, width - 1);
              const double th = v - static_cast<double>(low_h), tw = x - static_cast<double>(low_w);
              // A pixel with the weight 0 is not read, so that infinities do not become NaN.
              const auto add = [&](double weight, std::int64_t i, std::int64_t j) {
                if (weight != 0) sum += weight * plane[i * width + j];
              };
              add((1 - th) * (1 - tw), low_h, low_w);
              add((1 - th) * tw, low_h, high_w);
              add(th * (1 - tw), high_h, low_w);
              add(th * tw, high_h, high_w);
            }
          }
          const std::int64_t divisor = divides_by_bins ? ph * pw : gh * gw;
          result.push_back(sum / static_cast<double>(std::max<std::int64_t>(divisor, 1)));
        }
      }
    }
  }
  return result;
}

Values Attention::operator()(const Inputs& in) const {
  const Array &q = in["q"], &k = in["k"], &v = in["v"];
  const std::size_t rank = in.output_shape.size();
  const std::int64_t l = in.output_shape[rank - 2], e = in.output_shape[rank - 1];
  const std::int64_t d = q.shape.back(), s = k.shape[k.shape.size() - 2];
  const std::int64_t batches = leading(in.output_shape, rank - 2);
  const auto size = static_cast<double>(d);
  double scale = in.real("scale", 1 / std::sqrt(size));
  if (ignores_scale) scale = 1 / std::sqrt(size);
  if (scale_is_one_over_d && !in.test_case.real("scale")) scale = 1 / size;
  const std::int64_t seen = up_to(s, s_most, s_multiple), depth = up_to(d, kAll, d_multiple);
  const bool causal = in.flag("causal") && !ignores_causal;
  Values result;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const double* const of_q = q.values.data() + batch_of(q, batch) * l * d;
    const double* const of_k =
        k.values.data() + (first_batch_of_k ? 0 : batch_of(k, batch)) * s * d;
    const double* const of_v =
        v.values.data() + (first_batch_of_v ? 0 : batch_of(v, batch)) * s * e;
    for (std::int64_t i = 0; i < l; ++i) {
      double last = static_cast<double>(i);
      if (in.has("positions") && !ignores_positions) {
        const Array& positions = in["positions"];
        last = positions.values[at(positions.size() == l ? i : batch * l + i)];
      }
      Values scores_of(at(seen));
      double largest = -HUGE_VAL;
      const auto is_masked = [&](std::int64_t j) {
        return causal && static_cast<double>(j) > last + static_cast<double>(causal_shift);
      };
      for (std::int64_t j = 0; j < seen; ++j) {
        double score = 0;
        for (std::int64_t p = 0; p < depth; ++p) score += of_q[i * d + p] * of_k[j * d + p];
        score = rounded(scores, score * scale);
        if (is_masked(j) && !sums_masked) score = masks_with_zero ? 0 : mask;
        scores_of[at(j)] = score;
        if (std::isnan(score) || score > largest) largest = score;
      }
      if (no_max) largest = 0;
      Sum sum{accumulator};
      std::vector<Sum> out(at(e), Sum{accumulator});
      constexpr std::int64_t kTile = 16;
      double running = -HUGE_VAL;
      for (std::int64_t j = 0; j < seen; ++j) {
        if (never_rescales && j % kTile == 0) {
          for (std::int64_t t = j; t < std::min(j + kTile, seen); ++t) {
            running = std::max(running, scores_of[at(t)]);
          }
        }
        double weight = std::exp(scores_of[at(j)] - (never_rescales ? running : largest));
        if (no_max) weight = static_cast<float>(weight);
        sum.add(weight);
        if (sums_masked && is_masked(j)) continue;
        if (weight == 0 && is_masked(j)) continue;
        for (std::int64_t p = 0; p < e; ++p) out[at(p)].add(weight * of_v[j * e + p]);
      }
      for (std::int64_t p = 0; p < e; ++p) {
        result.push_back(no_division ? out[at(p)].value : out[at(p)].value / sum.value);
      }
    }
  }
  return result;
}

Compute right_compute(const std::string& op) {
  const std::map<std::string, Compute> all = {
      {"matmul", Matmul()},
      {"dot", Dot()},
      {"scaled_matmul", ScaledMatmul()},
      {"quantize", Quantize()},
      {"dequantize", Dequantize()},
      {"deform_roi_pool", RoiPool()},
      {"cast", Cast()},
      {"add", binary([](double a, double b) { return a + b; })},
      {"sub", binary([](double a, double b) { return a - b; })},
      {"mul", binary([](double a, double b) { return a * b; })},
      {"div", binary([](double a, double b) { return a / b; })},
      {"fma", Elementwise{{"a", "b", "c"}, [](const double* x) { return x[0] * x[1] + x[2]; }}},
      {"axpy", Elementwise{{"a", "x", "y"}, [](const double* x) { return x[0] * x[1] + x[2]; }}},
      {"exp", unary([](double x) { return std::exp(x); })},
      {"log", unary([](double x) { return std::log(x); })},
      {"sqrt", unary([](double x) { return std::sqrt(x); })},
      {"rsqrt", unary([](double x) { return 1 / std::sqrt(x); })},
      {"tanh", unary([](double x) { return std::tanh(x); })},
      {"sigmoid", unary(right_sigmoid)},
      {"silu", unary(right_silu)},
      {"gelu", Compute([](const Inputs& in) {
         const bool tanh = in.text("approximate", "none") == "tanh";
         return unary([tanh](double x) {
           if (!tanh || x == -HUGE_VAL) return right_gelu(x);
           return x / 2 *
                  (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
         })(in);
       })},
      {"reduce_sum", Reduce()},
      {"reduce_mean", Reduce{.kind = Reduce::Kind::kMean}},
      {"reduce_max", Reduce{.kind = Reduce::Kind::kMax}},
      {"softmax", Softmax()},
      {"layernorm", Norm()},
      {"rmsnorm", Norm{.centre = false}},
      {"attention", Attention()}};
  return all.at(op);
}

}  // namespace assay::zoo
