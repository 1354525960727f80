// Reads and writes .pt files in the format of torch.save: a zip archive with a pickle and the bytes
// of its storages. The pickle is read as data (pickle.h), and nothing of it is executed.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/arrays/array_file.h"

namespace assay::inline v0_2 {

// The dtypes that torch.serialization of PyTorch 2.5 can save, with torch's names.
inline constexpr DtypeNames kTorchDtypes =
    "float64 float32 float16 bfloat16 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz "
    "float8_e8m0fnu int8 uint8 int16 int32 int64 uint16 uint32 uint64 complex128 complex64 "
    "complex32 bool";
// The classes of torch's storages, which say the dtype. For a dtype without such a class, the dtype
// is an argument of _rebuild_tensor_v3.
inline constexpr DtypeNames kTorchStorages =
    "DoubleStorage=float64 FloatStorage=float32 HalfStorage=float16 BFloat16Storage=bfloat16 "
    "CharStorage=int8 ByteStorage=uint8 ShortStorage=int16 IntStorage=int32 LongStorage=int64 "
    "ComplexDoubleStorage=complex128 ComplexFloatStorage=complex64 BoolStorage=bool";

// Opens a .pt file. A single tensor has no name. A tensor in dicts, lists and tuples, also nested,
// is named by the keys and positions that lead to it, joined by '/'. Values that are not tensors
// are left out.
std::unique_ptr<ArrayFile> open_torch(const std::string& path);

// Writes one array without a name as a tensor, and other arrays as a dict.
void write_torch(const std::string& path, const std::map<std::string, TensorView>& arrays);

}  // namespace assay
