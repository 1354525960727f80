#include "assay/datasets/store/types.h"

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include "assay/base/text.h"

namespace assay::inline v0_2::h5 {
namespace {

// Returns true if the schema stores the format as an HDF5 float type.
bool stored_as_float(const Format& f) {
  return f.is_float() && (f.storage_bytes >= 4 || f.name == "float16" || f.name == "bfloat16" ||
                          f.name == "float8_e5m2");
}

// Returns true if a float type with the format's fields has the same codes.
bool has_float_type(const Format& f) {
  return f.is_float() && f.specials != Specials::kScale && f.specials != Specials::kTapered &&
         f.name != "float_e5m6";
}

Handle float_type(const Format& f) {
  if (f.storage_bytes == 8) return type(H5Tcopy(H5T_IEEE_F64LE));
  Handle t = type(H5Tcopy(H5T_IEEE_F32LE));
  if (f.storage_bytes == 4) return t;  // tfloat32 and hfloat32 are stored as float32
  const auto bits = static_cast<std::size_t>(f.bits);
  const auto exponent = static_cast<std::size_t>(f.exponent_bits);
  const auto mantissa = static_cast<std::size_t>(f.mantissa_bits());
  require(H5Tset_fields(t.get(), bits - 1, mantissa, exponent, 0, mantissa));
  require(H5Tset_precision(t.get(), bits));
  require(H5Tset_size(t.get(), static_cast<std::size_t>(f.storage_bytes)));
  require(H5Tset_ebias(t.get(), static_cast<std::size_t>(f.bias)));
  return t;
}

Handle integer_type(int bytes, bool is_signed) {
  Handle t = type(H5Tcopy(is_signed ? H5T_STD_I64LE : H5T_STD_U64LE));
  require(H5Tset_precision(t.get(), static_cast<std::size_t>(8 * bytes)));
  require(H5Tset_size(t.get(), static_cast<std::size_t>(bytes)));
  return t;
}

// The names of the members of a complex element: those that h5py uses for its complex numbers, and
// those that are written for complex types that h5py does not have.
using PartNames = std::array<const char*, 2>;
constexpr PartNames kParts = {"r", "i"}, kLongParts = {"real", "imag"};

Handle complex_type(const Format& f) {
  const Handle part = float_type(part_format(f));
  const PartNames& names = f.name == "complex32" ? kLongParts : kParts;
  Handle t = type(H5Tcreate(H5T_COMPOUND, static_cast<std::size_t>(f.storage_bytes)));
  for (std::size_t i = 0; i < 2; ++i) {
    require(H5Tinsert(t.get(), names[i], i * H5Tget_size(part.get()), part.get()));
  }
  return t;
}

// Returns true if a compound is a complex element of the format: it has exactly the real and the
// imaginary part as members, and these may differ from the format only in the byte order.
bool is_complex(hid_t t, const Format& f, TypeMatch& match) {
  const auto width = static_cast<std::size_t>(f.storage_bytes);
  if (!f.is_complex() || H5Tget_size(t) != width || H5Tget_nmembers(t) != 2) return false;
  const PartNames& names = H5Tget_member_index(t, kParts[0]) == 0 ? kParts : kLongParts;
  bool swaps[2] = {};
  for (unsigned i = 0; i < 2; ++i) {
    if (H5Tget_member_index(t, names[i]) != static_cast<int>(i) ||
        H5Tget_member_offset(t, i) != i * width / 2) {
      return false;
    }
    const Handle member = type(H5Tget_member_type(t, i));
    const TypeMatch part = match_type(member.get(), part_format(f));
    if (!part.ok || H5Tget_class(member.get()) != H5T_FLOAT) return false;
    swaps[i] = part.swap_bytes;
  }
  match.swap_bytes = swaps[0];
  return swaps[0] == swaps[1];
}

// Returns the little-endian float and integer types from which a format can be read.
std::vector<Handle> readable_types(const Format& f) {
  std::vector<Handle> types;
  if (has_float_type(f)) types.push_back(float_type(f));
  if (!f.is_float() || f.storage_bytes <= 2) {
    types.push_back(integer_type(f.storage_bytes, f.kind == assay::Kind::kSigned));
  }
  if (f.name == "int4") types.push_back(integer_type(1, false));  // the codes
  return types;
}

// Returns the names of the members of a compound or an enumeration, at most 5 of them.
std::string member_names(hid_t t) {
  constexpr int kMost = 5;
  std::vector<std::string> names;
  const int members = H5Tget_nmembers(t);
  for (int i = 0; i < std::min(members, kMost); ++i) {
    char* const name = H5Tget_member_name(t, static_cast<unsigned>(i));
    names.emplace_back(name != nullptr ? name : "?");
    H5free_memory(name);
  }
  return joined(names) + (members > kMost ? ", ..." : "");
}

// The name of a type that is not one of numbers, and a way to make an array of numbers from it.
struct OtherType {
  H5T_class_t kind;
  std::string_view words, way_out;
};
constexpr std::string_view kOtherWayOut = "store its elements as a dtype of docs/formats.md";
constexpr OtherType kOtherTypes[] = {
    {H5T_STRING, "a string", "text is not compared"},
    {H5T_COMPOUND, "a compound of ", "store each member as a dataset of its own"},
    {H5T_ENUM, "an enumeration of ", "store its numbers as integers"},
    {H5T_REFERENCE, "a reference", "name the dataset that it points to"},
    {H5T_ARRAY, "an array in each element", "store its extents as the last ones of the dataset"},
    {H5T_VLEN, "a variable-length sequence",
     "store the sequences as one array, padded to one length"},
    {H5T_BITFIELD, "a bit field", kOtherWayOut},
    {H5T_TIME, "a time", kOtherWayOut},
    {H5T_NO_CLASS, "a type of another class", kOtherWayOut}};
const OtherType& other_type(H5T_class_t kind) {
  return *std::ranges::find(std::begin(kOtherTypes), std::end(kOtherTypes) - 1, kind,
                            &OtherType::kind);
}

std::string words(hid_t t) {
  const std::size_t bits = 8 * H5Tget_size(t);
  const H5T_class_t kind = H5Tget_class(t);
  if (kind == H5T_INTEGER) {
    return formatted("a{} {}-bit integer{}",
                     H5Tget_sign(t) == H5T_SGN_NONE ? "n unsigned" : " signed", H5Tget_precision(t),
                     H5Tget_precision(t) == bits ? "" : formatted(" in {} bits", bits));
  }
  if (kind == H5T_FLOAT) {
    std::size_t s, e, es, m, ms;
    require(H5Tget_fields(t, &s, &e, &es, &m, &ms));
    return formatted("a {}-bit float (exponent {} bits, mantissa {}, bias {})", bits, es, ms,
                     H5Tget_ebias(t));
  }
  if (kind == H5T_OPAQUE) return formatted("{} opaque byte{}", bits / 8, bits == 8 ? "" : "s");
  const bool has_members = kind == H5T_COMPOUND || kind == H5T_ENUM;
  return std::string(other_type(kind).words) + (has_members ? member_names(t) : "");
}

}  // namespace

Handle stored_type(const Format& f) {
  if (f.is_complex()) return complex_type(f);
  return stored_as_float(f)
             ? float_type(f)
             : integer_type(f.storage_bytes, f.kind == assay::Kind::kSigned && f.bits >= 8);
}

Handle string_type(std::size_t bytes, H5T_str_t padding, H5T_cset_t encoding) {
  Handle t = type(H5Tcopy(H5T_C_S1));
  require(H5Tset_size(t.get(), bytes));
  require(H5Tset_strpad(t.get(), padding));
  require(H5Tset_cset(t.get(), encoding));
  return t;
}

Handle space_of(const Shape& shape) {
  if (shape.empty()) return space(H5Screate(H5S_SCALAR));
  const std::vector<hsize_t> extents(shape.begin(), shape.end());
  return space(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr));
}

