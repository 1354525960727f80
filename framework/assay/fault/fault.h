// How a fault is put into an output.
//
//   FaultSpec spec = parse_fault("flip,bit=14,direction=0to1,seed=7");
//   Injection done = inject(output, spec, case_name);
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/base/random.h"  // stream_of
#include "assay/fault/fault_text.h"
#include "assay/tensor/tensor.h"

namespace assay::fault {

// The row-major position of an element: a multi-index, or that position itself. Throws
// std::invalid_argument where it is outside the shape, of what `whose` is ("an output").
std::int64_t position_in(const Shape& shape, const std::vector<std::int64_t>& at,
                         std::string_view whose);

// The row-major positions that a fault covers in an output of this shape, ascending: those of `at`,
// else of a place drawn. None in an empty one. Rows, columns and tiles are those of the matrices of
// the last two dimensions; a vector is one row. Throws std::invalid_argument where `at` is outside
// the shape, and where the site does not lie in the output.
std::vector<std::int64_t> positions_of(const FaultSpec& spec, const Shape& shape, Random& random);

// Throws std::invalid_argument where the site does not lie in any output, so that inject() could
// never put it there.
void require_in_output(const FaultSpec& spec);

struct Flip {
  std::int64_t linear;
  std::uint64_t before, after;
};

// What the fault does to the elements at these positions of an output, one place of its site: one
// entry an element that takes the change. They all see the output as it was before.
std::vector<Flip> changes_at(const Tensor& output, const FaultSpec& spec,
                             const std::vector<std::int64_t>& positions, Random& random);

struct Injection {
  std::vector<Flip> flips;          // one an element that was changed
  std::int64_t not_injectable = 0;  // places asked for that no output could give
};

// Changes the output in place. Random places are drawn among those with an element that can take
// the change, addressed by (seed, stream): the same ones whatever else is injected elsewhere.
// Elements of a row, column, tile or period that cannot take it stay as they are. Throws
// std::invalid_argument where the format lacks what the change names, and as positions_of().
Injection inject(Tensor& output, const FaultSpec& spec, std::uint64_t stream);

}  // namespace assay::fault

namespace assay {
using fault::Flip;
using fault::inject;
using fault::Injection;
}  // namespace assay
