#include "assay/abft/attention_check.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "assay/abft/check_tally.h"
#include "assay/abft/confirm.h"
#include "assay/abft/product_check.h"
#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/pool.h"
#include "assay/base/text.h"
#include "assay/cases/attention_shape.h"
#include "assay/machine/machine.h"
#include "assay/simd/packed_product.h"

namespace assay::inline v0_2::abft {
namespace {

constexpr std::int64_t kRows = 128;  // number of queries that are checked at a time
static_assert(kRows <= simd::kProductRows);
constexpr double kUnit = 0x1p-24;  // the unit roundoff of float32

struct Attention : AttentionShape {
  const Tensor &q, &k, &v;
  std::optional<std::int64_t> tile = {};
};

Attention attention_of(const Case& c) {
  return {attention_shape(c), c.input("q"), c.input("k"), c.input("v"), c.integer("tile")};
}

// Returns the reason why checksums with these options cannot judge an output of this attention and
// format. Empty if they can.
std::string why_not(const Attention& a, const Format& output, const AbftOptions& options) {
  const ThresholdSpec& spec = options.spec;
  if (spec.threshold->name != kDefaultThreshold || spec.columns ||
      spec.arithmetic != Arithmetic::kFloat64) {
    return formatted("attention is checked only by {}, by rows and in float64, not by {}",
                     kDefaultThreshold, spec.text());
  }
  for (const Tensor* t : {&a.q, &a.k, &a.v}) {
    if (&t->format() != &a.q.format() || !t->format().is_float() || t->format().precision > 24) {
      return formatted(
          "checksums of attention need q, k and v of one float dtype with at most 24 bits of "
          "significand; they are {}, {} and {}",
          a.q.format().name, a.k.format().name, a.v.format().name);
    }
  }
  if (!output.is_float()) {
    return formatted("the output of attention must have a float dtype, but it is {}", output.name);
  }
  if (const DotModel* m = options.model) {
    const int bits = m->mantissa_bits.value;
    if (m->accumulator.value != "float32" || (bits > 0 && bits < 23)) {
      return formatted("checksums of attention need a machine that sums in float32, not in {}{}",
                       m->accumulator.value, bits > 0 ? formatted(" of {} bits", bits + 1) : "");
    }
  } else if (a.q.format().bits <= 8) {
    return formatted(
        "matrix units sum products of {} with as few as 14 bits; name the machine that computed "
        "them",
        a.q.format().name);
  }
  return "";
}

// The weights of a row, exp(score - largest score), and the statistics of their errors.
struct Row {
  float* weights;  // one weight for each key
  // Variances of the weights. If null, a variance is `relative` times the square of the weight.
  float* variances = nullptr;
  // For each weight, the most that it may lose by rounding to 0. All these losses have one sign.
  // Null means that no weight is rounded to 0.
  float* lost = nullptr;
  double sum = 0;       // of the weights
  double error = 0;     // relative standard deviation of a weight before it is rounded
  double relative = 0;  // relative variance of a weight after it is rounded
  bool finite = true;
};

// The prediction of the operands for one check: its reference, and the errors that a right output
// may have.
struct Expected {
  double reference = 0;
  double spread = 0;  // the variance that the rounding of the weights causes
  // Sum of the squares of the check's products, or a bound of that sum.
  double mixed = 0;
  double beside = 0;  // sum of the errors that all have the same sign
};

// The weights and predictions of a block of consecutive rows.
struct Block {
  std::vector<double> products;
  std::vector<float> weights, variances, lost;
  std::vector<Row> rows;
  std::vector<Expected> checks;  // rows x groups
};

// The reference of an output element, and the largest error that the output may have before it is
// rounded.
struct Element {
  double reference, slack;
};

// Checks one matrix of a batch.
class Checker {
 public:
  Checker(const Attention& a, const Format& output, const AbftOptions& options, std::int64_t batch)
      : a_(a),
        in_(a.q.format()),
        out_(output),
        batch_(batch),
        width_(options.spec.width_of(a.width)),
        groups_(options.spec.groups_of(a.width)),
        checks_(a.batch * a.queries * groups_),
        kappa_(options.spec.kappa.value_or(kappa_for(checks_, options.spec.delta))),
        kappa_of_element_(kappa_for(checks_ * width_, options.spec.delta)),
        confirm_(options.spec.confirm),
        model_(options.model),
        v_(values_of(a.v, batch * a.keys, a.keys)),
        narrow_(min_subnormal(in_) > 1e-30) {
    pack_keys();
    pack_values();
  }

