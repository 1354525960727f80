#include "assay/abft/abft.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <tuple>

#include "assay/abft/confirm.h"
#include "assay/abft/operands.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/simd/checksum.h"
#include "assay/tensor/product.h"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kFloat32Roundoff = 0x1p-24;
constexpr std::int64_t kRowBlock = 64;

std::size_t at(std::int64_t i) { return static_cast<std::size_t>(i); }

double ratio_of(const Reading& r) {
  if (!std::isfinite(r.difference) || !std::isfinite(r.threshold)) {
    return std::numeric_limits<double>::infinity();
  }
  return r.difference == 0 ? 0 : r.difference / r.threshold;
}

// What all rows (or columns) of one direction gave.
struct Scan {
  std::int64_t checks = 0, flagged = 0, not_checkable = 0, uninformative = 0, confirmed_clean = 0;
  std::int64_t z_count = 0;
  double worst_ratio = 0, z_square = 0;
  std::vector<AbftFlag> flags;
  bool all_looked_at = true;  // every flag was confirmed one way or the other

  void add(const Scan& s) {
    checks += s.checks;
    flagged += s.flagged;
    not_checkable += s.not_checkable;
    uninformative += s.uninformative;
    confirmed_clean += s.confirmed_clean;
    worst_ratio = std::max(worst_ratio, s.worst_ratio);
    z_square += s.z_square;
    z_count += s.z_count;
    all_looked_at = all_looked_at && s.all_looked_at;
    flags.insert(flags.end(), s.flags.begin(), s.flags.end());
  }
};

bool larger(const AbftFlag& x, const AbftFlag& y) {
  const double rx = ratio_of(x.reading), ry = ratio_of(y.reading);
  if (rx != ry) return rx > ry;
  return std::tuple(x.batch, x.index, x.first) < std::tuple(y.batch, y.index, y.first);
}

// Outcome and words from the counts.
void summarize(AbftVerdict& v, const Threshold& threshold, const std::string& what) {
  std::stable_sort(v.flags.begin(), v.flags.end(), larger);
  if (v.flags.size() > AbftVerdict::kListed) v.flags.resize(AbftVerdict::kListed);
  v.notes.clear();
  v.outcome = Outcome::kUntrusted;
  if (v.checks == 0) {
    v.because = "there are no elements to check";
  } else if (v.flagged > 0) {
    v.outcome = Outcome::kFail;
    v.because = format("{} of {} {} {} above {}", grouped(v.flagged), grouped(v.checks), what,
                       v.flagged == 1 ? "is" : "are", threshold.name);
    if (!v.all_looked_at) {
      v.notes.push_back("so many are above it that not each was looked at by its elements");
    }
  } else if (v.not_checkable == v.checks) {
    v.because = "no check says anything: the operands or their checksums hold NaN or infinity";
  } else if (v.not_checkable + v.uninformative == v.checks) {
    v.because = "no check says anything: every difference and every threshold is 0";
  } else {
    v.outcome = Outcome::kPass;
    v.because = format("none of {} {} above {} (largest D/T {})", grouped(v.checks), what,
                       threshold.name, short_number(v.worst_ratio));
  }
  if (v.confirmed_clean > 0) {
    v.notes.push_back(
        format("{} above the threshold, and clean element by element", grouped(v.confirmed_clean)));
  }
  if (v.not_checkable > 0 && v.not_checkable < v.checks) {
    v.notes.push_back(format("{} not checkable: their operands or checksums hold NaN or infinity",
                             grouped(v.not_checkable)));
  }
}

// The counts and flags of another matrix of a batch, added.
void add_counts(AbftVerdict& all, AbftVerdict& v) {
  const auto squares = [](const AbftVerdict& x) {
    return x.measured > 0 ? x.rms_z * x.rms_z * static_cast<double>(x.measured) : 0.0;
  };
  const double z_square = squares(all) + squares(v);
  all.checks += v.checks;
  all.flagged += v.flagged;
  all.not_checkable += v.not_checkable;
  all.uninformative += v.uninformative;
  all.confirmed_clean += v.confirmed_clean;
  all.measured += v.measured;
  all.all_looked_at = all.all_looked_at && v.all_looked_at;
  all.worst_ratio = std::max(all.worst_ratio, v.worst_ratio);
  all.rms_z = all.measured > 0 ? std::sqrt(z_square / static_cast<double>(all.measured)) : kNan;
  all.flags.insert(all.flags.end(), v.flags.begin(), v.flags.end());
}

