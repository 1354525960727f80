#include "assay/op/row_sample.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <set>
#include <utility>

#include "assay/base/call_text.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/cases/attention_shape.h"
#include "assay/cases/product_operands.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

// Returns `count` random numbers below `of`, in ascending order. Each set of such numbers is
// equally likely (Floyd).
std::vector<std::int64_t> draw_numbers(std::int64_t count, std::int64_t of, Random& random) {
  std::set<std::int64_t> drawn;
  for (std::int64_t last = of - count; last < of; ++last) {
    const std::int64_t number = random.index_below(last + 1);
    if (!drawn.insert(number).second) drawn.insert(last);
  }
  return {drawn.begin(), drawn.end()};
}

// The numbers of the drawn matrices, and of the drawn rows of each matrix.
struct Drawn {
  std::vector<std::int64_t> matrices;
  std::int64_t of_each = 0;
  std::vector<std::int64_t> rows = {};  // of the first matrix, then of the second, ...
};

Drawn draw_rows(const RowSample& sample, std::string_view name, std::int64_t matrices,
                std::int64_t rows) {
  Random random(sample.seed, stream_of(formatted("sampled rows of {}", name)));
  const std::int64_t asked = std::min(sample.rows, matrices * rows);
  Drawn drawn{.matrices = draw_numbers(std::min(asked, matrices), matrices, random)};
  const auto count = std::ssize(drawn.matrices);
  drawn.of_each = (asked + count - 1) / count;
  for (std::int64_t m = 0; m < count; ++m) {
    const std::vector<std::int64_t> of_one = draw_numbers(drawn.of_each, rows, random);
    drawn.rows.insert(drawn.rows.end(), of_one.begin(), of_one.end());
  }
  return drawn;
}

// Returns a tensor of the drawn rows. row_at(matrix, row) returns a view of one row.
template <typename RowAt>
Tensor gathered(const Drawn& drawn, const Format& format, Shape shape, const RowAt& row_at) {
  Tensor to(format, std::move(shape));
  std::byte* at = to.bytes();
  for (std::size_t i = 0; i < drawn.rows.size(); ++i) {
    const std::int64_t matrix = drawn.matrices[i / static_cast<std::size_t>(drawn.of_each)];
    const Tensor row = copy_of(row_at(matrix, drawn.rows[i]));
    std::memcpy(at, row.bytes(), row.byte_count());
    at += row.byte_count();
  }
  return to;
}

// Returns the drawn matrices (the last two dimensions) of a tensor that has one for each matrix of
// the output.
Tensor drawn_matrices(const Drawn& drawn, const Tensor& from) {
  const std::size_t rank = from.shape().size();
  Shape shape = {std::ssize(drawn.matrices), from.shape()[rank - 2], from.shape()[rank - 1]};
  const auto bytes = static_cast<std::size_t>(shape[1] * shape[2] * from.format().storage_bytes);
  Tensor to(from.format(), std::move(shape));
  std::byte* at = to.bytes();
  for (const std::int64_t matrix : drawn.matrices) {
    std::memcpy(at, from.bytes() + static_cast<std::size_t>(matrix) * bytes, bytes);
    at += bytes;
  }
  return to;
}

// Returns the shape of a tensor of the drawn rows, each of `width` elements.
Shape shape_of(const Drawn& drawn, bool has_matrices, std::int64_t width) {
  if (!has_matrices) return {drawn.of_each, width};
  return {std::ssize(drawn.matrices), drawn.of_each, width};
}

void set_rows(SampledRows& sampled, const Drawn& drawn, std::int64_t rows) {
  for (std::size_t i = 0; i < drawn.rows.size(); ++i) {
    const std::int64_t matrix = drawn.matrices[i / static_cast<std::size_t>(drawn.of_each)];
    sampled.rows.push_back(matrix * rows + drawn.rows[i]);
  }
}

void sample_product(const Case& c, const RowSample& sample, SampledRows& sampled) {
  const ProductOperands p = product_operands(c);
  const MatmulShape s = p.shape();
  sampled.output = s.output;
  // If all batches share one matrix b, the rows of all matrices of a count as rows of one matrix.
  const bool one_b = p.b.rank() == 2;
  const std::int64_t matrices = one_b ? 1 : s.batch, rows = one_b ? s.batch * s.m : s.m;
  sampled.of = s.batch * s.m;
  const Drawn drawn = draw_rows(sample, c.name, matrices, rows);
  set_rows(sampled, drawn, rows);
  auto& inputs = sampled.test_case.inputs;
  inputs["a"] = gathered(
      drawn, *p.a.format, shape_of(drawn, !one_b, s.k), [&](std::int64_t matrix, std::int64_t row) {
        return one_b ? p.matrix_a(row / s.m).at(row % s.m) : p.matrix_a(matrix).at(row);
      });
  inputs["b"] = one_b ? c.input("b") : drawn_matrices(drawn, c.input("b"));
  sampled.test_case.attributes.erase("transpose_a");
  for (const auto& [name, tensor] : c.inputs) inputs.try_emplace(name, tensor);
}