  // `output` holds all matrices of the batch.
  CheckTally check(const TensorView& output, int threads) const {
    const std::int64_t parts = (a_.queries + kRows - 1) / kRows;
    std::vector<CheckTally> tallies(at(parts));
    parallel_for(parts, threads, [&](std::int64_t part) {
      const std::int64_t first = part * kRows;
      check_rows(output, first, std::min(kRows, a_.queries - first), tallies[at(part)]);
    });
    CheckTally all;
    for (const CheckTally& t : tallies) all.add(t);
    return all;
  }

  std::int64_t width() const { return width_; }
  std::int64_t groups() const { return groups_; }
  bool confirms() const { return confirm_; }

  // Fills a block with the weights and predictions of rows [first, first + count). `count` is at
  // most kRows.
  void fill(std::int64_t first, std::int64_t count, Block& block) const {
    const std::vector<double> q = values_of(a_.q, batch_ * a_.queries + first, count);
    const std::size_t size = at(count * a_.keys);
    block.products.resize(size);
    block.weights.resize(size);
    if (narrow_) block.variances.resize(size), block.lost.resize(size);
    block.rows.clear();
    simd::multiply_packed(simd::Storage::kF64, q.data(), 8 * a_.depth, count, a_.keys, a_.depth,
                          false, keys_.data(), block.products.data());
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t begin = i * a_.keys;
      Row& row = block.rows.emplace_back(Row{.weights = block.weights.data() + begin});
      if (narrow_) {
        row.variances = block.variances.data() + begin;
        row.lost = block.lost.data() + begin;
      }
      weigh(first + i, q.data() + i * a_.depth, block.products.data() + begin, row);
    }
    const auto times = [&](const std::vector<float>& by, bool squared,
                           const std::vector<double>& packed) {
      std::vector<double> to(at(count * groups_), 0.0);
      if (!finite_) return to;
      simd::multiply_packed(simd::Storage::kF32, by.data(), 4 * a_.keys, count, groups_, a_.keys,
                            squared, packed.data(), to.data());
      return to;
    };
    const std::vector<double> none(at(count * groups_), 0.0);
    const std::vector<double> sums = times(block.weights, false, sums_);
    const std::vector<double> spreads =
        times(narrow_ ? block.variances : block.weights, !narrow_, sum_squares_);
    const std::vector<double> lost = narrow_ ? times(block.lost, false, sizes_) : none;
    const std::vector<double> sizes = truncates() ? times(block.weights, false, sizes_) : none;
    // For outputs of at most 16 bits of precision, the sums of squares hardly matter, so the bound
    // by their largest term is enough.
    const bool exact = out_.precision > 16;
    const std::vector<double> squares = exact ? times(block.weights, true, squares_) : none;
    block.checks.assign(at(count * groups_), {});
    for (std::int64_t i = 0; i < count; ++i) {
      const Row& row = block.rows[at(i)];
      if (!usable(row)) continue;
      const double l = row.sum;
      for (std::int64_t g = 0; g < groups_; ++g) {
        const std::size_t place = at(i * groups_ + g);
        Expected& e = block.checks[place];
        e.reference = sums[place] / l;
        e.spread = (narrow_ ? 1 : row.relative) * spreads[place] / (l * l);
        // The squares of weights of at most 1 sum to no more than the weights.
        e.mixed = exact ? squares[place] / (l * l) : most_squares_ / l;
        e.beside = (lost[place] + 2 * kUnit * roundings(a_.keys) * sizes[place]) / l;
      }
    }
  }

  // Reads the check of group g of a row with outputs c. The sums leave out infinite and NaN
  // outputs, which settle() judges. Sets `blind` if the possible error of the weights is at least
  // the largest output, so that the check would not detect the loss of this output.
  Reading read(const Row& row, const Expected& of, std::int64_t g, const double* c,
               bool* blind = nullptr) const {
    double total = 0, outputs = 0, ulps = 0, ulp_squares = 0, largest = 0;
    for (std::int64_t e = g * width_; e < end_of(g); ++e) {
      if (!std::isfinite(c[e])) continue;
      const double ulp = ulp_of(out_, c[e]);
      total += c[e];
      outputs += c[e] * c[e];
      ulps += ulp;
      ulp_squares += ulp * ulp;
      largest = std::max(largest, std::abs(c[e]));
    }
    const double of_weights = of.spread + accumulation(outputs, of.mixed, of.reference, row.error);
    Reading r;
    r.checkable = usable(row);
    r.difference = std::abs(total - of.reference);
    r.below = total < of.reference;
    r.variance = ulp_squares / 12 + of_weights;
    r.threshold =
        std::min(kappa_ * std::sqrt(r.variance), ulps / 2 + kappa_ * std::sqrt(of_weights)) +
        of.beside;
    if (blind != nullptr) *blind = kappa_ * std::sqrt(of_weights) + of.beside >= largest;
    return r;
  }

