// Tests views of DLPack tensors: layouts, dtype codes, and what is refused.
#include "assay/tensor/dlpack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>
#include <vector>

// The declarations of <dlpack/dlpack.h>: enumerations of C, in the global namespace.
namespace official {
extern "C" {
typedef enum { kDLCPU = 1, kDLCUDA = 2 } DLDeviceType;
typedef struct {
  DLDeviceType device_type;
  std::int32_t device_id;
} DLDevice;
typedef struct {
  std::uint8_t code, bits;
  std::uint16_t lanes;
} DLDataType;
typedef struct {
  void* data;
  DLDevice device;
  std::int32_t ndim;
  DLDataType dtype;
  std::int64_t* shape;
  std::int64_t* strides;
  std::uint64_t byte_offset;
} DLTensor;
typedef struct {
  std::uint32_t major, minor;
} DLPackVersion;
typedef struct DLManagedTensorVersioned {
  DLPackVersion version;
  void* manager_ctx;
  void (*deleter)(struct DLManagedTensorVersioned* self);
  std::uint64_t flags;
  DLTensor dl_tensor;
} DLManagedTensorVersioned;
}
}  // namespace official

namespace assay {
namespace {

using dlpack::DLManagedTensor;
using dlpack::DLTensor;
using testing::ElementsAre;
using testing::HasSubstr;

struct Made {
  std::vector<float> data = {1, 2, 3, 4, 5, 6};
  std::vector<std::int64_t> shape = {2, 3}, strides = {1, 2};
  DLTensor tensor() {
    return {data.data(), {1, 0}, 2, {dlpack::kFloat, 32, 1}, shape.data(), nullptr, 0};
  }
};

TEST(Dlpack, LayoutIsTheSpecifications) {
  static_assert(sizeof(DLTensor) == 48 && offsetof(DLTensor, device) == 8 &&
                offsetof(DLTensor, ndim) == 16 && offsetof(DLTensor, dtype) == 20 &&
                offsetof(DLTensor, shape) == 24 && offsetof(DLTensor, strides) == 32 &&
                offsetof(DLTensor, byte_offset) == 40);
  static_assert(sizeof(DLManagedTensor) == 64 && offsetof(DLManagedTensor, manager_ctx) == 48);
}

TEST(Dlpack, RowMajorStridesAndOffset) {
  Made m;
  DLTensor t = m.tensor();
  EXPECT_THAT(view(t).values(), ElementsAre(1, 2, 3, 4, 5, 6));
  t.strides = m.strides.data();
  EXPECT_THAT(view(t).values(), ElementsAre(1, 3, 5, 2, 4, 6));
  m.shape = {2, 2};
  t.byte_offset = 8;
  EXPECT_THAT(view(t).values(), ElementsAre(3, 5, 4, 6));
  t.ndim = 0;
  EXPECT_THAT(view(t).values(), ElementsAre(3)) << "a scalar";
  m.strides = {0, -1};
  t.ndim = 2;
  t.byte_offset = 4;
  EXPECT_THAT(view(t).values(), ElementsAre(2, 1, 2, 1)) << "strides of 0 and below";
}

TEST(Dlpack, ManagedAndPointers) {
  Made m;
  bool deleted = false;
  DLManagedTensor managed{m.tensor(), &deleted, [](DLManagedTensor* self) {
                            *static_cast<bool*>(self->manager_ctx) = true;
                          }};
  EXPECT_EQ(view(managed).size(), 6);
  EXPECT_EQ(view(&managed).size(), 6);
  EXPECT_EQ(view(&managed.dl_tensor).size(), 6);
  EXPECT_FALSE(deleted) << "a view owns nothing";
  DLManagedTensor* nothing = nullptr;
  EXPECT_THROW((void)view(nothing), std::invalid_argument);
}

TEST(Dlpack, TheOfficialHeadersTypes) {
  Made m;
  official::DLManagedTensorVersioned managed{
      {1, 1},
      nullptr,
      nullptr,
      0,
      {m.data.data(), {official::kDLCPU, 0}, 2, {2, 32, 1}, m.shape.data(), nullptr, 0}};
  EXPECT_THAT(view(managed).values(), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(view(&managed.dl_tensor).values(), ElementsAre(1, 2, 3, 4, 5, 6));
  managed.dl_tensor.device.device_type = official::kDLCUDA;
  EXPECT_THROW((void)view(managed), std::invalid_argument);
}

// Codes and widths of dlpack.h 1.1, DLDataTypeCode.
TEST(Dlpack, Dtypes) {
  const struct {
    int code, bits;
    const char* dtype;
  } rows[] = {{0, 8, "int8"},           {0, 16, "int16"},
              {0, 32, "int32"},         {0, 64, "int64"},
              {1, 8, "uint8"},          {1, 16, "uint16"},
              {1, 32, "uint32"},        {1, 64, "uint64"},
              {2, 16, "float16"},       {2, 32, "float32"},
              {2, 64, "float64"},       {4, 16, "bfloat16"},
              {5, 32, "complex32"},     {5, 64, "complex64"},
              {5, 128, "complex128"},   {6, 8, "bool"},
              {10, 8, "float8_e4m3fn"}, {11, 8, "float8_e4m3fnuz"},
              {12, 8, "float8_e5m2"},   {13, 8, "float8_e5m2fnuz"},
              {14, 8, "float8_e8m0fnu"}};
  Made m;
  for (const auto& row : rows) {
    DLTensor t = m.tensor();
    m.shape = {1, 1};
    t.dtype = {static_cast<std::uint8_t>(row.code), static_cast<std::uint8_t>(row.bits), 1};
    EXPECT_EQ(view(t).format->name, row.dtype);
  }
}

std::string refusal(const DLTensor& t) {
  try {
    (void)view(t);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "(nothing was refused)";
}

TEST(Dlpack, Refused) {
  Made m;
  DLTensor t = m.tensor();
  t.device = {2, 3};
  EXPECT_EQ(
      refusal(t),
      "a DLPack tensor: it is on device type 2 (id 3), and only the CPU's memory (type 1) can "
      "be read; give assay::cuda::view() of it (assay/cuda.h), or copy it to the CPU first");
  t.device = {10, 0};
  EXPECT_EQ(refusal(t),
            "a DLPack tensor: it is on device type 10 (id 0), and only the CPU's memory (type 1) "
            "can be read; copy it to the CPU first");
  t = m.tensor();
  for (const auto& [code, bits] : {std::pair{5, 16}, {1, 4}, {2, 8}, {3, 64}, {17, 4}, {7, 8}}) {
    t.dtype = {static_cast<std::uint8_t>(code), static_cast<std::uint8_t>(bits), 1};
    EXPECT_THAT(refusal(t), HasSubstr("assay does not read dtype code " + std::to_string(code) +
                                      " of " + std::to_string(bits) + " bits"));
  }
  t = m.tensor();
  t.dtype.lanes = 4;
  EXPECT_THAT(refusal(t), HasSubstr("elements of 4 lanes"));
  t = m.tensor();
  t.data = nullptr;
  EXPECT_THAT(refusal(t), HasSubstr("its data pointer is null"));
  m.shape = {0, 3};
  EXPECT_EQ(view(t).size(), 0) << "nothing may lie nowhere";
  m.shape = {2, 3};
  t = m.tensor();
  t.byte_offset = 2;
  EXPECT_THAT(refusal(t), HasSubstr("not aligned to float32 elements"));
  t = m.tensor();
  t.ndim = -1;
  EXPECT_THAT(refusal(t), HasSubstr("-1 dimensions without a shape"));
  t.ndim = 2;
  t.shape = nullptr;
  EXPECT_THAT(refusal(t), HasSubstr("2 dimensions without a shape"));
}

}  // namespace
}  // namespace assay
