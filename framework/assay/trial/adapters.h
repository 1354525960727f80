// Makes a TrialKernel of a C++ function: of one that takes views, of one that returns a tensor,
// and, by as_kernel(), of one that takes pointers and sizes.
//
//   void softmax(TensorView x, MutableTensorView y);               // is a kernel as it is
//   std::vector<float> softmax(TensorView x);                      // too
//   void softmax(const float* x, float* y, int rows, int columns);
//   as_kernel(softmax).args("x", "y", "rows", "columns")
//   as_kernel<float, double>([](const auto* x, auto* y, int n) { ... }).args("x", "y", "size")
#pragma once

#include <cstdint>
#include <ostream>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/trial/kernel.h"

namespace assay::inline v0_2 {

// Declared in op/operator.h and machine/machine.h, which most tests of kernels need not compile.
struct Operator;
struct Machine;

namespace trial {

// Returns a kernel that has `count` inputs of the operator, in the operator's order. Optional
// inputs are there if the others are fewer than `count`. Throws Refusal, which lists the inputs, if
// the operator cannot be called with this number.
TrialKernel kernel_of_inputs(const Operator& op, std::size_t count);
// Returns a kernel that takes all inputs and all parameters of the operator.
TrialKernel kernel_of_all(const Operator& op);
// Returns the names of the first `count` inputs.
std::vector<std::string> input_names(const Operator& op, std::size_t count);

// One argument of a function that takes pointers and sizes.
struct Argument {
  enum class Kind : std::uint8_t { kInput, kOutput, kWhole, kReal };
  std::string name;
  Kind kind;
  const Format* format = nullptr;  // of a pointer's elements. nullptr for patterns of bits
  std::size_t width = 0;           // of a pointer's elements, in bytes
};
// Returns a kernel with these arguments. Throws Refusal, which lists what an argument may name, if
// a name is unknown, of another kind, or missing.
TrialKernel kernel_of_arguments(const Operator& op, const std::vector<Argument>& arguments);
// Returns "a function of (x, y, rows)", as GoogleTest prints the kernel.
std::string arguments_text(const std::vector<std::string>& names);
// Returns a kernel that calls the one of several kernels which takes the dtype of the call.
TrialKernel one_of(std::vector<TrialKernel> kernels);
// Returns the value of an argument that is not a pointer: the size or the parameter of its name.
double argument_value(const KernelCall& call, const std::string& name);
const void* input_pointer(const KernelCall& call, const std::string& name);

// The type of any input, whatever its number. nvcc does not expand a pack of numbers in an alias
// that does not use them.
template <std::size_t>
struct InputView {
  using Type = const TensorView&;
};

// Stands for an output. A MutableTensorView itself would also be taken for one more input.
struct OutputProbe {
  operator MutableTensorView() const;  // NOLINT: is never called
};
template <typename F, std::size_t... kInputs>
constexpr bool writes_output(std::index_sequence<kInputs...>) {
  return std::is_invocable_v<F&, typename InputView<kInputs>::Type..., OutputProbe>;
}
template <typename F, std::size_t... kInputs>
constexpr bool returns_output(std::index_sequence<kInputs...>) {
  return std::is_invocable_v<F&, typename InputView<kInputs>::Type...>;
}
inline constexpr std::size_t kMostInputs = 6;
// Returns the number of views that a function takes before the output, or kMostInputs + 1.
template <typename F, std::size_t kCount = 1>
constexpr std::size_t inputs_before_output() {
  if constexpr (kCount > kMostInputs || writes_output<F>(std::make_index_sequence<kCount>())) {
    return kCount;
  } else {
    return inputs_before_output<F, kCount + 1>();
  }
}
template <typename F, std::size_t kCount = 1>
constexpr std::size_t inputs_of_result() {
  if constexpr (kCount > kMostInputs || returns_output<F>(std::make_index_sequence<kCount>())) {
    return kCount;
  } else {
    return inputs_of_result<F, kCount + 1>();
  }
}

template <typename F, std::size_t... kInputs>
void call_with_output(F& f, const KernelCall& call, const std::vector<std::string>& names,
                      std::index_sequence<kInputs...>) {
  f(call.input(names[kInputs])..., call.output);
}
template <typename F, std::size_t... kInputs>
void call_for_result(F& f, const KernelCall& call, const std::vector<std::string>& names,
                     std::index_sequence<kInputs...>) {
  const auto result = f(call.input(names[kInputs])...);
  if constexpr (requires { view(result); }) {
    const TensorView flat = view(result);
    // A vector has no shape: its elements are those of the output in row-major order.
    const bool has_shape = flat.shape.size() != 1 || flat.shape == call.output.shape ||
                           flat.size() != call.output.size();
    copy_elements(has_shape ? flat : view_bytes(flat.data, *flat.format, call.output.shape),
                  call.output);
  } else {
    const auto evaluated = result.eval();
    copy_elements(view(evaluated), call.output);
  }
}

// The types of the arguments of a function or of an object with one operator().
template <typename F>
struct ArgumentTypes {
  using Types = typename ArgumentTypes<decltype(&F::operator())>::Types;
};
template <typename R, typename... A>
struct ArgumentTypes<R (*)(A...)> {
  using Types = std::tuple<A...>;
};
template <typename R, typename... A>
struct ArgumentTypes<R (*)(A...) noexcept> : ArgumentTypes<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct ArgumentTypes<R (C::*)(A...) const> : ArgumentTypes<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct ArgumentTypes<R (C::*)(A...)> : ArgumentTypes<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct ArgumentTypes<R (C::*)(A...) const noexcept> : ArgumentTypes<R (*)(A...)> {};
template <typename C, typename R, typename... A>
struct ArgumentTypes<R (C::*)(A...) noexcept> : ArgumentTypes<R (*)(A...)> {};

template <typename T>
Argument argument_of(const std::string& name) {
  if constexpr (std::is_pointer_v<T>) {
    using E = std::remove_cv_t<std::remove_pointer_t<T>>;
    Argument argument{name, std::is_const_v<std::remove_pointer_t<T>> ? Argument::Kind::kInput
                                                                      : Argument::Kind::kOutput};
    if constexpr (!std::is_void_v<E>) argument.width = sizeof(E);
    if constexpr (Element<E>) argument.format = &FormatOf<E>::get();
    return argument;
  } else {
    static_assert(std::is_arithmetic_v<T>,
                  "the arguments of as_kernel() are pointers and numbers; a function that takes "
                  "other things needs a lambda around it that takes assay::TensorView");
    return {name, std::is_floating_point_v<T> ? Argument::Kind::kReal : Argument::Kind::kWhole};
  }
}
template <typename T>
T argument_in(const KernelCall& call, const std::string& name) {
  if constexpr (!std::is_pointer_v<T>) {
    return static_cast<T>(argument_value(call, name));
  } else if constexpr (std::is_const_v<std::remove_pointer_t<T>>) {
    return static_cast<T>(input_pointer(call, name));
  } else {
    return static_cast<T>(static_cast<void*>(call.output.data));
  }
}

// A function of pointers and sizes with the names of its arguments.
template <typename F, typename Types>
class NamedArguments {
 public:
  NamedArguments(F f, std::vector<std::string> names)
      : f_(std::move(f)), names_(std::move(names)) {}
  TrialKernel kernel(const Operator& op) const {
    return made(op, std::make_index_sequence<std::tuple_size_v<Types>>());
  }

