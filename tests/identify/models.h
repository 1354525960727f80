// Random models of the space that identify searches, and products that they compute.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/parallel.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/cases/case.h"
#include "assay/format/convert.h"
#include "assay/format/rounding.h"
#include "assay/machine/dot_oracle.h"
#include "assay/machine/k_parts.h"
#include "assay/machine/machine.h"
#include "assay/op/operator.h"

namespace assay::identify {

template <typename T, std::size_t kCount>
T one_of(Random& random, const T (&values)[kCount]) {
  return values[random.below(kCount)];
}

// Returns a random model. If `rare` is set, it may have parameters that ordinary data do not show.
inline DotModel random_model(Random& random, bool rare) {
  static constexpr std::string_view kInputs[] = {"float16", "bfloat16", "float8_e4m3fn", "float32"};
  static constexpr int kChunks[] = {1, 2, 4, 8, 16, 32, 64};
  static constexpr ChunkOrder kOrders[] = {ChunkOrder::kFused, ChunkOrder::kSequential,
                                           ChunkOrder::kPairwise};
  const auto any_rounding = [&] {
    const auto rows = deterministic_rounding_rows();
    return rows[random.below(rows.size())].rounding;
  };
  DotModel m{.input = one_of(random, kInputs),
             .chunk = assumed(random.below(4) == 0 ? static_cast<int>(1 + random.below(64))
                                                   : one_of(random, kChunks)),
             .accumulator = assumed(std::string_view("float32")),
             .rounding = assumed(any_rounding())};
  const bool is_narrow = random.below(4) == 0;
  if (is_narrow) {
    m.chunk = assumed(one_of(random, kChunks));
    m.rounding = assumed(random.below(2) == 0 ? Rounding::kNearestEven : Rounding::kTowardZero);
    m.mantissa_bits = assumed(static_cast<int>(10 + random.below(13)));
    if (random.below(4) == 0) {
      m.accumulator = assumed(std::string_view("float16"));
      m.mantissa_bits = assumed(0);
    }
  }
  if (random.below(2) == 0) {
    m.kept_bits = assumed(static_cast<int>(8 + random.below(30)));
    m.alignment =
        assumed(is_narrow ? (random.below(2) == 0 ? Rounding::kNearestEven : Rounding::kTowardZero)
                          : any_rounding());
    if (rare) m.emax_floor = assumed(-static_cast<int>(120 + random.below(31)));
  } else {
    m.order = assumed(one_of(random, kOrders));
    m.round_products = assumed(random.below(3) == 0);
  }
  if (rare) {
    m.flush_inputs = assumed(random.below(2) == 0);
    m.flush_sums = assumed(random.below(2) == 0);
  }
  return m;
}

inline std::string text_of_model(const DotModel& m) {
  return formatted(
      "{}, chunk {}, {}, {} {} of {} bits, kept {} {}, floor {}, products {}, flush {} {}", m.input,
      m.chunk.value, order_word(m.order.value), m.accumulator.value,
      rounding_name(m.rounding.value), m.mantissa_bits.value, m.kept_bits.value,
      rounding_name(m.alignment.value), m.emax_floor.value, m.round_products.value ? 1 : 0,
      m.flush_inputs.value ? 1 : 0, m.flush_sums.value ? 1 : 0);
}

// A division of K, as a list of parts, each of which is a list of stretches [first, last) that one
// accumulator sums.
struct Division {
  using Stretches = std::vector<std::pair<std::int64_t, std::int64_t>>;
  // If there are fewer than two parts, K is not divided.
  std::vector<Stretches> parts;
  PartOrder order = PartOrder::kAscending;
  std::string text = "whole";
};

inline Division parts_of_size(std::int64_t k, std::int64_t terms) {
  Division d;
  d.text = formatted("parts of {}", terms);
  for (std::int64_t i = 0; terms > 0 && i < k; i += terms) {
    d.parts.push_back({{i, std::min(k, i + terms)}});
  }
  return d;
}

// Returns a random division of K. If `rare` is set, it may also have other orders and other sizes,
// and pieces that are dealt to the parts in turn.
inline Division random_division(Random& random, std::int64_t k, bool rare) {
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(n)));
  };
  const std::int64_t parts = 1 + below(4);
  Division d = parts_of_size(k, parts == 1 ? 0 : (k / parts + 15) / 16 * 16);
  if (!rare) return d;
  switch (below(4)) {
    case 0: {
      d = parts_of_size(k, 16 * (1 + below(2)));
      const bool up = random.below(2) != 0;
      d.order = up ? PartOrder::kPairwise : PartOrder::kDescending;
      d.text += up ? ", pairwise" : ", descending";
      break;
    }
    case 1: {
      const std::int64_t first = 1 + below(k - 1);
      d.parts = {{{0, first}}, {{first, k}}};
      d.text = formatted("{}, then the rest", first);
      break;
    }
    case 2: {
      const std::int64_t dealt = 2 + below(3), piece = 8 * (1 + below(2));
      d = {};
      d.parts.resize(static_cast<std::size_t>(dealt));
      for (std::int64_t i = 0; i < k; i += piece) {
        d.parts[static_cast<std::size_t>(i / piece % dealt)].emplace_back(i, i + piece);
      }
      d.text = formatted("pieces of {} dealt to {}", piece, dealt);
      break;
    }
    default:
      break;
  }
  return d;
}