void sample_attention(const Case& c, const RowSample& sample, SampledRows& sampled) {
  const AttentionShape a = attention_shape(c);
  sampled.output = a.output;
  sampled.of = a.batch * a.queries;
  const Drawn drawn = draw_rows(sample, c.name, a.batch, a.queries);
  set_rows(sampled, drawn, a.queries);
  const bool has_matrices = a.output.size() > 2;
  auto& inputs = sampled.test_case.inputs;
  const Tensor& q = c.input("q");
  const TensorView queries = TensorView{q.bytes(),
                                        &q.format(),
                                        {sampled.of, a.depth},
                                        contiguous_strides(Shape{sampled.of, a.depth})};
  inputs["q"] = gathered(
      drawn, q.format(), shape_of(drawn, has_matrices, a.depth),
      [&](std::int64_t matrix, std::int64_t row) { return queries.at(matrix * a.queries + row); });
  for (const char* name : {"k", "v"}) {
    inputs[name] = has_matrices ? drawn_matrices(drawn, c.input(name)) : c.input(name);
  }
  if (!a.causal) return;
  std::vector<double> positions;
  for (const std::int64_t row : sampled.rows) {
    positions.push_back(static_cast<double>(a.seen(row / a.queries, row % a.queries) - 1));
  }
  Shape shape = inputs["q"].shape();
  shape.pop_back();
  inputs["positions"] = Tensor::from_values(format_named("int64"), std::move(shape), positions);
}

}  // namespace

std::string RowSample::text() const { return formatted("rows={},seed={}", rows, seed); }

RowSample parse_row_sample(std::string_view text) {
  RowSample sample;
  std::set<std::string> keys;
  const auto refuse = [&](const std::string& what) {
    assay::refuse("sample '{}': {}", text, what);
  };
  for (const std::string& part : every_part(text, ',')) {
    const std::size_t sign = part.find('=');
    const std::string key = part.substr(0, sign);
    const std::string value = sign == std::string::npos ? "" : part.substr(sign + 1);
    if (key != "rows" && key != "seed") {
      refuse(formatted("'{}' is not known; it is rows=N,seed=N", key));
    }
    if (!keys.insert(key).second) refuse(formatted("{} is there twice", key));
    if (key == "rows") {
      sample.rows = read_number<std::int64_t>(value).value_or(0);
      if (sample.rows < 1) {
        refuse(formatted("rows must be a whole number of at least 1, not '{}'", value));
      }
    } else if (const auto seed = read_number<std::uint64_t>(value)) {
      sample.seed = *seed;
    } else {
      refuse(formatted("seed must be a whole number of at least 0, not '{}'", value));
    }
  }
  return sample;
}

double seen_share(std::int64_t rows) {
  return -std::expm1(std::log(0.05) / static_cast<double>(rows));
}

Tensor SampledRows::of_output(const TensorView& whole) const {
  const std::int64_t width = output.back();
  Shape shape = test_case.inputs.count("q") != 0 ? test_case.input("q").shape()
                                                 : test_case.input("a").shape();
  shape.back() = width;
  Tensor drawn(*whole.format, std::move(shape));
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::int64_t j = 0; j < width; ++j) {
      drawn.set_bits(static_cast<std::int64_t>(i) * width + j, whole.bits_at(rows[i] * width + j));
    }
  }
  return drawn;
}

std::int64_t SampledRows::whole_position(std::int64_t element) const {
  const std::int64_t width = output.back();
  return rows[static_cast<std::size_t>(element / width)] * width + element % width;
}

std::string why_no_rows(const Case& c) {
  if (is_product(c) || is_attention(c)) return "";
  return "rows can be drawn only for products and attention";
}

SampledRows sample_rows(const Case& c, const RowSample& sample) {
  if (const std::string why_not = why_no_rows(c); !why_not.empty()) {
    refuse_case(c.name, why_not);
  }
  if (sample.rows < 1) refuse("a sample needs at least one row");
  SampledRows sampled{.test_case = c.without_tensors()};
  is_product(c) ? sample_product(c, sample, sampled) : sample_attention(c, sample, sampled);
  return sampled;
}

}  // namespace assay
