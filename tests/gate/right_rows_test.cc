// Right results of rows without a machine: reductions, softmax, norms and attention in float32.
// They use the algorithms and the orders of real kernels, on data that are hard for expected_error.
#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <vector>

#include "right_results.h"

namespace assay {
namespace {

constexpr float kInfinite = std::numeric_limits<float>::infinity();
constexpr const char* kRowOrders[] = {"ascending", "pairwise", "strided"};

std::vector<float> floats(const std::vector<double>& values) {
  return std::vector<float>(values.begin(), values.end());
}

Tensor result_of(const Case& c, const Format& f, const std::vector<float>& values) {
  std::vector<double> rounded;
  for (const float v : values) rounded.push_back(round_to(f, static_cast<double>(v)));
  return Tensor::from_values(f, c.output().golden->shape(), rounded);
}

Case case_of(const char* op, const Format& f, const Shape& shape, const std::vector<double>& x) {
  Case c;
  c.name = op;
  c.op = op;
  c.inputs["x"] = Tensor::from_values(f, shape, x);
  return c;
}

// Runs the body with every kind of data in rows of every length, but with only a third of the kinds
// in rows of more than 100 elements, and a ninth of them in rows of more than 1024.
template <typename Body>
void for_rows(std::uint64_t seed, const Format& f, const Body& body) {
  Random random(seed, 0);
  for (std::uint64_t round = 0; round < right::times(); ++round) {
    std::uint64_t which = round;
    for (const std::string& kind : right::kinds()) {
      ++which;
      for (const std::int64_t n : {1, 2, 3, 5, 16, 33, 100, 513, 1024, 4097}) {
        const std::uint64_t every = n > 1024 ? 9 : n > 100 ? 3 : 1;
        if (which % every != 0) continue;
        std::vector<double> x;
        for (int row = 0; row < 3; ++row) {
          const std::vector<double> one = right::hard_values(kind, n, f, random);
          x.insert(x.end(), one.begin(), one.end());
        }
        body(kind + ", n = " + std::to_string(n), n, x, random);
      }
    }
  }
}

bool all_zero(const Tensor& golden) {
  const std::vector<double> values = golden.view().values();
  return std::all_of(values.begin(), values.end(), [](double v) { return v == 0; });
}

template <typename Row>
std::vector<float> by_rows(std::int64_t n, const std::vector<double>& x, const Row& row) {
  std::vector<float> all;
  const std::vector<float> values = floats(x);
  for (auto first = values.begin(); first < values.end(); first += n) {
    const std::vector<float> one = row(std::vector<float>(first, first + n));
    all.insert(all.end(), one.begin(), one.end());
  }
  return all;
}

void report(const char* what, const char* dtype, const right::Outcomes& outcomes) {
  outcomes.print(std::string(what) + " of " + dtype);
  EXPECT_EQ(outcomes.failed + outcomes.untrusted, 0) << outcomes.first;
  EXPECT_EQ(outcomes.failed_by_default, 0) << outcomes.first_by_default;
}

class RightRows : public testing::TestWithParam<const char*> {
 protected:
  const Format& f = format_named(GetParam());
  right::Outcomes outcomes;
};

TEST_P(RightRows, OfReductionsPass) {
  for (const bool mean : {false, true}) {
    for_rows(1, f,
             [&](const std::string& what, std::int64_t n, const std::vector<double>& x, auto&) {
               Case c = case_of(mean ? "reduce_mean" : "reduce_sum", f, {3, n}, x);
               c.attributes["axis"] = std::int64_t{1};
               c.output().golden = golden_result(c);
               if (all_zero(*c.output().golden)) return;
               for (const char* order : kRowOrders) {
                 for (const bool reciprocal : {false, true}) {
                   if (reciprocal && !mean) continue;
                   const auto count = static_cast<float>(n);
                   const Tensor output =
                       result_of(c, f, by_rows(n, x, [&](const std::vector<float>& row) {
                                   const float sum = right::sum_in(order, row);
                                   return std::vector<float>{!mean        ? sum
                                                             : reciprocal ? sum * (1 / count)
                                                                          : sum / count};
                                 }));
                   outcomes.judge(c, output, what + ", " + order);
                 }
               }
             });
  }
  report("reductions", GetParam(), outcomes);
}

std::vector<float> softmax_row(const std::string& form, const char* order, std::vector<float> x) {
  const float most = *std::max_element(x.begin(), x.end());
  constexpr float kLog2E = 1.44269504f;
  if (form == "running") {  // FlashAttention's
    float so_far = -kInfinite, sum = 0;
    for (std::size_t first = 0; first < x.size(); first += 16) {
      const auto begin = x.begin() + static_cast<std::ptrdiff_t>(first),
                 end = x.begin() + static_cast<std::ptrdiff_t>(std::min(first + 16, x.size()));
      const float now = std::max(so_far, *std::max_element(begin, end));
      if (now == -kInfinite) continue;
      std::vector<float> terms;
      for (auto v = begin; v < end; ++v) terms.push_back(std::exp(*v - now));
      sum = sum * std::exp(so_far - now) + right::sum_in(order, terms);
      so_far = now;
    }
    for (float& v : x) v = std::exp(v - so_far) / sum;
    return x;
  }
  for (float& v : x) {
    v = form == "base 2" ? std::exp2((v - most) * kLog2E) : std::exp(v - most);
  }
  const float sum = right::sum_in(order, x);
  for (float& v : x) v = form == "exp" ? v / sum : v * (1 / sum);
  return x;
}

TEST_P(RightRows, OfSoftmaxPass) {
  for (const bool masked : {false, true}) {
    for_rows(2, f, [&](const std::string& what, std::int64_t n, std::vector<double> x, auto&) {
      for (std::size_t i = 0; masked && i < x.size(); ++i) {
        if (i % 3 == 2) x[i] = -std::numeric_limits<double>::infinity();
      }
      Case c = case_of("softmax", f, {3, n}, x);
      c.output().golden = golden_result(c);
      for (const char* order : kRowOrders) {
        for (const char* form : {"exp", "base 2", "running"}) {
          if (masked && n < 3) continue;
          const Tensor output = result_of(c, f, by_rows(n, x, [&](const std::vector<float>& row) {
                                            return softmax_row(form, order, row);
                                          }));
          outcomes.judge(c, output, what + ", " + order + ", " + form);
        }
      }
    });
  }
  report("softmax", GetParam(), outcomes);
}

struct Affine {
  std::vector<float> weight, bias;
};

// Computes layernorm of a row. The parameters choose how the moments and the elements are computed.
std::vector<float> layernorm_row(const std::string& moments, bool scaled, const char* order,
                                 const Affine& affine, std::vector<float> x) {
  const auto n = static_cast<float>(x.size());
  float mean = 0, var = 0;
  if (moments == "updated") {  // Welford's
    float count = 0;
    for (const float v : x) {
      count += 1;
      const float delta = v - mean;
      mean += delta / count;
      var += delta * (v - mean);
    }
    var /= n;
  } else {
    mean = right::sum_in(order, x) / n;
    std::vector<float> squares;
    for (const float v : x) {
      squares.push_back(moments == "one pass" ? v * v : (v - mean) * (v - mean));
    }
    var = right::sum_in(order, squares) / n;
    if (moments == "one pass") var = std::max(var - mean * mean, 0.0f);
  }
  const float factor = 1 / std::sqrt(var + 1e-5f);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const float w = affine.weight.empty() ? 1 : affine.weight[i],
                b = affine.bias.empty() ? 0 : affine.bias[i];
    if (!scaled) {
      x[i] = (x[i] - mean) * factor * w + b;
    } else if (moments == "updated") {  // as PyTorch does on a CPU
      x[i] = (x[i] * factor + -mean * factor) * w + b;
    } else {
      const float scale = factor * w, shift = b - mean * scale;
      x[i] = std::fma(x[i], scale, shift);
    }
  }
  return x;
}

// True if mean x^2 - m^2 keeps enough precision for the variance of every row.
bool is_well_conditioned(std::int64_t n, const std::vector<double>& x) {
  for (std::size_t first = 0; first < x.size(); first += static_cast<std::size_t>(n)) {
    double mean = 0, square = 0;
    for (std::size_t i = first; i < first + static_cast<std::size_t>(n); ++i) {
      mean += x[i] / static_cast<double>(n), square += x[i] * x[i] / static_cast<double>(n);
    }
    if (!(square < 16 * (square - mean * mean))) return false;
  }
  return true;
}

TEST_P(RightRows, OfLayernormPass) {
  for_rows(
      3, f,
      [&](const std::string& what, std::int64_t n, const std::vector<double>& x, auto& random) {
        for (const bool has_affine : {false, true}) {
          Case c = case_of("layernorm", f, {3, n}, x);
          Affine affine;
          if (has_affine) {
            for (const char* name : {"weight", "bias"}) {
              const std::vector<double> values = right::hard_values("mean 1", n, f, random);
              c.inputs[name] = Tensor::from_values(f, {n}, values);
              (name == std::string("weight") ? affine.weight : affine.bias) = floats(values);
            }
          }
          c.output().golden = golden_result(c);
          if (all_zero(*c.output().golden)) continue;
          for (const char* order : kRowOrders) {
            for (const char* moments : {"two passes", "updated", "one pass"}) {
              if (moments == std::string("one pass") && !is_well_conditioned(n, x)) continue;
              for (const bool scaled : {false, true}) {
                const Tensor output =
                    result_of(c, f, by_rows(n, x, [&](const std::vector<float>& row) {
                                return layernorm_row(moments, scaled, order, affine, row);
                              }));
                outcomes.judge(c, output,
                               what + ", " + order + ", " + moments + (scaled ? ", scaled" : "") +
                                   (has_affine ? ", affine" : ""));
              }
            }
          }
        }
      });
  report("layernorm", GetParam(), outcomes);
}

TEST_P(RightRows, OfRmsnormPass) {
  for_rows(
      4, f,
      [&](const std::string& what, std::int64_t n, const std::vector<double>& x, auto& random) {
        Case c = case_of("rmsnorm", f, {3, n}, x);
        const std::vector<double> weight = right::hard_values("mean 1", n, f, random);
        c.inputs["weight"] = Tensor::from_values(f, {n}, weight);
        c.output().golden = golden_result(c);
        if (all_zero(*c.output().golden)) return;
        for (const char* order : kRowOrders) {
          for (const bool scaled : {false, true}) {
            const auto row_of = [&](std::vector<float> row) {
              std::vector<float> squares;
              for (const float v : row) squares.push_back(v * v);
              const float square = right::sum_in(order, squares) / static_cast<float>(n);
              const float root = std::sqrt(square + 1e-6f);
              for (std::size_t i = 0; i < row.size(); ++i) {
                const auto w = static_cast<float>(weight[i]);
                row[i] = scaled ? row[i] * ((1 / root) * w) : row[i] / root * w;
              }
              return row;
            };
            outcomes.judge(c, result_of(c, f, by_rows(n, x, row_of)),
                           what + ", " + order + (scaled ? ", scaled" : ""));
          }
        }
      });
  report("rmsnorm", GetParam(), outcomes);
}

// Computes scores, softmax and the weighted sum of v. It takes all keys at once, or 16 at a time
// with a running maximum.
std::vector<float> attention_in(bool running, const char* order, const Format& f,
                                std::int64_t depth, const std::vector<float>& q,
                                const std::vector<float>& k, const std::vector<float>& v) {
  const auto width = static_cast<std::size_t>(depth);
  const std::size_t queries = q.size() / width, keys = k.size() / width;
  const float scale = 1 / std::sqrt(static_cast<float>(depth));
  const auto cast = [&](float x) {
    return static_cast<float>(round_to(f, static_cast<double>(x)));
  };
  std::vector<float> out;
  for (std::size_t i = 0; i < queries; ++i) {
    std::vector<float> scores;
    for (std::size_t key = 0; key < keys; ++key) {
      std::vector<float> terms;
      for (std::size_t d = 0; d < width; ++d)
        terms.push_back(q[i * width + d] * k[key * width + d]);
      scores.push_back(right::sum_in(order, terms) * scale);
    }
    const std::size_t tile = running ? 16 : keys;
    std::vector<float> row(width, 0.0f);
    float most = -kInfinite, sum = 0;
    for (std::size_t first = 0; first < keys; first += tile) {
      const std::size_t end = std::min(first + tile, keys);
      float now = most;
      for (std::size_t key = first; key < end; ++key) now = std::max(now, scores[key]);
      const float before = std::exp(most - now);
      std::vector<float> weights;
      for (std::size_t key = first; key < end; ++key)
        weights.push_back(std::exp(scores[key] - now));
      sum = sum * before + right::sum_in(order, weights);
      most = now;
      for (std::size_t d = 0; d < width; ++d) {
        std::vector<float> terms;
        for (std::size_t key = first; key < end; ++key) {
          const float weight = running ? weights[key - first] : weights[key - first] / sum;
          terms.push_back(cast(weight) * v[key * width + d]);
        }
        row[d] = row[d] * before + right::sum_in(order, terms);
      }
    }
    for (const float x : row) out.push_back(running ? x / sum : x);
  }
  return out;
}

TEST_P(RightRows, OfAttentionPass) {
  Random random(5, 0);
  for (std::uint64_t round = 0; round < right::times(); ++round) {
    for (const std::string& kind : right::kinds()) {
      for (const std::int64_t keys : {1, 3, 16, 70}) {
        Case c;
        c.name = c.op = "attention";
        constexpr std::int64_t kDepth = 8, kQueries = 3;
        std::vector<float> values[3];
        for (int which = 0; which < 3; ++which) {
          const std::int64_t rows = which == 0 ? kQueries : keys;
          const std::vector<double> drawn =
              right::hard_values(which == 0 ? "normal" : kind, rows * kDepth, f, random);
          c.inputs[which == 0   ? "q"
                   : which == 1 ? "k"
                                : "v"] = Tensor::from_values(f, {rows, kDepth}, drawn);
          values[which] = floats(drawn);
        }
        for (const bool running : {false, true}) {
          if (running) c.attributes["tile"] = std::int64_t{16};
          c.output().golden = golden_result(c);
          if (all_zero(*c.output().golden)) continue;
          for (const char* order : kRowOrders) {
            const std::vector<float> output =
                attention_in(running, order, f, kDepth, values[0], values[1], values[2]);
            outcomes.judge(c, result_of(c, f, output),
                           kind + ", keys = " + std::to_string(keys) + ", " + order +
                               (running ? ", running" : ""));
          }
        }
      }
    }
  }
  report("attention", GetParam(), outcomes);
}

INSTANTIATE_TEST_SUITE_P(Formats, RightRows, testing::Values("float32", "float16", "bfloat16"));

}  // namespace
}  // namespace assay
