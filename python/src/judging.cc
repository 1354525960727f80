// The functions compare, assert_close, assert_product and judge_case, which take arrays and return
// verdicts or raise their errors.
#include <algorithm>
#include <map>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/device/device_judge.h"
#include "assay/gate/close_to.h"
#include "assay/gate/product_gate.h"
#include "assay/judge/standards_file.h"
#include "assay/report.h"
#include "case.h"
#include "module.h"

namespace assay::inline v0_2::python {
namespace {

// The most bytes of two arrays together for which copies are kept until their metrics are needed.
// For larger arrays the metrics are computed at once, because the arrays may change afterwards.
constexpr std::int64_t kKept = 64 << 10;

constexpr std::string_view kAdvice = "; give rtol= and atol=, or another standard=";

std::vector<std::string> words_of(const py::object& standard) {
  if (standard.is_none()) return {};
  if (py::isinstance<py::str>(standard)) return {standard.cast<std::string>()};
  try {
    return standard.cast<std::vector<std::string>>();
  } catch (const py::cast_error&) {
    throw py::type_error(
        formatted("standard must be a name or a list of names, not {}", repr_of(standard)));
  }
}

// Removes the keywords for bounds from `options` and returns them as GateRequest::bounds. compare,
// assert_close and judge_case accept these keywords.
BoundRequest take_bounds(py::dict& options) {
  BoundRequest request;
  request.origin = "command";
  if (options.empty()) return request;
  request.standards = words_of(taken(options, "standard"));
  request.rtol = taken_as<double>(options, "rtol");
  request.atol = taken_as<double>(options, "atol");
  for (const auto& [name, value] :
       {std::pair{"rtol", request.rtol}, std::pair{"atol", request.atol}}) {
    if (value && !(*value >= 0)) {
      throw py::value_error(formatted("{}: a tolerance is a number of at least 0, not {}", name,
                                      number_text(*value)));
    }
  }
  request.equal_nan = taken_as<bool>(options, "equal_nan");
  request.max_mismatches = taken_as<std::int64_t>(options, "max_mismatches");
  request.max_mismatch_fraction = taken_as<double>(options, "max_mismatch_fraction");
  request.max_blind = taken_as<double>(options, "max_blind");
  if (const auto infinity = taken_as<std::string>(options, "infinity")) {
    request.infinity = infinity_named(*infinity, "infinity");
  }
  if (const py::object standards = taken(options, "standards"); !standards.is_none()) {
    request.custom = read_standards(path_of(standards));
  }
  request.nan_accepts = taken_as<bool>(options, "nan_accepts").value_or(false);
  request.allow_empty = taken_as<bool>(options, "allow_empty").value_or(false);
  check_request(request);
  return request;
}

// Removes a keyword of any type from `options` and returns its value as text. True becomes "True".
std::optional<std::string> take_word(py::dict& options, const char* name) {
  const py::object value = taken(options, name);
  return value.is_none() ? std::nullopt : std::optional(str_of(value));
}

int take_threads(py::dict& options) {
  const int threads = taken_as<int>(options, "threads").value_or(0);
  if (threads >= 0) return threads;
  throw py::value_error(formatted("threads must be at least 0 (0 means all), not {}", threads));
}

struct Sides {
  Array actual, expected;
  std::string copied;  // a note if a side was copied from a device, or an empty string
  std::optional<Array>
      reference_implementation;  // a third party's output, with which some standards compare

  std::optional<TensorView> reference_view() const {
    return reference_implementation ? std::optional(reference_implementation->view) : std::nullopt;
  }
};

Sides sides_of(const py::object& actual, const py::object& expected, py::dict& options) {
  const auto dtype = dtype_word(taken(options, "dtype")),
             golden_dtype = dtype_word(taken(options, "golden_dtype"));
  Sides sides{named_array("actual", actual, dtype, true), {}, "", std::nullopt};
  // An array that is compared with itself is recognized by its address, and stays one copy.
  const bool is_itself = actual.is(expected) && is_on_device(actual) && dtype == golden_dtype;
  sides.expected = is_itself ? sides.actual : named_array("expected", expected, golden_dtype, true);
  for (const auto& [name, object] :
       {std::pair{"actual", actual}, std::pair{"expected", expected}}) {
    if (!is_on_device(object)) continue;
    sides.copied = formatted("judged on the host, to which {} was copied from {}", name,
                             str_of(py::getattr(object, "device", py::str("its device"))));
  }
  const py::object reference = taken(options, "reference_implementation");
  if (!reference.is_none()) {
    const bool is_tensor = py::isinstance<Array>(reference);
    sides.reference_implementation =
        named_array("reference_implementation", reference, is_tensor ? std::nullopt : dtype);
  }
  return sides;
}

// The two arrays of a comparison in the memory of a CUDA device.
struct DeviceSides {
  DeviceArrayView actual, expected;

