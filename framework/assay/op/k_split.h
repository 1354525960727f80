// The order of summation along K that a case describes: K split over blocks of threads, and
// operands in two terms.
#pragma once

#include <cstdint>
#include <vector>

#include "assay/machine/k_parts.h"
#include "assay/op/parameter.h"

namespace assay::inline v0_2 {

// Describes how K is cut into pieces of `terms` products. The first piece may have another length,
// like the tiles of stream-K. Each piece is a part with its own sum, or the pieces are dealt to
// `dealt` parts in turn.
struct KSplit {
  std::int64_t terms = 0;  // products in a piece. 0 means all of K.
  std::int64_t first = 0;  // products in the first piece. 0 means `terms`.
  std::int64_t dealt = 0;  // number of parts. 0 means one for each piece.
  PartOrder order = PartOrder::kAscending;
  const Format* part = nullptr;  // format of a part's sum; nullptr means float32
  const Format* sum = nullptr;   // format of sums of parts; nullptr means float32

  friend bool operator==(const KSplit&, const KSplit&) = default;
};

// The products along K in the order in which they are summed.
struct KOrder {
  // The passes over operands in two terms: first the rest of a times the first term of b, then the
  // first term of a times the rest of b, then the product of the first terms. The product of the
  // rests is left out (Markidis et al., IPDPSW 2018).
  enum class Pass : std::uint8_t { kRestOfA, kRestOfB, kFirst };
  struct Term {
    std::int64_t k;
    Pass pass;
  };
  std::vector<Term> terms = {};  // empty if k runs from 0 to K over the operands as they are
  KParts parts = {};             // parts of these terms
  std::int64_t promotion = 0;    // number of terms after which a sum is promoted. 0 means never.
};
// Returns the order of summation. A partial sum is promoted after `promotion` values of k, or never
// if `promotion` is 0. If the operands are in two terms, the values of k up to the next promotion
// go through all passes before the following values of k begin. Without promotion, these are all
// values of k of a part, or of all of K if K is not split.
KOrder k_order(const KSplit& split, bool in_two_terms, std::int64_t k, std::int64_t promotion);

// Returns the parameters of a split, except split_k, as an operator lists them.
std::vector<Parameter> split_parameters();
// Returns the split of a case whose operator has split_k. Throws Refusal, which names
// the case, if parameters do not go together.
KSplit split_of(const Case& test_case);

}  // namespace assay