  // Judges each infinite or NaN output of a check. If there is one and confirmation is on, judges
  // the finite outputs of the check as well, because their sum cannot be judged.
  Specials settle(Reading& r, const Row& row, std::int64_t g, const double* c) const {
    const std::int64_t first = g * width_;
    const auto is_special = [&](std::int64_t j) { return !std::isfinite(c[first + j]); };
    const std::int64_t count = r.checkable ? end_of(g) - first : 0;
    bool others = false;
    for (std::int64_t j = 0; confirms() && j < count; ++j) others = others || is_special(j);
    const Specials found = specials_among(
        count, others, is_special, [](std::int64_t) { return true; },
        [&](std::int64_t j) { return excess(element(row, first + j), c[first + j]) > 1; });
    r.settle(found.right, found.wrong);
    return found;
  }

  std::int64_t end_of(std::int64_t g) const { return std::min(a_.width, (g + 1) * width_); }

  Element element(const Row& row, std::int64_t e) const {
    double sum = 0, variance = 0, products = 0, beside = 0;
    for (std::int64_t j = 0; j < a_.keys; ++j) {
      const double v = v_[at(j * a_.width + e)];
      const auto p = static_cast<double>(row.weights[j]);
      sum += p * v;
      const double spread =
          row.variances != nullptr ? static_cast<double>(row.variances[j]) : row.relative * p * p;
      variance += spread * v * v;
      products += p * p * v * v;
      if (row.lost != nullptr) beside += static_cast<double>(row.lost[j]) * std::abs(v);
      if (truncates()) beside += 2 * kUnit * roundings(a_.keys) * p * std::abs(v);
    }
    const double l = row.sum, reference = sum / l;
    const double off = variance / (l * l) + accumulation(reference * reference, products / (l * l),
                                                         reference, row.error);
    return {reference, kappa_of_element_ * std::sqrt(off) + beside / l};
  }

  // Returns the difference of a value from its reference, divided by its bound. At most 1 means
  // that the value is inside.
  double excess(const Element& of, double value) const {
    if (!std::isfinite(value)) {
      return special_is_right(out_, value, of.reference, of.slack) ? 0 : HUGE_VAL;
    }
    const double bound = ulp_of(out_, std::abs(of.reference) + of.slack) / 2 + of.slack;
    return std::abs(value - of.reference) / bound;
  }

 private:
  static std::vector<double> values_of(const Tensor& t, std::int64_t row, std::int64_t rows) {
    const std::int64_t columns = t.shape().back();
    std::vector<double> values(at(rows * columns));
    t.view().read(row * columns, rows * columns, values.data());
    return values;
  }

  // Packs k transposed, the right factor of the products of a row of q.
  void pack_keys() {
    const std::vector<double> k = values_of(a_.k, batch_ * a_.keys, a_.keys);
    keys_.resize(simd::packed_size(a_.depth, a_.keys));
    std::vector<double> column(at(a_.keys)), squares(at(a_.keys));
    for (std::int64_t d = 0; d < a_.depth; ++d) {
      for (std::int64_t j = 0; j < a_.keys; ++j) {
        column[at(j)] = k[at(j * a_.depth + d)];
        squares[at(j)] += column[at(j)] * column[at(j)];
      }
      simd::pack_row(a_.depth, a_.keys, d, column.data(), keys_.data());
    }
    longest_key_ = std::sqrt(*std::ranges::max_element(squares));
  }

