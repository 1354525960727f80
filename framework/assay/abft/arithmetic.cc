#include "assay/abft/arithmetic.h"

#include <algorithm>
#include <cmath>

#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/machine/dot.h"

namespace assay::inline v0_2::abft {
namespace {

float group_sum(const double* values, std::int64_t count) {
  std::vector<float> x(values, values + count);
  return pairwise_sum(x);
}

// Returns the sum of `count` values as a machine's matrix unit computes it: as a product with a
// column of ones. The values are numbers of the unit's input format.
double machine_sum(const DotModel& model, const double* values, std::int64_t count) {
  const std::vector<double> ones(at(count), 1.0);
  float sum = 0;
  dot_matmul(model, 1, 1, count, values, ones.data(), &sum, 1);
  return static_cast<double>(sum);
}

}  // namespace

float pairwise_sum(std::vector<float>& x) {
  if (x.empty()) return 0;
  for (std::size_t n = x.size(); n > 1; n = (n + 1) / 2) {
    for (std::size_t i = 0; i + 1 < n; i += 2) x[i / 2] = x[i] + x[i + 1];
    if (n % 2 != 0) x[n / 2] = x[n - 1];
  }
  return x[0];
}

std::vector<double> checksums_in(Arithmetic arithmetic, const DotModel* model, const Operands& o,
                                 std::int64_t width, const Format& output, int threads) {
  const std::int64_t m = o.a.rows(), k = o.a.columns(), n = o.b.columns();
  const std::int64_t groups = (n + width - 1) / width;
  const Format& bf16 = format_named("bfloat16");
  // `sums` is B e, the row sums of B by groups. `low` is its second part for hi_lo. Both are k x
  // groups.
  std::vector<double> sums(at(k * groups)), low(arithmetic == Arithmetic::kHiLo ? sums.size() : 0);
  parallel_for(k, threads, [&](std::int64_t kk) {
    std::vector<double> row(at(n));
    o.b.read(kk, 0, n, row.data());
    for (std::int64_t g = 0; g < groups; ++g) {
      const std::int64_t first = g * width, count = std::min(n - first, width);
      double& sum = sums[at(kk * groups + g)];
      if (arithmetic == Arithmetic::kMachine) {
        // The unit reads the sum again, so the sum is rounded to the unit's input format.
        sum = round_to(format_named(model->b_input()), machine_sum(*model, &row[at(first)], count));
        continue;
      }
      const auto be = static_cast<double>(group_sum(&row[at(first)], count));
      sum = be;
      if (arithmetic != Arithmetic::kHiLo) continue;
      sum = round_to(bf16, be);
      low[at(kk * groups + g)] = round_to(bf16, be - sum);
    }
  });
  std::vector<double> result(at(m * groups));
  if (arithmetic == Arithmetic::kMachine) {
    std::vector<double> a(at(m * k));
    for (std::int64_t i = 0; i < m; ++i) o.a.read(i, 0, k, a.data() + i * k);
    std::vector<float> c(at(m * groups), 0.0f);
    dot_matmul(*model, m, groups, k, a.data(), sums.data(), c.data(), threads);
    for (std::size_t i = 0; i < c.size(); ++i) {
      result[i] = round_to(output, static_cast<double>(c[i]));
    }
  } else {
    parallel_for(m, threads, [&](std::int64_t i) {
      std::vector<double> a(at(k));
      o.a.read(i, 0, k, a.data());
      const auto chain = [&](const std::vector<double>& by, std::int64_t g) {
        float sum = 0;
        for (std::int64_t kk = 0; kk < k; ++kk) {
          sum = std::fma(static_cast<float>(a[at(kk)]), static_cast<float>(by[at(kk * groups + g)]),
                         sum);
        }
        return sum;
      };
      for (std::int64_t g = 0; g < groups; ++g) {
        float sum = chain(sums, g);
        if (!low.empty()) sum += chain(low, g);
        result[at(i * groups + g)] = static_cast<double>(sum);
      }
    });
  }
  if (o.bias.empty() && o.row_bias.empty()) return result;
  for (std::int64_t i = 0; i < m; ++i) {
    for (std::int64_t g = 0; g < groups; ++g) {
      std::vector<float> biases;
      for (std::int64_t j = g * width; j < std::min(n, (g + 1) * width); ++j) {
        biases.push_back(static_cast<float>(o.bias_at(i, j)));
      }
      double& sum = result[at(i * groups + g)];
      sum = static_cast<double>(static_cast<float>(sum) + pairwise_sum(biases));
    }
  }
  return result;
}

void row_sums_in(Arithmetic arithmetic, const DotModel* model, const double* row, std::int64_t n,
                 std::int64_t width, const Format& output, double* to) {
  for (std::int64_t first = 0; first < n; first += width, ++to) {
    const std::int64_t count = std::min(n - first, width);
    *to = arithmetic == Arithmetic::kMachine
              ? round_to(output, machine_sum(*model, row + first, count))
              : static_cast<double>(group_sum(row + first, count));
  }
}

std::vector<std::int64_t> integer_checksums(const Operands& o, std::int64_t width, int threads) {
  const std::int64_t m = o.a.rows(), k = o.a.columns(), n = o.b.columns();
  const std::int64_t groups = (n + width - 1) / width;
  const auto integer = [](double v) {
    return static_cast<std::uint64_t>(static_cast<std::int64_t>(v));
  };
  std::vector<std::uint64_t> sums(at(k * groups), 0);
  parallel_for(k, threads, [&](std::int64_t kk) {
    std::vector<double> row(at(n));
    o.b.read(kk, 0, n, row.data());
    for (std::int64_t j = 0; j < n; ++j) sums[at(kk * groups + j / width)] += integer(row[at(j)]);
  });
  std::vector<std::int64_t> result(at(m * groups));
  parallel_for(m, threads, [&](std::int64_t i) {
    std::vector<double> a(at(k));
    o.a.read(i, 0, k, a.data());
    std::vector<std::uint64_t> totals(at(groups), 0);
    for (std::int64_t j = 0; j < n && !(o.bias.empty() && o.row_bias.empty()); ++j) {
      totals[at(j / width)] += integer(o.bias_at(i, j));
    }
    for (std::int64_t kk = 0; kk < k; ++kk) {
      for (std::int64_t g = 0; g < groups; ++g) {
        totals[at(g)] += integer(a[at(kk)]) * sums[at(kk * groups + g)];
      }
    }
    for (std::int64_t g = 0; g < groups; ++g) {
      result[at(i * groups + g)] = static_cast<std::int64_t>(totals[at(g)]);
    }
  });
  return result;
}

}  // namespace assay::abft
