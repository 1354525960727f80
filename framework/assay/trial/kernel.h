// The kernel under trial: a function that computes one operator, and what is known of the inputs
// that it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <new>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/error.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

// Declared in cases/case.h, which most tests of kernels need not compile.
struct Case;

// A view of memory that a kernel writes to.
struct MutableTensorView {
  std::byte* data = nullptr;
  const Format* format = nullptr;
  Shape shape = {};
  Strides strides = {};

  TensorView view() const { return {data, format, shape, strides}; }
  operator TensorView() const { return view(); }  // NOLINT: a reader sees a view
  std::int64_t size() const { return element_count(shape); }
  // Returns the address of the first element. T must be as wide as an element.
  template <typename T>
  T* as() const {
    return reinterpret_cast<T*>(data);
  }
};

// Returns the address of a view's first element. T must be as wide as an element.
template <typename T>
const T* elements(const TensorView& view) {
  return reinterpret_cast<const T*>(view.data);
}

// An output has another shape or dtype than the operator's result.
class WrongOutput : public Refusal {
 public:
  using Refusal::Refusal;
};

// Copies the elements of a tensor to an output of the same shape and format, whatever the strides
// of both. Throws WrongOutput, which says what came and what was expected, if they differ.
void copy_elements(const TensorView& from, const MutableTensorView& to);

// A kernel throws this for an input that it does not support, such as a shape or dtype. The trial
// counts such inputs and reports them. They are neither failures nor passes.
class NotSupported : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

namespace trial {

// assay itself lacks memory for a call. That is no finding about a kernel, and it ends the trial.
class OutOfMemory : public std::bad_alloc {};

}  // namespace trial

// One call of a kernel: the inputs by name, the operator's attributes, and the output to write.
struct KernelCall {
  // The case without its tensors: operator and attributes (assay/case.h).
  const Case& test_case;
  std::map<std::string, TensorView> inputs;
  MutableTensorView output;

  // Returns an input. Throws Refusal if the call does not have it.
  const TensorView& input(const std::string& name) const;
  bool has(const std::string& name) const { return inputs.count(name) != 0; }
  // Return the value of an attribute, such as a parameter of the operator, or nothing if the case
  // does not have it. Throw Refusal if the attribute has another type.
  std::optional<std::string> text(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> real(std::string_view name) const;
  std::optional<bool> flag(std::string_view name) const;
};

// The end of a call.
struct CallEnd {
  enum class How : std::uint8_t {
    kDone,
    kNotSupported,  // the kernel threw NotSupported
    kThrew,         // the kernel threw something else, or a program exited with an error
    kCrashed,       // the process was ended by a signal
    kHung,          // the call took longer than its limit
    kWrongOutput,   // a program wrote no output, or one of another shape or dtype
  };
  How how = How::kDone;
  std::string text = {};  // the reason, unless it is kDone
  // The input whose file a program changed or removed, or an empty string.
  std::string changed_input = {};
};

// A kernel, with the inputs that it takes. The functions that make one are in trial/adapters.h.
struct TrialKernel {
  std::string name = "the kernel";  // for reports
  std::function<void(const KernelCall&)> call = {};
  // For programs: makes all of the calls, at most `together` of them, and returns how each ended.
  // If it is set, `call` is not used.
  std::function<std::vector<CallEnd>(std::span<const KernelCall>)> call_all = {};
  std::size_t together = 1;
  // False if each call starts a process of its own. No call can then depend on an earlier one, and
  // none is made to find that out.
  bool keeps_state = true;

  // The dtypes of inputs and of the output that the kernel takes. Without `dtypes`, the options of
  // the trial name them. Without `output_dtype`, the output has the operator's default dtype.
  std::vector<std::string> dtypes = {};
  std::string output_dtype = {};
  // The parameters of the operator that the kernel takes. The others keep their default values.
  std::set<std::string> parameters = {};
  std::set<std::string> always = {};     // optional inputs that every call has
  std::set<std::string> sometimes = {};  // optional inputs that some calls have
  // The ranks of the first input.
  int least_rank = 1, most_rank = 4;
  bool takes_strides = false;      // the inputs may have strides
  bool takes_out_strides = false;  // the output may have strides
  bool takes_offsets = true;       // memory needs no more alignment than an element
  bool takes_empty = true;         // sizes may be 0
  // True if the kernel returns memory of its own. Then nothing can be said about elements that it
  // does not write and about writes outside the output.
  bool returns_output = false;
  // Explains why memory layouts and other things are not tried, for the report.
  std::vector<std::string> not_tried = {};
};

}  // namespace assay
