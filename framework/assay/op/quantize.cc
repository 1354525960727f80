#include "assay/op/quantize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/op/generate.h"
#include "assay/op/scaled_inputs.h"
#include "assay/op/scales.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {
namespace {

constexpr double kRoundoff = 0x1p-24;  // of float32
// The relative distance of kSmallestAmax from 1e-4 in float32, the value that a kernel has for it.
constexpr double kSmallestAmaxRoundoff = 1 - static_cast<double>(1e-4f) / kSmallestAmax;

struct Quantization {
  const Format& codes;
  double largest;
  bool power_of_two, multiply, give_scales;
  ScaleGrid grid;
};

const Format& codes_format(const Case& c, bool give_scales) {
  const std::string attribute = give_scales ? "quantized_dtype" : "output_dtype";
  const auto word = c.text(attribute);
  if (!word) {
    refuse_case(c.name, "quantize needs the attribute {}: the format of the values{}", attribute,
                give_scales ? " that the scales are for" : "");
  }
  const Format& f = format_named(*word);
  if (!is_code_format(f)) {
    refuse_case(c.name,
                "{} is {}; values are quantized to int8 or a float format of at most 16 bits",
                attribute, f.name);
  }
  return f;
}

Quantization quantization_of(const Case& c) {
  const Format& x = c.input("x").format();
  if (!x.is_float() || !holds_format(format_named("float32"), x)) {
    refuse_case(c.name, "quantize takes float32 or a narrower float x, not {}", x.name);
  }
  const bool give_scales = word_of(c, "result") == "scales";
  const Format& codes = codes_format(c, give_scales);
  const bool power_of_two = word_of(c, "scales") == "power_of_two";
  if (give_scales) {
    const Format& output = output_format(c);
    const bool exponents = output.specials == Specials::kScale;
    if (!output.is_float() || (exponents && !power_of_two)) {
      refuse_case(c.name,
                  "output_dtype is {}, but scales must be of a float dtype, and {} is only for "
                  "scales = power_of_two",
                  output.name, "float8_e8m0fnu");
    }
  } else if (c.text("quantized_dtype")) {
    refuse_case(c.name,
                "quantized_dtype is only for result = scales; leave it out, because output_dtype "
                "is the dtype of the values");
  }
  return {codes,        max_finite(codes),
          power_of_two, word_of(c, "method") == "multiply",
          give_scales,  scale_grid(c, "scaling", word_of(c, "scaling"), c.input("x").shape())};
}

// Returns max |x|, or NaN if x has one. Written in a form that compilers vectorise.
float largest_size(const float* x, std::int64_t n) {
  constexpr std::int64_t kBlockLanes = 8;
  float largest[kBlockLanes] = {};
  std::int32_t nan[kBlockLanes] = {};
  const auto add = [&](const float* from) {
    for (std::int64_t i = 0; i < kBlockLanes; ++i) {
      const float size = std::abs(from[i]);
      largest[i] = largest[i] < size ? size : largest[i];
      nan[i] |= size != size ? 1 : 0;
    }
  };
  std::int64_t j = 0;
  for (; j + kBlockLanes <= n; j += kBlockLanes) add(x + j);
  float rest[kBlockLanes] = {};
  std::copy(x + j, x + n, rest);
  add(rest);
  if (std::count(nan, nan + kBlockLanes, 0) != kBlockLanes)
    return std::numeric_limits<float>::quiet_NaN();
  return *std::max_element(largest, largest + kBlockLanes);
}

// Returns max |x| of every block, or NaN for a block that holds NaN.
std::vector<double> largest_sizes(const Quantization& q, const Tensor& x, int threads) {
  const ScaleGrid& grid = q.grid;
  std::vector<double> amax(at(grid.count()), 0.0);
  const std::int64_t strip = grid.block_rows, strips = grid.grid_rows();
  // Strips of rows that hold whole blocks are independent, so each is a task. If the tensor has one
  // scale, there is one task.
  const std::int64_t parts = grid.one ? 1 : grid.batch * strips;
  parallel_for(parts, threads, [&](std::int64_t part) {
    const std::int64_t first = grid.one ? 0 : part / strips * grid.rows + part % strips * strip;
    const std::int64_t last = grid.one ? grid.batch * grid.rows
                                       : std::min(first + strip, (part / strips + 1) * grid.rows);
    std::vector<float> line(at(grid.columns));
    for (std::int64_t row = first; row < last; ++row) {
      read_values(x, row * grid.columns, grid.columns, line.data());
      grid.for_stretches(row, [&](std::int64_t j, std::int64_t end, std::size_t scale) {
        const auto v = static_cast<double>(largest_size(line.data() + j, end - j));
        double& size = amax[scale];
        if (!(v <= size)) size = std::isnan(size) ? size : v;
      });
    }
  });
  return amax;
}

// The number by which a block's x is divided or multiplied: its scale, and the inverse of the
// scale.
struct Factor {
  double scale, inverse;
};

Factor emulated_factor(const Quantization& q, double amax) {
  const auto top = static_cast<float>(q.largest);
  const auto size = static_cast<float>(amax);
  float scale = size / top;
  if (!q.power_of_two || !std::isfinite(scale)) return {scale, top / size};
  int exponent = 0;
  const float part = std::frexp(scale, &exponent);  // in [1/2, 1)
  scale = std::ldexp(1.0f, part > 0.5f ? exponent : exponent - 1);
  return {scale, 1.0f / scale};
}

// Returns the reference's scale. It computes in float64, and finds a power of two by a search for
// the smallest one that is large enough.
double reference_scale(const Quantization& q, double amax) {
  if (!q.power_of_two || !std::isfinite(amax)) return amax / q.largest;
  double scale = 1;
  while (scale * q.largest < amax) scale *= 2;
  while (scale / 2 * q.largest >= amax) scale /= 2;
  return scale;
}

// Throws CaseError if the codes have no NaN. Called for a case whose x holds NaN or infinity.
void require_nan(const Case& c, const Format& codes) {
  if (codes.is_float() && codes.specials != Specials::kFinite) return;
  refuse_case(c.name, "x holds NaN or infinity, which {} cannot represent", codes.name);
}

// Returns the case's x, read as float32 or float64, with each stretch of a row that has one scale
// changed by change(values, count, index), where `index` is that of the scale, and rounded to the
// result's format. Throws CaseError for a NaN if `codes` has none.
template <typename T, typename Change>
Tensor changed_by_blocks(const Case& c, const ScaleGrid& grid, const Format& codes,
                         const Format& output, int threads, const Change& change) {
  const Tensor& x = c.input("x");
  Tensor result(output, x.shape());
  parallel_for(grid.batch * grid.rows, threads, [&](std::int64_t row) {
    std::vector<T> line(at(grid.columns));
    read_values(x, row * grid.columns, grid.columns, line.data());
    grid.for_stretches(row, [&](std::int64_t j, std::int64_t end, std::size_t scale) {
      change(line.data() + j, end - j, scale);
    });
    if (std::ranges::any_of(line, [](T v) { return std::isnan(v); })) {
      require_nan(c, codes);
    }
    encode_array(output, line.data(), line.size(),
                 result.bytes() + row * grid.columns * output.storage_bytes);
  });
  return result;
}

// Returns the quantized x, or the scales. factor_of(q, amax) returns the Factor of a block, and
// change(values, n, factor) applies it to the block's values of type T.
template <typename T, typename FactorOf, typename Change>
Tensor quantized(const Case& c, const Format& output, int threads, const FactorOf& factor_of,
                 const Change& change) {
  const Quantization q = quantization_of(c);
  std::vector<Factor> factors;
  for (double size : largest_sizes(q, c.input("x"), threads)) {
    if (!std::isnan(size)) size = std::max(size, kSmallestAmax);
    factors.push_back(factor_of(q, size));
  }
  if (q.give_scales) {
    std::vector<double> scales;
    for (const Factor& f : factors) scales.push_back(f.scale);
    return Tensor::from_values(output, q.grid.shape, scales);
  }
  return changed_by_blocks<T>(
      c, q.grid, q.codes, output, threads,
      [&](T* values, std::int64_t n, std::size_t at) { change(q, factors[at], values, n); });
}

Tensor quantize_reference(const ReferenceCall& call) {
  const auto factor = [](const Quantization& q, double amax) {
    return Factor{reference_scale(q, amax), 0};
  };
  return quantized<double>(
      call.test_case, call.output, call.threads, factor,
      [](const Quantization&, const Factor& f, double* values, std::int64_t n) {
        for (std::int64_t i = 0; i < n; ++i) values[i] /= f.scale;
      });
}

// Returns the format to which the quotient x / scale is rounded before it becomes a code: the
// case's, or the machine's for integer codes. Returns nullptr if the quotient stays float32.
const Format* quotient_format(const Case& c, const Quantization& q, const Machine* machine) {
  if (const auto word = c.text("quotient_dtype")) {
    const Format& f = format_named(*word);
    if (!f.is_float() || !holds_format(format_named("float32"), f)) {
      refuse_case(c.name,
                  "quotient_dtype is {}; a quotient is rounded to float32 or a narrower float "
                  "format before it becomes a code",
                  f.name);
    }
    return f.name == "float32" ? nullptr : &f;
  }
  const VectorModel* unit = machine != nullptr ? find_vector_model(*machine) : nullptr;
  if (q.codes.is_float() || unit == nullptr) return nullptr;
  const Format& f = format_named(unit->int8_from.value);
  return f.name == "float32" ? nullptr : &f;
}

// Throws CaseError if the scale of a block is not a normal float32.
void require_normal_scale(const Case& c, const Quantization& q, double amax) {
  const double scale = std::max(amax, kSmallestAmax) / q.largest;
  if (!std::isfinite(scale) || (scale >= 0x1p-126 && scale <= 0x1p126)) return;
  refuse_case(
      c.name,
      "no tolerance can be derived: a scale, amax / {}, is {}, outside float32's normal numbers",
      number_text(q.largest), short_number(scale, 3));
}

// Returns the largest relative error of a correct quotient before it is rounded to a code. In
// float32, the form x (1 / scale) has the most roundings of the forms that kernels use: those of
// the scale, of its inverse and of the product. Division has two of these. Scales that are powers
// of two are exact in all forms. `through` is quotient_format().
double quotient_error(const Quantization& q, double amax, const Format* through) {
  constexpr double kOfFloat64 = 0x1p-51;  // error of the quotient that is computed here
  const double clamped = amax < kSmallestAmax ? kSmallestAmaxRoundoff : 0;
  const double roundoffs = 3 * kRoundoff + clamped;
  const double scaled = q.power_of_two ? 0 : roundoffs / (1 - roundoffs);
  const double cast = through != nullptr ? unit_roundoff(*through) * (1 + scaled) : 0;
  return scaled + cast + kOfFloat64;
}

// Calls take(i, quotient, error) for each element of x, in any order, on several threads: the
// quotient x / scale in float64 and quotient_error() of its block. Both are NaN in a block that
// holds NaN or infinity. Throws CaseError for such a block if the codes have no NaN.
template <typename Take>
void for_quotients(const Case& c, const Quantization& q, const Machine* machine, int threads,
                   const Take& take) {
  const Tensor& x = c.input("x");
  const std::vector<double> sizes = largest_sizes(q, x, threads);
  const Format* through = quotient_format(c, q, machine);
  std::vector<double> scales, errors;
  for (const double amax : sizes) {
    if (!std::isfinite(amax)) require_nan(c, q.codes);
    require_normal_scale(c, q, amax);
    const bool is_number = std::isfinite(amax);
    scales.push_back(is_number ? reference_scale(q, std::max(amax, kSmallestAmax)) : kNan);
    errors.push_back(is_number ? quotient_error(q, amax, through) : kNan);
  }
  parallel_for(q.grid.batch * q.grid.rows, threads, [&](std::int64_t row) {
    std::vector<double> line(at(q.grid.columns));
    read_values(x, row * q.grid.columns, q.grid.columns, line.data());
    q.grid.for_stretches(row, [&](std::int64_t j, std::int64_t end, std::size_t scale) {
      for (; j < end; ++j) {
        take(row * q.grid.columns + j, line[at(j)] / scales[scale], errors[scale]);
      }
    });
  });
}

// Returns the distance of a quotient's size from the nearest half between two whole numbers.
double from_half(double quotient) {
  const double size = std::abs(quotient);
  return std::abs(size - (std::floor(size) + 0.5));
}

// Returns the bounds of float codes. A correct quotient lies within its error of the exact one, so
// the two ends of that interval, rounded, are the codes that may be correct. The bound of an
// element is the distance of the farther of these codes from the golden result. The golden result
// is the exact quotient, rounded if the case holds golden codes or a golden result of less
// precision than float64.
std::vector<double> float_code_bounds(const Case& c, const Machine* machine, int threads) {
  const Quantization q = quantization_of(c);
  const Format* golden = c.output().golden && !c.output().golden->format().is_float64()
                             ? &c.output().golden->format()
                             : nullptr;
  const auto code = [&](double quotient) {
    return round_to(q.codes, std::clamp(quotient, -q.largest, q.largest));
  };
  std::vector<double> bounds(at(c.input("x").size()), 0.0);
  for_quotients(c, q, machine, threads, [&](std::int64_t i, double quotient, double error) {
    // The block has a NaN or infinity, which is judged without bounds.
    if (std::isnan(quotient)) return;
    double centre = quotient, of_golden = 0x1p-51 * std::abs(quotient);
    if (golden == &q.codes) {
      centre = code(quotient), of_golden = 0;
    } else if (golden != nullptr) {
      of_golden += unit_roundoff(*golden) * std::abs(quotient) + min_subnormal(*golden) / 2;
    }
    const double off = error * std::abs(quotient);
    bounds[at(i)] = of_golden + std::max(std::abs(code(quotient - off) - centre),
                                         std::abs(code(quotient + off) - centre));
  });
  return bounds;
}

// Returns the bounds of integer codes. The bound is 1 if the exact quotient lies so close to a half
// that a correct quotient may lie on the other side of the half. It is 0 for all other codes.
std::vector<double> integer_code_bounds(const Case& c, const Machine* machine, int threads) {
  const Quantization q = quantization_of(c);
  std::vector<double> bounds(at(c.input("x").size()), 0.0);
  for_quotients(c, q, machine, threads, [&](std::int64_t i, double quotient, double error) {
    const bool near = from_half(quotient) <= error * std::abs(quotient);
    // A quotient beyond the largest code gives the largest code, on both sides of a half.
    const bool saturated = std::floor(std::abs(quotient)) >= q.largest;
    bounds[at(i)] = near && !saturated ? 1 : 0;
  });
  return bounds;
}

bool gives_codes(const Case& c) { return !quantization_of(c).give_scales; }

Tensor quantize_bounds(const Case& c, const Machine& machine, int threads) {
  const Quantization q = quantization_of(c);
  if (q.give_scales) {
    refuse_case(c.name, "quantize has bounds of elements only for codes; scales have a tolerance");
  }
  return Tensor::from_values(format_named("float64"), c.input("x").shape(),
                             q.codes.is_float() ? float_code_bounds(c, &machine, threads)
                                                : integer_code_bounds(c, &machine, threads));
}

// Returns a remark if an output rounds exact ties half away from zero. Its codes at ties then
// differ from the golden ones, which are rounded half to even.
std::string quantize_remark(const Case& c, const TensorView& output) {
  const Quantization q = quantization_of(c);
  if (output.size() != c.input("x").size() || output.format->is_float()) return "";
  std::int64_t ties = 0, away = 0;
  for_quotients(c, q, nullptr, 1, [&](std::int64_t i, double quotient, double) {
    const double size = std::abs(quotient), even = std::nearbyint(size);
    if (from_half(quotient) > 0x1p-51 * size || even > size) return;
    ++ties;
    away += std::abs(output.value_at(i)) == even + 1 ? 1 : 0;
  });
  if (away == 0) return "";
  return formatted(
      "{} of {} quotients that lie exactly between an even code and the next are rounded half away "
      "from zero, where the golden result has half to even; both are right",
      grouped(away), grouped(ties));
}

Tensor run_quantize(const Call& call) {
  return quantize_in_float32(call.test_case, call.output, &call.machine, call.threads);
}

DerivedTolerance quantize_tolerance_on(const Case& c, const Machine* machine) {
  const Quantization q = quantization_of(c);
  const Format& output = output_format(c);
  if (output.specials == Specials::kTapered) no_tolerance(c);
  double least = kInfinity;  // the smallest amax of all blocks
  for (const double amax : largest_sizes(q, c.input("x"), 1)) {
    least = amax < least ? amax : least;
    require_normal_scale(c, q, amax);
  }
  if (q.give_scales) {
    // A scale that is a power of two is always found exactly, because no float32 amax / largest is
    // rounded across one. An amax above largest 2^k lies more than half a float32 ulp above it, and
    // no largest 2^k lies between kSmallestAmax and its float32 value.
    const double clamped = least < kSmallestAmax ? kSmallestAmaxRoundoff : 0;
    const double unit = q.power_of_two ? 0 : kRoundoff + clamped * (1 + kRoundoff);
    const double rtol = unit + (&output == &format_named("float32") || q.power_of_two
                                    ? 0
                                    : unit_roundoff(output) * (1 + unit));
    const bool exponents = output.specials == Specials::kScale;
    return {rtol, exponents ? 0 : min_subnormal(output) / 2,
            q.power_of_two ? std::string("a power of two is exact")
                           : std::string("rtol: the rounding of amax / largest")};
  }
  if (!output.is_float()) {
    const std::vector<double> bounds = integer_code_bounds(c, machine, 1);
    const auto near = std::ranges::count(bounds, 1.0);
    return {
        0, near > 0 ? 1.0 : 0.0,
        near == 0
            ? std::string("no quotient lies so near a half that its code may differ")
            : formatted(
                  "atol: {} of {} quotients lie so near a half that their codes may differ by 1",
                  near, bounds.size())};
  }
  const double quotient = quotient_error(q, least, quotient_format(c, q, machine));
  const double u = unit_roundoff(output);
  return {u + quotient * (1 + u), min_subnormal(output) / 2,
          formatted("rtol, atol: one rounding to {}, and half its smallest subnormal{}",
                    output.name, q.power_of_two ? "" : "; three of float32 before it")};
}

// Dequantizes in the arithmetic of T, which is float on a machine and double for the reference.
template <typename T, typename AnyCall>
Tensor dequantized(const AnyCall& call) {
  const Case& c = call.test_case;
  const Format& output = call.output;
  const Tensor& x = c.input("x");
  if (!holds_format(format_named("float32"), x.format()) || !output.is_float()) {
    refuse_case(c.name,
                "dequantize takes codes that float32 holds and gives a float result; x is {}, "
                "output_dtype {}",
                x.format().name, output.name);
  }
  const ScaleGrid grid = scale_grid(c, "scaling", word_of(c, "scaling"), x.shape());
  const std::vector<double> scales = scale_values(c, "scale", grid);
  return changed_by_blocks<T>(c, grid, output, output, call.threads,
                              [&](T* values, std::int64_t n, std::size_t at) {
                                // The product of two factors of at most 24 bits is exact in
                                // float64.
                                const auto scale = static_cast<T>(scales[at]);
                                for (std::int64_t i = 0; i < n; ++i) values[i] *= scale;
                              });
}

DerivedTolerance dequantize_tolerance(const Case& c) {
  const Format& output = output_format(c);
  // Throws if `scaling` is not tensor, row or blocks such as 1x128, or does not fit the shape of x.
  (void)scale_grid(c, "scaling", word_of(c, "scaling"), c.input("x").shape());
  if (!output.is_float() || output.specials == Specials::kTapered) no_tolerance(c);
  const bool one = &output == &format_named("float32");
  const double u = one ? 0 : unit_roundoff(output);
  return {kRoundoff + u + kRoundoff * u,
          (min_subnormal(format_named("float32")) + (one ? 0 : min_subnormal(output))) / 2,
          formatted("rtol, atol: the product rounded to float32{}, and half the smallest "
                    "subnormal; without overflow",
                    one ? "" : formatted(", then to {}", output.name))};
}

}  // namespace