// What checking C at some width needs of the operands' side.
struct Prepared {
  std::int64_t width = 0;
  bool exact_squares = false;
  double roundings = 0;  // of the accumulator, an element
  Checksums checksums;
  std::vector<VAbftTerms> v_abft;
  AAbftTerms a_abft;
};

}  // namespace

bool Reading::flagged() const {
  return checkable &&
         !(std::isfinite(difference) && std::isfinite(threshold) && difference <= threshold);
}

struct AbftChecker::Impl {
  AbftOptions options;
  bool from_golden = false;
  Operands operands;
  MatrixRows golden;
  std::int64_t m = 0, n = 0, k = 0;
  std::unique_ptr<Impl> columns;  // the transposed product, where columns are checked too

  mutable std::mutex mutex;
  mutable std::optional<Prepared> prepared;

  std::int64_t width() const {
    const int asked = options.spec.group_width();
    return asked == 0 ? std::max<std::int64_t>(n, 1)
                      : std::min<std::int64_t>(asked, std::max<std::int64_t>(n, 1));
  }
  std::int64_t groups() const { return (std::max<std::int64_t>(n, 1) + width() - 1) / width(); }
  std::int64_t checks() const {
    return m * groups() + (columns ? columns->m * columns->groups() : 0);
  }

  const Prepared& prepare(const Format& output) const {
    // The accumulation term is the whole threshold of float32 results.
    const bool exact_squares = output.precision >= 24;
    const std::lock_guard lock(mutex);
    if (prepared && (prepared->exact_squares || !exact_squares)) return *prepared;
    Prepared p;
    p.width = width();
    p.exact_squares = exact_squares;
    const double chunk = options.model != nullptr ? options.model->chunk.value : 1;
    p.roundings = std::ceil(static_cast<double>(k) / chunk);
    if (from_golden)
      p.checksums = golden_checksums(golden, p.width, options.threads);
    else
      p.checksums = operand_checksums(operands, p.width, exact_squares, options.threads);
    switch (options.spec.threshold->rule) {
      case ThresholdRule::kRoundingVariance:
        break;
      case ThresholdRule::kVAbft:
        p.v_abft = v_abft_terms(operands, options.threads);
        break;
      case ThresholdRule::kAAbft:
        p.a_abft = a_abft_terms(operands, options.threads);
        break;
    }
    prepared = std::move(p);
    return *prepared;
  }

  // Why this threshold cannot judge outputs of this format; empty where it can.
  std::string why_not(const Format& output) const {
    const Threshold& t = *options.spec.threshold;
    if (from_golden && t.rule != ThresholdRule::kRoundingVariance) {
      return format("{} needs the operands, and only a golden result is there", t.name);
    }
    if (!output.is_float()) {
      return output.bits < 64 ? ""
                              : format("sums of {} are beyond what float64 holds", output.name);
    }
    if (output.specials == Specials::kTapered || output.specials == Specials::kScale) {
      return format("the spacing of {} is no power of two of its exponent", output.name);
    }
    if (output.precision > 24) {
      return format("{} results would need checksums in more than float64", output.name);
    }
    if (t.rule == ThresholdRule::kRoundingVariance) {
      if (from_golden && output.precision >= 24) {
        return format(
            "a golden result alone does not bound the accumulation errors of {} results; "
            "give the operands",
            output.name);
      }
      if (options.model != nullptr && (options.model->rounding.value != Rounding::kNearestEven ||
                                       options.model->accumulator.value != "float32")) {
        return "rounding_variance needs a float32 accumulator rounded by nearest_even";
      }
    }
    if (t.rule == ThresholdRule::kVAbft) {
      try {
        (void)v_abft_constants(options.spec, output, k);
      } catch (const std::invalid_argument& e) {
        return e.what();
      }
    }
    return "";
  }