  // Packs four right factors for the products of a row of weights. For each group of columns they
  // hold the sums of v, the squares of these sums, the sums of v^2, and the sums of |v|.
  void pack_values() {
    const std::size_t size = simd::packed_size(a_.keys, groups_);
    for (auto* packed : {&sums_, &sum_squares_, &squares_, &sizes_}) packed->resize(size);
    std::vector<double> s(at(groups_)), ss(s), q(s), m(s);
    for (std::int64_t j = 0; j < a_.keys; ++j) {
      for (auto* row : {&s, &ss, &q, &m}) std::fill(row->begin(), row->end(), 0.0);
      for (std::int64_t e = 0; e < a_.width; ++e) {
        const double value = v_[at(j * a_.width + e)];
        const std::size_t g = at(e / width_);
        s[g] += value;
        q[g] += value * value;
        m[g] += std::abs(value);
      }
      for (std::size_t g = 0; g < s.size(); ++g) {
        ss[g] = s[g] * s[g];
        finite_ = finite_ && std::isfinite(m[g]);
        most_squares_ = std::max(most_squares_, q[g]);
      }
      simd::pack_row(a_.keys, groups_, j, s.data(), sums_.data());
      simd::pack_row(a_.keys, groups_, j, ss.data(), sum_squares_.data());
      simd::pack_row(a_.keys, groups_, j, q.data(), squares_.data());
      simd::pack_row(a_.keys, groups_, j, m.data(), sizes_.data());
    }
  }

  bool usable(const Row& row) const { return row.finite && finite_; }

  bool truncates() const {
    return model_ != nullptr && model_->rounding.value != Rounding::kNearestEven;
  }
  // Returns the number of roundings in the machine's sum of n products.
  double roundings(std::int64_t n) const {
    const int chunk = model_ != nullptr ? std::max(1, model_->chunk.value) : 1;
    const std::int64_t chunks = (n + chunk - 1) / chunk;
    return static_cast<double>(chunks);
  }

  // Computes the weights of query i from its products with the keys. Writes to the memory in `row`.
  void weigh(std::int64_t i, const double* q, const double* products, Row& row) const {
    const std::int64_t seen = a_.seen(batch_, i);
    // Eight lanes with a maximum and a minimum each let compilers vectorize the loop.
    constexpr std::int64_t kLanes = 8;
    double highs[kLanes], lows[kLanes], checks[kLanes] = {};
    std::fill_n(highs, kLanes, -HUGE_VAL);
    std::fill_n(lows, kLanes, HUGE_VAL);
    const auto look = [&](std::int64_t j, std::int64_t lane) {
      const double score = products[j] * a_.scale;
      highs[lane] = score > highs[lane] ? score : highs[lane];
      lows[lane] = score < lows[lane] ? score : lows[lane];
      checks[lane] += score * 0;  // adds NaN if the score is not finite
    };
    const std::int64_t whole = seen / kLanes * kLanes;
    for (std::int64_t j = 0; j < whole; j += kLanes) {
      for (std::int64_t lane = 0; lane < kLanes; ++lane) look(j + lane, lane);
    }
    for (std::int64_t j = whole; j < seen; ++j) look(j, j - whole);
    double checked = 0;
    for (const double c : checks) checked += c;
    row.finite = std::isfinite(checked);
    for (float* to : {row.weights, row.variances, row.lost}) {
      if (to != nullptr) std::fill(to + (row.finite ? seen : 0), to + a_.keys, 0.0f);
    }
    if (!row.finite) return;
    const double high = *std::max_element(highs, highs + kLanes);
    const double low = *std::min_element(lows, lows + kLanes);
    for (std::int64_t j = 0; j < seen; ++j) {
      row.weights[j] = std::exp(static_cast<float>(products[j] * a_.scale - high));
      row.sum += static_cast<double>(row.weights[j]);
    }
    double length = 0;
    for (std::int64_t d = 0; d < a_.depth; ++d) length += q[d] * q[d];
    // The variance of a weight has five parts. The score's sum of float32 products contributes
    // u^2 D (s^2 / 3 + |q|^2 |k|^2 / 6D) (docs/abft.md, the accumulation term). The
    // others are the scale, the difference, the kernel's exp with 4 ulps, and our own exp.
    const double largest = std::max(std::abs(high), std::abs(low));
    const double lengths = std::abs(a_.scale) * std::sqrt(length) * longest_key_;
    const auto depth = static_cast<double>(a_.depth);
    double square =
        depth * largest * largest / 3 + lengths * lengths / 6 + 8 * largest * largest + 64;
    if (truncates()) square += std::pow(2 * roundings(a_.depth) * lengths, 2);
    row.error = kUnit * std::sqrt(square);
    const double unit = unit_roundoff(in_);
    row.relative = row.error * row.error + unit * unit / 3;
    if (row.variances == nullptr) return;
    // The kernel rounds the weights times this factor. It is 1 / sum if the kernel divides first,
    // and 1 or more if it does not.
    const double factor = a_.tile && *a_.tile > 0 ? 1 : 1 / row.sum;
    const double tiny = min_subnormal(in_) / factor;
    // The smallest normal number is 2^(p - 1) subnormal steps, for a precision of p bits.
    const double smallest_normal = tiny / 2 / unit;
    for (std::int64_t j = 0; j < seen; ++j) {
      const auto p = static_cast<double>(row.weights[j]);
      double variance = row.relative * p * p;
      if (p < smallest_normal) {
        variance = row.error * row.error * p * p + (p < tiny ? 0 : tiny * tiny / 12);
      }
      row.variances[j] = static_cast<float>(variance);
      row.lost[j] = static_cast<float>(p < tiny ? std::min(p, tiny / 2) : 0);
    }
  }

