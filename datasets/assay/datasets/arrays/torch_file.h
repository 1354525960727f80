// .pt files, as torch.save writes them: a zip archive of a pickle and the bytes of its storages.
// The pickle is read as data (pickle.h); nothing of it is executed.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/arrays/array_file.h"

namespace assay {

// torch.serialization (2.5).
inline constexpr DtypeNames kTorchDtypes =
    "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz "
    "float8_e8m0fnu int8 uint8 int16 int32 int64 uint16 uint32 uint64 complex128 complex64 "
    "complex32 bool";
// The classes of storages. A dtype without a class is named by _rebuild_tensor_v3.
inline constexpr DtypeNames kTorchStorages =
    "DoubleStorage=float64 FloatStorage=float32 HalfStorage=float16 BFloat16Storage=bfloat16 "
    "CharStorage=int8 ByteStorage=uint8 ShortStorage=int16 IntStorage=int32 LongStorage=int64 "
    "ComplexDoubleStorage=complex128 ComplexFloatStorage=complex64 BoolStorage=bool";

// A tensor alone has no name; those of dicts, lists and tuples, also nested, have the keys and
// positions that lead to them, joined by '/'. What is no tensor is left out.
std::unique_ptr<ArrayFile> open_torch(const std::string& path);

// One array without a name as a tensor, others as a dict.
void write_torch(const std::string& path, const std::map<std::string, TensorView>& arrays);

}  // namespace assay
