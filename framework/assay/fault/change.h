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

namespace assay::inline v0_2::fault {

// The kinds of change. The table change_rows() describes each.
enum class ChangeKind : std::uint8_t {
  kFlip,           // one bit inverted
  kFlips,          // distinct bits inverted
  kBurst,          // adjacent bits inverted
  kStuckAt0,       // one bit set to 0
  kStuckAt1,       // one bit set to 1
  kZero,           // +0
  kRandom,         // any other bit pattern of the format, each equally likely
  kInfinity,       // +infinity
  kMinusInfinity,  // -infinity
  kNan,            // the format's canonical NaN
  kSign,           // the number negated
  kExponent,       // drawn bits of the exponent inverted
  kCarry,  // the magnitude raised or lowered by one unit of a bit, as a wrong or missing carry does
  kAdd,    // a number added, or a move by a number of representable values up or down
  // The value of the first element of the row, column, tile or period that the fault breaks.
  kStuckLane,
  kWrongRow,  // the value of the element some rows below
};

// The bits that a flip may change: any bit, only a 0, or only a 1.
enum class Direction : std::uint8_t { kEither, kZeroToOne, kOneToZero };

// A wrong carry adds one unit of the bit. A missing carry subtracts one.
enum class Carry : std::uint8_t { kEither, kWrong, kMissing };

// A kind of change with its parameters.
struct Change {
  ChangeKind kind = ChangeKind::kFlip;
  // The bit that flip, stuck_at_0, stuck_at_1 and carry change, or the lowest bit of a burst. 0 is
  // the lowest bit of the stored element.
  int bit = 0;
  Direction direction = Direction::kEither;  // flip
  int length = 1;                            // burst: adjacent bits
  // For flips and exponent: the number of different bits that are drawn.
  int k = 1;
  // For flips: the bits to invert, or 0 to draw k bits.
  std::uint64_t mask = 0;
  Carry carry = Carry::kEither;  // carry
  // For add: the number that is added, or the number of representable values to move by. One of
  // them is not 0.
  double value = 0;
  std::int64_t ulps = 0;
  // For wrong_row: the number of rows below. It continues with the first row after the last one.
  std::int64_t rows = 1;
};

// One row of the table of changes.
struct ChangeRow {
  ChangeKind kind;
  std::string_view name;
  // The keys of the change in a fault's text, separated by blanks.
  std::string_view parts = "";
  std::string_view needs = "";  // of these keys, exactly one must be set
  std::string_view help;
  bool moves = false;  // true if the new value comes from another element of the output
};
// Return all rows of the table, and the row of one kind.
std::span<const ChangeRow> change_rows();
const ChangeRow& row_of(ChangeKind kind);

// True if change_bits() needs random numbers for this change.
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
// - `carry` moves a float's bits below the sign as one number. It can run into the exponent, and on
//   to infinity and NaN. It moves integers by 2^bit within their range. A step out of the field is
//   never taken. If no other step is allowed, the change is not injectable.
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

namespace assay::inline v0_2 {
using fault::is_masked;
}  // namespace assay
