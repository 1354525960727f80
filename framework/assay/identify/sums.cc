#include "assay/identify/sums.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/cases/product.h"
#include "assay/machine/dot_oracle.h"
#include "assay/op/dot_operator.h"
#include "assay/op/operator.h"
#include "assay/op/parameter.h"

namespace assay::inline v0_2::identify {
namespace {

void append(std::vector<double>& to, const std::vector<double>& values) {
  to.insert(to.end(), values.begin(), values.end());
}

// Reads the rows of a and of the transposed b, and which row of a and of b each element multiplies.
void read_product(const Case& c, Sums& s) {
  const MatmulShape shape = matmul_shape(c);
  s.k = shape.k;
  s.count = shape.batch * shape.m * shape.n;
  // An operand without batch dimensions is used for all batches.
  const auto is_batched = [&](const char* name) { return c.input(name).shape().size() > 2; };
  const std::int64_t a_batches = is_batched("a") ? shape.batch : 1,
                     b_batches = is_batched("b") ? shape.batch : 1;
  for (std::int64_t i = 0; i < a_batches; ++i) append(s.a, matmul_matrix(c, "a", i).values());
  for (std::int64_t i = 0; i < b_batches; ++i) {
    append(s.b, matmul_matrix(c, "b", i).transposed().values());
  }
  const std::vector<double> bias =
      c.inputs.count("bias") != 0 ? matmul_bias(c) : std::vector<double>{};
  for (std::int64_t i = 0; i < s.count; ++i) {
    const std::int64_t batch = i / (shape.m * shape.n), row = i / shape.n % shape.m,
                       column = i % shape.n;
    s.a_row.push_back((a_batches > 1 ? batch * shape.m : 0) + row);
    s.b_row.push_back((b_batches > 1 ? batch * shape.n : 0) + column);
    if (!bias.empty()) s.start.push_back(bias[at(column)]);
  }
}

// Reads the scales of each operand's rows (for b, columns) along K, and the positions at which they
// change.
void read_scales(const Case& c, Sums& s) {
  const MatmulShape shape = matmul_shape(c);
  struct Operand {
    ScaleGrid grid;
    std::vector<double> values;
    bool across, batched;
    double of(std::int64_t batch, std::int64_t i, std::int64_t k) const {
      return values[at(grid.at(batched ? batch : 0, across ? k : i, across ? i : k))];
    }
    std::int64_t depth() const {
      const std::int64_t block = across ? grid.block_rows : grid.block_columns;
      return grid.one || block >= (across ? grid.rows : grid.columns) ? 0 : block;
    }
  };
  const auto operand = [&](const std::string& name) {
    const Shape& x = c.input(name).shape();
    const bool across = (name == "b") != flag_of(c, "transpose_" + name);
    const std::string scaling = name + "_scaling";
    const ScaleGrid grid = scale_grid(c, scaling, word_of(c, scaling), x, across);
    return Operand{grid, scale_values(c, "scale_" + name, grid), across, x.size() > 2};
  };
  const Operand a = operand("a"), b = operand("b");
  s.cuts = {0};
  for (std::int64_t k = 1; k < s.k; ++k) {
    if ((a.depth() > 0 && k % a.depth() == 0) || (b.depth() > 0 && k % b.depth() == 0)) {
      s.cuts.push_back(k);
    }
  }
  s.cuts.push_back(s.k);
  const auto fill = [&](const Operand& from, std::int64_t width, std::int64_t rows,
                        std::vector<float>& to) {
    for (std::int64_t i = 0; i < rows; ++i) {
      for (std::size_t part = 0; part + 1 < s.cuts.size(); ++part) {
        to.push_back(static_cast<float>(from.of(i / width, i % width, s.cuts[part])));
      }
    }
  };
  if (s.k == 0) return;
  fill(a, shape.m, static_cast<std::int64_t>(s.a.size()) / s.k, s.a_scales);
  fill(b, shape.n, static_cast<std::int64_t>(s.b.size()) / s.k, s.b_scales);
}

void read_dots(const Case& c, Sums& s) {
  const Tensor &a = c.input("a"), &b = c.input("b"), &start = c.input("c");
  if (a.shape().size() != 2 || a.shape() != b.shape() || start.shape() != Shape{a.shape()[0]}) {
    refuse_case(c.name, "a, b and c do not fit; dot takes [n, K], [n, K] and [n]");
  }
  s.count = a.shape()[0];
  s.k = a.shape()[1];
  s.a = a.view().values();
  s.b = b.view().values();
  s.start = start.view().values();
  s.a_row.resize(at(s.count));
  std::iota(s.a_row.begin(), s.a_row.end(), 0);
  s.b_row = s.a_row;
  s.sums_in_float16 = start.format().name == "float16" && s.output->name == "float16";
}

void note_what_is_exercised(Sums& s) {
  int least[3] = {4000, 4000, 8000};
  const auto look = [&](const std::vector<double>& values, const Format& format, int& exponent) {
    for (const double v : values) {
      if (!std::isfinite(v)) s.has_specials = true;
      if (v == 0 || !std::isfinite(v)) continue;
      if (std::abs(v) < min_normal(format)) s.has_subnormal_inputs = true;
      exponent = std::min(exponent, std::ilogb(v));
    }
  };
  look(s.a, *s.a_format, least[0]);
  look(s.b, *s.b_format, least[1]);
  for (const double v : s.start) {
    if (!std::isfinite(v)) s.has_specials = true;
    if (v != 0 && std::isfinite(v)) least[2] = std::min(least[2], std::ilogb(v));
  }
  s.smallest_exponent = std::min(least[0] + least[1], least[2]);
  s.smallest_result = std::numeric_limits<double>::infinity();
  for (const std::uint64_t bits : s.recorded) {
    const double v = std::abs(decode(*s.output, bits));
    if (v > 0) s.smallest_result = std::min(s.smallest_result, v);
  }
}

// Sorts the elements, the most informative ones first. Elements that are not the correctly rounded
// sum refute models that are too exact. Elements whose exact sum is close to where the rounding
// changes refute models that are not exact enough.
void find_order(Sums& s) {
  struct Rank {
    // Distance of the exact sum from where its rounding changes, in ulps (at most 0.5).
    double distance;
    std::int64_t element;
  };
  std::vector<Rank> wrong, right;
  const std::size_t parts = s.is_scaled() ? s.cuts.size() - 1 : 0;
  for (std::int64_t i = 0; i < s.count; ++i) {
    const double *a = s.a.data() + s.a_row[at(i)] * s.k, *b = s.b.data() + s.b_row[at(i)] * s.k;
    double exact = s.start.empty() ? 0.0 : s.start[at(i)];
    if (parts == 0) {
      for (std::int64_t k = 0; k < s.k; ++k) exact += a[k] * b[k];
    }
    for (std::size_t part = 0; part < parts; ++part) {
      double sum = 0;
      for (std::int64_t k = s.cuts[part]; k < s.cuts[part + 1]; ++k) sum += a[k] * b[k];
      exact += sum * static_cast<double>(s.a_scales[at(s.a_row[at(i)]) * parts + part]) *
               static_cast<double>(s.b_scales[at(s.b_row[at(i)]) * parts + part]);
    }
    const double recorded = decode(*s.output, s.recorded[at(i)]);
    const double ulps = std::abs(exact) / ulp_of(*s.output, exact);
    const double distance = std::abs(ulps - std::floor(ulps) - 0.5);
    const bool is_right = round_to(*s.output, exact) == recorded;
    (is_right ? right : wrong).push_back({std::isfinite(distance) ? distance : 0.0, i});
  }
  std::ranges::stable_sort(wrong, std::greater(), &Rank::distance);
  std::ranges::stable_sort(right, {}, &Rank::distance);
  for (std::size_t i = 0; i < std::max(wrong.size(), right.size()); ++i) {
    if (i < wrong.size()) s.order.push_back(wrong[i].element);
    if (i < right.size()) s.order.push_back(right[i].element);
  }
}

}  // namespace

Sums sums_of(const Case& c, const std::string& producer) {
  const Tensor& recorded = c.output().recorded.at(producer).tensor;
  Sums s;
  s.case_name = c.name;
  s.output_name = c.output_name();
  s.producer = producer;
  s.op = c.op;
  if (c.op != "matmul" && c.op != "dot" && c.op != "scaled_matmul") {
    refuse_case(c.name,
                "identify does not explain {} as sums of products; it explains matmul, dot and "
                "scaled_matmul",
                c.op);
  }
  s.a_format = &c.input("a").format();
  s.b_format = &c.input("b").format();
  s.output = &output_format(c);
  for (const Format* f : {s.a_format, s.b_format, s.output}) {
    if (!f->is_float() || f->is_complex()) {
      refuse_case(c.name, "identify explains sums of floats, not of {}", f->name);
    }
  }
  for (const Format* f : {s.a_format, s.b_format}) {
    if (!holds_format(format_named("float32"), *f)) {
      refuse_case(c.name, "identify explains sums of values that float32 holds, not of {}",
                  f->name);
    }
  }
  if (c.op == "dot") {
    read_dots(c, s);
  } else {
    read_product(c, s);
    if (c.op == "scaled_matmul") read_scales(c, s);
  }
  if (&recorded.format() != s.output || recorded.size() != s.count) {
    refuse_case(c.name, "the output of {} is {} {}, which does not fit this case", producer,
                recorded.format().name, shape_text(recorded.shape()));
  }
  for (std::int64_t i = 0; i < s.count; ++i) s.recorded.push_back(recorded.bits_at(i));
  note_what_is_exercised(s);
  find_order(s);
  return s;
}

namespace {

DotModel as_operator_takes_it(const Sums& s, const Candidate& candidate) {
  DotModel model = candidate.model;
  model.promotion_interval.value = 0;
  if (s.sums_in_float16) {
    model.accumulator.value = "float16";
    model.rounding.value = Rounding::kNearestEven;
    model.mantissa_bits.value = 0;
  }
  return model;
}

}  // namespace

Operands converted(const Sums& sums, const Candidate& c) {
  Operands operands{sums.a, sums.b, {}, {}};
  if (c.compute == nullptr) return operands;
  const MatrixUnit unit{.model = {},
                        .compute = c.compute,
                        .compute_rounding = c.compute_rounding,
                        .in_two_terms = c.in_two_terms,
                        .split = {}};
  if (c.in_two_terms) {
    for (const double v : sums.a) operands.a_rest.push_back(unit.rest(v));
    for (const double v : sums.b) operands.b_rest.push_back(unit.rest(v));
  }
  for (double& v : operands.a) v = unit.first_term(v);
  for (double& v : operands.b) v = unit.first_term(v);
  return operands;
}

namespace {

bool adds_last(const Sums& s, const Candidate& c) {
  return !s.start.empty() && !s.is_dot() && !c.bias_first;
}

}  // namespace

double first_term(const Sums& s, const Candidate& c, std::int64_t element) {
  return s.start.empty() || adds_last(s, c) ? 0.0 : s.start[at(element)];
}

double with_last_term(const Sums& s, const Candidate& c, std::int64_t element, double sum) {
  if (!adds_last(s, c)) return sum;
  if (c.round_before_bias) sum = round_to(*s.output, sum, c.output_rounding);
  return static_cast<double>(static_cast<float>(sum) + static_cast<float>(s.start[at(element)]));
}

bool is_recorded(const Sums& s, const Candidate& c, std::int64_t element, double sum) {
  const std::uint64_t recorded = s.recorded[at(element)],
                      ours = encode(*s.output, sum, c.output_rounding);
  return same_code(*s.output, ours, recorded);
}

Trial::Trial(const Sums& sums, const Operands& operands, const Candidate& candidate)
    : sums_(sums),
      candidate_(candidate),
      model_(as_operator_takes_it(sums, candidate)),
      quick_(model_),
      operands_(operands),
      finite_(!sums.has_specials) {
  KSplit simple{.terms = candidate.split.terms};
  if (candidate.in_two_terms || candidate.split != simple) {
    order_ = k_order(candidate.split, candidate.in_two_terms, sums.k, candidate.inner_interval);
  }
}

double Trial::part(std::int64_t n, const double* a, const double* b, double c) const {
  if (finite_) {
    if (const auto sum = quick_.part(n, a, b, c)) return *sum;
  }
  return dot_part_oracle(model_, n, a, 1, b, 1, c);
}

// Adds partial sums of `interval` terms in float32, as dot_matmul and dot_oracle do with
// promotion_interval.
double Trial::promoted(std::int64_t interval, std::int64_t n, const double* a, const double* b,
                       double c) const {
  if (interval == 0) return part(n, a, b, c);
  auto total = static_cast<float>(c);
  for (std::int64_t begin = 0; begin < n; begin += interval) {
    total += static_cast<float>(part(std::min(interval, n - begin), a + begin, b + begin, 0));
  }
  return static_cast<double>(total);
}

// Divides K into parts of one length, as dot_matmul and dot_oracle do.
double Trial::divided(std::int64_t n, const double* a, const double* b, double c) const {
  const std::int64_t interval = candidate_.split.terms;
  if (interval == 0) return part(n, a, b, c);
  auto total = static_cast<float>(c);
  for (std::int64_t begin = 0; begin < n; begin += interval) {
    total += static_cast<float>(promoted(candidate_.inner_interval, std::min(interval, n - begin),
                                         a + begin, b + begin, 0));
  }
  return static_cast<double>(total);
}

// Divides K in other ways, and adds operands in two terms, as dot_matmul and dot_oracle do.
double Trial::ordered(const Rows& rows, double c) const {
  const double *a = rows.a, *b = rows.b;
  std::vector<double> x, y;
  for (const KOrder::Term& term : order_->terms) {
    // If an order has terms with remainders, the remainders exist.
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
    x.push_back((term.pass == KOrder::Pass::kRestOfA ? rows.a_rest : rows.a)[term.k]);
    // NOLINTNEXTLINE(clang-analyzer-core.NonNullParamChecker)
    y.push_back((term.pass == KOrder::Pass::kRestOfB ? rows.b_rest : rows.b)[term.k]);
  }
  if (!x.empty()) a = x.data(), b = y.data();
  const KParts& parts = order_->parts;
  if (!parts.is_split()) {
    return promoted(order_->promotion, parts.ends.empty() ? 0 : parts.ends[0], a, b, c);
  }
  auto total = static_cast<float>(c);
  add_parts(
      parts, total,
      [&](std::size_t i) {
        const std::int64_t begin = parts.begin(i);
        return stored_part(
            parts, static_cast<float>(promoted(order_->promotion, parts.ends[i] - begin, a + begin,
                                               b + begin, 0)));
      },
      [&](float& to, float sum) { to = add_part_sums(parts, to, sum); });
  return static_cast<double>(total);
}

double Trial::sum_of(const Rows& rows, std::int64_t element) const {
  const Sums& s = sums_;
  const double *a = rows.a, *b = rows.b;
  if (!s.is_scaled()) {
    const double c = first_term(s, candidate_, element);
    return with_last_term(s, candidate_, element,
                          order_ ? ordered(rows, c) : divided(s.k, a, b, c));
  }
  const std::size_t parts = s.cuts.size() - 1;
  const float *a_scales = s.a_scales.data() + at(s.a_row[at(element)]) * parts,
              *b_scales = s.b_scales.data() + at(s.b_row[at(element)]) * parts;
  float sum = 0;
  for (std::size_t i = 0; i < parts; ++i) {
    const ScaleFactors scale = scale_factors(candidate_.scale_order, a_scales[i], b_scales[i]);
    const auto take = [&](double value) {
      const float scaled = static_cast<float>(value) * scale.before;
      sum = candidate_.fused ? std::fma(scaled, scale.last, sum) : sum + scaled * scale.last;
    };
    const std::int64_t begin = s.cuts[i], n = s.cuts[i + 1] - begin;
    if (!s.scales_change()) {
      take(divided(n, a + begin, b + begin, 0));
      continue;
    }
    // If scales change, each promoted part is scaled separately.
    const std::int64_t interval = candidate_.split.terms > 0 ? candidate_.split.terms : n;
    for (std::int64_t first = 0; first < n; first += interval) {
      take(part(std::min(interval, n - first), a + begin + first, b + begin + first, 0));
    }
  }
  return static_cast<double>(sum);
}

double Trial::sum_of_rows(std::int64_t a_row, std::int64_t b_row, std::int64_t element) const {
  const std::int64_t a = a_row * sums_.k, b = b_row * sums_.k;
  const Operands& o = operands_;
  return sum_of({o.a.data() + a, o.b.data() + b, o.a_rest.empty() ? nullptr : o.a_rest.data() + a,
                 o.b_rest.empty() ? nullptr : o.b_rest.data() + b},
                element);
}

double Trial::sum(std::int64_t element) const {
  return sum_of_rows(sums_.a_row[at(element)], sums_.b_row[at(element)], element);
}

double Trial::other_sum(const Pairing& p) const {
  const auto turned = [&](const std::vector<double>& values) {
    if (values.empty()) return values;
    std::vector<double> row(values.begin() + p.b_row * sums_.k,
                            values.begin() + (p.b_row + 1) * sums_.k);
    std::rotate(row.begin(), row.begin() + p.turn, row.end());
    return row;
  };
  const Operands& o = operands_;
  if (p.turn == 0) return sum_of_rows(p.a_row, p.b_row, p.element);
  const std::vector<double> b = turned(o.b), b_rest = turned(o.b_rest);
  return sum_of({o.a.data() + p.a_row * sums_.k, b.data(),
                 o.a_rest.empty() ? nullptr : o.a_rest.data() + p.a_row * sums_.k, b_rest.data()},
                p.element);
}

std::uint64_t Trial::bits(std::int64_t element) const {
  return encode(*sums_.output, sum(element), candidate_.output_rounding);
}

bool Trial::agrees(std::int64_t element) const {
  return is_recorded(sums_, candidate_, element, sum(element));
}

}  // namespace assay::identify
