#include "op_peers.h"

#include <Eigen/Core>
#include <algorithm>
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

void eigen_quantize(std::ptrdiff_t rows, std::ptrdiff_t columns, const float* x, float* codes,
                    float* scales) {
  const std::ptrdiff_t blocks = columns / 128;
  for (std::ptrdiff_t i = 0; i < rows * blocks; ++i) {
    const Eigen::Map<const Eigen::ArrayXf> block(x + i * 128, 128);
    scales[i] = std::max(block.abs().maxCoeff(), 1e-4f) / 448.0f;
    Eigen::Map<Eigen::ArrayXf>(codes + i * 128, 128) = block / scales[i];
  }
}

void eigen_dequantize(std::ptrdiff_t rows, std::ptrdiff_t columns, const float* codes,
                      const float* scales, float* to) {
  for (std::ptrdiff_t i = 0; i < rows * columns / 128; ++i) {
    Eigen::Map<Eigen::ArrayXf>(to + i * 128, 128) =
        Eigen::Map<const Eigen::ArrayXf>(codes + i * 128, 128) * scales[i];
  }
}

void eigen_scaled_product(std::ptrdiff_t m, std::ptrdiff_t k, std::ptrdiff_t n, const float* a_data,
                          const float* b_data, const float* scale_a, const float* scale_b,
                          float* to) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const Eigen::Map<const Matrix> a(a_data, m, k), b(b_data, k, n);
  const std::ptrdiff_t steps = k / 128, columns = n / 128;
  const Eigen::Map<const Array> sa(scale_a, m, steps), sb(scale_b, steps, columns);
  Eigen::Map<Array> y(to, m, n);
  y.setZero();
  Matrix part(m, n);
  for (std::ptrdiff_t s = 0; s < steps; ++s) {
    part.noalias() = a.middleCols(s * 128, 128) * b.middleRows(s * 128, 128);
    for (std::ptrdiff_t j = 0; j < columns; ++j) {
      y.middleCols(j * 128, 128) +=
          part.array().middleCols(j * 128, 128).colwise() * (sa.col(s) * sb(s, j));
    }
  }
}

void eigen_dots(std::ptrdiff_t n, std::ptrdiff_t k, const float* a_data, const float* b_data,
                const float* c_data, float* to) {
  const Eigen::Map<const Array> a(a_data, n, k), b(b_data, n, k);
  Eigen::Map<Eigen::ArrayXf>(to, n) =
      (a * b).rowwise().sum() + Eigen::Map<const Eigen::ArrayXf>(c_data, n);
}

void eigen_deform_roi_pool(std::ptrdiff_t channels, std::ptrdiff_t height, std::ptrdiff_t width,
                           std::ptrdiff_t rois, std::ptrdiff_t bins, std::ptrdiff_t samples,
                           const float* image, const float* boxes, float* to) {
  // The position and weights of a sample's four pixels are computed once for all channels, as the
  // threads of a kernel share them.
  const Eigen::Map<const Array> planes(image, channels, height * width);
  Eigen::ArrayXf sum(channels);
  for (std::ptrdiff_t r = 0; r < rois; ++r) {
    const float* box = boxes + r * 5;
    const auto count = static_cast<float>(bins), grid = static_cast<float>(samples);
    const float left = box[1] - 0.5f, top = box[2] - 0.5f;
    const float bw = (box[3] - box[1]) / count, bh = (box[4] - box[2]) / count;
    for (std::ptrdiff_t bin = 0; bin < bins * bins; ++bin) {
      sum.setZero();
      for (std::ptrdiff_t s = 0; s < samples * samples; ++s) {
        const float y = top + static_cast<float>(bin / bins) * bh +
                        (static_cast<float>(s / samples) + 0.5f) * bh / grid;
        const float x = left + static_cast<float>(bin % bins) * bw +
                        (static_cast<float>(s % samples) + 0.5f) * bw / grid;
        const auto yl = static_cast<std::ptrdiff_t>(y), xl = static_cast<std::ptrdiff_t>(x);
        const float ly = y - static_cast<float>(yl), lx = x - static_cast<float>(xl);
        const std::ptrdiff_t at = yl * width + xl;
        sum += (1 - ly) * (1 - lx) * planes.col(at) + (1 - ly) * lx * planes.col(at + 1) +
               ly * (1 - lx) * planes.col(at + width) + ly * lx * planes.col(at + width + 1);
      }
      for (std::ptrdiff_t c = 0; c < channels; ++c) {
        to[(r * channels + c) * bins * bins + bin] = sum(c) / (grid * grid);
      }
    }
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