const Format* format_of_type(hid_t t, const std::string& dtype) {
  const H5T_class_t kind = H5Tget_class(t);
  const bool patterns = kind == H5T_OPAQUE || kind == H5T_INTEGER;
  if (!dtype.empty()) {
    const Format& asked = format_named(dtype);
    if (patterns && match_type(t, asked).ok) return &asked;
  }
  for (const Format& f : formats()) {
    // uint16 is left out, because bit patterns of float16 and bfloat16 are stored in this type.
    if (f.name == "uint16") continue;
    const bool same_kind = kind == H5T_FLOAT     ? f.is_float()
                           : kind == H5T_INTEGER ? !f.is_float() && f.kind != Kind::kBool
                                                 : kind == H5T_ENUM && f.kind == Kind::kBool;
    if (same_kind && match_type(t, f).ok) return &f;
  }
  for (const Format& f : complex_formats()) {
    if (match_type(t, f).ok) return &f;
  }
  return nullptr;
}

std::string why_no_format(hid_t t, const std::string& dtype) {
  std::vector<std::string> names;
  for (const Format& f : formats()) {
    if (match_type(t, f).ok) names.emplace_back(f.name);
  }
  const std::string stored = formatted("stored as {}, ", words(t));
  if (names.empty()) {
    return formatted("{}which is no dtype of assay; {}", stored,
                     other_type(H5Tget_class(t)).way_out);
  }
  return stored + (dtype.empty()
                       ? formatted("and has no attribute 'dtype'; give --dtype ({})", joined(names))
                       : formatted("which cannot hold {}; it may be {}", format_named(dtype).name,
                                   joined(names)));
}