  // One direction: readings of all rows, then confirmation of those above their threshold.
  Scan scan(const TensorView& c, std::int64_t all_checks, bool is_column) const;

  // "row checks", "checks of 16 columns".
  std::string what() const {
    return format("{}{}", width() == n ? "row checks" : format("checks of {} columns", width()),
                  columns ? " and of columns" : "");
  }

  double kappa(std::int64_t all_checks) const {
    return options.spec.kappa.value_or(kappa_for(all_checks, options.spec.delta));
  }

  // Readings of one row. `c` holds gapless elements in `storage`; sums come from them.
  void read_row(const Prepared& p, std::int64_t i, const void* c, simd::Storage storage,
                const Format& output, double kappa_value, Reading* to) const {
    const std::int64_t group_count = p.checksums.groups;
    std::vector<simd::OutputSums> sums(at(group_count));
    simd::output_sums(storage, c, at(n), at(p.width),
                      output.is_float() ? output.mantissa_bits() : 0, min_subnormal(output),
                      from_golden || output.precision >= 24, sums.data());
    double largest_c = 0;
    if (options.spec.threshold->rule == ThresholdRule::kAAbft) {
      const simd::RowExtremes e = simd::row_extremes(storage, c, at(n));
      largest_c = std::isfinite(e.sum) ? std::max(std::abs(e.low), std::abs(e.high)) : kNan;
    }
    for (std::int64_t g = 0; g < group_count; ++g) {
      double expected = p.checksums.sums[at(i * group_count + g)];
      double row_sum = sums[at(g)].sum;
      Reading& r = to[g];
      r = Reading{};
      r.checkable = std::isfinite(expected);
      if (options.spec.arithmetic == Arithmetic::kOutput && output.is_float()) {
        expected = round_to(output, expected);
        row_sum = round_to(output, row_sum);
      }
      r.difference = std::abs(row_sum - expected);
      if (!output.is_float()) continue;  // integers: exactly
      switch (options.spec.threshold->rule) {
        case ThresholdRule::kRoundingVariance:
          rounding_variance(p, i, g, sums[at(g)], output, kappa_value, r);
          break;
        case ThresholdRule::kVAbft: {
          const VAbftConstants k_v = v_abft_constants(options.spec, output, k);
          const VAbftTerms& t = p.v_abft[at(i)];
          r.threshold = k_v.e_max * (t.mean + k_v.c * (t.mixed + t.pure));
          break;
        }
        case ThresholdRule::kAAbft:
          r.threshold = a_abft(p.a_abft, i, largest_c, output);
          break;
      }
    }
  }

  void rounding_variance(const Prepared& p, std::int64_t i, std::int64_t g,
                         const simd::OutputSums& sums, const Format& output, double kappa_value,
                         Reading& r) const {
    const bool has_bias = !operands.bias.empty() || !operands.row_bias.empty();
    double accumulation = 0;  // variance
    if (from_golden) {
      // Without operands: what float32 accumulation of some thousand terms leaves, 2^-16 of the
      // row's root mean square an element.
      accumulation = 0x1p-32 * sums.square / (kappa_value * kappa_value);
    } else {
      const double roundings = p.roundings;
      const double operand_squares = p.checksums.square(i, g, m);
      double q = roundings * (sums.square / 3 + operand_squares / 6);
      const std::int64_t first = g * p.width, end = std::min(n, first + p.width);
      for (std::int64_t j = first; j < end && has_bias; ++j) {
        const double bias = operands.bias_at(i, j);  // where every partial sum starts
        q += roundings * bias * bias;
      }
      // Below the normal range a rounding errs by half of 2^-149, whatever the sum.
      accumulation = kFloat32Roundoff * kFloat32Roundoff * q / 3 +
                     (operand_squares > 0 || has_bias
                          ? roundings * static_cast<double>(end - first) * 0x1p-298 / 12
                          : 0);
    }
    // A float32 result has no rounding of its own: its last accumulation is its rounding.
    const double variance =
        output.precision >= 24 ? 0 : sums.ulp_square / (options.spec.coarse ? 8 : 12);
    r.threshold = std::min(kappa_value * std::sqrt(variance), sums.ulp / 2) +
                  kappa_value * std::sqrt(accumulation);
    r.variance = variance + accumulation;
  }