// Adds to a product its output by the scalar oracle. K is divided as `division` says, and the parts
// are added in float32.
inline void compute_by(const DotModel& model, const Division& division, Case& c) {
  const std::vector<double> a = c.inputs.at("a").view().values(),
                            b = c.inputs.at("b").view().values();
  const std::int64_t m = c.inputs.at("a").shape()[0], k = c.inputs.at("a").shape()[1],
                     n = c.inputs.at("b").shape()[1];
  std::vector<Division::Stretches> parts = division.parts;
  if (parts.empty()) parts = {{{0, k}}};
  std::vector<double> sums(static_cast<std::size_t>(m * n));
  parallel_for(m, 0, [&](std::int64_t i) {
    for (std::int64_t j = 0; j < n; ++j) {
      std::vector<float> of_parts;
      for (const Division::Stretches& part : parts) {
        std::vector<double> x, y;
        for (const auto& [first, last] : part) {
          for (std::int64_t kk = first; kk < last; ++kk) {
            x.push_back(a[static_cast<std::size_t>(i * k + kk)]);
            y.push_back(b[static_cast<std::size_t>(kk * n + j)]);
          }
        }
        of_parts.push_back(static_cast<float>(
            dot_oracle(model, static_cast<std::int64_t>(x.size()), x.data(), 1, y.data(), 1, 0.0)));
      }
      if (division.order == PartOrder::kDescending) std::reverse(of_parts.begin(), of_parts.end());
      while (division.order == PartOrder::kPairwise && of_parts.size() > 1) {
        std::vector<float> next;
        for (std::size_t p = 0; p < of_parts.size(); p += 2) {
          next.push_back(p + 1 < of_parts.size() ? of_parts[p] + of_parts[p + 1] : of_parts[p]);
        }
        of_parts = next;
      }
      float total = parts.size() == 1 ? of_parts[0] : 0;
      for (std::size_t p = 0; p < of_parts.size() && parts.size() > 1; ++p) total += of_parts[p];
      sums[static_cast<std::size_t>(i * n + j)] = static_cast<double>(total);
    }
  });
  c.output().recorded["device"].tensor = Tensor::from_values(output_format(c), {m, n}, sums);
}

// Returns a product of m x k and k x n normal values, computed by the model.
inline Case product_by(const DotModel& model, const std::string& name, std::int64_t m,
                       std::int64_t k, std::int64_t n, Random& random,
                       const char* output = "float32") {
  Case c;
  c.name = name;
  c.op = "matmul";
  c.attributes["output_dtype"] = std::string(output);
  const auto drawn = [&](Shape shape) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < element_count(shape); ++i) values.push_back(random.normal());
    return Tensor::from_values(format_named(model.input), std::move(shape), values);
  };
  c.inputs["a"] = drawn({m, k});
  c.inputs["b"] = drawn({k, n});
  compute_by(model, Division{}, c);
  return c;
}

}  // namespace assay::identify
