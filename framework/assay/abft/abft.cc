#include "assay/abft/abft.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <mutex>
#include <stdexcept>
#include <tuple>

#include "assay/abft/bound_form.h"
#include "assay/abft/confirm.h"
#include "assay/abft/direction.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/tensor/product.h"

namespace assay {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
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

// Readings of rows of C, one after the other.
class RowReader {
 public:
  RowReader(const Direction& d, const Format& output, double kappa)
      : d_(d),
        output_(output),
        checksums_(d.prepare(output).checksums),
        forms_(d, output, kappa),
        used_(forms_.used()) {}

  // `elements`: a row without gaps, in `storage`.
  void read(std::int64_t i, simd::Storage storage, const void* elements, Reading* to) const {
    const std::int64_t groups = d_.groups();
    std::vector<BoundForm> forms(at(groups));
    std::vector<OutputStats> stats(at(groups));
    forms_.make(i, forms.data());
    output_stats(output_, storage, elements, d_.n, d_.width(), stats.data(), used_);
    const double* expected = checksums_.sums.data() + i * groups;
    for (std::int64_t g = 0; g < groups; ++g) {
      to[g] =
          reading_of(forms[at(g)], stats[at(g)], expected[g], d_.options.spec.arithmetic, output_);
    }
  }

 private:
  const Direction& d_;
  const Format& output_;
  const Checksums& checksums_;
  RowForms forms_;
  StatsUsed used_;
};

}  // namespace

bool Reading::flagged() const {
  return checkable &&
         !(std::isfinite(difference) && std::isfinite(threshold) && difference <= threshold);
}

Reading reading_of(const BoundForm& form, const OutputStats& stats, double expected,
                   Arithmetic arithmetic, const Format& output) {
  Reading r;
  r.checkable = std::isfinite(expected);
  double sum = stats.sum;
  if (arithmetic == Arithmetic::kOutput && output.is_float()) {
    expected = round_to(output, expected);
    sum = round_to(output, sum);
  }
  r.difference = std::abs(sum - expected);
  r.threshold = form.threshold(stats);
  if (form.has_variance) r.variance = form.variance(stats);
  return r;
}

struct AbftChecker::Impl {
  Direction rows;
  std::unique_ptr<Direction> columns;  // the transposed product, where columns are checked too

  const ThresholdSpec& spec() const { return rows.options.spec; }
  std::int64_t checks() const {
    return rows.m * rows.groups() + (columns ? columns->m * columns->groups() : 0);
  }
  void require_row(std::int64_t row) const {
    if (row < 0 || row >= rows.m) throw std::invalid_argument(format("row {} of {}", row, rows.m));
  }
  void require_format(const Format& output) const {
    const std::string reason = rows.why_not(output);
    if (!reason.empty()) throw std::invalid_argument(reason);
  }
  static Sources sources(const Direction& d) {
    return {d.from_golden ? nullptr : &d.operands, &d.golden,
            d.options.model != nullptr ? d.options.model->chunk.value : 1};
  }
  // One direction: readings of all rows, then confirmation of those above their threshold.
  Scan scan(const Direction& d, const TensorView& c, bool is_column) const;
  double kappa() const { return spec().kappa.value_or(kappa_for(checks(), spec().delta)); }

