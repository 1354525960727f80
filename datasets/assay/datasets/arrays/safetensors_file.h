// .safetensors: a header in JSON, and the arrays' bytes one after another.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "assay/datasets/arrays/array_dtypes.h"
#include "assay/datasets/arrays/array_file.h"

namespace assay::inline v0_2 {

// safetensors 0.7.
inline constexpr DtypeNames kSafetensorsDtypes =
    "F64=float64 F32=float32 F16=float16 BF16=bfloat16 F8_E4M3=float8_e4m3fn F8_E5M2=float8_e5m2 "
    "F8_E4M3FNUZ=float8_e4m3fnuz F8_E5M2FNUZ=float8_e5m2fnuz F8_E8M0=float8_e8m0fnu "
    "F4=float4_e2m1fn I8=int8 U8=uint8 I16=int16 I32=int32 I64=int64 U16=uint16 U32=uint32 "
    "U64=uint64 C64=complex64 BOOL=bool";

std::unique_ptr<ArrayFile> open_safetensors(const std::string& path);
void write_safetensors(const std::string& path, const std::map<std::string, TensorView>& arrays);

}  // namespace assay
