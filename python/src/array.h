// Converts Python's arrays to views, and tensors to Python's arrays, without unnecessary copies.
#pragma once

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/device/device_memory.h"
#include "assay/tensor/tensor.h"
#include "text.h"

namespace assay::inline v0_2::python {

namespace py = pybind11;
using namespace py::literals;  // "name"_a

// The class assay.Tensor: bit patterns with the name of their format, in any kind of memory.
struct Array {
  TensorView view;
  // The owner of the bytes: a Python object, one of our tensors, or a DLPack tensor.
  py::object owner = {};
  std::shared_ptr<const void> bytes = {};
  bool writable = true;
};

// Returns the name of a format that a user gave as a text, a dtype of numpy or PyTorch, or a numpy
// type. Returns nothing for None.
std::optional<std::string> dtype_word(const py::object& dtype);

// Returns Python's name of an object's type: "ndarray", "NoneType".
std::string type_name(const py::handle& object);

// Returns the array in an object. The object may be an assay.Tensor, a numpy array (ml_dtypes'
// dtypes are known by their names), an object with __dlpack__, or anything that np.asarray accepts.
// A PyTorch tensor on the CPU is used in place. `dtype` is the format of bit patterns, and of
// arrays that do not say their format. If `copy` is true, arrays on a device are copied. Raises
// TypeError if the array cannot hold the format, and ValueError if an element is not a valid code
// of it.
Array array_of(const py::object& object, const std::optional<std::string>& dtype = {},
               bool copy = false);
// Returns the array in an object, as array_of() does. Error messages begin with `name`.
Array named_array(const std::string& name, const py::object& object,
                  const std::optional<std::string>& dtype = {}, bool copy = false);
// True if an object with __dlpack_device__ is not in the memory of the CPU.
bool is_on_device(const py::object& object);
// An array in the memory of a device. `array` keeps the memory, and its view is the layout.
struct DeviceArrayView {
  DeviceView view;
  Array array;
};
// Returns the array of an object with __dlpack__ that is in the memory of a CUDA device. Returns
// nothing for all others, and if the object has no DLPack export for its dtype. `name` is the
// array's in error messages. Throws std::runtime_error if the driver or NVRTC is missing.
std::optional<DeviceArrayView> device_array_of(const std::string& name, const py::object& object);

Array own(Tensor tensor);
// Returns a new numpy array of a dtype such as "uint8". Its elements are not initialised. The
// constructor of py::array_t would need pybind11 2.12 for numpy 2.
py::array new_numpy(const char* dtype, const std::vector<std::int64_t>& shape);
// Returns a numpy array if numpy has the dtype, and an assay.Tensor otherwise.
py::object result_of(Tensor tensor);

// Returns true if an object is a list or tuple of arrays, in which None is an absent array. A list
// of numbers is one array and not a list of arrays.
bool is_list_of_arrays(const py::handle& object);

void define_arrays(py::module_& m);

}  // namespace assay::python
