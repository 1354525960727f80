// Checks of matrix products in a device's memory, for assay.torch.guard(). They take addresses and
// not arrays, because they are called for each product of a model that runs.
#include <optional>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

#include "assay/cuda.h"
#include "assay/device/device_checksum.h"
#include "assay/machine/machine.h"
#include "module.h"

namespace assay::inline v0_2::python {
namespace {

// A tensor's dtype, shape and strides, in elements.
using Layout = std::tuple<std::string, Shape, Strides>;

// `device` is the number of a CUDA device, or -1 for the memory of the host.
const DeviceMemory& memory_of(int device) { return device < 0 ? host_memory() : cuda::memory(); }

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// A view whose address is not known yet.
DeviceView view_of(const Layout& layout, int device, std::uintptr_t stream, const char* name) {
  const auto& [dtype, shape, strides] = layout;
  DeviceView v{&memory_of(device), std::max(device, 0), pointer(stream), {}, name};
  v.layout.format = &format_named(dtype);
  v.layout.shape = shape;
  v.layout.strides = strides;
  return v;
}

// Returns the model by which a machine sums products of a format, or null if it has none.
const DotModel* model_of(const std::optional<std::string>& machine, const Format& input) {
  if (!machine) return nullptr;
  const Machine& named = machine_named(*machine);
  try {
    return &dot_model(named, input);
  } catch (const Refusal&) {
    return nullptr;
  }
}

using Checksum = std::shared_ptr<DeviceChecksum>;

struct Weights {
  std::shared_ptr<const DeviceChecksum::Weights> of;
};

// Returns the checksum of products of a layout, or why such products are not checked.
std::variant<Checksum, std::string> device_checksum(int device, std::uintptr_t stream,
                                                    const Layout& a, const Layout& b,
                                                    const Layout& c,
                                                    const std::optional<Layout>& bias,
                                                    const std::string& threshold,
                                                    const std::optional<std::string>& machine) {
  const Unlocked unlocked;
  DeviceProduct like{view_of(a, device, stream, "a"), view_of(b, device, stream, "b"),
                     view_of(c, device, stream, "the output")};
  if (bias) like.bias = view_of(*bias, device, stream, "the bias");
  AbftOptions options;
  options.spec = parse_threshold(threshold);
  options.model = model_of(machine, *like.a.layout.format);
  if (std::string why = why_not_on_device(like, options); !why.empty()) return why;
  return std::make_shared<DeviceChecksum>(like, options);
}

py::dict dict_of(const ChecksumFindings& f) {
  return py::dict(py::arg("flagged") = f.flagged, py::arg("not_checkable") = f.not_checkable,
                  py::arg("worst_ratio") = f.worst_ratio, py::arg("first_call") = f.first_call,
                  py::arg("first_matrix") = f.first_matrix, py::arg("first_row") = f.first_row,
                  py::arg("first_difference") = f.first_difference,
                  py::arg("first_threshold") = f.first_threshold);
}

}  // namespace

void define_checksums(py::module_& m) {
  py::class_<Weights>(m, "DeviceWeights",
                      "The sums of one side of products, which DeviceChecksum.weights() makes.");
  py::class_<FindingsArray>(
      m, "DeviceFindings",
      "Places in a device's memory where DeviceChecksum.start() adds up what it finds.")
      .def(py::init([](int device, std::uintptr_t stream, std::int64_t count) {
             return std::make_unique<FindingsArray>(
                 DeviceView{&memory_of(device), std::max(device, 0), pointer(stream), {}, ""},
                 count);
           }),
           py::arg("device"), py::arg("stream"), py::arg("count"))
      .def(
          "fetch",
          [](const FindingsArray& f) {
            py::list list;
            for (const ChecksumFindings& one : without_lock([&] { return f.fetch(); })) {
              list.append(dict_of(one));
            }
            return list;
          },
          "Waits for the checks that were started, and returns a dict for each place.");
  py::class_<DeviceChecksum, std::shared_ptr<DeviceChecksum>>(
      m, "DeviceChecksum",
      "The checks of products of one layout in a device's memory, by their row sums "
      "(device_checksum()).")
      .def_property_readonly("checks", &DeviceChecksum::checks, "The checks of each product.")
      .def(
          "weights",
          [](const DeviceChecksum& of, std::uintptr_t b, std::uintptr_t bias) {
            return Weights{of.weights(pointer(b), pointer(bias))};
          },
          py::arg("b"), py::arg("bias") = 0, "Starts the sums of B and of the bias.")
      .def(
          "start",
          [](const DeviceChecksum& of, std::uintptr_t a, const Weights& weights, std::uintptr_t c,
             std::uint64_t number, const FindingsArray& findings, std::int64_t place) {
            of.start(pointer(a), *weights.of, pointer(c), number, findings.at(place));
          },
          py::arg("a"), py::arg("weights"), py::arg("c"), py::arg("number"), py::arg("findings"),
          py::arg("place"), "Starts the check of a product. Findings name the number, from 1.");
  m.def("device_checksum", &device_checksum, py::arg("device"), py::arg("stream"), py::arg("a"),
        py::arg("b"), py::arg("c"), py::arg("bias") = py::none(), py::kw_only(),
        py::arg("threshold"), py::arg("machine") = py::none(),
        "The DeviceChecksum for products of one layout, or a text that says why they cannot be "
        "checked. Tensors are given as (dtype, shape, strides); device -1 is the host.");
}

}  // namespace assay::python
