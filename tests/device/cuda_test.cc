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

TEST(Cuda, DlpackTensors) {
  std::vector<float> values(6);
  std::vector<std::int64_t> shape = {2, 3};
  dlpack::DLManagedTensor managed{};
  managed.dl_tensor = {values.data(), {1, 0}, 2, {dlpack::kFloat, 32, 1}, shape.data(), nullptr, 0};
  const auto message = [](const auto& tensor) -> std::string {
    try {
      (void)cuda::view(tensor);
    } catch (const std::runtime_error& error) {  // there is no device
      return error.what();
    } catch (const Refusal& refusal) {
      return refusal.what();
    }
    return "(nothing was refused)";
  };
  const std::string of_cpu =
      "a DLPack tensor: it is on device type 1 (id 0), and assay::cuda reads only memory of CUDA "
      "(type 2); give assay::view() of it";
  EXPECT_EQ(message(managed.dl_tensor), of_cpu);
  EXPECT_EQ(message(managed), of_cpu);
  EXPECT_EQ(message(&managed), of_cpu);
  EXPECT_EQ(message(static_cast<dlpack::DLManagedTensor*>(nullptr)),
            "a DLPack tensor: the pointer is null");
  managed.dl_tensor.device = {10, 1};
  EXPECT_EQ(message(managed),
            "a DLPack tensor: it is on device type 10 (id 1), and assay::cuda reads only memory of "
            "CUDA (type 2); copy it to the CPU first");
  managed.dl_tensor.device = {dlpack::kCuda, 0};
  EXPECT_THAT(message(managed),
              testing::AnyOf(
                  "cuda: libcuda.so.1 was not found: this machine has no driver of NVIDIA's",
                  "cuda: the driver has no device",
                  "a DLPack tensor: its address is not in the memory of a device of NVIDIA's; it "
                  "may lie in the host's memory, or was freed"));
  managed.dl_tensor.dtype.lanes = 4;
  EXPECT_EQ(message(managed),
            "a DLPack tensor: assay does not read elements of 4 lanes; give the lanes a dimension "
            "of their own");
}

}  // namespace
}  // namespace assay