  // Returns the variance of the outputs of a check that comes from rounding in the float32 sums
  // over the keys, in the quotient and in the sum of the weights. The first two contribute u^2 S
  // (c^2 / 3 + products^2 / 6) for each output c, with the number of keys S. `outputs` and
  // `products` are sums of squares.
  double accumulation(double outputs, double products, double reference, double error) const {
    return kUnit * kUnit * (static_cast<double>(a_.keys) + 8) * (outputs / 3 + products / 6) +
           error * error * reference * reference;
  }

  void check_rows(const TensorView& output, std::int64_t first, std::int64_t count,
                  CheckTally& tally) const {
    // The block keeps its memory for the next call, because allocating it again costs more than the
    // sums.
    static auto& pool = *new Pool<Block>([] { return std::make_unique<Block>(); });
    const auto taken = pool.take();
    Block& block = *taken;
    fill(first, count, block);
    std::vector<double> c(at(a_.width));
    for (std::int64_t i = 0; i < count; ++i) {
      const Row& row = block.rows[at(i)];
      output.read((batch_ * a_.queries + first + i) * a_.width, a_.width, c.data());
      for (std::int64_t g = 0; g < groups_; ++g) {
        bool blind = false;
        Reading r = read(row, block.checks[at(i * groups_ + g)], g, c.data(), &blind);
        const Specials found = settle(r, row, g, c.data());
        tally.right_specials += found.wrong ? 0 : found.right;
        tally.special_checks += !found.wrong && found.right > 0 ? 1 : 0;
        tally.blind += blind && r.checkable && !r.flagged() ? 1 : 0;
        if (tally.count(r, true)) look_at(output, r, row, first + i, g, c.data(), tally);
      }
    }
  }

  // Judges a flagged check element by element. Counts it as clean if each element is within its
  // bound.
  void look_at(const TensorView& output, const Reading& r, const Row& row, std::int64_t i,
               std::int64_t g, const double* c, CheckTally& tally) const {
    AbftFlag flag{
        .batch = batch_, .index = i, .first = g * width_, .last = end_of(g) - 1, .reading = r};
    double worst = confirm_ ? 1 : -1;
    Element at_worst{};
    for (std::int64_t e = flag.first; e <= flag.last; ++e) {
      const Element of = element(row, e);
      const double outside = excess(of, c[e]);
      if (!(outside > worst)) continue;
      worst = outside;
      at_worst = of;
      AbftFlag::Element found{};
      found.row = i;
      found.column = e;
      found.bits = output.bits_at((batch_ * a_.queries + i) * a_.width + e);
      found.actual = c[e];
      found.reference = of.reference;
      flag.element = found;
    }
    if (!flag.element) {
      ++tally.confirmed_clean;
      return;
    }
    ++tally.flagged;
    if (worst > 1) find_flip(at_worst, *flag.element);
    tally.flags.push_back(flag);
    std::ranges::stable_sort(tally.flags, larger);
    if (tally.flags.size() > AbftVerdict::kListed) tally.flags.resize(AbftVerdict::kListed);
  }

  // Finds the bit flip that brings the element within its bound. If several flips do, takes the one
  // that brings it closest to its reference.
  void find_flip(const Element& of, AbftFlag::Element& found) const {
    double best = 1;
    for (int bit = out_.padding; bit < out_.padding + out_.bits; ++bit) {
      const std::uint64_t bits = found.bits ^ (std::uint64_t{1} << bit);
      const double value = decode(out_, bits);
      if (!std::isfinite(value)) continue;
      const double outside = excess(of, value);
      if (outside > best || (outside == best && found.flipped_bit)) continue;
      best = outside;
      found.flipped_bit = bit;
      found.repaired_bits = bits;
    }
  }

