#include "assay/datasets/types.h"

#include "assay/base/text.h"

namespace assay::h5 {
namespace {

// Sign, exponent and mantissa fields of a float type.
struct Fields {
  std::size_t sign, exponent, exponent_size, mantissa, mantissa_size, bias, precision, size;
  bool operator==(const Fields&) const = default;
};

Fields fields_of(const Format& f) {
  // tfloat32 and hfloat32 lie in an ordinary float32.
  const Format& layout = f.padding > 0 ? format_named("float32") : f;
  const auto mantissa = static_cast<std::size_t>(layout.mantissa_bits());
  const auto bits = static_cast<std::size_t>(layout.bits);
  return {bits - 1,
          mantissa,
          static_cast<std::size_t>(layout.exponent_bits),
          0,
          mantissa,
          static_cast<std::size_t>(layout.bias),
          bits,
          static_cast<std::size_t>(layout.storage_bytes)};
}

// Formats that the schema stores as an HDF5 float type.
bool stored_as_float(const Format& f) {
  return f.is_float() && (f.storage_bytes >= 4 || f.name == "float16" || f.name == "bfloat16" ||
                          f.name == "float8_e5m2");
}

std::string words(hid_t t) {
  const std::size_t bits = 8 * H5Tget_size(t);
  switch (H5Tget_class(t)) {
    case H5T_INTEGER:
      return format("a{} {}-bit integer", H5Tget_sign(t) == H5T_SGN_NONE ? "n unsigned" : " signed",
                    bits);
    case H5T_FLOAT: {
      std::size_t s, e, es, m, ms;
      H5Tget_fields(t, &s, &e, &es, &m, &ms);
      return format("a {}-bit float (exponent {} bits, mantissa {}, bias {})", bits, es, ms,
                    H5Tget_ebias(t));
    }
    case H5T_STRING:
      return "a string";
    case H5T_COMPOUND:
      return "a compound";
    case H5T_ENUM:
      return "an enumeration";
    case H5T_OPAQUE:
      return format("{} opaque bytes", bits / 8);
    case H5T_REFERENCE:
      return "a reference";
    case H5T_ARRAY:
      return "an array";
    case H5T_VLEN:
      return "a variable-length sequence";
    case H5T_BITFIELD:
      return "a bit field";
    default:
      return "a type of another class";
  }
}

bool is_bool_enum(hid_t t) {
  const Handle base = type(H5Tget_super(t));
  if (H5Tget_size(base.get()) != 1 || H5Tget_nmembers(t) != 2) return false;
  for (unsigned i = 0; i < 2; ++i) {
    signed char value = -1;
    if (H5Tget_member_value(t, i, &value) < 0 || value < 0 || value > 1) return false;
  }
  return true;
}

bool float_matches(hid_t t, const Format& f) {
  Fields have{};
  if (H5Tget_fields(t, &have.sign, &have.exponent, &have.exponent_size, &have.mantissa,
                    &have.mantissa_size) < 0) {
    return false;
  }
  have.bias = H5Tget_ebias(t);
  have.precision = H5Tget_precision(t);
  have.size = H5Tget_size(t);
  return have == fields_of(f) && H5Tget_offset(t) == 0 && H5Tget_norm(t) == H5T_NORM_IMPLIED;
}

}  // namespace

std::string last_error() {
  std::string innermost;
  H5Ewalk2(
      H5E_DEFAULT, H5E_WALK_UPWARD,
      [](unsigned n, const H5E_error2_t* error, void* out) -> herr_t {
        if (n == 0 && error->desc != nullptr) *static_cast<std::string*>(out) = error->desc;
        return 0;
      },
      &innermost);
  H5Eclear2(H5E_DEFAULT);
  return innermost;
}

Handle stored_type(const Format& f) {
  if (stored_as_float(f)) {
    if (f.storage_bytes == 8) return type(H5Tcopy(H5T_IEEE_F64LE));
    Handle t = type(H5Tcopy(H5T_IEEE_F32LE));
    if (f.storage_bytes == 4) return t;
    const Fields fields = fields_of(f);
    H5Tset_fields(t.get(), fields.sign, fields.exponent, fields.exponent_size, fields.mantissa,
                  fields.mantissa_size);
    H5Tset_precision(t.get(), fields.precision);
    H5Tset_size(t.get(), fields.size);
    H5Tset_ebias(t.get(), fields.bias);
    return t;
  }
  if (f.kind == Kind::kSigned) {
    const hid_t types[] = {H5T_STD_I8LE, H5T_STD_I16LE, H5T_STD_I32LE, H5T_STD_I64LE};
    return type(H5Tcopy(types[__builtin_ctz(static_cast<unsigned>(f.storage_bytes))]));
  }
  return type(H5Tcopy(f.storage_bytes == 2 ? H5T_STD_U16LE : H5T_STD_U8LE));
}

TypeMatch match_type(hid_t t, const Format& f) {
  TypeMatch match;
  const auto size = static_cast<std::size_t>(f.storage_bytes);
  const H5T_class_t kind = H5Tget_class(t);
  const bool has_order = kind == H5T_INTEGER || kind == H5T_FLOAT;
  const H5T_order_t order = has_order ? H5Tget_order(t) : H5T_ORDER_LE;
  const bool plain_order =
      order == H5T_ORDER_LE || order == H5T_ORDER_BE || order == H5T_ORDER_NONE;
  const bool whole_integer = kind == H5T_INTEGER && H5Tget_size(t) == size &&
                             H5Tget_precision(t) == 8 * size && H5Tget_offset(t) == 0;
  const bool is_unsigned = kind == H5T_INTEGER && H5Tget_sign(t) == H5T_SGN_NONE;
  switch (f.kind) {
    case Kind::kFloat:
      if (kind == H5T_FLOAT) {
        // Formats whose codes are those of a float type with their fields.
        match.ok = f.specials != Specials::kScale && f.specials != Specials::kTapered &&
                   f.name != "float_e5m6" && float_matches(t, f);
      } else if (kind == H5T_INTEGER) {
        match.ok = whole_integer && is_unsigned && size <= 2;
      } else if (kind == H5T_OPAQUE) {
        match.ok = H5Tget_size(t) == size && size <= 2 && stored_as_float(f);
      }
      break;
    case Kind::kSigned:
      match.ok = whole_integer && !is_unsigned;
      break;
    case Kind::kUnsigned:
      match.ok = whole_integer && is_unsigned;
      break;
    case Kind::kBool:
      match.ok = (whole_integer && is_unsigned) || (kind == H5T_ENUM && is_bool_enum(t));
      break;
  }
  match.ok = match.ok && plain_order;
  match.swap_bytes = match.ok && size > 1 && order == H5T_ORDER_BE;
  if (!match.ok) match.why_not = format("stored as {}, which cannot hold {}", words(t), f.name);
  return match;
}

}  // namespace assay::h5
