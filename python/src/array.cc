#include "array.h"

#include <algorithm>
#include <cstring>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/cuda.h"
#include "assay/tensor/dlpack.h"

namespace assay::inline v0_2::python {
namespace {

// The type numbers of numpy's own dtypes are below kOwnTypes. Dtypes of other libraries have
// others.
constexpr int kOwnTypes = 24, kVoid = 20;

struct NativeRow {
  char kind;
  py::ssize_t bytes;
  std::string_view dtype;
};
constexpr NativeRow kNativeRows[] = {
    {'f', 4, "float32"},   {'f', 8, "float64"},     {'f', 2, "float16"}, {'i', 8, "int64"},
    {'i', 4, "int32"},     {'i', 2, "int16"},       {'i', 1, "int8"},    {'u', 1, "uint8"},
    {'u', 2, "uint16"},    {'u', 4, "uint32"},      {'u', 8, "uint64"},  {'b', 1, "bool"},
    {'c', 8, "complex64"}, {'c', 16, "complex128"},
};

const Format* native_format(char kind, py::ssize_t bytes) {
  for (const NativeRow& row : kNativeRows) {
    if (row.kind == kind && row.bytes == bytes) return &format_named(row.dtype);
  }
  return nullptr;
}

// Returns true if numpy has the format as a dtype of its own.
bool is_native(const Format& f) {
  return find_row(kNativeRows, f.name, &NativeRow::dtype) != nullptr;
}

std::string no_format(const std::string& held) {
  return formatted(
      "{} is no dtype that assay knows; a tensor is of one of those of assay.list_dtypes()", held);
}

std::string tuple_text(const Shape& shape) {
  std::vector<std::string> parts;
  for (const std::int64_t extent : shape) parts.push_back(std::to_string(extent));
  return "(" + joined(parts.empty() ? std::vector<std::string>{""} : parts) +
         (parts.size() == 1 ? ",)" : ")");
}

// An int4 may be stored as an 8-bit integer. Its code is the low four bits.
Array int4_codes(const TensorView& view) {
  Tensor codes = copy_of(view);
  for (std::int64_t i = 0; i < codes.size(); ++i) {
    auto& byte = reinterpret_cast<unsigned char&>(codes.bytes()[i]);
    if (byte >= 0xf8) byte &= 0xf;
  }
  return own(std::move(codes));
}

void check_codes(const TensorView& view) {
  const Format& f = *view.format;
  if (f.bits == 8 * f.storage_bytes && f.padding == 0) return;
  const std::int64_t n = view.size();
  for (std::int64_t i = 0; i < n; ++i) {
    const std::uint64_t bits = view.bits_at(i);
    if (is_valid_code(f, bits)) continue;
    throw py::value_error(
        formatted("element {} is 0x{:x}, which is no {} (it has bits beyond the format)",
                  shape_text(view.multi_index(i)), bits, f.name));
  }
}

// Returns the array as one of `dtype`, without a change of its bits. The array holds bit patterns
// of this dtype, the parts of complex numbers, or values of a dtype with the same bits.
Array reinterpreted(Array array, const std::string& dtype) {
  const Format& f = format_named(dtype);
  const Format& held = *array.view.format;
  if (&held == &f) return array;
  const int part_bytes = part_format(f).storage_bytes;
  const bool patterns = held.kind == Kind::kUnsigned && held.bits == 8 * part_bytes;
  if (f.is_complex() && (patterns || &held == &part_format(f))) {
    TensorView& v = array.view;
    if (v.shape.empty() || v.shape.back() != 2) {
      throw py::value_error(formatted(
          "an array of the parts of {} must have a last dimension of 2, but it has the shape {}",
          f.name, tuple_text(v.shape)));
    }
    bool pairs = v.strides.back() == 1;
    for (std::size_t d = 0; d + 1 < v.strides.size(); ++d) pairs = pairs && v.strides[d] % 2 == 0;
    if (!pairs) array = own(copy_of(v));
    array.view.format = &f;
    array.view.shape.pop_back();
    array.view.strides.pop_back();
    for (std::int64_t& stride : array.view.strides) stride /= 2;
    return array;
  }
  const bool as_wide = held.kind == Kind::kUnsigned && held.bits == 8 * f.storage_bytes;
  const bool narrow = (f.kind == Kind::kSigned || f.kind == Kind::kUnsigned) && f.bits < 8;
  const bool same_bits = held.name == "float32" && f.padding > 0;
  const bool nibble = f.name == "int4" && held.name == "int8";
  if (nibble || (f.name == "int4" && as_wide)) array = int4_codes(array.view);
  if (!same_bits && !nibble && !(as_wide && (f.is_float() || f.kind == Kind::kBool || narrow))) {
    throw py::type_error(
        formatted("an array of {} holds no {}, and assay does not convert it; round it yourself, "
                  "or give its bit patterns as uint{}",
                  held.name, f.name, 8 * (f.is_complex() ? part_bytes : f.storage_bytes)));
  }
  array.view.format = &f;
  check_codes(array.view);
  return array;
}

py::object numpy() { return py::module_::import("numpy"); }

// Returns the bytes of an element. The itemsize() of pybind11 before 2.12 reads it where numpy 1
// has it, and gets 0 from numpy 2.
py::ssize_t item_bytes(const py::dtype& type) { return type.attr("itemsize").cast<py::ssize_t>(); }

Array of_numpy(py::array array, const std::optional<std::string>& dtype) {
  py::dtype type = array.dtype();
  const Format* held = nullptr;
  bool small_integer = false;
  if (type.num() < kOwnTypes && type.num() != kVoid) {
    held = native_format(type.kind(), item_bytes(type));
    if (held != nullptr && type.byteorder() == '>') {
      array = array.attr("byteswap")().attr("view")(type.attr("newbyteorder")("="));
    }
  } else {
    // The dtypes of ml_dtypes are found by the name of their scalars.
    held = find_format(type.attr("type").attr("__name__").cast<std::string>());
    if (held != nullptr && held->storage_bytes != item_bytes(type)) held = nullptr;
    small_integer = held != nullptr && held->name == "int4";
  }
  if (held == nullptr) throw py::type_error(no_format(str_of(type.attr("name"))));
  if (held->name == "uint16" && !dtype) {
    throw py::type_error(
        "uint16 may be bit patterns of bfloat16, float16 or integers: say which format, "
        "assay.Tensor.of(array, dtype=...)");
  }
  const std::int64_t bytes = item_bytes(type);
  const auto alignment = static_cast<std::uintptr_t>(part_format(*held).storage_bytes);
  Shape shape(array.shape(), array.shape() + array.ndim());
  Strides strides(array.strides(), array.strides() + array.ndim());
  const auto unfit = [&](std::int64_t stride) { return stride % bytes != 0; };
  if (reinterpret_cast<std::uintptr_t>(array.data()) % alignment != 0 ||
      std::ranges::any_of(strides, unfit)) {
    array = array.attr("copy")();
    strides.assign(array.strides(), array.strides() + array.ndim());
  }
  for (std::int64_t& stride : strides) stride /= bytes;
  Array result{.view = view_bytes(array.data(), *held, std::move(shape), std::move(strides)),
               .owner = array,
               .writable = array.writeable()};
  if (small_integer) result = int4_codes(result.view);
  return dtype ? reinterpreted(std::move(result), *dtype) : result;
}

// Takes the tensor out of a DLPack capsule. Renames the capsule, as DLPack requires, so that nobody
// else takes the tensor.
// The tensor may be in any memory.
Array of_capsule(const py::object& capsule) {
  auto* managed =
      static_cast<dlpack::DLManagedTensor*>(PyCapsule_GetPointer(capsule.ptr(), "dltensor"));
  if (managed == nullptr) throw py::error_already_set();
  const std::shared_ptr<dlpack::DLManagedTensor> tensor(managed, [](auto* m) {
    if (m->deleter != nullptr) m->deleter(m);
  });
  if (PyCapsule_SetName(capsule.ptr(), "used_dltensor") != 0) throw py::error_already_set();
  return {.view = dlpack::layout_of(tensor->dl_tensor), .bytes = tensor};
}

// Returns "float8_e5m2" for such a torch.dtype, and an empty string for other objects.
std::string torch_dtype(const py::object& tensor) {
  const std::string name = str_of(py::getattr(tensor, "dtype", py::none()));
  return name.starts_with("torch.") ? name.substr(6) : "";
}

// PyTorch has no DLPack export for some dtypes. Their tensors are passed as integers of the same
// width.
Array of_carrier(const py::object& tensor, const Format& f, const py::kwargs& keywords = {}) {
  static const char* const kCarriers[] = {"uint8", "int16", "", "int32", "", "", "", "int64"};
  const py::object torch = py::module_::import("torch");
  const py::object carrier = torch.attr(kCarriers[f.storage_bytes - 1]);
  Array array = of_capsule(tensor.attr("view")(carrier).attr("__dlpack__")(**keywords));
  array.view.format = &f;
  return array;
}

// Returns the kind of the device that holds a tensor, and the device's number among those of its
// kind.
template <typename Refused>
std::pair<int, int> device_of(const py::object& tensor, const std::string& type,
                              const Refused& refused) {
  py::object said;
  try {
    said = tensor.attr("__dlpack_device__")();
    return said.cast<std::pair<int, int>>();
  } catch (const py::error_already_set& e) {
    throw refused(e);
  } catch (const py::cast_error&) {
    throw py::type_error(
        formatted("the __dlpack_device__() of a {} gave {}, not two integers, so that its device "
                  "is not known; pass a numpy copy",
                  type, repr_of(said)));
  }
}

// A PyTorch tensor that requires a gradient, or is conjugated or negated lazily, cannot be
// exported. Returns one that can.
py::object exportable(py::object tensor) {
  for (const char* step : {"detach", "resolve_conj", "resolve_neg"}) {
    if (py::hasattr(tensor, step)) tensor = tensor.attr(step)();
  }
  return tensor;
}

Array of_dlpack(py::object tensor, const std::optional<std::string>& dtype, bool copy) {
  const std::string type = type_name(tensor);
  tensor = exportable(std::move(tensor));
  const auto refused = [&](const py::error_already_set& e) {
    return py::type_error(formatted("a {} cannot be read as it is: {}", type, str_of(e.value())));
  };
  if (py::hasattr(tensor, "__dlpack_device__")) {
    const std::pair<int, int> device = device_of(tensor, type, refused);
    if (device.first != 1) {
      if (!copy || !py::hasattr(tensor, "cpu")) {
        throw py::value_error(
            formatted("this {} is on device type {} (id {}), and only the CPU's memory is read: "
                      "pass its .cpu(), or assay.Tensor.of(tensor, copy=True)",
                      type, device.first, device.second));
      }
      tensor = tensor.attr("cpu")();
    }
  }
  Array array;
  const Format* own_format = find_format(torch_dtype(tensor));
  try {
    array = of_capsule(tensor.attr("__dlpack__")());
  } catch (py::error_already_set& e) {
    const bool dense =
        str_of(py::getattr(tensor, "layout", py::str("torch.strided"))) == "torch.strided";
    if (own_format == nullptr || own_format->is_complex() || !dense ||
        !py::hasattr(tensor, "view")) {
      throw refused(e);
    }
    array = of_carrier(tensor, *own_format);
  }
  return dtype ? reinterpreted(std::move(array), *dtype) : array;
}

py::array as_numpy(const Array& array, const py::dtype& type, bool parts) {
  const py::ssize_t bytes = item_bytes(type);
  const TensorView view = parts ? parts_of(array.view) : array.view;
  std::vector<py::ssize_t> strides;
  for (const std::int64_t stride : view.strides) strides.push_back(stride * bytes);
  py::array result(type, view.shape, strides, view.data, py::cast(array));
  if (!array.writable) result.attr("setflags")(py::arg("write") = false);
  return result;
}

// Returns the array with the dtype of numpy or ml_dtypes that has the same bits. Padded formats
// become float32, and complex32 becomes pairs of float16. Raises TypeError if neither library has
// the format.
py::array numpy_of(const Array& array) {
  const Format& f = *array.view.format;
  const std::string name(f.name);
  if (f.padding > 0) return as_numpy(array, py::dtype("float32"), false);
  if (name == "complex32") return as_numpy(array, py::dtype("float16"), true);
  if (is_native(f)) return as_numpy(array, py::dtype(name), false);
  py::object ml_dtypes;
  try {
    ml_dtypes = py::module_::import("ml_dtypes");
  } catch (py::error_already_set&) {
    throw py::type_error(formatted("numpy has no {}: install ml_dtypes, or use .bits", f.name));
  }
  if (!py::hasattr(ml_dtypes, name.c_str())) {
    throw py::type_error(formatted("neither numpy nor ml_dtypes {} has {}: use .bits",
                                   str_of(py::getattr(ml_dtypes, "__version__", py::str(""))),
                                   f.name));
  }
  return as_numpy(array, py::dtype::from_args(ml_dtypes.attr(name.c_str())), false);
}

py::array bits_of(const Array& array) {
  const Format& f = *array.view.format;
  return as_numpy(array, py::dtype(formatted("uint{}", 8 * part_format(f).storage_bytes)),
                  f.is_complex());
}

py::object torch_of(const Array& array) {
  const Format& f = *array.view.format;
  const std::string name(f.name);
  const py::object torch = py::module_::import("torch");
  const py::object from_numpy = torch.attr("from_numpy");
  if (name == "complex32") return torch.attr("view_as_complex")(from_numpy(numpy_of(array)));
  const bool bits_alone = f.padding > 0 || is_native(f);
  if (!bits_alone && !py::hasattr(torch, name.c_str())) {
    throw py::type_error(formatted("PyTorch {} has no {}: use .bits",
                                   str_of(py::getattr(torch, "__version__", py::str(""))), f.name));
  }
  // PyTorch does not accept negative strides, so such an array is copied.
  Array plain = array;
  const auto negative = [](std::int64_t stride) { return stride < 0; };
  if (std::ranges::any_of(array.view.strides, negative)) {
    plain = own(copy_of(array.view));
  }
  if (bits_alone) return from_numpy(numpy_of(plain));
  // Older versions of PyTorch have no uint16, so 16-bit patterns are passed as int16.
  py::array carrier = bits_of(plain);
  if (f.storage_bytes == 2) carrier = carrier.attr("view")("int16");
  return from_numpy(carrier).attr("view")(torch.attr(name.c_str()));
}

bool equal(const Array& a, const Array& b) {
  if (a.view.format != b.view.format || a.view.shape != b.view.shape) return false;
  const Tensor left = copy_of(a.view), right = copy_of(b.view);
  return left.byte_count() == 0 || std::memcmp(left.bytes(), right.bytes(), left.byte_count()) == 0;
}

}  // namespace

std::optional<std::string> dtype_word(const py::object& dtype) {
  if (dtype.is_none()) return std::nullopt;
  if (py::isinstance<py::type>(dtype)) return dtype.attr("__name__").cast<std::string>();
  return str_of(dtype);
}

std::string type_name(const py::handle& object) {
  return str_of(py::type::of(object).attr("__name__"));
}

py::array new_numpy(const char* dtype, const std::vector<std::int64_t>& shape) {
  // The function of the first call, which the module makes when it is loaded. A user's function may
  // replace numpy.empty later. The object is never freed, because the interpreter ends before it.
  static const py::object& empty = *new py::object(numpy().attr("empty"));
  return empty(py::tuple(py::cast(shape)), dtype).cast<py::array>();
}

Array own(Tensor tensor) {
  auto kept = std::make_shared<const Tensor>(std::move(tensor));
  return {.view = kept->view(), .bytes = kept};
}

py::object result_of(Tensor tensor) {
  const Array array = own(std::move(tensor));
  return is_native(*array.view.format) ? py::object(numpy_of(array)) : py::cast(array);
}

bool is_list_of_arrays(const py::handle& object) {
  if (!py::isinstance<py::list>(object) && !py::isinstance<py::tuple>(object)) return false;
  const auto items = py::reinterpret_borrow<py::sequence>(object);
  for (const py::handle& item : items) {
    const bool scalar = py::isinstance(item, numpy().attr("generic"));
    if (!item.is_none() && (scalar || !py::hasattr(item, "dtype") || !py::hasattr(item, "shape"))) {
      return false;
    }
  }
  return py::len(items) > 0;
}

Array array_of(const py::object& object, const std::optional<std::string>& dtype, bool copy) {
  if (py::isinstance<py::array>(object)) {
    if (Py_TYPE(object.ptr()) != py::detail::npy_api::get().PyArray_Type_ &&
        py::isinstance(object, numpy().attr("ma").attr("MaskedArray"))) {
      throw py::type_error("a masked array's mask would be lost: fill it first");
    }
    return of_numpy(py::reinterpret_borrow<py::array>(object), dtype);
  }
  if (py::isinstance<Array>(object)) {
    Array array = object.cast<Array>();
    if (dtype && &format_named(*dtype) != array.view.format) {
      throw py::type_error(formatted("this is a tensor of {}, not of {}", array.view.format->name,
                                     format_named(*dtype).name));
    }
    return array;
  }
  if (py::hasattr(object, "__dlpack__")) return of_dlpack(object, dtype, copy);
  py::object made;
  try {
    made = numpy().attr("asarray")(object);
  } catch (const py::error_already_set& e) {
    throw py::value_error(
        formatted("numpy makes no array of a {}: {}", type_name(object), str_of(e.value())));
  }
  const char kind = made.attr("dtype").attr("kind").cast<std::string>()[0];
  if (kind == 'O' || kind == 'U' || kind == 'S') {
    throw py::type_error(formatted("a {} is no array of numbers", type_name(object)));
  }
  return of_numpy(made, dtype);
}

bool is_on_device(const py::object& object) {
  if (!py::hasattr(object, "__dlpack_device__")) return false;
  const auto unknown = [](const py::error_already_set& e) { return py::type_error(e.what()); };
  return device_of(object, type_name(object), unknown).first != 1;
}

std::optional<DeviceArrayView> device_array_of(const std::string& name, const py::object& object) {
  constexpr int kCuda = 2;
  if (!py::hasattr(object, "__dlpack_device__")) return {};
  const py::object tensor = exportable(object);
  const auto unknown = [](const py::error_already_set& e) { return py::type_error(e.what()); };
  const auto [kind, device] = device_of(tensor, type_name(tensor), unknown);
  if (kind != kCuda) return {};
  py::module_::import("assay._device").attr("load_compiler")();
  // Stream 1 is CUDA's default stream. The exporter makes it wait for the tensor's own stream.
  const py::dict stream(py::arg("stream") = 1);
  const Format* own_format = find_format(torch_dtype(tensor));
  DeviceArrayView of;
  try {
    of.array = of_capsule(tensor.attr("__dlpack__")(**stream));
  } catch (const py::error_already_set&) {
    if (own_format == nullptr || own_format->is_complex()) return {};
    of.array = of_carrier(tensor, *own_format, py::kwargs(stream));
  }
  of.view = {&cuda::memory(), device, nullptr, of.array.view, name};
  return of;
}

Array named_array(const std::string& name, const py::object& object,
                  const std::optional<std::string>& dtype, bool copy) {
  try {
    return array_of(object, dtype, copy);
  } catch (const py::type_error& e) {
    throw py::type_error(formatted("{}: {}", name, e.what()));
  } catch (const py::value_error& e) {
    throw py::value_error(formatted("{}: {}", name, e.what()));
  } catch (const Refusal& e) {
    refuse("{}: {}", name, e.what());
  }
}

void define_arrays(py::module_& m) {
  (void)new_numpy("uint8", {0});
  py::class_<Array>(
      m, "Tensor",
      "Bit patterns with the name of their format, which share the memory that they came from.")
      .def(py::init([](const py::args&, const py::kwargs&) -> Array {
        throw py::type_error("Tensor.of(array) makes a Tensor");
      }))
      .def_static(
          "of",
          [](const py::object& array, const py::object& dtype, bool copy) {
            return array_of(array, dtype_word(dtype), copy);
          },
          py::arg("array"), py::arg("dtype") = py::none(), py::arg("copy") = false,
          "The bits of an array, in place: of numpy (ml_dtypes' dtypes by name), of PyTorch or "
          "whatever has __dlpack__, or of what np.asarray takes.\n\n"
          "dtype: the format's name, where the array's own dtype does not say it: bit patterns (an "
          "unsigned array of the storage's width), float32 that holds tfloat32 or hfloat32, floats "
          "in a last dimension of 2 that are the parts of complex numbers. Nothing is ever "
          "converted.\n"
          "copy: copies from a device to the CPU where it must.\n\n"
          "Raises TypeError where the array cannot hold the format, ValueError where an element is "
          "no code of it, or where it lies on a device.")
      .def_property_readonly(
          "dtype", [](const Array& a) { return std::string(a.view.format->name); },
          "The format's name.")
      .def_property_readonly(
          "shape", [](const Array& a) { return py::tuple(py::cast(a.view.shape)); },
          "One extent a dimension.")
      .def_property_readonly(
          "ndim", [](const Array& a) { return a.view.rank(); }, "How many dimensions it has.")
      .def_property_readonly(
          "size", [](const Array& a) { return a.view.size(); }, "How many elements it has.")
      .def_property_readonly("bits", &bits_of,
                             "The patterns, unsigned; of complex elements those of both parts, in "
                             "another, last dimension of 2.")
      .def("numpy", &numpy_of,
           "A numpy array of the same bits: of numpy's own dtype, else of ml_dtypes'. Raises "
           "TypeError where neither has the format. tfloat32 and hfloat32 come as float32, "
           "complex32 as the float16 of its parts.")
      .def("torch", &torch_of,
           "A PyTorch tensor of the same bits, on the CPU. Raises TypeError where PyTorch has no "
           "such dtype.")
      .def(
          "__array__",
          [](const Array& a, const py::object& dtype, const py::object&) {
            return numpy().attr("array")(numpy_of(a), py::arg("dtype") = dtype);
          },
          py::arg("dtype") = py::none(), py::arg("copy") = py::none())
      .def(
          "astype",
          [](const Array& a, const py::object& dtype) {
            const Format& format = format_named(dtype_word(dtype).value_or(""));
            if (&format == a.view.format) return a;
            if (format.is_complex() != a.view.format->is_complex()) {
              throw py::type_error(formatted("{} cannot become {}: one is complex and one is real",
                                             a.view.format->name, format.name));
            }
            return own(Tensor::from_values(format, a.view.shape, parts_of(a.view).values()));
          },
          py::arg("dtype"),
          "A Tensor of the same values in another dtype, rounded to nearest, ties to even.")
      .def("__len__",
           [](const Array& a) {
             if (a.view.rank() == 0) throw py::type_error("len() of a Tensor without dimensions");
             return a.view.shape[0];
           })
      .def(
          "__getitem__",
          [](const Array& a, const py::object& key) {
            const py::object all = is_native(*a.view.format) ? py::object(numpy_of(a)) : bits_of(a);
            return array_of(numpy().attr("asarray")(all[key]), std::string(a.view.format->name),
                            false);
          },
          py::arg("key"),
          "The elements that numpy's indexing with this key selects, as a Tensor: t[0], t[1:3, "
          "::2].")
      .def("__eq__", &equal, py::arg("other"), py::is_operator(),
           "The same format, shape and bits; NaN equals the same NaN.")
      .def("__reduce__",
           [](const Array& a) {
             const py::object of = py::module_::import("assay._case").attr("_tensor_of");
             const std::string name(a.view.format->name);
             // Complex numbers need numpy_of(), because bits_of() would split them into parts.
             const bool native = is_native(*a.view.format) || name == "complex32";
             return py::make_tuple(of, py::make_tuple(native ? numpy_of(a) : bits_of(a), name));
           })
      .def("__repr__",
           [](const Array& a) {
             return formatted("Tensor('{}', shape={})", a.view.format->name,
                              tuple_text(a.view.shape));
           })
      .attr("__hash__") = py::none();
}

}  // namespace assay::python
