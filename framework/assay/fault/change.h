// The change that a fault makes to one stored element: a table of functions of its bits.
//
//   Random random(seed, stream);
//   change_bits({.kind = ChangeKind::kFlip, .bit = 14}, bf16, 0x3f80, random) == 0x7f80;
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "assay/base/random.h"
#include "assay/format/format.h"

namespace assay::fault {

enum class ChangeKind : std::uint8_t {
  kFlip,           // one bit inverted
  kFlips,          // distinct bits inverted
  kBurst,          // adjacent bits inverted
  kStuckAt0,       // one bit forced to 0
  kStuckAt1,       // one bit forced to 1
  kZero,           // +0
  kRandom,         // any other bit pattern of the format, each equally likely
  kInfinity,       // +infinity
  kMinusInfinity,  // -infinity
  kNan,            // the format's canonical NaN
  kSign,           // the number negated
  kExponent,       // drawn bits of the exponent inverted
  kCarry,          // the stored magnitude one unit of a bit larger or smaller
  kAdd,            // a value added, or a number of representable values up or down
  kStuckLane,      // the value of the first element of its place
  kWrongRow,       // the element some rows below it
};

enum class Direction : std::uint8_t { kEither, kZeroToOne, kOneToZero };

// A wrong carry adds a unit. A missing carry subtracts one.
enum class Carry : std::uint8_t { kEither, kWrong, kMissing };

struct Change {
  ChangeKind kind = ChangeKind::kFlip;
  // For flip, stuck_at_0, stuck_at_1 and carry: the bit. For burst: its lowest bit. 0 is the lowest
  // bit of the stored element.
  int bit = 0;
  Direction direction = Direction::kEither;  // flip
  int length = 1;                            // burst: adjacent bits
  int k = 1;                                 // flips, exponent: distinct bits, drawn
  std::uint64_t mask = 0;                    // flips: the bits, or 0 to draw k bits
  Carry carry = Carry::kEither;              // carry
  double value = 0;                          // add: either value or ulps is not 0
  std::int64_t ulps = 0;
  std::int64_t rows = 1;  // wrong_row: the number of rows below, wrapping at the end of the matrix
};

// A row of the table.
struct ChangeRow {
  ChangeKind kind;
  std::string_view name;
  std::string_view parts = "";  // keys that parse_fault takes after the name, separated by blanks
  std::string_view needs = "";  // exactly one of these keys must be set
  std::string_view help;
  bool moves = false;  // the new value comes from another element of the output
};
std::span<const ChangeRow> change_rows();
const ChangeRow& row_of(ChangeKind kind);

// True if change_bits() draws from its random numbers.
bool draws(const Change& change);

// Throws Refusal if the change does not fit the format: it names a bit that the
// format does not have, or more bits than it has. Also throws if the change contradicts itself: no
// bits, a value that is not finite, or add with neither value nor ulps or with both.
void require_fits(const Change& change, const Format& format);

// Returns the element after the change. Empty if the change is not injectable. Then all bits have
// the wanted value already, or the format has no such pattern (infinity in float8_e4m3fn, a sign in
// uint8, a step beyond the largest value). Draws nothing unless draws(change). Throws as
// require_fits() does.
//
// If the new value comes from another element (ChangeRow::moves), the result is empty. Use
// changes_at() of fault.h, which has the whole output.
//
// Details of the changes:
// - `sign` is not injectable if a number has no distinct negative. These are zero and NaN of a
//   format with one zero, and for integers 0 and the most negative value.
// - `exponent` of hifloat8 takes the bits that are exponent bits by this element's prefix. It is
//   not injectable if there are fewer than k.
// - `carry` moves a float's bits below the sign as one number. It can run into the exponent, and
//   on to infinity and NaN. It moves integers by 2^bit within their range. A step that would leave
//   the field is not drawn.
// - `add` of a value rounds the float64 sum to the format, to nearest even. Integers add the value
//   rounded to a whole number, and saturate. If the value is too small to change the element, the
//   result has the same bits. That counts as is_masked(), not as not injectable.
// - NaN and infinity do not change if a value is added. A step by ulps goes from infinity to the
//   largest value. NaN cannot take a step.
std::optional<std::uint64_t> change_bits(const Change& change, const Format& format,
                                         std::uint64_t bits, Random& random);

// True if an element has the same value before and after: the same number (-0 equals +0), or NaN
// both times.
bool is_masked(const Format& format, std::uint64_t before, std::uint64_t after);

}  // namespace assay::fault

namespace assay {
using fault::is_masked;
}  // namespace assay