 private:
  template <std::size_t... kArguments>
  TrialKernel made(const Operator& op, std::index_sequence<kArguments...>) const {
    TrialKernel kernel = kernel_of_arguments(
        op, {argument_of<std::tuple_element_t<kArguments, Types>>(names_[kArguments])...});
    kernel.call = [f = f_, names = names_](const KernelCall& call) mutable {
      f(argument_in<std::tuple_element_t<kArguments, Types>>(call, names[kArguments])...);
    };
    return kernel;
  }
  F f_;
  std::vector<std::string> names_;

  friend void PrintTo(const NamedArguments& kernel, std::ostream* os) {
    *os << arguments_text(kernel.names_);
  }
};

// The types of the arguments of a generic function for elements E. Each of its template parameters,
// of which there are at most 6, is E.
template <typename F, typename E, typename... More>
constexpr auto generic_argument_types() {
  if constexpr (requires { &F::template operator()<E, More...>; }) {
    return typename ArgumentTypes<decltype(&F::template operator()<E, More...>)>::Types();
  } else {
    static_assert(sizeof...(More) < 6,
                  "as_kernel<float>(f) needs a generic function whose template parameters are all "
                  "types of elements");
    return generic_argument_types<F, E, E, More...>();
  }
}

// A generic function of pointers and sizes, for some types of elements.
template <typename F, typename... Elements>
class GenericArguments {
 public:
  GenericArguments(F f, std::vector<std::string> names)
      : f_(std::move(f)), names_(std::move(names)) {}
  TrialKernel kernel(const Operator& op) const {
    return one_of({NamedArguments<F, decltype(generic_argument_types<F, Elements>())>(f_, names_)
                       .kernel(op)...});
  }

