// Python's arrays as views, and tensors as Python's arrays. Nothing is copied that need not be.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>

#include "assay/tensor/tensor.h"
#include "text.h"

namespace assay::python {

namespace py = pybind11;

// assay.Tensor: bit patterns with the name of their format, wherever they lie.
struct Array {
  TensorView view;
  // What keeps the bytes alive: an object of Python, a tensor of ours, or a DLPack tensor.
  py::object owner = {};
  std::shared_ptr<const void> bytes = {};
  bool writable = true;
};

// A format's name as users say it: text, a dtype of numpy or PyTorch, a type of numpy's; of None
// none.
std::optional<std::string> dtype_word(const py::object& dtype);

// "ndarray", "NoneType": what Python calls the type of an object.
std::string type_name(const py::handle& object);

// Whatever holds an array: numpy's (ml_dtypes' by their dtype's name), those with __dlpack__
// (PyTorch's on the CPU, in place), an assay.Tensor, else what np.asarray makes of it. `dtype`: the
// format of patterns, and of what else does not say it. `copy`: from a device, too. Raises
// TypeError where the array cannot hold the format, ValueError where an element is no code of it.
Array array_of(const py::object& object, const std::optional<std::string>& dtype = {},
               bool copy = false);
// The same, and `name` begins what is raised.
Array named_array(const std::string& name, const py::object& object,
                  const std::optional<std::string>& dtype = {});

Array own(Tensor tensor);
// A numpy array of a dtype of numpy's own, of others an assay.Tensor.
py::object result_of(Tensor tensor);

// Whether an object is one or several tensors: a list of numbers is one.
bool is_list_of_arrays(const py::handle& object);

void define_arrays(py::module_& m);

}  // namespace assay::python