  double a_abft(const AAbftTerms& t, std::int64_t i, double largest_c, const Format& output) const {
    constexpr double kEpsHigh = 0x1p-23;
    const double eps_low = unit_roundoff(output);
    const auto squares = [](std::int64_t count) {  // 1 + 4 + ... + count^2
      const auto c = static_cast<double>(count);
      return c * (c + 1) * (2 * c + 1) / 6;
    };
    const double row = std::sqrt(squares(n) / 8);
    return row * largest_c * kEpsHigh + eps_low * std::sqrt(static_cast<double>(n)) * largest_c +
           t.weighted[at(i)] * kEpsHigh * row +
           kEpsHigh * std::sqrt(squares(k) / 8 + static_cast<double>(k) / 12) * t.largest_b *
               t.largest_a[at(i)];
  }
};

AbftChecker::AbftChecker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AbftChecker::~AbftChecker() = default;
AbftChecker::AbftChecker(AbftChecker&&) noexcept = default;

AbftChecker AbftChecker::of_product(const TensorView& a, const TensorView& b, AbftOptions options,
                                    std::vector<double> bias) {
  if (a.rank() != 2 || b.rank() != 2 || a.shape[1] != b.shape[0]) {
    throw std::invalid_argument(
        format("a {} and b {} do not multiply: a matrix product takes [M, K] "
               "and [K, N]",
               shape_text(a.shape), shape_text(b.shape)));
  }
  if (!bias.empty() && static_cast<std::int64_t>(bias.size()) != b.shape[1]) {
    throw std::invalid_argument(
        format("a bias of {} values does not fit {} columns", bias.size(), b.shape[1]));
  }
  const auto make = [](const TensorView& left, const TensorView& right, const AbftOptions& o) {
    auto impl = std::make_unique<Impl>();
    impl->options = o;
    impl->operands.a = MatrixRows(left);
    impl->operands.b = MatrixRows(right);
    impl->m = left.shape[0];
    impl->k = left.shape[1];
    impl->n = right.shape[1];
    return impl;
  };
  auto impl = make(a, b, options);
  if (options.spec.columns) {
    impl->columns = make(b.transposed(), a.transposed(), options);
    impl->columns->operands.row_bias = bias;
  }
  impl->operands.bias = std::move(bias);
  return AbftChecker(std::move(impl));
}

AbftChecker AbftChecker::of_golden(const TensorView& golden, AbftOptions options) {
  if (golden.rank() != 2) {
    throw std::invalid_argument(format("checksums need a matrix; the golden result has shape {}",
                                       shape_text(golden.shape)));
  }
  const auto make = [](const TensorView& matrix, const AbftOptions& o) {
    auto impl = std::make_unique<Impl>();
    impl->options = o;
    impl->from_golden = true;
    impl->golden = MatrixRows(matrix);
    impl->m = matrix.shape[0];
    impl->n = matrix.shape[1];
    return impl;
  };
  auto impl = make(golden, options);
  if (options.spec.columns) impl->columns = make(golden.transposed(), options);
  return AbftChecker(std::move(impl));
}

std::int64_t AbftChecker::groups_per_row() const { return impl_->groups(); }

void AbftChecker::read_row(std::int64_t row, const void* elements, const Format& output,
                           Reading* to) const {
  if (const std::string reason = impl_->why_not(output); !reason.empty()) {
    throw std::invalid_argument(reason);
  }
  simd::Storage storage;
  if (!checksum_storage(output, storage)) {
    throw std::invalid_argument(format("rows of {} cannot be read one by one", output.name));
  }
  impl_->read_row(impl_->prepare(output), row, elements, storage, output,
                  impl_->kappa(impl_->checks()), to);
}