  std::vector<Verdict> judged(const GateRequest& request) const {
    return gate_tensors(actual.view, expected.view, request, kAdvice);
  }
};
// Returns nothing if the arrays are not both on a device, or if a keyword says how to read them.
std::optional<DeviceSides> device_sides(const py::object& actual, const py::object& expected,
                                        py::dict& options) {
  if (!is_on_device(actual) || !is_on_device(expected)) return {};
  for (const char* const how : {"dtype", "golden_dtype", "reference_implementation"}) {
    if (options.contains(how) && !options[how].is_none()) return {};
  }
  for (const char* const how : {"dtype", "golden_dtype", "reference_implementation"}) {
    taken(options, how);
  }
  auto a = device_array_of("actual", actual), e = device_array_of("expected", expected);
  if (!a || !e) return {};
  return DeviceSides{std::move(*a), std::move(*e)};
}

std::int64_t bytes_of(const TensorView& v) { return v.size() * v.format->storage_bytes; }

// Returns why a third party's output cannot serve a standard. Returns an empty string if it can, or
// if the standard needs none.
std::string why_no_reference(const Bound& bound, const TensorView& actual,
                             const std::optional<TensorView>& reference_implementation) {
  if (!bound.needs_reference()) return "";
  if (!reference_implementation) {
    return formatted(
        "the standard {} compares with a third party's output of the same case, but none is given; "
        "give reference_implementation=ARRAY",
        bound.standard);
  }
  return reference_implementation->data == actual.data
             ? "reference_implementation: an output cannot be its own reference implementation"
             : "";
}

// Returns the verdicts of arrays, one for each standard, with metrics if they are requested, and
// with this number of the worst elements.
std::vector<Verdict> judged(const TensorView& actual, const TensorView& expected,
                            const std::optional<TensorView>& reference_implementation,
                            const GateRequest& request, std::size_t worst = JudgeOptions{}.worst) {
  const FloatEnvironment environment;
  std::vector<ElementCheck> checks =
      tensor_checks(*actual.format, *expected.format, request, kAdvice);
  bool uses_reference = false;
  for (ElementCheck& check : checks) {
    if (!check.bound) continue;
    uses_reference = uses_reference || check.bound->needs_reference();
    if (check.why_not.empty())
      check.why_not = why_no_reference(*check.bound, actual, reference_implementation);
  }
  if (reference_implementation && !uses_reference) {
    refuse(
        "reference_implementation is given, but no requested standard compares with a third "
        "party's output; leave it out, or request such a standard, for example cann_l0");
  }
  return judge_by(checks, actual, expected,
                  {.metrics = request.metrics,
                   .worst = worst,
                   .threads = request.threads,
                   .reference_implementation = reference_implementation});
}

// Returns the row-major positions of all mismatches.
std::vector<std::int64_t> mismatches_of(const TensorView& actual, const TensorView& expected,
                                        const std::optional<TensorView>& reference_implementation,
                                        GateRequest request) {
  request.metrics = request.patterns = false;
  const auto all = static_cast<std::size_t>(actual.size());
  const Verdict verdict = judged(actual, expected, reference_implementation, request, all).front();
  std::vector<std::int64_t> positions;
  for (const Mismatch& m : verdict.worst) positions.push_back(m.linear);
  std::ranges::sort(positions);
  return positions;
}

LazyVerdict compare(const py::object& actual, const py::object& expected,
                    const py::kwargs& keywords) {
  py::dict options = py::reinterpret_borrow<py::dict>(keywords);
  const bool metrics = taken_as<bool>(options, "metrics").value_or(true);
  const bool mask = taken_as<bool>(options, "mask").value_or(false);
  std::optional<DeviceSides> device;
  if (!metrics && !mask) device = device_sides(actual, expected, options);
  const Sides sides = device ? Sides() : sides_of(actual, expected, options);
  GateRequest request{.bounds = take_bounds(options)};
  request.threads = take_threads(options);
  refuse_rest(options, "compare()");
  if (request.bounds.standards.size() > 1) {
    throw py::value_error("compare() judges by one standard; assert_close() takes several");
  }
  if (device) {
    request.metrics = false;
    return without_lock([&] { return LazyVerdict(device->judged(request).front()); });
  }
  // Returns the verdict with a note about arrays that were copied.
  const auto noted = [copied = sides.copied](std::vector<Verdict> verdicts) {
    if (!copied.empty()) verdicts.front().notes.push_back(copied);
    return std::move(verdicts.front());
  };
  const TensorView &a = sides.actual.view, &e = sides.expected.view;
  const std::optional<TensorView> b = sides.reference_view();
  const Unlocked unlocked;
  const bool small = bytes_of(a) + bytes_of(e) <= kKept;
  request.metrics = metrics && !small;
  LazyVerdict verdict(noted(judged(a, e, b, request)));
  if (mask) {
    const auto positions = mismatches_of(a, e, b, request);
    verdict.set_positions([positions] { return positions; });
  }
  if (!small || a.shape != e.shape) return verdict;
  // If both sides are the same bytes, the copies are shared, because a comparison of an array with
  // itself is recognized by its address.
  auto kept_a = std::make_shared<const Tensor>(copy_of(a));
  auto kept_e = a.data == e.data && a.format == e.format && a.strides == e.strides
                    ? kept_a
                    : std::make_shared<const Tensor>(copy_of(e));
  const auto kept_b =
      b && b->data == a.data ? kept_a : std::make_shared<const Tensor>(b ? copy_of(*b) : Tensor());
  request.metrics = true;
  const auto third = [kept_b] {
    return kept_b->empty() ? std::nullopt : std::optional(kept_b->view());
  };
  if (!mask) {
    verdict.set_positions([kept_a, kept_e, third, request] {
      return mismatches_of(*kept_a, *kept_e, third(), request);
    });
  }
  if (metrics) {
    verdict.set_whole([kept_a, kept_e, third, request, noted] {
      return noted(judged(*kept_a, *kept_e, third(), request));
    });
  }
  return verdict;
}

void assert_close(const py::object& actual, const py::object& expected,
                  const py::kwargs& keywords) {
  py::dict options = py::reinterpret_borrow<py::dict>(keywords);
  const std::optional<DeviceSides> device = device_sides(actual, expected, options);
  const Sides sides = device ? Sides() : sides_of(actual, expected, options);
  const TensorView &a = device ? device->actual.view.layout : sides.actual.view,
                   &e = device ? device->expected.view.layout : sides.expected.view;
  const std::optional<TensorView> b = sides.reference_view();
  const auto judged_by = [&](const GateRequest& by) {
    return device ? device->judged(by) : judged(a, e, b, by);
  };
  GateRequest request{.bounds = take_bounds(options)};
  request.threads = take_threads(options);
  refuse_rest(options, "assert_close()");
  const std::string overridden = override_by_environment(request.bounds);
  say_override(overridden);
  Outcome outcome;
  std::string text;
  Verdict deciding;
  {
    const Unlocked unlocked;
    request.metrics = request.patterns = false;
    outcome = worst_outcome(judged_by(request));
    if (outcome == Outcome::kPass) return;
    request.metrics = request.patterns = true;
    const std::vector<Verdict> verdicts = judged_by(request);
    const auto decides = std::ranges::find(verdicts, worst_outcome(verdicts), &Verdict::outcome);
    const FloatEnvironment environment;
    const std::string what =
        formatted("the {} reference of shape {}", e.format->name, shape_text(e.shape));
    text = formatted("Expected: {}\n  Actual: {} {}, which {}: {}{}",
                     closeness_text(request.bounds, what, false, overridden, false), a.format->name,
                     shape_text(a.shape), outcome_verb(outcome), explain(*decides),
                     override_line(overridden));
    deciding = *decides;
  }
  raise_unless_pass(outcome, text, py::cast(LazyVerdict(std::move(deciding))));
}

AbftVerdict check_product(const py::object& c, const py::object& a, const py::object& b,
                          const py::object& bias, bool transpose_a, bool transpose_b,
                          const std::string& threshold, const std::optional<std::string>& machine,
                          const py::object& accumulator, const py::object& residual,
                          const py::object& dtype) {
  const Array output = named_array("c", c, dtype_word(dtype));
  const Array left = named_array("a", a), right = named_array("b", b);
  const auto optional_array = [](const char* name, const py::object& given) {
    return given.is_none() ? std::nullopt : std::optional(named_array(name, given));
  };
  const std::optional<Array> added = optional_array("bias", bias),
                             before = optional_array("accumulator", accumulator),
                             sums = optional_array("residual", residual);
  const Unlocked unlocked;
  GateRequest request{.elements = false, .checksums = parse_threshold(threshold)};
  if (machine) request.machine = &machine_named(*machine);
  ProductOperands product{.name = "product",
                          .a = left.view,
                          .b = right.view,
                          .transpose_a = transpose_a,
                          .transpose_b = transpose_b};
  if (added) product.bias = added->view;
  const std::optional<Array>& beside = before ? before : sums;
  if (!beside) return gate_product(product, output.view, request);
  const Tensor packed = beside->view.is_contiguous() ? Tensor() : copy_of(beside->view);
  const TensorView values = packed.empty() ? beside->view : packed.view();
  return gate_product(product, output.view, request,
                      before ? Residual::accumulator(values) : Residual::sums(values));
}

// Returns a function that raises the error of the verdict that `check` returns.
template <typename... Arguments>
auto asserted(AbftVerdict (*check)(Arguments...)) {
  return [check](Arguments... arguments) {
    const AbftVerdict verdict = check(arguments...);
    if (verdict.outcome != Outcome::kPass) {
      raise_unless_pass(verdict.outcome, explain(verdict), py::cast(verdict));
    }
  };
}

// Returns the producer to judge if the caller names none.
std::string only_producer(const Case& c, const std::vector<std::string>& names,
                          const std::optional<std::string>& producer) {
  if (producer) return *producer;
  if (names.size() == 1) return names.front();
  refuse_case(c.name, names.empty() ? "it has no recorded output; give one"
                                    : formatted("it has outputs of {}; choose one with producer=",
                                                joined(names)));
}

// Returns the outputs that producers recorded.
std::map<std::string, TensorView> recorded_in(const MadeCase& made, const CaseOutput& of) {
  std::map<std::string, TensorView> all;
  for (const auto& [producer, array] : made.outputs) all.emplace(producer, array.view);
  for (const auto& [producer, recorded] : of.recorded) {
    if (!recorded.tensor.empty()) all.emplace(producer, recorded.tensor.view());
  }
  return all;
}

CaseReport judge_case(const py::object& given, const py::object& output,
                      const py::kwargs& keywords) {
  py::dict options = py::reinterpret_borrow<py::dict>(keywords);
  const Case header = header_of(given);
  const auto producer = take_word(options, "producer"), part = take_word(options, "output_name"),
             machine = take_word(options, "machine"), abft = take_word(options, "abft"),
             reference_implementation = take_word(options, "reference_implementation"),
             dtype = dtype_word(taken(options, "dtype"));
  std::optional<Array> array;
  if (!output.is_none()) array = named_array("output", output, dtype);
  GateRequest request{.bounds = take_bounds(options)};
  request.threads = take_threads(options);
  refuse_rest(options, "judge_case()");
  if (abft && *abft != "False") {
    request.checksums = parse_threshold(*abft == "True" ? kDefaultThreshold : *abft);
  }
  if (machine) request.machine = &machine_named(*machine);
  request.reference_implementation = reference_implementation.value_or("");
  // Recorded outputs are judged in place. Inputs are copied only if something needs them.
  const MadeCase made = case_of(given, {.inputs = needs_inputs(header, request), .outputs = false});
  const Unlocked unlocked;
  const FloatEnvironment environment;
  const Case& c = made.test_case;
  const std::string output_name = part ? *part : c.output_name();
  if (!c.has_output(output_name))
    (void)c.only(output_name);  // throws an error that lists the case's outputs
  const std::map<std::string, TensorView> recorded = recorded_in(made, c.outputs.at(output_name));
  Origin origin{.producer = producer.value_or("")};
  TensorView view;
  if (array) {
    view = made.resolve(array->view);
    if (!producer) origin.producer = made.producer_of(array->view);
  } else {
    origin.producer = only_producer(c, keys_of(recorded), producer);
    const auto found = recorded.find(origin.producer);
    if (found == recorded.end()) {
      refuse_case(c.name, "no recorded output of '{}'", origin.producer);
    }
    view = found->second;
  }
  origin.recorded = [&recorded] {
    std::vector<RecordedOutput> all;
    for (const auto& [name, tensor] : recorded) {
      all.push_back({name, [&where = tensor] { return copy_of(where); }});
    }
    return all;
  };
  return gate_case(c, output_name, view, request, origin);
}

constexpr const char* kBoundWords =
    "standard: a name of list_standards() (several: all must pass); the default\n"
    "    is the standard `default`.\n"
    "rtol, atol: |actual - expected| <= atol + rtol |expected|, over the standard's.\n"
    "equal_nan, infinity ('sign', 'saturating', 'fewer'), nan_accepts, allow_empty,\n"
    "max_mismatches, max_mismatch_fraction, max_blind: as `assay gate --help` has them.\n"
    "standards: a JSON file of further standards. threads: 0 for all.\n"
    "Raises TypeError and ValueError, which name the argument, and FileError of `standards`.\n";

}  // namespace

void define_judging(py::module_& m) {
  static const std::string sides =
      "actual, expected: whatever Tensor.of takes, of one shape, on the CPU; neither is copied.\n"
      "dtype, golden_dtype: the formats of their bit patterns, where their dtypes do not say it.\n"
      "reference_implementation: a third party's output of the same case, which standards such as "
      "cann_l0 compare with.\n";
  m.def("compare", &compare, py::arg("actual"), py::arg("expected"),
        ("The Verdict of an output against its reference, element by element.\n\n" + sides +
         kBoundWords +
         "metrics: False, where nobody asks for error metrics, which take time. "
         "mask: True, for the verdict's mask of large arrays.")
            .c_str());
  m.def("assert_close", &assert_close, py::arg("actual"), py::arg("expected"),
        ("Raises AssertionError, with the text of the C++ matcher CloseTo, unless the output is "
         "close to its reference; Untrusted where the check could not have failed, NotComparable "
         "where there is nothing to compare.\n\n" +
         sides + kBoundWords +
         "The environment's ASSAY_STANDARD, ASSAY_RTOL, ASSAY_ATOL and ASSAY_EQUAL_NAN go over "
         "these.")
            .c_str());
  const auto define_product = [&](const char* name, const auto& function, const char* what) {
    m.def(name, function, py::arg("c"), py::arg("a"), py::arg("b"), py::arg("bias") = py::none(),
          py::kw_only(), py::arg("transpose_a") = false, py::arg("transpose_b") = false,
          py::arg("threshold") = std::string(kDefaultThreshold), py::arg("machine") = py::none(),
          py::arg("accumulator") = py::none(), py::arg("residual") = py::none(),
          py::arg("dtype") = py::none(), what);
  };
  define_product("check_product", &check_product,
                 "The AbftVerdict of c = a b + bias by checksums: no golden result is needed.\n\n"
                 "a: (..., M, K), b: (..., K, N), each stored transposed where that is said; bias: "
                 "(N).\nthreshold: a name of list_thresholds(), with parameters as in "
                 "'v_abft,variant=recalibrated'.\nmachine: the one that computed c.\n"
                 "accumulator, residual: what residual_compensated takes (docs/abft.md).");
  define_product(
      "assert_product", asserted(&check_product),
      "Raises AssertionError unless check_product() passes, Untrusted or NotComparable.");
  m.def("judge_case", &judge_case, py::arg("case"), py::arg("output") = py::none(),
        ("The CaseReport of an output of a Case, by the case's own bound unless another is asked "
         "for.\n\noutput: an array; None: the one recorded by producer=. output_name: which one, "
         "of a case with several outputs. machine: the one that computed it. abft: True or a "
         "threshold: by checksums as well. reference_implementation: the producer that "
         "dual-benchmark standards compare with.\n" +
         std::string(kBoundWords))
            .c_str());
}

}  // namespace assay::python
