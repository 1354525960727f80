#include "assay/datasets/arrays/npy_dtype.h"

#include <charconv>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_error_text.h"

namespace assay::inline v0_2 {
namespace {

// The spellings that numpy.dtype() accepts for a kind and width (NumPy 1.24, 64-bit Linux). A
// single character may follow a byte order; a word may not.
struct Spelling {
  std::string_view code, characters, words;
};
constexpr Spelling kSpellings[] = {
    {"b1", "?", "bool bool8 bool_"},
    {"i1", "b", "byte int8"},
    {"i2", "h", "short int16"},
    {"i4", "i", "intc int32"},
    {"i8", "lqp", "int int0 int_ int64 intp long longlong"},
    {"u1", "B", "ubyte uint8"},
    {"u2", "H", "ushort uint16"},
    {"u4", "I", "uintc uint32"},
    {"u8", "LQP", "uint uint0 uint64 uintp ulong ulonglong"},
    {"f2", "e", "half float16"},
    {"f4", "f", "single float32"},
    {"f8", "d", "double float float_ float64"},
    {"f16", "g", "longdouble longfloat float128"},
    {"c8", "F", "csingle singlecomplex complex64"},
    {"c16", "D", "cdouble cfloat complex complex_ complex128"},
    {"c32", "G", "clongdouble clongfloat longcomplex complex256"},
    {"O8", "O", "object object0 object_"},
    {"S0", "Sac", "bytes bytes0 bytes_ string_"},
    {"U0", "U", "str str0 str_ unicode unicode_"},
    {"M8", "M", "datetime64"},
    {"m8", "m", "timedelta64"},
    {"V0", "V", "void void0"},
};

std::string_view code_of(std::string_view text, bool has_order) {
  for (const Spelling& s : kSpellings) {
    if (text.size() == 1 && s.characters.find(text[0]) != std::string_view::npos) return s.code;
    if (has_order || text.size() == 1) continue;
    const std::vector<std::string> words = split(s.words, ' ');
    if (contains(words, text)) return s.code;
  }
  return text;
}

// The kinds of elements that are not read, with the reason and what to save instead.
constexpr std::pair<std::string_view, std::string_view> kUnread[] = {
    {"O", "Python objects, which are never unpickled; save numbers, as in x.astype('float32')"},
    {"SaU", "text, which is not compared"},
    {"Mm", "dates or durations; save them as numbers, as in x.astype('int64')"},
    {"V", "byte patterns, for which assay has no dtype; save numbers, as in x.astype('float32')"},
    {"fc",
     "floats for which assay has no dtype; save others, as in x.astype('float64') or "
     "x.astype('complex128')"}};

}  // namespace

NpyType npy_type(const std::string& path, const Literal& literal) {
  const std::string descr = literal_text(literal);
  const auto refuse = [&](std::string_view why) {
    throw file_error(path, "", "holds elements of type {}: {}", descr, why);
  };
  if (literal.text() == nullptr || literal.text()->find_first_of(",(") != std::string::npos) {
    refuse("which are records or arrays; save each field as a separate array, as in x['field']");
  }
  std::string_view text = *literal.text();
  const bool has_order = text.find_first_of("<>|=") == 0;
  const bool is_big_endian = has_order && text[0] == '>';
  if (has_order) text.remove_prefix(1);
  const std::string_view code = code_of(text, has_order);
  const char kind = code.empty() ? '\0' : code[0];
  const char* const end = code.data() + code.size();
  int width = -1;
  const bool is_code =
      code.size() > 1 && std::from_chars(code.data() + 1, end, width).ptr == end && width >= 0;
  // The 'descr' of a date has a unit behind its width, as in 'M8[ns]'.
  const bool is_date = (kind == 'M' || kind == 'm') && code.substr(1).starts_with("8[");
  if (!is_code && !is_date) refuse("NumPy has no such dtype");
  // NumPy has no bfloat16, so its bits are stored as unsigned 16-bit integers. The caller must
  // therefore say what such integers are.
  const bool is_uint16 = kind == 'u' && width == 2;
  const Format* known =
      is_uint16 ? nullptr : find_dtype(kNpyDtypes, formatted("{}{}", kind, width));
  // ml_dtypes gives its 8-bit floats the kind 'V' or 'f'.
  const bool is_pattern = (kind == 'V' && (width == 1 || width == 2 || width == 4)) ||
                          (kind == 'f' && width == 1) || is_uint16;
  if (known == nullptr && !is_pattern) {
    for (const auto& [kinds, why] : kUnread) {
      if (kinds.find(kind) != std::string_view::npos) refuse(why);
    }
    refuse("NumPy has no such dtype");
  }
  return {known, width, is_big_endian && width > 1};
}

}  // namespace assay