 private:
  F f_;
  std::vector<std::string> names_;

  friend void PrintTo(const GenericArguments& kernel, std::ostream* os) {
    *os << arguments_text(kernel.names_);
  }
};

}  // namespace trial

// A function of pointers and sizes that still needs the names of its arguments.
template <typename F, typename... Elements>
class FunctionOfPointers {
 public:
  explicit FunctionOfPointers(F f) : f_(std::move(f)) {}

  // Names the arguments in their order. A pointer is an input of the operator or its output, which
  // is "y", "output" or the name in the operator's row. A whole number is a size or a parameter: a
  // dimension as `assay list operators` names it (M, K, N), "rows" and "columns" of the first input
  // (all of its dimensions but the last, and the last), "size" (the number of its elements),
  // "batch", or a dimension such as "x.0" or "x.-1". A real number is a parameter.
  template <typename... Names>
  auto args(Names&&... names) const {
    if constexpr (sizeof...(Elements) > 0) {
      return trial::GenericArguments<F, Elements...>(f_, {std::string(names)...});
    } else {
      using Types = typename trial::ArgumentTypes<F>::Types;
      static_assert(sizeof...(Names) == std::tuple_size_v<Types>,
                    "args() needs one name for each argument of the function");
      return trial::NamedArguments<F, Types>(f_, {std::string(names)...});
    }
  }

 private:
  F f_;
};

// Returns the function, whose args() names its arguments. A generic function needs the types of its
// elements, as in as_kernel<float, double>(f).
template <typename... Elements, typename F>
FunctionOfPointers<std::decay_t<F>, Elements...> as_kernel(F&& f) {
  return FunctionOfPointers<std::decay_t<F>, Elements...>(std::forward<F>(f));
}

// Returns a kernel that emulates an operator on a machine. It does not support inputs that the
// machine cannot compute. The machine must outlive the kernel.
TrialKernel emulated_kernel(const Operator& op, const Machine& machine);

// Returns the kernel that a function is for an operator. Throws Refusal if the number of its
// arguments does not fit the operator.
template <typename F>
TrialKernel kernel_of(F& f, const Operator& op) {
  if constexpr (requires { f.kernel(op); }) {
    return f.kernel(op);
  } else if constexpr (std::is_same_v<std::remove_cv_t<F>, TrialKernel>) {
    return f;
  } else if constexpr (std::is_invocable_v<F&, const KernelCall&>) {
    TrialKernel kernel = trial::kernel_of_all(op);
    kernel.call = [&f](const KernelCall& call) { f(call); };
    return kernel;
  } else if constexpr (trial::inputs_before_output<F>() <= trial::kMostInputs) {
    constexpr std::size_t kCount = trial::inputs_before_output<F>();
    TrialKernel kernel = trial::kernel_of_inputs(op, kCount);
    kernel.call = [&f, names = trial::input_names(op, kCount)](const KernelCall& call) {
      trial::call_with_output(f, call, names, std::make_index_sequence<kCount>());
    };
    return kernel;
  } else {
    constexpr std::size_t kCount = trial::inputs_of_result<F>();
    static_assert(kCount <= trial::kMostInputs,
                  "a kernel is a function of assay::TensorView for each input and "
                  "assay::MutableTensorView for the output, one that returns a tensor, or "
                  "as_kernel(f).args(...) for a function of pointers and sizes");
    TrialKernel kernel = trial::kernel_of_inputs(op, kCount);
    kernel.returns_output = true;
    kernel.takes_out_strides = false;
    kernel.call = [&f, names = trial::input_names(op, kCount)](const KernelCall& call) {
      trial::call_for_result(f, call, names, std::make_index_sequence<kCount>());
    };
    return kernel;
  }
}

}  // namespace assay
