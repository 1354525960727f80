// What a case says of how K is gone through: split over blocks of threads, operands in two terms.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/machine/k_parts.h"
#include "assay/op/parameter.h"

namespace assay {

// K is cut into pieces of `terms` (the first may have another number, as the tiles of stream-K do),
// and each piece is a part, or pieces go to `dealt` parts in turn.
struct KSplit {
  std::int64_t terms = 0;  // of a piece; 0: all of K
  std::int64_t first = 0;  // of the first piece; 0: `terms`
  std::int64_t dealt = 0;  // parts; 0: as many as pieces
  PartOrder order = PartOrder::kAscending;
  const Format* part = nullptr;  // what the sum of a part is rounded to; nullptr: float32
  const Format* sum = nullptr;   // what a sum of parts is rounded to; nullptr: float32

  friend bool operator==(const KSplit&, const KSplit&) = default;
};

// K in the order in which it is summed.
struct KOrder {
  // Of operands in two terms each: the product of the rest of a with the first term of b, then the
  // other way round, then of the first terms (Markidis et al., IPDPSW 2018, without the product of
  // the rests).
  enum class Pass : std::uint8_t { kRestOfA, kRestOfB, kFirst };
  struct Term {
    std::int64_t k;
    Pass pass;
  };
  std::vector<Term> terms;     // empty: 0 to K, as operands are
  KParts parts;                // of these
  std::int64_t promotion = 0;  // of so many of these
};
// `promotion`: after so many k a partial sum is promoted; 0: never. Operands in two terms go
// through all passes between two promotions, of a part, or of all of K.
KOrder k_order(const KSplit& split, bool in_two_terms, std::int64_t k, std::int64_t promotion);

// The parameters of a split beside split_k, as rows of the table list them.
std::vector<Parameter> split_parameters();
// Of a case of an operator with split_k; throws std::invalid_argument that names the case where
// parameters do not go together.
KSplit split_of(const Case& test_case);

}  // namespace assay
