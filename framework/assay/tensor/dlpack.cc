#include "assay/tensor/dlpack.h"

#include "assay/base/text.h"

namespace assay::inline v0_2::dlpack {
namespace {

struct CodeRow {
  TypeCode code;
  int bits;
  std::string_view format;
};
constexpr CodeRow kCodes[] = {
    {.code = kFloat, .bits = 64, .format = "float64"},
    {.code = kFloat, .bits = 32, .format = "float32"},
    {.code = kFloat, .bits = 16, .format = "float16"},
    {.code = kBfloat, .bits = 16, .format = "bfloat16"},
    {.code = kInt, .bits = 8, .format = "int8"},
    {.code = kInt, .bits = 16, .format = "int16"},
    {.code = kInt, .bits = 32, .format = "int32"},
    {.code = kInt, .bits = 64, .format = "int64"},
    {.code = kUInt, .bits = 8, .format = "uint8"},
    {.code = kUInt, .bits = 16, .format = "uint16"},
    {.code = kUInt, .bits = 32, .format = "uint32"},
    {.code = kUInt, .bits = 64, .format = "uint64"},
    {.code = kComplex, .bits = 128, .format = "complex128"},
    {.code = kComplex, .bits = 64, .format = "complex64"},
    {.code = kComplex, .bits = 32, .format = "complex32"},
    {.code = kBool, .bits = 8, .format = "bool"},
    {.code = kFloat8_e4m3fn, .bits = 8, .format = "float8_e4m3fn"},
    {.code = kFloat8_e4m3fnuz, .bits = 8, .format = "float8_e4m3fnuz"},
    {.code = kFloat8_e5m2, .bits = 8, .format = "float8_e5m2"},
    {.code = kFloat8_e5m2fnuz, .bits = 8, .format = "float8_e5m2fnuz"},
    {.code = kFloat8_e8m0fnu, .bits = 8, .format = "float8_e8m0fnu"},
};

const Format& format_of(const DLDataType& type) {
  for (const CodeRow& row : kCodes) {
    if (row.code == type.code && row.bits == type.bits) return format_named(row.format);
  }
  // Dtypes below 8 bits have no row: DLPack packs their elements into bytes, but assay keeps each
  // in a byte of its own.
  refuse("a DLPack tensor: assay does not read dtype code {} of {} bits; convert the tensor first",
         static_cast<int>(type.code), static_cast<int>(type.bits));
}

}  // namespace

TensorView view_of(const DLTensor& t) {
  if (t.device.device_type != kCpu) {
    refuse(
        "a DLPack tensor: it is on device type {} (id {}), and only the CPU's memory (type 1) can "
        "be read; {}copy it to the CPU first",
        t.device.device_type, t.device.device_id,
        t.device.device_type == kCuda ? "give assay::cuda::view() of it (assay/cuda.h), or " : "");
  }
  return layout_of(t);
}

TensorView layout_of(const DLTensor& t) {
  if (t.dtype.lanes != 1) {
    refuse(
        "a DLPack tensor: assay does not read elements of {} lanes; give the lanes a dimension of "
        "their own",
        t.dtype.lanes);
  }
  const Format& f = format_of(t.dtype);
  if (t.ndim < 0 || (t.ndim > 0 && t.shape == nullptr)) {
    refuse("a DLPack tensor: {} dimensions without a shape", t.ndim);
  }
  Shape shape(t.shape, t.shape + t.ndim);
  const std::int64_t count = element_count(shape);
  if (t.data == nullptr && count > 0) {
    refuse("a DLPack tensor: its data pointer is null");
  }
  Strides strides =
      t.strides == nullptr ? contiguous_strides(shape) : Strides(t.strides, t.strides + t.ndim);
  const auto* bytes = static_cast<const std::byte*>(t.data);
  if (bytes != nullptr) bytes += t.byte_offset;
  const auto alignment = static_cast<std::size_t>(part_format(f).storage_bytes);
  if (reinterpret_cast<std::uintptr_t>(bytes) % alignment != 0) {
    refuse("a DLPack tensor: its data are not aligned to {} elements", f.name);
  }
  return view_bytes(bytes, f, std::move(shape), std::move(strides));
}

void PrintTo(const DLTensor& t, std::ostream* os) {
  *os << "DLPack tensor " << shape_text(Shape(t.shape, t.shape + t.ndim));
}
void PrintTo(const DLManagedTensor& t, std::ostream* os) { PrintTo(t.dl_tensor, os); }

}  // namespace assay::dlpack
