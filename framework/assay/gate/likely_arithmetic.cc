#include "assay/gate/likely_arithmetic.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <optional>
#include <utility>
#include <vector>

#include "assay/base/error.h"
#include "assay/base/index.h"
#include "assay/base/text.h"
#include "assay/cases/product.h"
#include "assay/format/convert.h"
#include "assay/gate/product_sample.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

using Values = std::vector<double>;

// The elements whose errors are examined: all elements of the output, or a sample of them for a
// product.
struct Subject {
  const Case* whole = nullptr;
  std::optional<ProductSample> sample;
  const Format* format = nullptr;
  Values golden, values, weights;  // the golden result, output and weight of each examined element
  // row-major indices of the examined elements in the whole output.
  std::vector<std::int64_t> index;
  std::int64_t columns = 1;  // columns of the whole output

  std::size_t size() const { return golden.size(); }
  // Returns the case whose result these elements are.
  const Case& test_case() const { return sample ? sample->test_case : *whole; }
};

Subject subject_of(const Case& c, const TensorView& output, const Tensor& golden,
                   const Tensor& all_weights) {
  constexpr std::int64_t kSide = 32;
  Subject s;
  s.whole = &c;
  s.format = output.format;
  s.columns = golden.shape().empty() ? 1 : golden.shape().back();
  if (c.op == "matmul") {
    s.sample = sample_of_product(c, kSide);
    s.index = s.sample->index;
  } else {
    s.index.resize(at(golden.size()));
    std::iota(s.index.begin(), s.index.end(), std::int64_t{0});
  }
  const TensorView weights = all_weights.view(), expected = golden.view();
  for (const std::int64_t i : s.index) {
    s.golden.push_back(expected.value_at(i));
    s.values.push_back(output.value_at(i));
    s.weights.push_back(weights.value_at(i));
  }
  // Caps the weights, so that a tiny golden result does not outweigh all others.
  Values sorted;
  for (const double w : s.weights) {
    if (w > 0) sorted.push_back(w);
  }
  if (sorted.empty()) return s;
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  for (double& w : s.weights) w = std::min(w, 4 * *middle);
  return s;
}

// The result that a known cause would give, before it is rounded to the output's format.
struct Prediction {
  std::string words;
  Values result;
  // True if the prediction converts the operands to another format. Several conversions may leave
  // equally small errors.
  bool is_conversion = false;
};

// The share of the squared errors that remains if the output is compared with a prediction instead
// of the golden result.
struct Left {
  double share = 2;  // 2 if the prediction is not finite where the output is
  // The number of elements with equal errors that would carry as much information.
  double elements = 0;
};

// Returns the share of squared errors that a predicted result leaves. Errors are differences from
// the golden result as rounded to the output's format. So a prediction that has only the same last
// rounding leaves all of them.
Left left_by(const Subject& s, Values result) {
  Values right = s.golden;
  round_array(*s.format, result.data(), result.size());
  round_array(*s.format, right.data(), right.size());
  // The squared error from the prediction, and from the golden result.
  std::vector<std::pair<double, double>> squares;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (!std::isfinite(right[i]) || !std::isfinite(s.values[i]) || !(s.weights[i] > 0)) continue;
    const double left = s.values[i] - result[i], error = s.values[i] - right[i];
    if (!std::isfinite(left)) return {};
    squares.emplace_back(s.weights[i] * left * left, s.weights[i] * error * error);
  }
  const std::size_t counted = squares.size() - std::min<std::size_t>(4, squares.size() / 20);
  std::ranges::sort(squares);
  double left = 0, all = 0, fourth = 0;
  for (std::size_t i = 0; i < counted; ++i) {
    left += squares[i].first;
    all += squares[i].second;
    fourth += squares[i].second * squares[i].second;
  }
  if (!(all > 0)) return {};
  return {left / all, all * all / fourth};
}

