// Converts Python's Case (assay/_case.py) to a test case of ours, and back.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "array.h"
#include "assay/cases/case.h"
#include "assay/datasets/store/case_source.h"

namespace assay::inline v0_2::python {

// A C++ Case, whose tensors are copies of Python's arrays, with these arrays.
struct MadeCase {
  Case test_case;
  // Returns the case's copy of a Python array, if `view` is such an array, and `view` otherwise. An
  // output that is the golden result itself is recognized in this way.
  TensorView resolve(const TensorView& view) const;
  // Returns the producer of an output that was not copied, or an empty string for other arrays.
  std::string producer_of(const TensorView& view) const;

  // Each array that was copied, paired with its copy.
  std::vector<std::pair<TensorView, TensorView>> copies = {};
  std::map<std::string, Array> outputs = {};  // the outputs that were not copied, by producer
};

// The parts of a case with one output that are copied. If inputs are not copied, the case has only
// their dtypes.
struct CopiedParts {
  bool inputs = true, outputs = true;
};

// Converts a Python Case. Raises TypeError or ValueError, which names the case and the object that
// is not an array.
MadeCase case_of(const py::object& object, CopiedParts parts = {});
// Returns a case with only its name, operator and attributes.
Case header_of(const py::object& object);
py::object python_case(Case test_case);
// Returns a Case that has an ArrayInfo for each array.
py::object python_info(StoredCase info, const std::string& file);

Attribute attribute_of(const std::string& name, const py::handle& value);
py::object python_attribute(const Attribute& attribute);
py::dict python_attributes(const std::map<std::string, Attribute>& attributes);
std::map<std::string, Attribute> attributes_of(const py::dict& attributes);

}  // namespace assay::python
