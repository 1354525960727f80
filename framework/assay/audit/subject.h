// A subject of an audit: a right output of a case. Wrong outputs are made from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "assay/cases/case.h"

namespace assay::inline v0_2::audit {

// One right output of a case.
struct Subject {
  // The case of the output. It has only this output (gate/case_outputs.h), with its golden result.
  Case test_case = {};
  Tensor clean = {};
  // The producer of the right output. Empty if the right output is the rounded golden result.
  std::string producer = {};
  // The output of another case, cut or repeated to the shape of `clean`, with the same dtype. Empty
  // if there is no such case.
  Tensor other = {};
  // The other outputs of the case, which stay right.
  struct Sibling {
    Tensor clean;
    Golden golden;
  };
  std::map<std::string, Sibling> siblings = {};

  std::string title() const;  // returns "case", or "case:output" if the case has several outputs
};

// Returns the elements of `from` in a tensor of this shape. They are cut off or repeated to fill
// it. Returns an empty tensor if `from` has no elements.
Tensor fitted(const Tensor& from, const Shape& shape);

// Returns a subject with `size` elements in one dimension. They are the elements of the given
// subject, cut off or repeated. The new subject has no inputs and siblings. Returns nothing if the
// subject has no elements or no golden result.
std::optional<Subject> resized(const Subject& subject, std::int64_t size);

}  // namespace assay::audit