namespace {

// Returns the message that HDF5 writes for a type, without the padding after it.
std::string message_of(hid_t t) {
  std::size_t size = 0;
  if (H5Tencode(t, nullptr, &size) < 0) return "";
  std::vector<char> encoded(size);
  if (H5Tencode(t, encoded.data(), &size) < 0) return "";
  // The number of bytes that H5Tencode() puts before the message.
  constexpr std::ptrdiff_t kHead = 2;
  return encoded.size() > kHead ? std::string(encoded.begin() + kHead, encoded.end()) : "";
}

bool is_message(std::string_view message, const std::string& known) {
  return !known.empty() && message.starts_with(known) &&
         message.substr(known.size()).find_first_not_of('\0') == std::string_view::npos;
}

struct Messages {
  std::string stored;  // of stored_type()
  // All messages that are read as the format, each with true if its elements are big-endian.
  std::vector<std::pair<std::string, bool>> all = {};
};

Messages messages_of(const Format& f) {
  quiet_hdf5();
  Messages messages{message_of(stored_type(f).get())};
  std::vector<Handle> types = readable_types(f);
  types.push_back(stored_type(f));
  for (const Handle& t : types) {
    for (const H5T_order_t order : {H5T_ORDER_LE, H5T_ORDER_BE}) {
      if (H5Tget_class(t.get()) != H5T_COMPOUND) {
        require(H5Tset_order(t.get(), order));
      } else if (order == H5T_ORDER_BE) {
        continue;
      }
      const TypeMatch match = match_type(t.get(), f);
      if (match.ok) messages.all.emplace_back(message_of(t.get()), match.swap_bytes);
    }
  }
  return messages;
}

// Returns the type in which h5py stores a bool: an enumeration of FALSE and TRUE as int8.
Handle bool_enum() {
  Handle t = type(H5Tenum_create(H5T_STD_I8LE));
  const signed char no = 0, yes = 1;
  require(H5Tenum_insert(t.get(), "FALSE", &no));
  require(H5Tenum_insert(t.get(), "TRUE", &yes));
  return t;
}

const Messages& known_messages_of(const Format& f) {
  static std::mutex mutex;
  static std::map<const Format*, Messages> known;
  const std::lock_guard lock(mutex);
  const auto found = known.find(&f);
  return (found != known.end() ? found : known.emplace(&f, messages_of(f)).first)->second;
}

}  // namespace

