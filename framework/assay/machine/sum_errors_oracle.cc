#include "assay/machine/sum_errors_oracle.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "assay/base/index.h"
#include "assay/base/parallel.h"

namespace assay::inline v0_2 {
namespace {

// Returns a row-major k x n matrix with its columns one after the other.
std::vector<double> by_columns(std::int64_t k, std::int64_t n, const std::vector<double>& b) {
  std::vector<double> columns(b.size());
  for (std::int64_t i = 0; i < k; ++i) {
    for (std::int64_t j = 0; j < n; ++j) {
      columns[at(j * k + i)] = b[at(i * n + j)];
    }
  }
  return columns;
}

// An operand's values as the unit reads them, with the exponent of each value and of the largest
// power of two that divides it.
struct OracleFactors {
  std::vector<double> value;
  std::vector<int> exponent, grid;
  bool flushes = false;
};
OracleFactors oracle_factors(const std::vector<double>& values, const Format& f, bool flush) {
  OracleFactors factors{values, {}, {}};
  const double least = f.is_float() ? min_normal(f) : 0;
  for (double& v : factors.value) {
    if (flush && v != 0 && std::abs(v) < least) {
      factors.flushes = true;
      v = 0;
    }
    factors.exponent.push_back(
        v == 0 ? -Uncertain::kAnyGrid
               : std::max(exponent_of(v), f.is_float() ? f.min_exponent() : exponent_of(v)));
    factors.grid.push_back(v == 0 ? Uncertain::kAnyGrid : Uncertain::lowest_bit(v));
  }
  return factors;
}

struct ProductTerm {
  Uncertain number;
  int exponent;
};

// Computes the products of a row of a and a column of b.
struct Products {
  const OracleFactors &rows, &columns;
  std::size_t row, column;  // indices of the first elements of the row and of the column

  ProductTerm operator()(std::int64_t k) const {
    const std::size_t of_a = row + at(k), of_b = column + at(k);
    const double value = rows.value[of_a] * columns.value[of_b];
    const int grid = value == 0 ? Uncertain::kAnyGrid : rows.grid[of_a] + columns.grid[of_b];
    return {{.value = value, .grid = grid, .odd = value != 0},
            rows.exponent[of_a] + columns.exponent[of_b]};
  }
};

// True if float64 holds the product of two numbers of the format, and the largest power of two that
// divides it.
bool is_narrow(const Format& f) { return f.bits <= 32; }

// Carries one sum, with the statistics of its error, through the roundings of the unit.
class Chain {
 public:
  Chain(const DotModel& model, StartOfSum starts, bool without_last)
      : model_(model),
        starts_(starts),
        without_last_(without_last),
        accumulator_(accumulator_format(model), model.rounding.value),
        promoted_(format_named("float32")),
        accumulator_min_exponent_(accumulator_format(model).min_exponent()),
        least_normal_(min_normal(accumulator_format(model))),
        by_chunks_(!model.rounds_products() && is_narrow(format_named(model.input)) &&
                   is_narrow(format_named(model.b_input()))) {}

  bool flushed() const { return flushed_; }

  // product(k) is the k-th ProductTerm. The sum starts at 0 if `start` is null.
  Uncertain run(const Uncertain* start, std::int64_t k, const Products& product) {
    const bool added_last = start != nullptr && starts_ == StartOfSum::kAddedLast;
    Uncertain sum = start != nullptr && !added_last ? *start : Uncertain{};
    const std::int64_t interval = model_.promotion_interval.value;
    const bool leave = without_last_ && !added_last;
    if (interval == 0) {
      sum = part(sum, 0, k, product, leave);
    } else {
      for (std::int64_t first = 0; first < k; first += interval) {
        const std::int64_t last = std::min(k, first + interval);
        sum.add(part({}, first, last, product, false));
        rounded(sum, promoted_, leave && last == k);
      }
    }
    if (added_last) {
      sum.add(*start);
      rounded(sum, promoted_, without_last_);
    }
    return sum;
  }

