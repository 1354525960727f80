// Tests that assay::cuda names what is missing on a machine without a device. tests/cuda/run tests
// it on a machine that has one.
#include "assay/cuda.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace assay {
namespace {

TEST(Cuda, WhatIsMissingIsSaid) {
  const std::vector<float> host(4);
  try {
    (void)cuda::view(host.data(), "float32", {4});
    FAIL() << "memory of the host was taken for a device's";
  } catch (const Refusal& refusal) {  // there is a device
    EXPECT_STREQ(refusal.what(),
                 "a tensor of cuda: its address is not in the memory of a device of NVIDIA's; it "
                 "may lie in the host's memory, or was freed");
  } catch (const std::runtime_error& error) {
    EXPECT_THAT(
        std::string(error.what()),
        testing::AnyOf("cuda: libcuda.so.1 was not found: this machine has no driver of NVIDIA's",
                       "cuda: the driver has no device"));
  }
}

}  // namespace
}  // namespace assay
