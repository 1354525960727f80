#include "assay/datasets/attributes.h"

#include <cstdint>
#include <string>
#include <variant>

namespace assay {
namespace {

bool is_text(const Attribute& a) { return std::holds_alternative<std::string>(a); }
bool is_number(const Attribute& a) { return !is_text(a); }
bool is_integer(const Attribute& a) { return std::holds_alternative<std::int64_t>(a); }
bool is_flag(const Attribute& a) {
  return is_integer(a) && (std::get<std::int64_t>(a) == 0 || std::get<std::int64_t>(a) == 1);
}

constexpr KnownAttribute kKnown[] = {
    {.name = "op",
     .kind = "a string",
     .is_kind = is_text,
     .meaning = "the operator; each case has it"},
    {.name = "output_dtype",
     .kind = "a string",
     .is_kind = is_text,
     .meaning = "the dtype that the operator returns"},
    {.name = "standard",
     .kind = "a string",
     .is_kind = is_text,
     .meaning = "the standard that the case is judged by"},
    {.name = "tags",
     .kind = "a string",
     .is_kind = is_text,
     .meaning = "words joined by commas, which tests are labelled with"},
    {.name = "source",
     .kind = "a string",
     .is_kind = is_text,
     .meaning = "where the case comes from"},
    {.name = "why",
     .kind = "a string",
     .is_kind = is_text,
     .meaning = "why the tolerance is what it is"},
    {.name = "rtol",
     .kind = "a number",
     .is_kind = is_number,
     .meaning = "the relative tolerance, in place of the standard's"},
    {.name = "atol",
     .kind = "a number",
     .is_kind = is_number,
     .meaning = "the absolute tolerance, in place of the standard's"},
    {.name = "max_blind",
     .kind = "a number",
     .is_kind = is_number,
     .meaning = "the share of blind elements that a pass may have; needs `why`"},
    {.name = "seed",
     .kind = "an integer",
     .is_kind = is_integer,
     .meaning = "what the inputs were drawn by"},
    {.name = "equal_nan",
     .kind = "a bool",
     .is_kind = is_flag,
     .meaning = "whether NaN matches NaN"},
    {.name = "round_expected",
     .kind = "a bool",
     .is_kind = is_flag,
     .meaning = "whether the golden result is rounded to the output's dtype before it is compared"},
};

}  // namespace

std::span<const KnownAttribute> known_attributes() { return kKnown; }

}  // namespace assay