 private:
  // Rounds the sum, unless `leave` is true.
  void rounded(Uncertain& sum, const RoundingStep& step, bool leave) {
    if (model_.flush_sums.value && sum.value != 0 && std::abs(sum.value) < least_normal_) {
      flushed_ = true;
    }
    if (!leave) sum.round(step);
  }

  Uncertain part(Uncertain sum, std::int64_t begin, std::int64_t end, const Products& product,
                 bool without_last) {
    const std::int64_t chunk = model_.chunk.value;
    for (std::int64_t first = begin; first < end; first += chunk) {
      const std::int64_t last = std::min(end, first + chunk);
      if (model_.kept_bits.value > 0) {
        add_aligned(sum, first, last, product);
      } else if (model_.order.value == ChunkOrder::kFused) {
        if (by_chunks_) {
          sum.add(cut_products(first, last, -Uncertain::kAnyGrid, product));
        } else {
          Uncertain products;  // this sum without the accumulator is usually exact
          for (std::int64_t k = first; k < last; ++k) {
            Uncertain p = product(k).number;
            if (model_.rounds_products()) p.round(accumulator_);
            products.add(p);
          }
          sum.add(products);
        }
      } else {
        sum.add(chunk_sum(first, last, product));
      }
      rounded(sum, accumulator_, without_last && last == end);
    }
    return sum;
  }

  // Returns the sum of a chunk's products, each of them cut to multiples of 2^unit. `known` is true
  // in the result if no product is cut and float64 holds every partial sum.
  static Uncertain cut_products(std::int64_t first, std::int64_t last, int unit,
                                const Products& product) {
    Uncertain sum;
    double size = 0;
    bool cuts = false;
    int low = Uncertain::kAnyGrid;
    for (std::int64_t k = first; k < last; ++k) {
      Uncertain p = product(k).number;
      p.round_to_grid(unit, Rounding::kTowardZero);
      sum.value += p.value;
      size += std::abs(p.value);
      sum.mean += p.mean;
      sum.variance += p.variance;
      low = std::min(low, p.grid);
      cuts = cuts || !p.known;
    }
    if (size == 0) return sum;
    sum.known = !cuts && exponent_of(size) - low <= 52;
    sum.grid = sum.known ? Uncertain::lowest_bit(sum.value) : low;
    sum.odd = sum.known && sum.value != 0;
    return sum;
  }

  // Adds a chunk for models whose accumulator is added to the finished sum of the products
  // (DotModel::sum_bits).
  void add_joined(Uncertain& sum, std::int64_t first, std::int64_t last, const Products& product) {
    const int kept = model_.kept_bits.value, lanes = model_.interleave.value;
    std::vector<int> emax(at(lanes), model_.emax_floor.value);
    const auto lane_of = [&](std::int64_t k) { return at((k - first) % lanes); };
    for (std::int64_t k = first; k < last; ++k) {
      emax[lane_of(k)] = std::max(emax[lane_of(k)], product(k).exponent);
    }
    const int largest = *std::ranges::max_element(emax);
    std::vector<Uncertain> sums(emax.size());
    for (std::int64_t k = first; k < last; ++k) {
      Uncertain p = product(k).number;
      p.round_to_grid(emax[lane_of(k)] - kept, model_.alignment.value);
      sums[lane_of(k)].add(p);
    }
    Uncertain products;
    for (Uncertain& of_lane : sums) {
      if (lanes > 1) of_lane.round_to_grid(largest - kept, Rounding::kDown);
      products.add(of_lane);
    }
    const int of_sum = sum.value == 0 ? model_.emax_floor.value
                                      : std::max(exponent_of(sum.value), accumulator_min_exponent_);
    const int joined = std::max(largest, of_sum);
    products.round_to_grid(joined - model_.sum_bits.value, Rounding::kDown);
    if (model_.reach.value > 0 && sum.value != 0 && of_sum < joined - model_.reach.value) {
      // The accumulator is out of reach, so all of it is lost.
      sum.round_to_grid(joined + 1, Rounding::kTowardZero);
    } else {
      sum.round_to_grid(joined - kept, Rounding::kDown);
    }
    sum.add(products);
  }

