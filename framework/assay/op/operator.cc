#include "assay/op/operator.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <mutex>
#include <utility>

#include "assay/base/constants.h"
#include "assay/base/error.h"
#include "assay/base/float_environment.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/cases/epilogue.h"
#include "assay/op/attention.h"
#include "assay/op/cast.h"
#include "assay/op/deform_roi_pool.h"
#include "assay/op/dot_operator.h"
#include "assay/op/elementwise_operators.h"
#include "assay/op/function.h"
#include "assay/op/matmul.h"
#include "assay/op/norm.h"
#include "assay/op/quantize.h"
#include "assay/op/reduce.h"
#include "assay/op/registered.h"
#include "assay/op/scaled_matmul.h"
#include "assay/op/sum_bound.h"

namespace assay::inline v0_2 {
namespace {

// The families in the order in which the table lists them. Each family provides its own rows.
constexpr std::vector<Operator> (*kFamilies[])() = {
    matmul_operators,          dot_operators,  scaled_matmul_operators, quantize_operators,
    deform_roi_pool_operators, cast_operators, elementwise_operators,   function_operators,
    reduce_operators,          norm_operators, attention_operators};

// A team registers at most this many operators.
constexpr std::size_t kMostRegistered = 1024;

// Threads read the first `count` rows while another one adds a row. The vector never reallocates,
// so rows keep their addresses.
struct Table {
  std::vector<Operator> rows;
  std::size_t own = 0;                // number of assay's own rows; a team's rows come after them
  std::atomic<std::size_t> count{0};  // number of rows that others may read
  std::mutex adding;

