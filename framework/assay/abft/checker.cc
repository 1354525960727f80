#include "assay/abft/checker.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>
#include <numeric>
#include <span>
#include <stdexcept>

#include "assay/abft/check_tally.h"
#include "assay/abft/checked_product.h"
#include "assay/abft/confirm.h"
#include "assay/abft/residual_compensated.h"
#include "assay/abft/row_forms.h"
#include "assay/abft/row_reader.h"
#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/simd/checksum.h"

namespace assay::inline v0_2::abft {
namespace {

constexpr std::int64_t kRowBlock = 64;
constexpr std::size_t kMostLoose = 64;  // most loose readings that a block of rows keeps

void raise_to(std::atomic<double>& most, double x) {
  for (double known = most; x > known && !most.compare_exchange_weak(known, x);) {
  }
}

// Returns the smallest and the largest element of a group of a row.
simd::RowExtremes extremes_of(const MatrixRows& c, std::int64_t i, std::int64_t first,
                              std::int64_t count) {
  const auto* row = static_cast<const std::byte*>(c.row(i)) + first * c.format().storage_bytes;
  return simd::row_extremes(c.storage(), row, at(count));
}

// Counts the blind groups of a row of a golden result. The threshold of such a group is at least
// its largest element, so the check would not detect the loss of any element.
std::int64_t blind_groups(const CheckedProduct& d, std::int64_t i,
                          const std::vector<Reading>& readings) {
  std::int64_t blind = 0;
  for (std::int64_t g = 0; g < d.groups(); ++g) {
    const simd::RowExtremes e = extremes_of(d.golden, i, g * d.width(), d.columns_of(g));
    const double largest = std::max(std::abs(e.low), std::abs(e.high));
    const Reading& r = readings[at(g)];
    blind += !r.is_special() && largest > 0 && largest <= r.threshold ? 1 : 0;
  }
  return blind;
}

// Counts the groups of a row whose elements span fewer than 3 ulps. Groups of one column do not
// count.
std::int64_t narrow_groups(const Format& output, const MatrixRows& c, std::int64_t i,
                           std::int64_t width) {
  std::int64_t narrow = 0;
  for (std::int64_t first = 0; first < c.columns(); first += width) {
    const std::int64_t count = std::min(width, c.columns() - first);
    const simd::RowExtremes e = extremes_of(c, i, first, count);
    const double ulp = ulp_of(output, std::max(std::abs(e.low), std::abs(e.high)));
    narrow += count > 1 && e.high - e.low < 3 * ulp ? 1 : 0;
  }
  return narrow;
}

// Confirms the flags of residual_compensated. Removes the flags whose differences
// RowReader::explained() accounts for, and keeps the first few of the others.
Confirmation explain_flags(const RowReader& reader, const CheckedProduct& d,
                           std::vector<AbftFlag>& flags) {
  constexpr std::size_t kBatch = 64;  // rows at once
  Confirmation done;
  std::map<std::int64_t, std::size_t> place;  // position of a row among the rows seen so far
  std::vector<double> explained;  // indexed by this position, then by the checks of the row
  std::vector<AbftFlag> faults;
  double work = 0;
  for (std::size_t next = 0; next < flags.size(); next += kBatch) {
    if (work > d.options.closer_look && !faults.empty()) {
      done.all_looked_at = false;
      break;
    }
    const std::span batch = std::span(flags).subspan(next, std::min(kBatch, flags.size() - next));
    std::vector<std::int64_t> rows;
    for (const AbftFlag& flag : batch) {
      if (place.emplace(flag.index, place.size()).second) rows.push_back(flag.index);
    }
    const std::vector<double> more = reader.explained(rows);
    explained.insert(explained.end(), more.begin(), more.end());
    work += static_cast<double>(rows.size()) * static_cast<double>(d.n * d.k);
    for (const AbftFlag& flag : batch) {
      const std::size_t check = place.at(flag.index) * at(d.groups()) + at(flag.first / d.width());
      if (flag.reading.difference <= explained[check]) {
        ++done.clean;
      } else if (faults.size() < AbftVerdict::kListed) {
        faults.push_back(flag);
      }
    }
  }
  flags = std::move(faults);
  return done;
}

}  // namespace

struct AbftChecker::Impl {
  CheckedProduct rows;
  // The transposed product. Null unless columns are checked.
  std::unique_ptr<CheckedProduct> columns;