  void add_aligned(Uncertain& sum, std::int64_t first, std::int64_t last, const Products& product) {
    if (model_.sum_bits.value > 0) return add_joined(sum, first, last, product);
    int largest = model_.emax_floor.value;
    if (sum.value != 0) {
      largest = std::max(largest, std::max(exponent_of(sum.value), accumulator_min_exponent_));
    }
    const bool by_chunk = by_chunks_ && model_.alignment.value == Rounding::kTowardZero;
    for (std::int64_t k = first; k < last; ++k) largest = std::max(largest, product(k).exponent);
    const int unit = largest - model_.kept_bits.value;
    sum.round_to_grid(unit, model_.alignment.value);
    if (by_chunk) {
      sum.add(cut_products(first, last, unit, product));
      return;
    }
    Uncertain products;
    for (std::int64_t k = first; k < last; ++k) {
      Uncertain p = product(k).number;
      p.round_to_grid(unit, model_.alignment.value);
      products.add(p);
    }
    sum.add(products);
  }

  // Returns the sum of the products of a chunk, which are added to each other before the
  // accumulator.
  Uncertain chunk_sum(std::int64_t first, std::int64_t last, const Products& product) {
    const bool rounds = model_.rounds_products();
    if (model_.order.value == ChunkOrder::kSequential) {
      Uncertain sum;
      for (std::int64_t k = first; k < last; ++k) {
        Uncertain p = product(k).number;
        if (rounds) p.round(accumulator_);
        sum.add(p);
        if (!rounds || k > first) rounded(sum, accumulator_, false);
      }
      return sum;
    }
    tree_.clear();
    for (std::int64_t k = first; k < last; ++k) {
      tree_.push_back(product(k).number);
      tree_.back().round(accumulator_);
    }
    while (tree_.size() > 1) {
      std::size_t to = 0;
      for (std::size_t k = 0; k < tree_.size(); k += 2, ++to) {
        Uncertain sum = tree_[k];
        if (k + 1 < tree_.size()) {
          sum.add(tree_[k + 1]);
          rounded(sum, accumulator_, false);
        }
        tree_[to] = sum;
      }
      tree_.resize(to);
    }
    return tree_.empty() ? Uncertain{} : tree_[0];
  }

  const DotModel& model_;
  StartOfSum starts_;
  bool without_last_, flushed_ = false;
  RoundingStep accumulator_, promoted_;
  int accumulator_min_exponent_;
  double least_normal_;
  bool by_chunks_;  // true if cut_products() sums a chunk
  std::vector<Uncertain> tree_;
};

}  // namespace

SumErrors sum_errors_oracle(const DotModel& model, std::int64_t m, std::int64_t n, std::int64_t k,
                            const std::vector<double>& a, const std::vector<double>& b,
                            const std::vector<double>& start, StartOfSum starts, bool without_last,
                            int threads) {
  const bool flush = model.flush_inputs.value;
  const OracleFactors rows = oracle_factors(a, format_named(model.input), flush),
                      columns =
                          oracle_factors(by_columns(k, n, b), format_named(model.b_input()), flush);
  SumErrors errors;
  errors.mean.resize(at(m * n));
  errors.variance.resize(errors.mean.size());
  std::atomic<bool> flushes = rows.flushes || columns.flushes;
  parallel_for(m, threads, [&](std::int64_t i) {
    Chain chain(model, starts, without_last);
    for (std::int64_t j = 0; j < n; ++j) {
      const Products product{rows, columns, at(i * k), at(j * k)};
      Uncertain first;
      if (!start.empty()) {
        first = Uncertain::exact(start[at(j)]);
        first.round(RoundingStep(format_named("float32")));
      }
      const Uncertain sum = chain.run(start.empty() ? nullptr : &first, k, product);
      errors.mean[at(i * n + j)] = sum.mean;
      errors.variance[at(i * n + j)] = sum.variance;
    }
    if (chain.flushed()) flushes = true;
  });
  errors.flushes = flushes;
  return errors;
}

}  // namespace assay
