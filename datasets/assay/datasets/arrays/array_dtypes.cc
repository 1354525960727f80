#include "assay/datasets/arrays/array_dtypes.h"

#include <algorithm>
#include <vector>

#include "assay/base/text.h"

namespace assay {
namespace {

// numpy.lib.format; torch.storage and torch.serialization (2.5); safetensors 0.7; onnx.proto3
// (1.17), TensorProto.DataType; MLIR's builtin types.
// clang-format off
constexpr DtypeNames kDtypes[] = {
    //format            npy   torch              torch_storage      safetensors    onnx  mlir
    {"float64",         "f8", "float64",         "DoubleStorage",   "F64",         "11", "f64"},
    {"float32",         "f4", "float32",         "FloatStorage",    "F32",         "1",  "f32"},
    {"float16",         "f2", "float16",         "HalfStorage",     "F16",         "10", "f16"},
    {"bfloat16",        "",   "bfloat16",        "BFloat16Storage", "BF16",        "16", "bf16"},
    {"tfloat32",        "",   "",                "",                "",            "",   "tf32"},
    {"float8_e4m3fn",   "",   "float8_e4m3fn",   "",                "F8_E4M3",     "17", "f8E4M3FN"},
    {"float8_e5m2",     "",   "float8_e5m2",     "",                "F8_E5M2",     "19", "f8E5M2"},
    {"float8_e4m3fnuz", "",   "float8_e4m3fnuz", "",                "F8_E4M3FNUZ", "18", "f8E4M3FNUZ"},
    {"float8_e5m2fnuz", "",   "float8_e5m2fnuz", "",                "F8_E5M2FNUZ", "20", "f8E5M2FNUZ"},
    {"float8_e8m0fnu",  "",   "float8_e8m0fnu",  "",                "F8_E8M0",     "24", "f8E8M0FNU"},
    {"float4_e2m1fn",   "",   "",                "",                "F4",          "23", "f4E2M1FN"},
    {"int8",            "i1", "int8",            "CharStorage",     "I8",          "3",  "i8 si8"},
    {"uint8",           "u1", "uint8",           "ByteStorage",     "U8",          "2",  "ui8"},
    {"int16",           "i2", "int16",           "ShortStorage",    "I16",         "5",  "i16 si16"},
    {"int32",           "i4", "int32",           "IntStorage",      "I32",         "6",  "i32 si32"},
    {"int64",           "i8", "int64",           "LongStorage",     "I64",         "7",  "i64 si64"},
    {"uint16",          "u2", "uint16",          "",                "U16",         "4",  "ui16"},
    {"uint32",          "u4", "uint32",          "",                "U32",         "12", "ui32"},
    {"uint64",          "u8", "uint64",          "",                "U64",         "13", "ui64"},
    {"int4",            "",   "",                "",                "",            "22", "i4 si4"},
    {"uint4",           "",   "",                "",                "",            "21", "ui4"},
    {"complex128",      "c16", "complex128",     "ComplexDoubleStorage", "",       "15",  ""},
    {"complex64",       "c8", "complex64",       "ComplexFloatStorage", "C64",     "14",  ""},
    {"complex32",       "",   "complex32",       "",                "",            "",    ""},
    {"bool",            "b1", "bool",            "BoolStorage",     "BOOL",        "9",  "i1"},
};
// clang-format on

}  // namespace

const Format* find_dtype(DtypeColumn column, std::string_view name) {
  if (name.empty()) return nullptr;
  for (const DtypeNames& row : kDtypes) {
    const std::vector<std::string> names = split(row.*column, ' ');
    if (std::find(names.begin(), names.end(), name) != names.end()) return find_format(row.format);
  }
  return nullptr;
}

std::string_view dtype_name(DtypeColumn column, const Format& format) {
  for (const DtypeNames& row : kDtypes) {
    if (row.format == format.name) return row.*column;
  }
  return "";
}

std::string unread_elements(std::string_view dtype) {
  return formatted(
      "holds elements of {}, which assay does not read; save them as a dtype of `assay list "
      "formats`",
      dtype);
}

std::string dtypes_of(DtypeColumn column) {
  std::vector<std::string> names;
  for (const DtypeNames& row : kDtypes) {
    if (!(row.*column).empty()) names.emplace_back(row.format);
  }
  return joined(names);
}

}  // namespace assay