  const ThresholdSpec& spec() const { return rows.options.spec; }
  std::int64_t checks() const {
    return spec().threshold->checks_each() *
           (rows.m * rows.groups() + (columns ? columns->m * columns->groups() : 0));
  }
  void require_row(std::int64_t row) const {
    if (row < 0 || row >= rows.m)
      throw std::invalid_argument(formatted("row {} of {}", row, rows.m));
  }
  void require_format(const Format& output) const {
    const std::string reason = rows.why_not(output);
    if (!reason.empty()) refuse(reason);
  }
  void require(const Format& output, std::int64_t row) const {
    require_format(output);
    require_row(row);
  }
  static Sources sources(const CheckedProduct& d) {
    return {.operands = d.from_golden ? nullptr : &d.operands,
            .golden = &d.golden,
            .model = d.options.model,
            .tolerance = d.options.golden_tolerance ? &d.options.golden_tolerance : nullptr};
  }
  // Reads all rows of one product, then confirms the checks above their threshold.
  CheckTally scan(const CheckedProduct& d, const TensorView& c, bool is_column,
                  const Residual& residual) const;
  // The way in which a check above its threshold is confirmed: not at all, by its elements, or by
  // its sum.
  enum class Closer : std::uint8_t { kNot, kElements, kSum };
  static void look_at_flags(CheckTally& tally, Closer closer, const RowReader& reader,
                            const CheckedProduct& d, const TensorView& c);
  AbftVerdict check(const TensorView& c, const Residual& residual) const;
  // Returns the reason why the residual does not fit the threshold and this product, or why a
  // residual is missing. Empty if all is well.
  std::string why_not(const Residual& residual) const;
  double kappa() const { return spec().kappa.value_or(kappa_for(checks(), spec().delta)); }
};

AbftChecker::AbftChecker(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AbftChecker::~AbftChecker() = default;
AbftChecker::AbftChecker(AbftChecker&&) noexcept = default;

AbftChecker AbftChecker::of_product(const TensorView& a, const TensorView& b, AbftOptions options,
                                    std::vector<double> bias) {
  const FloatEnvironment environment;
  if (a.rank() != 2 || b.rank() != 2 || a.shape[1] != b.shape[0]) {
    refuse("a {} and b {} do not multiply: a matrix product takes [M, K] and [K, N]",
           shape_text(a.shape), shape_text(b.shape));
  }
  if (!bias.empty() && static_cast<std::int64_t>(bias.size()) != b.shape[1]) {
    refuse("a bias of {} values does not fit {} columns", bias.size(), b.shape[1]);
  }
  const auto set = [&](CheckedProduct& to, const TensorView& left, const TensorView& right) {
    to.options = options;
    to.operands.a = MatrixRows(left);
    to.operands.b = MatrixRows(right);
    to.input_a = left.format;
    to.input_b = right.format;
    to.m = left.shape[0];
    to.k = left.shape[1];
    to.n = right.shape[1];
  };
  auto impl = std::make_unique<Impl>();
  set(impl->rows, a, b);
  if (options.spec.columns) {
    impl->columns = std::make_unique<CheckedProduct>();
    CheckedProduct& columns = *impl->columns;
    set(columns, b.transposed(), a.transposed());
    columns.operands.row_bias = bias;
    // The transposed product exchanges its factors, so the machine's formats of the factors are
    // exchanged too.
    if (options.model != nullptr && !options.model->other_input.empty()) {
      columns.exchanged = *options.model;
      std::swap(columns.exchanged->input, columns.exchanged->other_input);
      columns.options.model = &*columns.exchanged;
    }
  }
  impl->rows.operands.bias = std::move(bias);
  return AbftChecker(std::move(impl));
}

AbftChecker AbftChecker::of_golden(const TensorView& golden, AbftOptions options) {
  const FloatEnvironment environment;
  if (golden.rank() != 2) {
    refuse("checksums need a matrix; the golden result has shape {}", shape_text(golden.shape));
  }
  const auto set = [&](CheckedProduct& to, const TensorView& matrix) {
    to.options = options;
    to.from_golden = true;
    to.golden = MatrixRows(matrix);
    to.m = matrix.shape[0];
    to.n = matrix.shape[1];
  };
  auto impl = std::make_unique<Impl>();
  set(impl->rows, golden);
  if (options.spec.columns) {
    impl->columns = std::make_unique<CheckedProduct>();
    set(*impl->columns, golden.transposed());
  }
  return AbftChecker(std::move(impl));
}

Residual Residual::of(const Epilogue& epilogue) {
  if (!epilogue.accumulator.empty()) return accumulator(epilogue.accumulator.view());
  return epilogue.residual.empty() ? Residual{} : sums(epilogue.residual.view());
}

std::string AbftChecker::why_not(const Format& output, const Residual& residual) const {
  const std::string reason = impl_->rows.why_not(output);
  return reason.empty() ? impl_->why_not(residual) : reason;
}

const AbftOptions& AbftChecker::options() const { return impl_->rows.options; }
const ThresholdSpec& AbftChecker::spec() const { return impl_->spec(); }
std::int64_t AbftChecker::rows() const { return impl_->rows.m; }
std::int64_t AbftChecker::columns() const { return impl_->rows.n; }
std::int64_t AbftChecker::depth() const { return impl_->rows.k; }
std::int64_t AbftChecker::group_width() const { return impl_->rows.width(); }
std::int64_t AbftChecker::groups_per_row() const { return impl_->rows.groups(); }
double AbftChecker::kappa() const { return impl_->kappa(); }

double AbftChecker::expected(std::int64_t row, std::int64_t group, const Format& output) const {
  const FloatEnvironment environment;
  impl_->require(output, row);
  return RowReader(impl_->rows, output, impl_->kappa()).expected(row, group);
}

void AbftChecker::forms(std::int64_t row, const Format& output, BoundForm* to) const {
  const FloatEnvironment environment;
  impl_->require(output, row);
  RowForms(impl_->rows, output, impl_->kappa()).make(row, to);
}

namespace {

// The elements of a row in a form that the kernels read: as they are stored, or as float64 in
// `values`.
struct ReadableRow {
  simd::Storage storage;
  std::vector<double> values;
  const void* elements;

  ReadableRow(const Format& output, const void* stored, std::int64_t n) : elements(stored) {
    if (checksum_storage(output, storage)) return;
    values.resize(at(n));
    decode_array(output, static_cast<const std::byte*>(stored), values.size(), values.data());
    storage = simd::Storage::kF64;
    elements = values.data();
  }
};

}  // namespace

void AbftChecker::stats(const Format& output, const void* elements, OutputStats* to,
                        const BoundForm* forms) const {
  const FloatEnvironment environment;
  impl_->require_format(output);
  const ReadableRow from(output, elements, impl_->rows.n);
  RowReader(impl_->rows, output, impl_->kappa())
      .stats(from.storage, from.elements, {true, true, true, true}, to, forms);
}

void AbftChecker::read_row(std::int64_t row, const void* elements, const Format& output,
                           Reading* to, double least_peak, const double* residual) const {
  const FloatEnvironment environment;
  impl_->require(output, row);
  const ReadableRow from(output, elements, impl_->rows.n);
  RowReader reader(impl_->rows, output, impl_->kappa());
  reader.set_least_peak(least_peak);
  reader.read(row, from.storage, from.elements, to, residual);
}

void AbftChecker::read_residual(std::int64_t row, const void* elements, const Format& output,
                                const double* residual, Reading* to) const {
  const FloatEnvironment environment;
  impl_->require(output, row);
  const ReadableRow from(output, elements, impl_->rows.n);
  RowReader(impl_->rows, output, impl_->kappa())
      .read_residual(row, from.storage, from.elements, residual, to);
}

std::vector<double> AbftChecker::explained(const Format& output) const {
  const FloatEnvironment environment;
  impl_->require_format(output);
  std::vector<std::int64_t> rows(at(impl_->rows.m));
  std::iota(rows.begin(), rows.end(), std::int64_t{0});
  return RowReader(impl_->rows, output, impl_->kappa()).explained(rows);
}

void AbftChecker::residual_forms(std::int64_t row, const Format& output, BoundForm* to) const {
  const FloatEnvironment environment;
  impl_->require(output, row);
  const RowForms forms(impl_->rows, output, impl_->kappa());
  for (std::int64_t g = 0; g < impl_->rows.groups(); ++g) to[g] = forms.rounding(row, g);
}

bool AbftChecker::looks_at_peaks(const Format& output) const {
  return impl_->rows.threshold().reads_peaks && output.is_float();
}

double AbftChecker::peak(const void* elements, const Format& output) const {
  const FloatEnvironment environment;
  impl_->require_format(output);
  const ReadableRow from(output, elements, impl_->rows.n);
  return row_peak(output, from.storage, from.elements, impl_->rows.n);
}

ElementBound AbftChecker::element_bound(std::int64_t row, std::int64_t column, double value,
                                        const Format& output) const {
  const FloatEnvironment environment;
  impl_->require(output, row);
  const CheckedProduct& d = impl_->rows;
  if (column < 0 || column >= d.n) {
    throw std::invalid_argument(formatted("column {} of {}", column, d.n));
  }
  const std::int64_t first = column / d.width() * d.width();
  return bound_of_element(impl_->sources(d), output, row, first,
                          std::min(d.n, first + d.width()) - 1, column, value);
}

void AbftChecker::element_bounds(std::int64_t row, std::int64_t first, std::int64_t count,
                                 const Format& output, ElementBound* to) const {
  const FloatEnvironment environment;
  impl_->require(output, row);
  const CheckedProduct& d = impl_->rows;
  Sources from = impl_->sources(d);
  if (!d.from_golden) from.b_values = d.b_values();
  bounds_of_elements(from, output, row, first, first + count - 1, to);
}

std::vector<double> AbftChecker::largest_element_errors() const {
  const FloatEnvironment environment;
  const CheckedProduct& d = impl_->rows;
  const Accumulation accumulation(d.options.model, d.k);
  // |a_i| |b_j| bounds sum_k |a_ik b_kj| for every j (Cauchy and Schwarz).
  std::vector<double> squares(at(d.n)), row(at(d.k)), errors;
  const double* b = d.b_values();
  for (std::int64_t kk = 0; kk < d.k; ++kk) {
    for (std::int64_t j = 0; j < d.n; ++j, ++b) {
      const double size = std::max(std::abs(*b), accumulation.aligned_size_b(*b));
      squares[at(j)] += size * size;
    }
  }
  const double column_norm = std::sqrt(*std::ranges::max_element(squares));
  double largest_bias = 0;
  for (const double v : d.operands.bias) largest_bias = std::max(largest_bias, std::abs(v));
  for (std::int64_t i = 0; i < d.m; ++i) {
    d.operands.a.read(i, 0, d.k, row.data());
    double square = 0;
    for (const double v : row) {
      const double size = std::max(std::abs(v), accumulation.aligned_size_a(v));
      square += size * size;
    }
    errors.push_back(
        accumulation.largest_element_bound(std::sqrt(square) * column_norm + largest_bias));
  }
  return errors;
}

AbftVerdict AbftChecker::check(const TensorView& c, const Residual& residual) const {
  return impl_->check(c, residual);
}

std::string AbftChecker::Impl::why_not(const Residual& residual) const {
  const bool compensated = spec().threshold->takes_residuals;
  if (residual.kind == Residual::Kind::kNone) {
    return compensated
               ? "residual_compensated needs what the cast took away: C before its cast, or R of "
                 "every check; in a dataset accumulators/PRODUCER or residuals/PRODUCER of the "
                 "case, in a matcher .accumulator(c) or .residual(r)"
               : "";
  }
  if (!compensated)
    return formatted("the threshold {} does not use residuals; use residual_compensated",
                     spec().threshold->name);
  const Shape& shape = residual.values.shape;
  if (residual.kind == Residual::Kind::kAccumulator) {
    if (shape == Shape{rows.m, rows.n}) return "";
    return formatted(
        "the accumulator has the shape {}, but it must have the shape of the output, [{}, {}]",
        shape_text(shape), rows.m, rows.n);
  }
  if (columns) {
    return "checks of columns need the accumulator of the output, but only the residual of each "
           "row is given";
  }
  if (shape == Shape{rows.m, rows.groups()}) return "";
  return formatted(
      "the residuals have the shape {}, but those of checks of {} columns have [{}, {}]; set "
      "groups=N to the width of the checks that the kernel summed, or groups=0 for whole rows",
      shape_text(shape), rows.width(), rows.m, rows.groups());
}

AbftVerdict AbftChecker::Impl::check(const TensorView& c, const Residual& residual) const {
  const FloatEnvironment environment;
  AbftVerdict verdict;
  verdict.spec = spec().text();
  verdict.format = c.format;
  const auto refuse = [&](std::string because) {
    verdict.outcome = Outcome::kNotComparable;
    verdict.because = std::move(because);
    return verdict;
  };
  if (c.shape != Shape{rows.m, rows.n}) {
    return refuse(formatted("the output's shape is {}, the product's is [{}, {}]",
                            shape_text(c.shape), rows.m, rows.n));
  }
  if (const std::string reason = rows.why_not(*c.format); !reason.empty()) return refuse(reason);
  if (const std::string reason = why_not(residual); !reason.empty()) return refuse(reason);
  if (c.size() == 0) {
    verdict.outcome = Outcome::kUntrusted;
    verdict.because = "there are no elements to check";
    return verdict;
  }
  CheckTally all = scan(rows, c, false, residual);
  if (columns) {
    const bool given = residual.kind != Residual::Kind::kNone;
    all.add(scan(*columns, c.transposed(), true,
                 given ? Residual::accumulator(residual.values.transposed()) : Residual{}));
  }
  set_counts(verdict, all);
  verdict.from_golden = rows.from_golden;
  // Columns can only be off if most checks are flagged. If fewer are, the fault does not concern
  // all of C.
  verdict.columns_are_off =
      2 * verdict.flagged > verdict.checks && columns_are_off(sources(rows), c);
  // For an accumulator that truncates, only bounds of the bias are known for some data. So z is
  // calibrated only for other accumulators.
  verdict.calibrated = !Accumulation(rows.options.model, rows.k).truncates();
  summarize(verdict, *spec().threshold, checks_text(spec(), rows.n));
  return verdict;
}

CheckTally AbftChecker::Impl::scan(const CheckedProduct& d, const TensorView& c, bool is_column,
                                   const Residual& residual) const {
  const Format& output = *c.format;
  const MatrixRows elements(c);
  const std::int64_t group_count = d.groups(), width = d.width();
  const bool confirms = d.options.spec.confirm;
  // The residual R of every check, and C before its cast if that is known.
  std::vector<double> residuals, before;
  if (residual.kind == Residual::Kind::kAccumulator) {
    residuals = residuals_of(d, c, residual.values);
    before = residual.values.values();
  } else if (residual.kind == Residual::Kind::kSums) {
    residuals = residual.values.values();
  }
  RowReader reader(d, output, kappa());
  reader.look_at_peaks(elements, d.options.threads);
  const std::int64_t blocks = (d.m + kRowBlock - 1) / kRowBlock;
  struct Part {
    CheckTally sums, casts;  // checks of the row sums, and checks of the casts
  };
  std::vector<Part> parts(at(blocks));
  const auto closer = [&](const LooseReading& r, double ratio) {
    return reader.closer(r, ratio, elements.storage(), elements.row(r.row));
  };
  const Sources from = sources(d);
  std::atomic<double> worst = 0;  // largest difference / threshold of the blocks so far
  parallel_for(blocks, d.options.threads, [&](std::int64_t block) {
    CheckTally &part = parts[at(block)].sums, &casts = parts[at(block)].casts;
    std::vector<Reading> readings(at(group_count));
    for (std::int64_t i = block * kRowBlock; i < std::min(d.m, (block + 1) * kRowBlock); ++i) {
      const auto count = [&](CheckTally& to) {
        for (std::int64_t g = 0; g < group_count; ++g) {
          if (!to.count(readings[at(g)], output.is_float())) continue;
          AbftFlag flag{.is_column = is_column,
                        .index = i,
                        .first = g * width,
                        .last = std::min(d.n, (g + 1) * width) - 1,
                        .reading = readings[at(g)]};
          to.flags.push_back(flag);
        }
      };
      // A check with infinite or NaN elements is flagged, unless these elements are right. Then it
      // is not checkable.
      const auto settle = [&](bool first_time) {
        for (std::int64_t g = 0; g < group_count && output.is_float(); ++g) {
          Reading& reading = readings[at(g)];
          if (!reading.is_special()) continue;
          const Specials special =
              specials_of(from, c, i, g * width, std::min(d.n, (g + 1) * width) - 1, confirms);
          reading.settle(special.right, special.wrong);
          if (special.right == 0 || special.wrong || !first_time) continue;
          part.right_specials += is_column ? 0 : special.right;  // once
          ++part.special_checks;
        }
      };
      for (CheckTally* tally : {&part, &casts}) {
        tally->loose.known = std::max(tally->worst_ratio, worst.load());
      }
      const double* r = residuals.empty() ? nullptr : residuals.data() + i * group_count;
      reader.read(i, elements.storage(), elements.row(i), readings.data(), r, &part.loose);
      settle(true);
      count(part);
      if (r != nullptr) {
        if (before.empty()) {
          reader.read_residual(i, elements.storage(), elements.row(i), r, readings.data(),
                               &casts.loose);
        } else {
          reader.read_casts(i, elements.storage(), elements.row(i), before.data() + i * d.n,
                            readings.data());
        }
        settle(false);
        count(casts);
      }
      if (d.from_golden && output.is_float()) {
        part.narrow += narrow_groups(output, elements, i, width);
        if (d.options.golden_tolerance) part.blind += blind_groups(d, i, readings);
      }
    }
    // A block keeps a few loose readings, because another block may have a larger ratio, which
    // settles them. More of them would take too much memory, so they are settled now.
    for (CheckTally* tally : {&part, &casts}) {
      if (tally->loose.kept.size() > kMostLoose) tally->settle_worst(closer);
      raise_to(worst, tally->worst_ratio);
    }
  });
  CheckTally all, casts;
  for (const Part& part : parts) {
    all.add(part.sums);
    casts.add(part.casts);
  }
  all.settle_worst(closer);
  casts.settle_worst(closer);
  // If C before its cast is known, casts were compared one by one, and confirmation cannot tell
  // more about them.
  look_at_flags(all,
                !confirms           ? Closer::kNot
                : residuals.empty() ? Closer::kElements
                                    : Closer::kSum,
                reader, d, c);
  look_at_flags(casts, confirms && before.empty() ? Closer::kElements : Closer::kNot, reader, d, c);
  all.add(casts);
  return all;
}

void AbftChecker::Impl::look_at_flags(CheckTally& tally, Closer closer, const RowReader& reader,
                                      const CheckedProduct& d, const TensorView& c) {
  const Sources from = sources(d);
  std::ranges::stable_sort(tally.flags, larger);
  tally.flagged = static_cast<std::int64_t>(tally.flags.size());
  if (closer != Closer::kNot) {
    const Confirmation done =
        closer == Closer::kElements
            ? confirm_flags(from, c, tally.flags, d.options.closer_look, d.options.threads)
            : explain_flags(reader, d, tally.flags);
    tally.confirmed_clean = done.clean;
    tally.flagged -= done.clean;
    tally.all_looked_at = done.all_looked_at;
    if (closer == Closer::kElements) return;
  }
  if (tally.flags.size() > AbftVerdict::kListed) tally.flags.resize(AbftVerdict::kListed);
  for (AbftFlag& flag : tally.flags) locate(from, c, flag);
}

std::vector<AbftRepair> AbftChecker::repair(Tensor& c, const Residual& residual) const {
  const FloatEnvironment environment;
  std::vector<AbftRepair> repairs;
  // Each round repairs the listed elements. Stops after a round that finds only repaired elements.
  while (true) {
    const AbftVerdict v = check(c.view(), residual);
    if (v.outcome != Outcome::kFail) return repairs;
    bool mended = false;
    for (const AbftFlag& flag : v.flags) {
      if (!flag.element) continue;
      const AbftFlag::Element& e = *flag.element;
      const auto same = [&](const AbftRepair& r) { return r.row == e.row && r.column == e.column; };
      if (std::ranges::any_of(repairs, same)) continue;
      AbftRepair r{e.row, e.column, e.bits, e.repaired_bits, e.flipped_bit};
      if (!e.flipped_bit) r.after = encode(c.format(), e.reference);
      c.set_bits(e.row * columns() + e.column, r.after);
      repairs.push_back(r);
      mended = true;
    }
    if (!mended) return repairs;
  }
}

}  // namespace assay::abft
