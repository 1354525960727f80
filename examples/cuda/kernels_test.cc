// Tests the kernels with tensors that stay in the device's memory, and checks that the matchers
// find what is wrong in the broken ones.
#include "kernels.h"

#include <assay/matchers.h>
#include <assay/operator.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "device_tensor.h"

namespace {

using assay::AbftClose, assay::BitEqual, assay::CloseTo, assay::WithinUlps;
using team::DeviceTensor, testing::Not;

// Skips its tests if there is no device.
class OnDevice : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0) {
      GTEST_SKIP() << "there is no CUDA device: " << cudaGetErrorString(error);
    }
  }
};

// Returns a case of the operator with its golden result, which the host computes in float64.
assay::Case case_of(const char* op, assay::Shape sizes, const char* distribution) {
  assay::Recipe recipe{&assay::format_named("bfloat16"), sizes};
  recipe.distribution = assay::parse_distribution(distribution);
  assay::Case c = assay::generate_case(op, recipe);
  c.output().golden = assay::golden_result(c);
  return c;
}

// Returns the golden result in the device's memory. float32 is enough for an output of bfloat16,
// and half as large as float64.
DeviceTensor on_device(const assay::Tensor& golden) {
  return DeviceTensor(assay::Tensor::from_values(assay::format_named("float32"), golden.shape(),
                                                 golden.view().values()));
}

// A product m x k x n, and what a kernel makes of it.
struct Product {
  int m, k, n;
  assay::Case test_case;
  DeviceTensor a, b, c, golden;

  Product(int rows, int terms, int columns, const char* distribution)
      : m(rows),
        k(terms),
        n(columns),
        test_case(case_of("matmul", {rows, terms, columns}, distribution)),
        a(test_case.input("a")),
        b(test_case.input("b")),
        c("bfloat16", {rows, columns}),
        golden(on_device(*test_case.output().golden)) {}

  assay::DeviceView by(team::Gemm kernel) const {
    kernel(a.as<__nv_bfloat16>(), b.as<__nv_bfloat16>(), c.as<__nv_bfloat16>(), m, n, k, nullptr);
    return c.view();
  }
};

class Gemm : public OnDevice {};

TEST_F(Gemm, MatchesTheGoldenResult) {
  const Product p(200, 1001, 120, "normal");
  EXPECT_THAT(p.by(team::gemm), CloseTo(p.golden.view()));  // nothing is copied
  EXPECT_THAT(p.by(team::gemm), CloseTo(p.test_case));      // the output is copied to the host
}

// A product needs no golden result: its checksums follow from the operands.
TEST_F(Gemm, AgreesWithItsChecksums) {
  const Product p(200, 1001, 120, "normal");
  EXPECT_THAT(p.by(team::gemm), AbftClose(p.a.view(), p.b.view()));
}

TEST_F(Gemm, AMissingTailOfKIsFound) {
  const Product p(200, 35, 120, "normal");  // 35 = 2 * 16 + 3
  EXPECT_THAT(p.by(team::gemm), CloseTo(p.golden.view()));
  EXPECT_THAT(p.by(team::gemm_without_k_tail), Not(CloseTo(p.golden.view())));
  EXPECT_THAT(p.by(team::gemm_without_k_tail), Not(AbftClose(p.a.view(), p.b.view())));
  const Product whole(200, 32, 120, "normal");  // it has no tail
  EXPECT_THAT(whole.by(team::gemm_without_k_tail), CloseTo(whole.golden.view()));
}

// A sum of 4,096 positive products is about 1,024, where float16 has steps of 1/2 and 1.
TEST_F(Gemm, AFloat16AccumulatorIsFound) {
  const Product p(64, 4096, 64, "uniform,low=0,high=1");
  EXPECT_THAT(p.by(team::gemm), CloseTo(p.golden.view()));
  EXPECT_THAT(p.by(team::gemm_in_float16), Not(CloseTo(p.golden.view())));
  EXPECT_THAT(p.by(team::gemm_in_float16), Not(AbftClose(p.a.view(), p.b.view())));
}

TEST_F(Gemm, GivesTheSameBitsInEveryRun) {
  const Product p(64, 500, 64, "normal"), again(64, 500, 64, "normal");
  EXPECT_THAT(p.by(team::gemm), BitEqual(again.by(team::gemm)));
}

// A softmax of rows x columns, and what a kernel makes of it.
struct Rows {
  int rows, columns;
  assay::Case test_case;
  DeviceTensor x, y, golden;

  Rows(int count, int length, const char* distribution)
      : rows(count),
        columns(length),
        test_case(case_of("softmax", {count, length}, distribution)),
        x(test_case.input("x")),
        y("bfloat16", {count, length}),
        golden(on_device(*test_case.output().golden)) {}

  assay::DeviceView by(team::Softmax kernel) const {
    kernel(x.as<__nv_bfloat16>(), y.as<__nv_bfloat16>(), rows, columns, nullptr);
    return y.view();
  }
};

class Softmax : public OnDevice {};

// Most elements of a softmax are so small that zeros would be within the default tolerance, and
// then CloseTo cannot be trusted. A distance in representable values has no such elements.
TEST_F(Softmax, MatchesTheGoldenResult) {
  for (const int columns : {1, 100, 128, 1000}) {
    const Rows r(64, columns, "normal,deviation=5");
    EXPECT_THAT(r.by(team::softmax), WithinUlps(r.golden.view(), 1)) << columns << " columns";
  }
}

// exp(100) is above the largest float32.
TEST_F(Softmax, AMissingMaximumIsFound) {
  const Rows small(64, 1000, "normal"), large(64, 1000, "normal,mean=100");
  EXPECT_THAT(small.by(team::softmax_without_maximum), WithinUlps(small.golden.view(), 1));
  EXPECT_THAT(large.by(team::softmax), WithinUlps(large.golden.view(), 1));
  EXPECT_THAT(large.by(team::softmax_without_maximum), Not(WithinUlps(large.golden.view(), 1)));
}

}  // namespace
