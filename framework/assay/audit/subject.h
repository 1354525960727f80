// What an audit asks its targets about: a right output of a case, and wrong ones made of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "assay/cases/case.h"

namespace assay::audit {

// One output of a case, which is right.
struct Subject {
  Case test_case = {};  // of one output (gate/case_outputs.h), with its golden result
  Tensor clean = {};
  std::string producer = {};  // of the right output; empty: it is the golden result, rounded
  // The output of another case, cut or repeated to the same shape, of the same dtype; empty where
  // there is no such case.
  Tensor other = {};
  // The further outputs of the case, which stay right.
  struct Sibling {
    Tensor clean;
    Golden golden;
  };
  std::map<std::string, Sibling> siblings = {};

  std::string title() const;  // "case", of a case with several outputs "case:output"
};

// `from`'s elements in the format of it, cut or repeated to fill the shape; empty where it has
// none.
Tensor fitted(const Tensor& from, const Shape& shape);

// The subject as if it had `size` elements in one dimension: those that it has, cut or repeated,
// without inputs and siblings. Empty where it has no elements.
std::optional<Subject> resized(const Subject& subject, std::int64_t size);

}  // namespace assay::audit