// Adds the results with a wrong bias and without the weight.
void add_bias_and_weight(const Subject& s, std::vector<Prediction>& all) {
  const auto last_dimension = [&](const char* name) {
    const auto found = s.whole->inputs.find(name);
    const bool fits = found != s.whole->inputs.end() && found->second.format().is_float() &&
                      found->second.size() == s.columns;
    return fits ? found->second.view().values() : Values();
  };
  const Values bias = last_dimension("bias"), weight = last_dimension("weight");
  const auto changed = [&](const auto& change) {
    Values result = s.golden;
    for (std::size_t i = 0; i < result.size(); ++i) {
      const auto column = at(s.index[i] % s.columns);
      result[i] = change(result[i], column, at(s.index[i] / s.columns));
    }
    return result;
  };
  if (!bias.empty()) {
    all.push_back({"a missing bias", changed([&](double e, std::size_t column, std::size_t) {
                     return e - bias[column];
                   })});
    all.push_back(
        {"a bias that was added twice",
         changed([&](double e, std::size_t column, std::size_t) { return e + bias[column]; })});
    all.push_back({"a bias that was added by row instead of by column",
                   changed([&](double e, std::size_t column, std::size_t row) {
                     return e - bias[column] + bias[row % bias.size()];
                   })});
  }
  const bool is_scaled = std::ranges::none_of(weight, [](double w) { return w == 0; });
  if (!weight.empty() && is_scaled) {
    all.push_back({"a missing weight", changed([&](double e, std::size_t column, std::size_t) {
                     const double b = bias.empty() ? 0 : bias[column];
                     return (e - b) / weight[column] + b;
                   })});
  }
}

// Adds the results of operands that were rounded to a format of fewer bits. For a product, only the
// operands a and b are rounded, because other inputs are not multiplied.
void add_conversions(const Subject& s, int threads, std::vector<Prediction>& all) {
  for (const char* name : {"tfloat32", "hfloat32", "float16", "bfloat16", "float8_e4m3fn"}) {
    const Format& narrow = format_named(name);
    Case changed = s.test_case();
    bool any = false;
    for (auto& [operand, input] : changed.inputs) {
      if (!input.format().is_float() || input.format().precision <= narrow.precision) continue;
      if (is_product(*s.whole) && operand != "a" && operand != "b") continue;
      Values values = input.view().values();
      round_array(narrow, values.data(), values.size());
      input = Tensor::from_values(input.format(), input.shape(), values);
      any = true;
    }
    if (any) all.push_back({name, golden_result(changed, threads).view().values(), true});
  }
}

// The terms of each element's sum, in blocks. `sums` holds the amount that each block adds to each
// element.
struct Terms {
  std::int64_t count = 0;  // number of all terms
  std::int64_t block = 1;  // terms in each block except the last
  std::vector<Values> sums;
};

// Adds the products of the terms from `first` to before `last` to each element's sum.
void add_products(const MatmulShape& shape, const Values& a, const Values& b, std::int64_t first,
                  std::int64_t last, Values& sums) {
  for (std::int64_t i = 0; i < shape.m; ++i) {
    double* to = sums.data() + i * shape.n;
    for (std::int64_t k = first; k < last; ++k) {
      const double by = a[at(i * shape.k + k)];
      const double* row = b.data() + k * shape.n;
      for (std::int64_t j = 0; j < shape.n; ++j) to[j] += by * row[j];
    }
  }
}

// Returns the terms of a product, or of a sum over the last axis. Returns nothing for other
// operators.
Terms terms_of(const Subject& s) {
  constexpr std::int64_t kMostBlocks = 128;
  Terms terms;
  const auto cut = [&](std::int64_t count) {
    terms.count = count;
    while ((count + terms.block - 1) / terms.block > kMostBlocks) terms.block *= 2;
    terms.sums.assign(at((count + terms.block - 1) / terms.block), Values(s.size(), 0.0));
  };
  const auto sum_of = [&](std::int64_t k) -> Values& { return terms.sums[at(k / terms.block)]; };
  if (s.sample) {
    const MatmulShape shape = matmul_shape(s.test_case());
    const Values a = matmul_matrix(s.test_case(), "a", 0).values(),
                 b = matmul_matrix(s.test_case(), "b", 0).values();
    cut(shape.k);
    for (std::int64_t k = 0; k < shape.k; ++k) add_products(shape, a, b, k, k + 1, sum_of(k));
    return terms;
  }
  const auto x = s.whole->inputs.find("x");
  if (s.whole->op != "reduce_sum" || x == s.whole->inputs.end() || s.size() == 0) return terms;
  const Shape& shape = x->second.shape();
  const std::int64_t axis = s.whole->integer("axis").value_or(-1);
  if (shape.empty() || (axis != -1 && axis + 1 != static_cast<std::int64_t>(shape.size()))) {
    return terms;
  }
  const std::int64_t count = shape.back();
  if (count * static_cast<std::int64_t>(s.size()) != x->second.size()) return terms;
  const Values values = x->second.view().values();
  cut(count);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto place = static_cast<std::int64_t>(i);
    sum_of(place % count)[at(place / count)] += values[i];
  }
  return terms;
}

