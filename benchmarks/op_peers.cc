#include "op_peers.h"

#include <Eigen/Core>
#include <stdexcept>
#include <unsupported/Eigen/SpecialFunctions>

namespace assay_bench {
namespace {

using Array = Eigen::Array<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Line = Eigen::Array<float, 1, Eigen::Dynamic>;

}  // namespace

void eigen_operator(const std::string& op, std::ptrdiff_t rows, std::ptrdiff_t columns,
                    const float* a_data, const float* b_data, const float* c_data, float* to) {
  const Eigen::Map<const Array> a(a_data, rows, columns), b(b_data, rows, columns),
      c(c_data, rows, columns);
  const Eigen::Map<const Line> weight(b_data, columns), bias(c_data, columns);
  Eigen::Map<Array> y(to, rows, columns);
  Eigen::Map<Eigen::ArrayXf> sums(to, rows);
  Eigen::Map<Line> columns_sums(to, columns);
  const auto n = static_cast<float>(columns);
  if (op == "add")
    y = a + b;
  else if (op == "sub")
    y = a - b;
  else if (op == "mul")
    y = a * b;
  else if (op == "div")
    y = a / b;
  else if (op == "fma")
    y = a * b + c;
  else if (op == "axpy")
    y = 3.0f * a + b;
  else if (op == "exp")
    y = a.exp();
  else if (op == "log")
    y = a.log();
  else if (op == "sqrt")
    y = a.sqrt();
  else if (op == "rsqrt")
    y = a.rsqrt();
  else if (op == "tanh")
    y = a.tanh();
  else if (op == "sigmoid")
    y = 1.0f / (1.0f + (-a).exp());
  else if (op == "silu")
    y = a / (1.0f + (-a).exp());
  else if (op == "gelu")
    y = 0.5f * a * (1.0f + (a * 0.70710678f).erf());
  else if (op == "gelu_tanh")
    y = 0.5f * a * (1.0f + (0.79788456f * (a + 0.044715f * a * a * a)).tanh());
  else if (op == "reduce_sum")
    sums = a.rowwise().sum();
  else if (op == "reduce_mean")
    sums = a.rowwise().mean();
  else if (op == "reduce_max")
    sums = a.rowwise().maxCoeff();
  else if (op == "reduce_sum_columns")
    columns_sums = a.colwise().sum();
  else if (op == "softmax") {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      y.row(i) = (a.row(i) - a.row(i).maxCoeff()).exp();
      y.row(i) /= y.row(i).sum();
    }
  } else if (op == "layernorm") {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      y.row(i) = a.row(i) - a.row(i).mean();
      const float scale = 1 / std::sqrt(y.row(i).square().sum() / n + 1e-5f);
      y.row(i) = y.row(i) * scale * weight + bias;
    }
  } else if (op == "rmsnorm") {
    for (std::ptrdiff_t i = 0; i < rows; ++i) {
      const float scale = 1 / std::sqrt(a.row(i).square().sum() / n + 1e-6f);
      y.row(i) = a.row(i) * scale * weight;
    }
  } else {
    throw std::invalid_argument("no peer of " + op);
  }
}

void eigen_cast(bool half, std::ptrdiff_t n, const float* from, unsigned short* to) {
  const Eigen::Map<const Eigen::ArrayXf> x(from, n);
  if (half) {
    Eigen::Map<Eigen::Array<Eigen::half, Eigen::Dynamic, 1>>(reinterpret_cast<Eigen::half*>(to),
                                                             n) = x.cast<Eigen::half>();
  } else {
    Eigen::Map<Eigen::Array<Eigen::bfloat16, Eigen::Dynamic, 1>>(
        reinterpret_cast<Eigen::bfloat16*>(to), n) = x.cast<Eigen::bfloat16>();
  }
}

}  // namespace assay_bench
