// The smallest possible operators of a team, which assay_add_dataset_tests() tests. One of them is
// right, and the others show the failures of wrong ones.
#include <assay/dataset_tests.h>

#include <cstddef>
#include <stdexcept>
#include <utility>
#include <vector>

namespace {

// Returns a [M, K] times b [K, N]. Products are accumulated in float32 in ascending order of k, and
// the sum is rounded once.
std::vector<double> product(const assay::Case& c) {
  const assay::Tensor &a = c.input("a"), &b = c.input("b");
  const auto m = static_cast<std::size_t>(a.shape()[0]), k = static_cast<std::size_t>(a.shape()[1]);
  const auto n = static_cast<std::size_t>(b.shape()[1]);
  const std::vector<double> left = a.view().values(), right = b.view().values();
  std::vector<double> out(m * n);
  for (std::size_t i = 0; i < m; ++i) {
    std::vector<float> sums(n, 0.0f);
    for (std::size_t x = 0; x < k; ++x) {
      for (std::size_t j = 0; j < n; ++j) {
        sums[j] += static_cast<float>(left[i * k + x] * right[x * n + j]);
      }
    }
    for (std::size_t j = 0; j < n; ++j) out[i * n + j] = static_cast<double>(sums[j]);
  }
  return out;
}

assay::Tensor result(const assay::Case& c, const std::vector<double>& values) {
  return assay::Tensor::from_values(output_format(c),
                                    {c.input("a").shape()[0], c.input("b").shape()[1]}, values);
}

// A result that is cast comes with the values before the cast. The attribute x_flip changes one
// element by two ulps after the cast.
assay::Computed matmul(const assay::Case& c) {
  assay::Tensor output = result(c, product(c));
  if (output.format().bits == 32) return output;
  assay::Tensor before =
      assay::Tensor::from_values(assay::format_named("float32"), output.shape(), product(c));
  if (c.flag("x_flip").value_or(false)) output.set_bits(0, output.bits_at(0) ^ 2);
  return {std::move(output), {.accumulator = std::move(before)}};
}

// Returns a wrong product: one element is off by a tenth of the largest element.
assay::Tensor wrong(const assay::Case& c) {
  std::vector<double> values = product(c);
  double largest = 1;
  for (const double v : values) largest = v > largest ? v : largest;
  values.back() += 0.1 * largest;
  return result(c, values);
}

assay::Tensor flat(const assay::Case& c) {
  const std::vector<double> values = product(c);
  return assay::Tensor::from_values(output_format(c), {static_cast<std::int64_t>(values.size())},
                                    values);
}

// Returns the product in a device's memory, which is freed on return. The host is the device.
assay::Computed on_device(const assay::Case& c) {
  const assay::Tensor output = result(c, product(c));
  return assay::DeviceView{&assay::host_memory(), 0, nullptr, output.view(), "the product"};
}

assay::Tensor throws(const assay::Case&) { throw std::runtime_error("no device"); }

assay::Tensor empty(const assay::Case&) { return {}; }

}  // namespace

int main(int argc, char** argv) {
  return assay::run_dataset_tests(argc, argv,
                                  {{"matmul", matmul},
                                   {"wrong_matmul", wrong},
                                   {"flat_matmul", flat},
                                   {"device_matmul", on_device},
                                   {"throwing_matmul", throws},
                                   {"empty_matmul", empty}});
}