// Considers results that lack a run of terms, and results with a run added twice. Adds the one that
// leaves the smallest errors. Returns how many were compared.
std::size_t add_runs_of_terms(const Subject& s, const Terms& terms, std::vector<Prediction>& all) {
  const std::size_t blocks = terms.sums.size(), n = s.size();
  if (terms.count < 2) return 0;
  Values apart(n);
  for (std::size_t i = 0; i < n; ++i) {
    apart[i] = s.golden[i] - s.values[i];
    if (!std::isfinite(apart[i])) return 0;
  }
  const auto product = [&](const Values& one, const Values& other) {
    return std::inner_product(one.begin(), one.end(), other.begin(), 0.0);
  };
  // Each run is compared by how much it reduces the sum of squares. The amounts of a run follow
  // from those of the run with one block less.
  Values by_error(blocks);
  std::vector<Values> by_block(blocks, Values(blocks));
  for (std::size_t b = 0; b < blocks; ++b) {
    by_error[b] = product(apart, terms.sums[b]);
    for (std::size_t o = 0; o <= b; ++o) {
      by_block[b][o] = by_block[o][b] = product(terms.sums[b], terms.sums[o]);
    }
  }
  double best = 0;
  std::size_t best_first = 0, best_last = 0;
  bool is_twice = false;
  for (std::size_t first = 0; first < blocks; ++first) {
    double squares = 0, with_error = 0;
    for (std::size_t last = first; last < blocks; ++last) {
      for (std::size_t o = first; o < last; ++o) squares += 2 * by_block[last][o];
      squares += by_block[last][last];
      with_error += by_error[last];
      for (const bool twice : {false, true}) {
        const double gain = (twice ? -2 : 2) * with_error - squares;
        if (!(gain > best)) continue;
        best = gain, best_first = first, best_last = last, is_twice = twice;
      }
    }
  }
  if (best == 0) return 0;
  Values result = s.golden;
  for (std::size_t b = best_first; b <= best_last; ++b) {
    for (std::size_t i = 0; i < n; ++i) result[i] += (is_twice ? 1 : -1) * terms.sums[b][i];
  }
  const std::int64_t first = static_cast<std::int64_t>(best_first) * terms.block,
                     end = std::min(terms.count,
                                    (static_cast<std::int64_t>(best_last) + 1) * terms.block);
  const bool is_tail = end == terms.count, is_one = end - first == 1;
  std::string run =
      is_one ? formatted("term {}", first) : formatted("terms {} to {}", first, end - 1);
  if (is_tail) {
    run = is_one ? std::string("the last term") : formatted("the last {} terms", end - first);
  }
  std::string words = is_twice ? formatted("a sum with {} of {} added twice", run, terms.count)
                               : formatted("a sum without {} of {}", run, terms.count);
  all.push_back({std::move(words), std::move(result)});
  return blocks * (blocks + 1);
}

// Adds two kinds of results of a product. In the first, K is split into parts, and each part is
// rounded to a narrow format before the parts are added. In the second, the sum is rounded to that
// format after each chunk of terms.
void add_rounded_sums(const Subject& s, std::vector<Prediction>& all) {
  const Case& c = s.test_case();
  const MatmulShape shape = matmul_shape(c);
  const Values a = matmul_matrix(c, "a", 0).values(), b = matmul_matrix(c, "b", 0).values();
  const Values bias = matmul_bias(c);
  const auto with_bias = [&](Values sum) {
    for (std::size_t i = 0; i < sum.size() && !bias.empty(); ++i) sum[i] += bias[i % bias.size()];
    return sum;
  };
  const std::size_t n = s.size();
  for (const char* name : {"float16", "bfloat16"}) {
    const Format& narrow = format_named(name);
    for (const std::int64_t parts : {2, 4, 8}) {
      if (parts > shape.k) continue;
      const std::int64_t length = (shape.k + parts - 1) / parts;
      Values total(n);
      for (std::int64_t first = 0; first < shape.k; first += length) {
        Values part(n);
        add_products(shape, a, b, first, std::min(shape.k, first + length), part);
        round_array(narrow, part.data(), n);
        for (std::size_t i = 0; i < n; ++i) total[i] += part[i];
      }
      all.push_back({formatted("K in {} parts that are rounded to {}", parts, name),
                     with_bias(std::move(total))});
    }
    for (const std::int64_t chunk : {1, 2, 4, 8, 16, 32}) {
      if (chunk >= shape.k) continue;
      Values total(n);
      for (std::int64_t first = 0; first < shape.k; first += chunk) {
        add_products(shape, a, b, first, std::min(shape.k, first + chunk), total);
        round_array(narrow, total.data(), n);
      }
      all.push_back({formatted("{} accumulation", name), with_bias(std::move(total))});
    }
  }
}