bool is_stored_message(std::string_view message, const Format& f) {
  return is_message(message, known_messages_of(f).stored);
}

std::optional<bool> match_message(std::string_view message, const Format& f) {
  for (const auto& [text, swapped] : known_messages_of(f).all) {
    if (is_message(message, text)) return swapped;
  }
  if (f.kind == assay::Kind::kBool && is_bool_message(message)) return false;
  return std::nullopt;
}

bool is_bool_message(std::string_view message) {
  static const std::string known = message_of(bool_enum().get());
  return is_message(message, known);
}

bool is_bool_enum(hid_t t) {
  const Handle base = type(H5Tget_super(t));
  if (H5Tget_size(base.get()) != 1 || H5Tget_nmembers(t) != 2) return false;
  const char* const names[] = {"FALSE", "TRUE"};
  for (signed char expected = 0; expected < 2; ++expected) {
    signed char value = -1;
    if (H5Tenum_valueof(t, names[expected], &value) < 0 || value != expected) return false;
  }
  return true;
}

TypeMatch match_type(hid_t t, const Format& f) {
  TypeMatch match;
  const H5T_class_t kind = H5Tget_class(t);
  if (kind == H5T_OPAQUE) {
    match.ok = stored_as_float(f) && f.storage_bytes <= 2 &&
               H5Tget_size(t) == static_cast<std::size_t>(f.storage_bytes);
  } else if (kind == H5T_COMPOUND) {
    match.ok = is_complex(t, f, match);
  } else if (kind == H5T_ENUM) {
    match.ok = f.kind == assay::Kind::kBool && is_bool_enum(t);
  } else if (!f.is_complex() && (kind == H5T_INTEGER || kind == H5T_FLOAT)) {
    for (const Handle& readable : readable_types(f)) {
      for (const H5T_order_t order : {H5T_ORDER_LE, H5T_ORDER_BE}) {
        require(H5Tset_order(readable.get(), order));
        if (H5Tequal(t, readable.get()) <= 0) continue;
        match.ok = true;
        match.swap_bytes = order == H5T_ORDER_BE && f.storage_bytes > 1;
      }
    }
  }
  if (!match.ok) match.why_not = formatted("stored as {}, which cannot hold {}", words(t), f.name);
  return match;
}

void swap_bytes(const Format& f, std::byte* elements, std::int64_t n) {
  const std::int64_t width = part_format(f).storage_bytes;
  for (std::byte *at = elements, *end = elements + n * f.storage_bytes; at != end; at += width) {
    std::reverse(at, at + width);
  }
}

void to_codes(const Format& f, std::byte* elements, std::int64_t n) {
  if (f.name != "int4") return;
  for (std::int64_t i = 0; i < n; ++i) {
    if (elements[i] >= std::byte{0xf8}) elements[i] &= std::byte{0xf};
  }
}

std::string invalid_element(const TensorView& tensor) {
  return invalid_element(tensor, tensor.shape, 0);
}

std::string invalid_element(const TensorView& piece, const Shape& shape, std::int64_t begin) {
  const Format& f = *piece.format;
  // In a format that uses all bits, every bit pattern is a valid code.
  if (f.padding == 0 && f.bits == 8 * f.storage_bytes) return "";
  const std::int64_t size = piece.size();
  TensorView elements = piece;
  if (piece.is_contiguous()) elements.shape = {size}, elements.strides = {1};  // quicker to index
  for (std::int64_t i = 0; i < size; ++i) {
    const std::uint64_t bits = elements.bits_at(i);
    if (!is_valid_code(f, bits)) {
      const TensorView whole{nullptr, &f, shape, contiguous_strides(shape)};
      return formatted("element {} is 0x{:x}, which is no {} (it has bits beyond the format)",
                       shape_text(whole.multi_index(begin + i)), bits, f.name);
    }
  }
  return "";
}

}  // namespace assay::h5