  // "row checks", "checks of 16 columns".
  std::string what() const {
    const std::int64_t width = rows.width();
    return format("{}{}", width == rows.n ? "row checks" : format("checks of {} columns", width),
                  columns ? " and of columns" : "");
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
  const auto set = [&](Direction& to, const TensorView& left, const TensorView& right) {
    to.options = options;
    to.operands.a = MatrixRows(left);
    to.operands.b = MatrixRows(right);
    to.m = left.shape[0];
    to.k = left.shape[1];
    to.n = right.shape[1];
  };
  auto impl = std::make_unique<Impl>();
  set(impl->rows, a, b);
  if (options.spec.columns) {
    impl->columns = std::make_unique<Direction>();
    set(*impl->columns, b.transposed(), a.transposed());
    impl->columns->operands.row_bias = bias;
  }
  impl->rows.operands.bias = std::move(bias);
  return AbftChecker(std::move(impl));
}

AbftChecker AbftChecker::of_golden(const TensorView& golden, AbftOptions options) {
  if (golden.rank() != 2) {
    throw std::invalid_argument(format("checksums need a matrix; the golden result has shape {}",
                                       shape_text(golden.shape)));
  }
  const auto set = [&](Direction& to, const TensorView& matrix) {
    to.options = options;
    to.from_golden = true;
    to.golden = MatrixRows(matrix);
    to.m = matrix.shape[0];
    to.n = matrix.shape[1];
  };
  auto impl = std::make_unique<Impl>();
  set(impl->rows, golden);
  if (options.spec.columns) {
    impl->columns = std::make_unique<Direction>();
    set(*impl->columns, golden.transposed());
  }
  return AbftChecker(std::move(impl));
}

const AbftOptions& AbftChecker::options() const { return impl_->rows.options; }
const ThresholdSpec& AbftChecker::spec() const { return impl_->spec(); }
std::int64_t AbftChecker::rows() const { return impl_->rows.m; }
std::int64_t AbftChecker::columns() const { return impl_->rows.n; }
std::int64_t AbftChecker::depth() const { return impl_->rows.k; }
std::int64_t AbftChecker::group_width() const { return impl_->rows.width(); }
std::int64_t AbftChecker::groups_per_row() const { return impl_->rows.groups(); }
double AbftChecker::kappa() const { return impl_->kappa(); }

double AbftChecker::expected(std::int64_t row, std::int64_t group) const {
  impl_->require_row(row);
  const Checksums& checksums = impl_->rows.prepare(false).checksums;
  return checksums.sums[at(row * checksums.groups + group)];
}

StatsUsed AbftChecker::stats_used(const Format& output) const {
  impl_->require_format(output);
  return RowForms(impl_->rows, output, impl_->kappa()).used();
}

void AbftChecker::forms(std::int64_t row, const Format& output, BoundForm* to) const {
  impl_->require_format(output);
  impl_->require_row(row);
  RowForms(impl_->rows, output, impl_->kappa()).make(row, to);
}

void AbftChecker::stats(const Format& output, const void* elements, OutputStats* to) const {
  output_stats(output, elements, impl_->rows.n, impl_->rows.width(), to);
}

void AbftChecker::read_row(std::int64_t row, const void* elements, const Format& output,
                           Reading* to) const {
  impl_->require_format(output);
  impl_->require_row(row);
  const RowReader reader(impl_->rows, output, impl_->kappa());
  simd::Storage storage;
  if (checksum_storage(output, storage)) {
    reader.read(row, storage, elements, to);
    return;
  }
  std::vector<double> values(at(impl_->rows.n));
  decode_array(output, static_cast<const std::byte*>(elements), values.size(), values.data());
  reader.read(row, simd::Storage::kF64, values.data(), to);
}

ElementBound AbftChecker::element_bound(std::int64_t row, std::int64_t column, double value,
                                        const Format& output) const {
  impl_->require_format(output);
  impl_->require_row(row);
  const Direction& d = impl_->rows;
  if (column < 0 || column >= d.n) {
    throw std::invalid_argument(format("column {} of {}", column, d.n));
  }
  const std::int64_t first = column / d.width() * d.width();
  return bound_of_element(impl_->sources(d), output, row, first,
                          std::min(d.n, first + d.width()) - 1, column, value);
}

void AbftChecker::element_bounds(std::int64_t row, std::int64_t first, std::int64_t count,
                                 const Format& output, ElementBound* to) const {
  impl_->require_format(output);
  impl_->require_row(row);
  const Direction& d = impl_->rows;
  Sources from = impl_->sources(d);
  if (!d.from_golden) from.b_values = d.b_values();
  bounds_of_elements(from, output, row, first, first + count - 1, to);
}

AbftVerdict AbftChecker::check(const TensorView& c) const {
  AbftVerdict verdict;
  verdict.spec = impl_->spec().text();
  verdict.format = c.format;
  const auto refuse = [&](std::string because) {
    verdict.outcome = Outcome::kNotComparable;
    verdict.because = std::move(because);
    return verdict;
  };
  if (c.shape != Shape{impl_->rows.m, impl_->rows.n}) {
    return refuse(format("the output's shape is {}, the product's is [{}, {}]", shape_text(c.shape),
                         impl_->rows.m, impl_->rows.n));
  }
  if (const std::string reason = impl_->rows.why_not(*c.format); !reason.empty())
    return refuse(reason);
  if (c.size() == 0) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = "there are no elements to check";
    return verdict;
  }
  Scan all = impl_->scan(impl_->rows, c, false);
  if (impl_->columns) all.add(impl_->scan(*impl_->columns, c.transposed(), true));
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
  summarize(verdict, *impl_->spec().threshold, impl_->what());
  return verdict;
}

Scan AbftChecker::Impl::scan(const Direction& d, const TensorView& c, bool is_column) const {
  const Format& output = *c.format;
  const MatrixRows elements(c);
  const std::int64_t group_count = d.groups(), width = d.width();
  const RowReader reader(d, output, kappa());
  const std::int64_t blocks = (d.m + kRowBlock - 1) / kRowBlock;
  std::vector<Scan> parts(at(blocks));
  parallel_for(blocks, d.options.threads, [&](std::int64_t block) {
    Scan& part = parts[at(block)];
    std::vector<Reading> readings(at(group_count));
    for (std::int64_t i = block * kRowBlock; i < std::min(d.m, (block + 1) * kRowBlock); ++i) {
      reader.read(i, elements.storage(), elements.row(i), readings.data());
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
        flag.first = g * width;
        flag.last = std::min(d.n, (g + 1) * width) - 1;
        flag.reading = r;
        part.flags.push_back(flag);
      }
    }
  });
  Scan all;
  for (const Scan& part : parts) all.add(part);
  std::stable_sort(all.flags.begin(), all.flags.end(), larger);
  const Sources from = sources(d);
  all.flagged = static_cast<std::int64_t>(all.flags.size());
  if (d.options.spec.confirm) {
    const Confirmation done = confirm_flags(from, c, all.flags, d.options.threads);
    all.confirmed_clean = done.clean;
    all.flagged -= done.clean;
    all.all_looked_at = done.all_looked_at;
  } else {
    if (all.flags.size() > AbftVerdict::kListed) all.flags.resize(AbftVerdict::kListed);
    for (AbftFlag& flag : all.flags) locate(from, c, flag);
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
