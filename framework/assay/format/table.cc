#include "assay/format/table.h"

namespace assay::inline v0_2 {
namespace {

namespace rows {

using enum Specials;

// Returns the number of bytes that store an element of `bits` bits, which is a power of two.
constexpr int storage_of(int bits) { return bits <= 8 ? 1 : 2 * storage_of((bits + 1) / 2); }

constexpr Format floating(std::string_view name, int bits, int precision, int exponent_bits,
                          int bias, Specials specials, int padding = 0) {
  return {name,          Kind::kFloat, storage_of(bits), bits,   precision,
          exponent_bits, bias,         specials,         padding};
}
constexpr Format integer(std::string_view name, Kind kind, int bits) {
  const int value_bits = kind == Kind::kSigned ? bits - 1 : bits;
  return {name, kind, storage_of(bits), bits, value_bits, 0, 0, kFinite};
}
constexpr Format complex(std::string_view name, int bits) {
  return {name, Kind::kComplex, bits / 8, bits, 0, 0, 0, kFinite};
}

constexpr Format kFormats[] = {
    // Columns: name, bits, precision, exponent bits, bias, specials, padding
    floating("float64", 64, 53, 11, 1023, kInfNan),
    floating("float32", 32, 24, 8, 127, kInfNan),
    floating("float16", 16, 11, 5, 15, kInfNan),
    floating("bfloat16", 16, 8, 8, 127, kInfNan),
    floating("tfloat32", 19, 11, 8, 127, kInfNan, 13),
    floating("hfloat32", 20, 12, 8, 127, kInfNan, 12),
    floating("float8_e4m3fn", 8, 4, 4, 7, kNanOnly),
    floating("float8_e5m2", 8, 3, 5, 15, kInfNan),
    floating("float8_e4m3fnuz", 8, 4, 4, 8, kFnuz),
    floating("float8_e5m2fnuz", 8, 3, 5, 16, kFnuz),
    floating("float8_e8m0fnu", 8, 1, 8, 127, kScale),
    floating("float6_e2m3fn", 6, 4, 2, 1, kFinite),
    floating("float6_e3m2fn", 6, 3, 3, 3, kFinite),
    floating("float4_e2m1fn", 4, 2, 2, 1, kFinite),
    floating("float4_e1m2fn", 4, 3, 1, 1, kFinite),
    floating("float_e5m6", 12, 7, 5, 15, kInfNan),
    floating("hifloat8", 8, 4, 5, 22, kTapered),
    integer("int8", Kind::kSigned, 8),
    integer("uint8", Kind::kUnsigned, 8),
    integer("int16", Kind::kSigned, 16),
    integer("uint16", Kind::kUnsigned, 16),
    integer("int32", Kind::kSigned, 32),
    integer("uint32", Kind::kUnsigned, 32),
    integer("int64", Kind::kSigned, 64),
    integer("uint64", Kind::kUnsigned, 64),
    integer("int4", Kind::kSigned, 4),
    integer("uint4", Kind::kUnsigned, 4),
    integer("bool", Kind::kBool, 1),
};

constexpr Format kComplexFormats[] = {complex("complex128", 128), complex("complex64", 64),
                                      complex("complex32", 32)};

}  // namespace rows
}  // namespace

std::span<const Format> formats() { return rows::kFormats; }

std::span<const Format> complex_formats() { return rows::kComplexFormats; }

}  // namespace assay