// Returns "errors like those of ..." with the prediction that leaves the smallest errors, or with
// all conversions that leave as little. Returns an empty string if no prediction fits.
std::string errors_like(const Subject& s, int threads) {
  constexpr double kLeft = 0.25, kAlike = 1.1, kChance = 1e-3;
  std::vector<Prediction> all;
  add_bias_and_weight(s, all);
  const std::size_t runs = add_runs_of_terms(s, terms_of(s), all);
  if (s.sample) add_rounded_sums(s, all);
  add_conversions(s, threads, all);
  std::vector<double> left;
  double least = 2;
  for (const Prediction& one : all) {
    auto [share, elements] = left_by(s, one.result);
    // If the errors had a random direction, they would leave at most this share with the
    // probability that their angle to the prediction is so small. The probability is multiplied by
    // the number of predictions that were compared. A share that chance may explain does not count.
    const double tries = static_cast<double>(all.size() + runs);
    const double freedom = std::max(elements - 1, 0.0) / 2;
    if (std::log(tries) + freedom * std::log(std::max(share, 1e-300)) > std::log(kChance)) {
      share = 2;
    }
    left.push_back(share);
    least = std::min(least, share);
  }
  if (!(least < kLeft)) return "";
  const std::size_t best = at(std::ranges::min_element(left) - left.begin());
  if (!all[best].is_conversion) return "errors like those of " + all[best].words;
  std::string names;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (!all[i].is_conversion || !(left[i] < kLeft) || left[i] > kAlike * least) continue;
    names += (names.empty() ? "" : " or ") + all[i].words;
  }
  return formatted("errors like those of {} inputs", names);
}

// An accumulator that sums products with fewer bits than it should. `apply` changes a model to it,
// and returns true if that changed anything.
struct WrongSums {
  const char* words;
  bool (*apply)(DotModel&);
};
bool sum_in(DotModel& model, std::string_view accumulator) {
  model.accumulator.value = accumulator;
  model.rounding.value = Rounding::kNearestEven;
  model.kept_bits.value = model.mantissa_bits.value = model.promotion_interval.value = 0;
  return true;
}
// If two entries have the same effect on a model, the first one is named.
constexpr WrongSums kWrongSums[] = {
    {"a missing promotion",
     [](DotModel& model) {
       const bool promotes = model.promotion_interval.value > 0;
       model.promotion_interval.value = 0;
       return promotes;
     }},
    {"float16 accumulation", [](DotModel& model) { return sum_in(model, "float16"); }},
    {"bfloat16 accumulation", [](DotModel& model) { return sum_in(model, "bfloat16"); }},
    {"sums of 14 bits", [](DotModel& model) {
       const bool has_more = model.mantissa_bits.value == 0 || model.mantissa_bits.value > 13;
       if (has_more) model.mantissa_bits.value = 13, model.rounding.value = Rounding::kTowardZero;
       model.promotion_interval.value = 0;
       return has_more;
     }}};

// Returns the expected errors of a machine whose sums are made wrong by `wrong`. Returns nothing if
// this does not change the machine's sums.
std::optional<ExpectedErrors> errors_of(const WrongSums& wrong, const Case& c,
                                        const Machine& machine, int threads) {
  Case changed = c;
  const auto interval = c.integer("promotion_interval");
  changed.attributes.erase("promotion_interval");
  std::vector<DotModel> rows(machine.dots.begin(), machine.dots.end());
  bool changes = false;
  for (DotModel& row : rows) {
    if (interval && *interval > 0) row.promotion_interval.value = static_cast<int>(*interval);
    changes = wrong.apply(row) || changes;
  }
  if (!changes) return std::nullopt;
  Machine other = machine;
  other.dots = rows;
  try {
    return expected_errors(changed, other, threads);
  } catch (const Refusal&) {
    return std::nullopt;
  }
}

