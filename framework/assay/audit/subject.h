// A subject of an audit: a right output of a case. Wrong outputs are made from it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "assay/cases/case.h"

namespace assay::audit {

// One right output of a case.
struct Subject {
  Case test_case = {};  // has one output (gate/case_outputs.h), with its golden result
  Tensor clean = {};
  std::string producer = {};  // of the right output, empty if that is the rounded golden result
  // The output of another case with the same dtype, cut or repeated to the same shape. Empty if
  // there is no such case.
  Tensor other = {};
  // The other outputs of the case, which stay right.
  struct Sibling {
    Tensor clean;
    Golden golden;
  };
  std::map<std::string, Sibling> siblings = {};

  std::string title() const;  // "case", or "case:output" if the case has several outputs
};

// Returns the elements of `from`, in its format, cut or repeated to fill the shape. Empty if `from`
// has no elements.
Tensor fitted(const Tensor& from, const Shape& shape);

// Returns a subject with `size` elements in one dimension. They are the subject's elements, cut or
// repeated. It has no inputs and siblings. Empty if the subject has no elements or no golden
// result.
std::optional<Subject> resized(const Subject& subject, std::int64_t size);

}  // namespace assay::audit