AbftVerdict AbftChecker::check(const TensorView& c) const {
  AbftVerdict verdict;
  verdict.spec = impl_->options.spec.text();
  verdict.format = c.format;
  const auto refuse = [&](std::string because) {
    verdict.outcome = Outcome::kNotComparable;
    verdict.because = std::move(because);
    return verdict;
  };
  if (c.shape != Shape{impl_->m, impl_->n}) {
    return refuse(format("the output's shape is {}, the product's is [{}, {}]", shape_text(c.shape),
                         impl_->m, impl_->n));
  }
  if (const std::string reason = impl_->why_not(*c.format); !reason.empty()) return refuse(reason);
  if (c.size() == 0) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = "there are no elements to check";
    return verdict;
  }
  Scan all = impl_->scan(c, impl_->checks(), false);
  if (impl_->columns) all.add(impl_->columns->scan(c.transposed(), impl_->checks(), true));
  verdict.checks = all.checks;
  verdict.flagged = all.flagged;
  verdict.not_checkable = all.not_checkable;
  verdict.uninformative = all.uninformative;
  verdict.confirmed_clean = all.confirmed_clean;
  verdict.all_looked_at = all.all_looked_at;
  verdict.measured = all.z_count;
  verdict.worst_ratio = all.worst_ratio;
  verdict.rms_z =
      all.z_count > 0 ? std::sqrt(all.z_square / static_cast<double>(all.z_count)) : kNan;
  verdict.flags = std::move(all.flags);
  summarize(verdict, *impl_->options.spec.threshold, impl_->what());
  return verdict;
}

Scan AbftChecker::Impl::scan(const TensorView& c, std::int64_t all_checks, bool is_column) const {
  const Format& output = *c.format;
  const Prepared& p = prepare(output);
  const MatrixRows rows(c);
  const double kappa_value = kappa(all_checks);
  const std::int64_t group_count = p.checksums.groups;
  const std::int64_t blocks = (m + kRowBlock - 1) / kRowBlock;
  std::vector<Scan> parts(at(blocks));
  parallel_for(blocks, options.threads, [&](std::int64_t block) {
    Scan& part = parts[at(block)];
    std::vector<Reading> readings(at(group_count));
    for (std::int64_t i = block * kRowBlock; i < std::min(m, (block + 1) * kRowBlock); ++i) {
      read_row(p, i, rows.row(i), rows.storage(), output, kappa_value, readings.data());
      for (std::int64_t g = 0; g < group_count; ++g) {
        const Reading& r = readings[at(g)];
        ++part.checks;
        if (!r.checkable) {
          ++part.not_checkable;
          continue;
        }
        // Most are below the worst so far, which a product tells faster than a quotient.
        if (!(r.difference <= part.worst_ratio * r.threshold)) {
          part.worst_ratio = std::max(part.worst_ratio, ratio_of(r));
        }
        part.uninformative += output.is_float() && r.difference == 0 && r.threshold == 0 ? 1 : 0;
        const double z_square =
            r.difference == 0 ? 0 * r.variance : r.difference * r.difference / r.variance;
        if (std::isfinite(z_square)) {
          part.z_square += z_square;
          ++part.z_count;
        }
        if (!r.flagged()) continue;
        AbftFlag flag;
        flag.is_column = is_column;
        flag.index = i;
        flag.first = g * p.width;
        flag.last = std::min(n, (g + 1) * p.width) - 1;
        flag.reading = r;
        part.flags.push_back(flag);
      }
    }
  });
  Scan all;
  for (const Scan& part : parts) all.add(part);
  std::stable_sort(all.flags.begin(), all.flags.end(), larger);
  const Elements elements{from_golden ? nullptr : &operands, &golden, c,
                          options.model != nullptr ? options.model->chunk.value : 1};
  all.flagged = static_cast<std::int64_t>(all.flags.size());
  if (options.spec.confirm) {
    const Confirmation done = confirm_flags(elements, all.flags, options.threads);
    all.confirmed_clean = done.clean;
    all.flagged -= done.clean;
    all.all_looked_at = done.all_looked_at;
  } else {
    if (all.flags.size() > AbftVerdict::kListed) all.flags.resize(AbftVerdict::kListed);
    for (AbftFlag& flag : all.flags) locate(elements, flag);
  }
  return all;
}

