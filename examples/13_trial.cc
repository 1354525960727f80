// A kernel of pointers and sizes, tried with inputs that assay draws. No golden file is needed.
#include <assay/matchers.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

using assay::as_kernel;
using assay::PassesTrial;

// The kernel: the softmax of each row.
static void my_softmax(const float* x, float* y, int rows, int columns) {
  for (int r = 0; r < rows && columns > 0; ++r, x += columns, y += columns) {
    const float largest = *std::max_element(x, x + columns);
    float sum = 0;
    for (int i = 0; i < columns; ++i) sum += y[i] = std::exp(x[i] - largest);
    for (int i = 0; i < columns; ++i) y[i] /= sum;
  }
}

TEST(Softmax, PassesItsTrial) {
  EXPECT_THAT(as_kernel(my_softmax).args("x", "y", "rows", "columns"), PassesTrial("softmax"));
}

// Kernels that take views can be tried with memory of any strides, too.
static void my_add(const assay::TensorView& a, const assay::TensorView& b,
                   const assay::MutableTensorView& y) {
  std::vector<double> sums = a.values();
  const std::vector<double> more = b.values();
  for (std::size_t i = 0; i < sums.size(); ++i) sums[i] += more[i];
  assay::copy_elements(assay::Tensor::from_values(*y.format, y.shape, sums), y);
}

TEST(Add, PassesItsTrial) {
  EXPECT_THAT(my_add, PassesTrial("add").dtypes({"float32", "bfloat16"}).draws(100));
}