// Returns the log-likelihood of errors for the given expected squares, up to a constant.
double likelihood(const Values& errors, const Values& squares) {
  double sum = 0;
  for (std::size_t i = 0; i < errors.size(); ++i) {
    sum -= (std::log(squares[i]) + errors[i] * errors[i] / squares[i]) / 2;
  }
  return sum;
}

// Returns "errors as large as those of ..." with the narrow sums whose theory fits the errors from
// element to element. Returns an empty string if none fits.
std::string errors_as_large(const Subject& s, const Machine& machine, int threads) {
  constexpr double kFactor = 1.25, kClearly = 10, kSteepest = 4.5;
  constexpr std::size_t kFewest = 32;
  std::string likely;
  double most = 0;
  // The errors must fit clearly better than those of right arithmetic, which has errors too and may
  // have a few wrong ones among them.
  Values of_right;
  try {
    of_right = expected_squares(expected_errors(s.test_case(), machine, threads), s.golden);
  } catch (const Refusal&) {
    return "";
  }
  if (of_right.size() != s.size()) return "";
  for (const WrongSums& wrong : kWrongSums) {
    const auto theory = errors_of(wrong, s.test_case(), machine, threads);
    if (!theory || theory->variance.size() != s.size()) continue;
    const Values expected = expected_squares(*theory, s.golden);
    Values errors, squares, golden, right;
    for (std::size_t i = 0; i < s.size(); ++i) {
      const double error = s.values[i] - s.golden[i];
      const bool is_known = expected[i] > 0 && std::isfinite(expected[i]) && of_right[i] > 0;
      if (!std::isfinite(error) || !is_known) continue;
      right.push_back(of_right[i]);
      errors.push_back(error);
      squares.push_back(expected[i]);
      golden.push_back(s.golden[i] * s.golden[i]);
    }
    const std::size_t n = errors.size();
    if (n < kFewest) continue;
    double sum = 0, ratio = 0, fourth = 0, share = 0, size = 0;
    for (std::size_t i = 0; i < n; ++i) size += golden[i] / static_cast<double>(n);
    // An error that is a share of the golden result would be 0 for a golden result of 0. So each
    // golden result is raised by a small amount.
    for (double& g : golden) g += 1e-3 * size;
    for (std::size_t i = 0; i < n; ++i) {
      const double square = errors[i] * errors[i], z = square / squares[i];
      sum += square / static_cast<double>(n);
      share += square / golden[i] / static_cast<double>(n);
      ratio += z / static_cast<double>(n);
      fourth += z * z / static_cast<double>(n);
    }
    const bool is_as_large = std::abs(std::log(ratio)) <= 2 * std::log(kFactor);
    if (!is_as_large || fourth > kSteepest * ratio * ratio || size == 0) continue;
    for (double& g : golden) g *= share;
    const double others = std::max({likelihood(errors, Values(n, sum)), likelihood(errors, golden),
                                    likelihood(errors, right)});
    const double clearly = likelihood(errors, squares) - others;
    if (clearly < kClearly || clearly <= most) continue;
    most = clearly;
    likely = wrong.words;
  }
  return likely.empty() ? "" : "errors as large as those of " + likely;
}

}  // namespace

std::string likely_arithmetic(const Case& c, const Machine& machine, const TensorView& output,
                              const Tensor& golden, const ErrorTest& test, int threads) {
  // The errors say nothing if the output is NaN or infinite where the golden result is finite. The
  // judge already reports such elements.
  for (std::int64_t i = 0; i < golden.size(); ++i) {
    if (std::isfinite(golden.view().value_at(i)) && !std::isfinite(output.value_at(i))) return "";
  }
  const Subject s = subject_of(c, output, golden, *test.weights);
  if (s.size() == 0) return "";
  if (std::string like = errors_like(s, threads); !like.empty()) return like;
  return errors_as_large(s, machine, threads);
}

}  // namespace assay