AbftVerdict abft_check(const Case& c, const TensorView& output, const AbftOptions& options) {
  const auto refuse = [&](std::string because) {
    AbftVerdict verdict;
    verdict.outcome = Outcome::kNotComparable;
    verdict.because = std::move(because);
    verdict.spec = options.spec.text();
    verdict.format = output.format;
    return verdict;
  };
  const bool product = c.op == "matmul" && c.inputs.count("a") != 0 && c.inputs.count("b") != 0;
  if (!product && !c.golden) {
    return refuse(
        format("checksums need the operands of a matmul or a golden result; case {} has "
               "neither",
               c.name));
  }
  const Format& wanted = c.output_format();
  if (&wanted != output.format) {
    return refuse(format("the output is {}, the case's output dtype is {}", output.format->name,
                         wanted.name));
  }
  Shape shape;
  std::int64_t batches = 1;
  try {
    shape = product ? matmul_shape(c).output : c.golden->shape();
  } catch (const std::invalid_argument& e) {
    return refuse(e.what());
  }
  if (shape != output.shape) {
    return refuse(format("the output's shape is {}, the product's is {}", shape_text(output.shape),
                         shape_text(shape)));
  }
  if (shape.size() < 2) {
    return refuse(format("checksums need a matrix; the output has shape {}", shape_text(shape)));
  }
  const Tensor packed = output.is_contiguous() ? Tensor() : copy_of(output);
  const std::byte* bytes = packed.empty() ? output.data : packed.bytes();
  const Shape matrix(shape.end() - 2, shape.end());
  for (std::size_t d = 0; d + 2 < shape.size(); ++d) batches *= shape[d];
  AbftOptions each = options;
  each.spec.delta /= static_cast<double>(std::max<std::int64_t>(batches, 1));
  AbftVerdict all;
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const std::int64_t offset = batch * element_count(matrix) * output.format->storage_bytes;
    const TensorView c_matrix = view_bytes(bytes + offset, *output.format, matrix);
    AbftVerdict v;
    if (product) {
      v = AbftChecker::of_product(matmul_matrix(c, "a", batch), matmul_matrix(c, "b", batch), each,
                                  matmul_bias(c))
              .check(c_matrix);
    } else {
      const Format& f = c.golden->format();
      v = AbftChecker::of_golden(
              view_bytes(c.golden->bytes() + batch * element_count(matrix) * f.storage_bytes, f,
                         matrix),
              each)
              .check(c_matrix);
    }
    if (v.outcome == Outcome::kNotComparable) {
      v.spec = options.spec.text();
      return v;
    }
    for (AbftFlag& flag : v.flags) flag.batch = batch;
    add_counts(all, v);
  }
  const std::int64_t columns = matrix[1];
  const std::int64_t width = options.spec.group_width() == 0
                                 ? columns
                                 : std::min<std::int64_t>(options.spec.group_width(), columns);
  summarize(all, *options.spec.threshold,
            format("{}{}", width == columns ? "row checks" : format("checks of {} columns", width),
                   options.spec.columns ? " and of columns" : ""));
  const bool one_matrix =
      std::all_of(all.flags.begin(), all.flags.end(),
                  [&](const AbftFlag& flag) { return flag.batch == all.flags.front().batch; });
  if (batches > 1 && all.outcome == Outcome::kFail && one_matrix) {
    all.because = format("matrix {} of the batch: {}", all.flags.front().batch, all.because);
  }
  all.spec = options.spec.text();
  all.format = output.format;
  return all;
}

}  // namespace assay
