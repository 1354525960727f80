// What a fault does to one stored element: rows of a table, each a function of its bits.
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
  kExponent,       // bits drawn within the exponent's field inverted
  kCarry,          // the stored magnitude one unit of a bit larger or smaller
  kAdd,            // a value added, or a step along the representable values
  kStuckLane,      // the value of the first element of its place
  kWrongRow,       // the element some rows below it
};

enum class Direction : std::uint8_t { kEither, kZeroToOne, kOneToZero };

// A carry that should not be there adds a unit, one that is not there takes it away.
enum class Carry : std::uint8_t { kEither, kWrong, kMissing };

struct Change {
  ChangeKind kind = ChangeKind::kFlip;
  // flip, stuck_at_0, stuck_at_1, carry: which; burst: the lowest. 0 is the lowest bit of the
  // stored element.
  int bit = 0;
  Direction direction = Direction::kEither;  // flip
  int length = 1;                            // burst: adjacent bits
  int k = 1;                                 // flips, exponent: distinct bits, drawn
  std::uint64_t mask = 0;                    // flips: the bits themselves, none drawn
  Carry carry = Carry::kEither;              // carry
  double value = 0;                          // add: one of these two is not 0
  std::int64_t ulps = 0;
  std::int64_t rows = 1;  // wrong_row: how far below, around the matrix
};

// A row of the table.
struct ChangeRow {
  ChangeKind kind;
  std::string_view name;
  std::string_view parts = "";  // the keys that parse_fault takes after the name, between blanks
  std::string_view needs = "";  // those of which one has to be set
  std::string_view help;
  bool moves = false;  // what it puts into an element stands elsewhere in the output
};
std::span<const ChangeRow> change_rows();
const ChangeRow& row_of(ChangeKind kind);

// Whether change_bits() draws from its random numbers.
bool draws(const Change& change);

// Throws std::invalid_argument where the change names what the format has not: a bit, or more bits
// than there are; and where it contradicts itself (no bits, a value that is not finite, add without
// value and ulps or with both).
void require_fits(const Change& change, const Format& format);

// The element after the change; empty where it is not injectable: all bits have the wanted value
// already, or the format has no such pattern (infinity in float8_e4m3fn, a sign in uint8, a step
// beyond the largest value). Draws nothing unless draws(change). Throws as require_fits().
//
// Where an element comes from elsewhere (ChangeRow::moves) the result is empty: changes_at() of
// fault.h knows the rest of the output.
//
// What is not settled by the names: `sign` is not injectable where a number has no negative of its
// own (zero and NaN of a format with one zero, 0 and the most negative integer). `exponent` of
// hifloat8 takes the bits that this element's prefix makes exponent, and is not injectable where
// they are fewer than k. `carry` moves a float's bits below the sign as one number, so that it runs
// into the exponent and on to infinity and NaN, and integers by 2^bit within their range; a step
// that would leave the field is not drawn. `add` of a value rounds the float64 sum to the
// format, nearest even; integers add the value rounded to a whole number and saturate. A value too
// small to change the element gives the same bits: is_masked(), not an element that cannot take it.
// NaN and infinity stay what they are under a value; a step goes from infinity to the largest
// value, and NaN has none.
std::optional<std::uint64_t> change_bits(const Change& change, const Format& format,
                                         std::uint64_t bits, Random& random);

// Whether an element has the same value before and after: the same number (-0 is +0), or NaN both
// times.
bool is_masked(const Format& format, std::uint64_t before, std::uint64_t after);

}  // namespace assay::fault

namespace assay {
using fault::is_masked;
}  // namespace assay
