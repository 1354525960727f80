// Python's Case (assay/_case.py) as a test case of ours, and back.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "array.h"
#include "assay/cases/case.h"
#include "assay/datasets/store/case_source.h"

namespace assay::python {

// A case of ours, whose tensors are copies, and where they came from.
struct MadeCase {
  Case test_case;
  // The view of an array of Python's, as its copy in the case where that is what it is: an output
  // that is the golden result itself is then known for it.
  TensorView resolve(const TensorView& view) const;
  // Of outputs that were not copied: the producer of this one; empty of others.
  std::string producer_of(const TensorView& view) const;

  std::vector<std::pair<TensorView, TensorView>> copies = {};  // what was copied, and its copy
  std::map<std::string, Array> outputs = {};  // by producer, where they were not copied
};

// What of a case with one output is copied. Of inputs that are not, it has the dtypes.
struct CopiedParts {
  bool inputs = true, outputs = true;
};

// Raises TypeError or ValueError that names the case and the array that is none.
MadeCase case_of(const py::object& object, CopiedParts parts = {});
// Its name, operator and attributes alone.
Case header_of(const py::object& object);
py::object python_case(Case test_case);
// A Case that has an ArrayInfo for each array.
py::object python_info(StoredCase info, const std::string& file);

Attribute attribute_of(const std::string& name, const py::handle& value);
py::object python_attribute(const Attribute& attribute);
py::dict python_attributes(const std::map<std::string, Attribute>& attributes);
std::map<std::string, Attribute> attributes_of(const py::dict& attributes);

}  // namespace assay::python
