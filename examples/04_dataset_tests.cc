// A team's dataset tests: one main function, and one function for each operator. CMake makes a test
// of every case:
//
//   assay_add_dataset_tests(my_ops DATASETS gemms.h5 STANDARD torch LABELS nightly)
#include <assay/dataset_tests.h>

#include <vector>

// The operator under test. This one accumulates in float32 in ascending order of k, and rounds the
// result once.
assay::Tensor my_matmul(const assay::Case& c) {
  const assay::Tensor &a = c.input("a"), &b = c.input("b");
  const std::int64_t m = a.shape()[0], k = a.shape()[1], n = b.shape()[1];
  const std::vector<double> av = a.view().values(), bv = b.view().values();
  std::vector<double> out(static_cast<std::size_t>(m * n));
  const auto at = [](std::int64_t i) { return static_cast<std::size_t>(i); };
  for (std::int64_t i = 0; i < m; ++i) {
    std::vector<float> sums(at(n), 0.0f);
    for (std::int64_t kk = 0; kk < k; ++kk) {
      for (std::int64_t j = 0; j < n; ++j) {
        sums[at(j)] += static_cast<float>(av[at(i * k + kk)] * bv[at(kk * n + j)]);
      }
    }
    for (std::int64_t j = 0; j < n; ++j) out[at(i * n + j)] = static_cast<double>(sums[at(j)]);
  }
  return assay::Tensor::from_values(output_format(c), {m, n}, out);
}

int main(int argc, char** argv) {
  return assay::run_dataset_tests(argc, argv, {{"matmul", my_matmul}});
}
