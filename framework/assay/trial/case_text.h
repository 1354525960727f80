// A small case as one line of text, so that a failing input can be pasted into a test or a command:
//
//   x=float32[2,3]{0:1.5,5:-2} axis=0 inputs=padded
//
// An input has its dtype, its shape and the values of its elements by row-major index. The index *
// stands for all elements that are not named, which are 0 without it.
#pragma once

#include <string>
#include <string_view>

#include "assay/trial/examine.h"

namespace assay::inline v0_2::trial {

// Returns the line for a test case and its memory layouts.
std::string case_text(const Subject& subject);
// Reads the line. Throws Refusal that names the wrong word.
Subject parse_case(const Operator& op, std::string_view text);

// Returns one tensor as such a line has it: "float32[2,3]{0:1.5,5:-2}".
std::string tensor_text(const Tensor& tensor);
// Reads it. Throws Refusal, which names `word`, if it is not a tensor.
Tensor parse_tensor(std::string_view text, std::string_view word);

// Reads the line for the operator of this name. Throws Refusal also if the operator is unknown.
Subject parse_case(std::string_view op, std::string_view text);

// Returns the number of elements that are not 0, in all inputs.
std::int64_t nonzero_elements(const Case& test_case);

}  // namespace assay::trial