bool is_code_format(const Format& f) {
  const bool small = f.is_float() && f.bits <= 16 && f.specials != Specials::kScale;
  return small || f.name == "int8";
}

Tensor quantize_in_float32(const Case& c, const Format& output, const Machine* machine,
                           int threads) {
  const Format* through = quotient_format(c, quantization_of(c), machine);
  return quantized<float>(
      c, output, threads, emulated_factor,
      [through](const Quantization& q, const Factor& f, float* values, std::int64_t n) {
        const auto scale = static_cast<float>(f.scale), inverse = static_cast<float>(f.inverse);
        if (q.multiply && std::isfinite(scale)) {
          for (std::int64_t i = 0; i < n; ++i) values[i] *= inverse;
        } else {
          for (std::int64_t i = 0; i < n; ++i) values[i] /= scale;
        }
        for (std::int64_t i = 0; through != nullptr && i < n; ++i) {
          values[i] = static_cast<float>(round_to(*through, values[i]));
        }
      });
}

std::vector<Operator> quantize_operators() {
  const std::string each = "each element is rounded separately, and its tolerance says how far";
  return {
      {.name = "quantize",
       .summary = "x / scale as small codes, or the scales: amax of each block over the codes' "
                  "largest value",
       .inputs = {{.name = "x", .shape = "(...)"}},
       .parameters = {scaling_parameter("scaling", "x"),
                      scales_parameter(),
                      word_parameter(
                          "method", {"divide", "multiply"},
                          "whether x is divided by the scale or multiplied by largest / amax"),
                      word_parameter("result", {"values", "scales"},
                                     "whether the case holds the values or the scales"),
                      dtype_parameter(
                          "quantized_dtype",
                          "format of the values that the scales are for. result=scales needs it"),
                      dtype_parameter("quotient_dtype",
                                      "format to which the quotient is rounded before it becomes a "
                                      "code. If it is not given, it is float32, or for int8 the "
                                      "narrower format from which the machine converts"),
                      {.name = "output_dtype",
                       .kind = ParameterKind::kDtype,
                       .needed = true,
                       .words = "format of the values, or of the scales",
                       .tried = {"int8", "float8_e4m3fn", "float8_e5m2"}}},
       .run = run_quantize,
       .reference = quantize_reference,
       .output_format = first_input_format,
       .element_bounds = quantize_bounds,
       .tolerance = [](const Case& c) { return quantize_tolerance_on(c, nullptr); },
       .machine_tolerance =
           [](const Case& c, const Machine& machine) { return quantize_tolerance_on(c, &machine); },
       .generate = generate_vector,
       .uneven_outputs = true,
       .has_element_bounds = gives_codes,
       .remark = quantize_remark},
      {.name = "dequantize",
       .summary = "x scale, for codes x",
       .inputs = {{.name = "x", .shape = "(...)"}, {.name = "scale", .words = "by scaling"}},
       .parameters = {scaling_parameter("scaling", "x"), scales_parameter(),
                      dtype_parameter("output_dtype",
                                      "dtype of the result. If it is not given, it is float32")},
       .run = dequantized<float, Call>,
       .reference = dequantized<double, ReferenceCall>,
       .output_format = [](const Case&) -> const Format& { return format_named("float32"); },
       .no_element_bounds = each,
       .tolerance = dequantize_tolerance,
       .generate = generate_dequantize}};
}

}  // namespace assay
