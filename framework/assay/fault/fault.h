// Puts faults into outputs.
//
//   FaultSpec spec = parse_fault("flip,bit=14,direction=0to1,seed=7");
//   Injection done = inject(output, spec, stream_of(case_name));
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/base/random.h"  // stream_of
#include "assay/fault/fault_text.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2::fault {

// Returns the row-major position of an element. `at` is a multi-index, or that position. Throws
// Refusal if it is outside the shape. The message names `whose` shape it is ("an
// output").
std::int64_t position_in(const Shape& shape, const std::vector<std::int64_t>& at,
                         std::string_view whose);

// Returns the row-major positions that a fault covers in an output of this shape, ascending. They
// are those of the place that holds `at`, or of a drawn place. Empty if the output is empty. Rows,
// columns and tiles are those of the matrices of the last two dimensions. A vector is one row.
// Throws Refusal if `at` is outside the shape, or if the site is not in the output.
std::vector<std::int64_t> positions_of(const FaultSpec& spec, const Shape& shape, Random& random);

// Throws Refusal if the places of the site are not elements of an output, so that inject() cannot
// use the site.
void require_in_output(const FaultSpec& spec);

// A changed element: its row-major position, and its bits before and after the change.
struct Flip {
  std::int64_t linear;
  std::uint64_t before, after;
};

// Returns the changes that the fault makes to the elements at these positions, one place of its
// site. There is one entry for each element that can take the change. All changes are computed from
// the unchanged output.
std::vector<Flip> changes_at(const Tensor& output, const FaultSpec& spec,
                             const std::vector<std::int64_t>& positions, Random& random);

// The result of inject().
struct Injection {
  std::vector<Flip> flips;          // one for each changed element
  std::int64_t not_injectable = 0;  // number of requested places that could not be broken
};

// Changes the output in place. Random places are drawn from those with an element that can take the
// change. The draw depends only on the seed and `stream`, not on other injections. Elements of a
// row, column, tile or period that cannot take the change stay as they are. Throws
// Refusal if the output is complex, if the change does not fit its format, or as
// positions_of() does.
Injection inject(Tensor& output, const FaultSpec& spec, std::uint64_t stream);

}  // namespace assay::fault

namespace assay::inline v0_2 {
using fault::Flip;
using fault::inject;
using fault::Injection;
}  // namespace assay
