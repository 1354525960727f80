// Tests the formats of CUDA's number types, with types of the same names and bits.
#include "assay/tensor/cuda.h"

#include <gtest/gtest.h>

#include <vector>

namespace assay {
namespace {

TEST(CudaTypes, HaveTheirFormats) {
  const std::vector<__half> halves = {{0x3c00}, {0xc100}};
  EXPECT_EQ(view(halves).format->name, "float16");
  EXPECT_EQ(view(halves).values(), (std::vector<double>{1, -2.5}));
  const __nv_bfloat16 rows[1][2] = {{{0x3f80}, {0xbfc0}}};
  EXPECT_EQ(view(rows).format->name, "bfloat16");
  EXPECT_EQ(view(rows).values(), (std::vector<double>{1, -1.5}));
  EXPECT_EQ(view(rows).shape, (Shape{1, 2}));
  const std::vector<__nv_fp8_e4m3> e4m3 = {{0x38}, {0xc4}};
  EXPECT_EQ(view(e4m3).values(), (std::vector<double>{1, -3}));
  const std::vector<__nv_fp8_e5m2> e5m2 = {{0x3c}, {0x7b}};
  EXPECT_EQ(view(e5m2).values(), (std::vector<double>{1, 57344}));
}

}  // namespace
}  // namespace assay