  Table() {
    for (const auto family : kFamilies) {
      std::vector<Operator> more = family();
      std::move(more.begin(), more.end(), std::back_inserter(rows));
    }
    own = rows.size();
    rows.reserve(own + kMostRegistered);
    count = own;
  }
};

// Made on first use, so that a team may register from a static initialiser.
Table& table() {
  static Table made;
  return made;
}

bool is_registered(const Operator& op) {
  const std::span<const Operator> registered = operators().subspan(table().own);
  return std::ranges::any_of(registered, [&](const Operator& row) { return &row == &op; });
}

// Returns the row of the case's operator, after checking the case's parameters.
const Operator& operator_of(const Case& c) {
  if (const Operator* found = find_operator(c.op)) {
    check_parameters(c, *found);
    return *found;
  }
  const std::vector<std::string> names = names_of(operators());
  refuse_case(c.name, "assay does not emulate the operator '{}'{}; it emulates {}", c.op,
              did_you_mean_aside(c.op, names), joined(names));
}

// Runs `run`, and adds the name of the case to errors of machines and formats, which do not know
// the case.
template <typename Run>
Tensor naming(const Case& c, const Run& run) {
  try {
    return run();
  } catch (const CaseError&) {
    throw;
  } catch (const Refusal& e) {
    refuse_case(c.name, e.what());
  }
}

template <typename Code>
void clear_signs(Tensor& tensor, std::int64_t count, Code sign, Code least_nan, int threads) {
  auto* codes = reinterpret_cast<Code*>(tensor.bytes());
  parallel_ranges(count, threads, [&](std::int64_t begin, std::int64_t of_these) {
    for (std::int64_t i = begin; i < begin + of_these; ++i) {
      const auto size = static_cast<Code>(codes[i] & ~sign);
      codes[i] = size >= least_nan ? size : codes[i];
    }
  });
}

// Clears the sign of each NaN, for formats whose NaNs have a sign.
Tensor with_positive_nans(Tensor result, int threads) {
  const Format& part = part_format(result.format());
  if (part.specials != Specials::kInfNan && part.specials != Specials::kNanOnly) return result;
  if (!part.is_float()) return result;
  const std::uint64_t sign = encode(part, -0.0);
  const std::uint64_t least =
      part.specials == Specials::kInfNan ? encode(part, kInfinity) + 1 : encode(part, kNan);
  const std::int64_t count = result.size() * (result.format().is_complex() ? 2 : 1);
  const auto clear = [&](auto code) {
    using Code = decltype(code);
    clear_signs(result, count, static_cast<Code>(sign), static_cast<Code>(least), threads);
  };
  switch (part.storage_bytes) {
    case 1:
      clear(std::uint8_t{});
      break;
    case 2:
      clear(std::uint16_t{});
      break;
    case 4:
      clear(std::uint32_t{});
      break;
    default:
      clear(std::uint64_t{});
  }
  return result;
}

// Returns a result of assay's own code with NaNs that are the same on every host.
Tensor portable_result(const Operator& op, Tensor result, int threads) {
  return op.keeps_nan_signs || is_registered(op) ? std::move(result)
                                                 : with_positive_nans(std::move(result), threads);
}

// Returns the dtype of an input. It looks first at the inputs a, q and x, where an 8-bit float
// counts as float32, then at any other input, then at the golden result.
const Format& format_of_any_input(const Case& c) {
  for (const char* first : {"a", "q", "x"}) {
    const Format* f = c.input_format(first);
    if (f == nullptr) continue;
    return f->is_float() && f->bits == 8 ? format_named("float32") : *f;
  }
  if (!c.inputs.empty()) return c.inputs.begin()->second.format();
  if (!c.unread_inputs.empty()) return *c.unread_inputs.begin()->second;
  return c.golden_tensor().format();
}

}  // namespace

void register_operator(const Operator& row) {
  Table& t = table();
  const std::lock_guard lock(t.adding);
  if (const Operator* taken = find_operator(row.name)) {
    refuse_row(row,
               is_registered(*taken) ? "it is registered already" : "assay has one of that name");
  }
  check_row(row);
  if (t.count == t.own + kMostRegistered) {
    refuse_row(row, formatted("{} operators are registered already", kMostRegistered));
  }
  t.rows.push_back(row);
  ++t.count;
}

std::span<const Operator> operators() {
  const Table& t = table();
  return {t.rows.data(), t.count};
}

const Operator* find_operator(std::string_view name) {
  return find_row(operators(), name, &Operator::name);
}

const Operator& operator_named(std::string_view name) {
  const Operator* op = find_operator(name);
  if (op != nullptr) return *op;
  refuse("unknown operator '{}'{}; `assay list operators` shows all", name,
         did_you_mean(name, names_of(operators())));
}

Tensor emulate(const Case& c, const Machine& machine, int threads) {
  const FloatEnvironment environment;
  const Operator& op = operator_of(c);
  const Format& output = output_format(c);
  return naming(c, [&] {
    if (machine.name == kReferenceMachine) {
      return portable_result(op, reference_result(op, {c, output, threads}), threads);
    }
    Tensor result = op.run({c, machine, output, threads});
    if (is_registered(op)) check_result(c, op, result, threads);
    return portable_result(op, std::move(result), threads);
  });
}

Tensor emulate_accumulator(const Case& c, const Machine& machine, int threads) {
  const FloatEnvironment environment;
  const Operator& op = operator_of(c);
  const Format& output = output_format(c);
  return naming(c, [&] {
    if (!op.product) {
      refuse_case(c.name, "the operator {} is not a product, so that it has no accumulator", c.op);
    }
    if (const std::string why = why_not_cast(output); !why.empty()) refuse_case(c.name, why);
    if (machine.name == kReferenceMachine || !product_model(c, machine, output)) {
      refuse_case(c.name,
                  "the machine {} sums exactly, so that there is no accumulator before the cast; "
                  "choose another machine",
                  machine.name);
    }
    const Format& accumulator = format_named("float32");
    Tensor result = op.run({c, machine, accumulator, threads});
    if (is_registered(op) && &result.format() != &accumulator) {
      refuse_case(c.name,
                  "the operator {} does not give its accumulator, because it returns {} if float32 "
                  "is asked for",
                  c.op, result.format().name);
    }
    return portable_result(op, std::move(result), threads);
  });
}

Tensor golden_result(const Case& c, int threads) {
  const FloatEnvironment environment;
  const Operator& op = operator_of(c);
  return naming(c, [&] {
    return portable_result(op, reference_result(op, {c, golden_format(c), threads}), threads);
  });
}

std::map<std::string, Attribute> DerivedTolerance::attributes() const {
  return {{"rtol", rtol},
          {"atol", atol},
          {"round_expected", std::int64_t{0}},
          {"equal_nan", std::int64_t{1}},
          {"infinity", std::string("saturating")},
          {"why", why}};
}

DerivedTolerance derived_tolerance(const Case& c, const Machine* machine) {
  const FloatEnvironment environment;
  const Operator* op = find_operator(c.op);
  if (op == nullptr || op->tolerance == nullptr) no_tolerance(c);
  check_parameters(c, *op);
  const Specials kind = output_format(c).specials;
  const bool uneven = kind == Specials::kTapered || kind == Specials::kScale;
  if (uneven && !op->uneven_outputs) no_tolerance(c);
  if (op->machine_tolerance != nullptr && machine == nullptr) machine = named_machine(c);
  const bool by_machine = op->machine_tolerance != nullptr && machine != nullptr;
  DerivedTolerance tolerance = by_machine ? op->machine_tolerance(c, *machine) : op->tolerance(c);
  const Format& output = output_format(c);
  if (output.is_float64() && (tolerance.rtol > 0 || tolerance.atol > 0)) {
    // The golden result is rounded to float64, too, so the tolerance grows by its rounding.
    tolerance.rtol += unit_roundoff(output);
    tolerance.atol += min_subnormal(output);  // half a subnormal is not a float64
  }
  return tolerance;
}

void no_tolerance(const Case& c) {
  refuse_case(c.name, "no tolerance can be derived for {} with {} results", c.op,
              output_format(c).name);
}

const Format& first_input_format(const Case& c) {
  const Operator* op = find_operator(c.op);
  if (op == nullptr) return format_of_any_input(c);
  const std::string& first = op->inputs.front().name;
  if (const Format* found = c.input_format(first)) return *found;
  // Cases of assay's own operators may have other names for their inputs: those of the program that
  // recorded them.
  if (!is_registered(*op)) return format_of_any_input(c);
  const bool golden_alone = c.output().golden && c.inputs.empty() && c.unread_inputs.empty();
  return golden_alone ? c.output().golden->format() : c.input(first).format();
}

const Format& computed_format(const Case& c) {
  const Format& first = first_input_format(c);
  const bool of_golden = c.inputs.empty() && c.unread_inputs.empty();
  return first.is_float() && first.bits == 8 && !of_golden ? format_named("float32") : first;
}

const Format& output_format(const Case& c) {
  if (const auto named = c.text("output_dtype")) {
    if (const Format* found = find_format(*named)) return *found;
    refuse_case(c.name, "output_dtype " + no_dtype(*named));
  }
  const Operator* row = find_operator(c.op);
  const bool has_rule = row != nullptr && row->output_format != nullptr;
  return has_rule ? row->output_format(c) : first_input_format(c);
}

std::string why_not_output(const Case& c, const Format& format) {
  const Golden& golden = c.output().golden;
  const bool is_open = c.output().output_dtype_is_open;
  const bool is_said = c.attributes.count("output_dtype") != 0;
  const bool has_inputs = !c.inputs.empty() || !c.unread_inputs.empty();
  // Outputs of random draws, which are compared with a probability distribution, may have any
  // dtype.
  if (!is_said && !has_inputs && !golden) return "";
  const Format& wanted = output_format(c);
  if (&wanted == &format) return "";
  std::string differs =
      formatted("the output is {}, the case's output dtype is {}", format.name, wanted.name);
  if (is_said && !is_open) return differs;
  const std::string of =
      golden && (is_open ? &golden->format() == &wanted : !has_inputs) ? "golden result" : "inputs";
  if (is_open) {
    return formatted("{}, which is that of its {}. If {} is right, give the output's dtype",
                     differs, of, format.name);
  }
  const std::string owner =
      c.output_name().empty() ? "the case" : formatted("the output '{}'", c.output_name());
  return formatted(
      "{}, which is that of its {}. If {} is right, give {} the attribute output_dtype", differs,
      of, format.name, owner);
}

bool is_attention(const Case& c) {
  const Operator* row = find_operator(c.op);
  return row != nullptr && row->attention && c.inputs.count("q") != 0 && c.inputs.count("k") != 0 &&
         c.inputs.count("v") != 0;
}

bool is_product(const Case& c) {
  const Operator* row = find_operator(c.op);
  return row != nullptr && row->product && c.inputs.count("a") != 0 && c.inputs.count("b") != 0;
}

}  // namespace assay