  const Attention& a_;
  const Format &in_, &out_;
  std::int64_t batch_, width_, groups_, checks_;
  double kappa_, kappa_of_element_;
  bool confirm_;
  const DotModel* model_;
  std::vector<double> v_, keys_;
  std::vector<double> sums_, sum_squares_, squares_, sizes_;
  double longest_key_ = 0, most_squares_ = 0;
  bool finite_ = true;
  // True if some weights may be subnormal in the operands' dtype, or may round to 0 there. Then the
  // variance is computed for each weight.
  bool narrow_;
};

}  // namespace

AbftVerdict check_attention(const Case& c, const TensorView& output, const AbftOptions& options) {
  const FloatEnvironment environment;
  std::string reason;
  std::optional<Attention> a;
  try {
    a.emplace(attention_of(c));
    reason = why_not(*a, *output.format, options);
    if (reason.empty() && output.shape != a->output) {
      reason = formatted("the output's shape is {}, the attention's is {}",
                         shape_text(output.shape), shape_text(a->output));
    }
  } catch (const Refusal& e) {
    reason = e.reason();
  }
  if (!reason.empty()) return not_checkable(output, options, std::move(reason));
  CheckTally all;
  for (std::int64_t batch = 0; batch < a->batch; ++batch) {
    all.add(Checker(*a, *output.format, options, batch).check(output, options.threads));
  }
  AbftVerdict verdict;
  verdict.spec = options.spec.text();
  verdict.format = output.format;
  set_counts(verdict, all);
  summarize(verdict, *options.spec.threshold, checks_text(options.spec, a->width));
  return verdict;
}

struct AttentionRow::Impl {
  const Checker* checker;
  Block block;
  mutable std::vector<std::optional<Element>> elements = {};
};
AttentionRow::AttentionRow(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AttentionRow::AttentionRow(AttentionRow&&) noexcept = default;
AttentionRow::~AttentionRow() = default;

Reading AttentionRow::read(std::int64_t group, const double* elements) const {
  const Row& row = impl_->block.rows[0];
  Reading r = impl_->checker->read(row, impl_->block.checks[at(group)], group, elements);
  (void)impl_->checker->settle(r, row, group, elements);
  return r;
}

bool AttentionRow::is_wrong(std::int64_t group, const double* elements) const {
  const Checker& checker = *impl_->checker;
  if (!checker.confirms()) return true;
  for (std::int64_t e = group * checker.width(); e < checker.end_of(group); ++e) {
    std::optional<Element>& of = impl_->elements[at(e)];
    if (!of) of = checker.element(impl_->block.rows[0], e);
    if (checker.excess(*of, elements[e]) > 1) return true;
  }
  return false;
}

struct AttentionRows::Impl {
  Attention attention;
  std::vector<Checker> checkers;
};

AttentionRows::AttentionRows(const Case& c, const Format& output, const AbftOptions& options)
    : impl_(std::make_unique<Impl>(Impl{attention_of(c), {}})) {
  const FloatEnvironment environment;
  const Attention& a = impl_->attention;
  if (const std::string reason = why_not(a, output, options); !reason.empty()) {
    refuse(reason);
  }
  for (std::int64_t batch = 0; batch < a.batch; ++batch) {
    impl_->checkers.emplace_back(a, output, options, batch);
  }
}
AttentionRows::AttentionRows(AttentionRows&&) noexcept = default;
AttentionRows::~AttentionRows() = default;

std::int64_t AttentionRows::rows() const {
  return impl_->attention.batch * impl_->attention.queries;
}
std::int64_t AttentionRows::columns() const { return impl_->attention.width; }
std::int64_t AttentionRows::groups_per_row() const { return impl_->checkers.front().groups(); }
std::int64_t AttentionRows::group_width() const { return impl_->checkers.front().width(); }

AttentionRow AttentionRows::row(std::int64_t i) const {
  const Attention& a = impl_->attention;
  const Checker& checker = impl_->checkers[at(i / a.queries)];
  auto row = std::make_unique<AttentionRow::Impl>(AttentionRow::Impl{&checker, {}});
  checker.fill(i % a.queries, 1, row->block);
  row->elements.resize(at(a.width));
  return AttentionRow(std::move(row));
}

}  // namespace assay::abft
