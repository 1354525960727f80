#include "assay/trial/diagnose.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <optional>

#include "assay/base/text.h"
#include "assay/op/parameter.h"
#include "assay/trial/dimensions.h"
#include "assay/trial/memory.h"

namespace assay::inline v0_2::trial {
namespace {

// Returns a copy of the tensor in which the elements with these indices of an axis have other
// values: each float is replaced by 1.5 minus half of it, and each integer by its neighbour.
Tensor perturbed(const Tensor& tensor, std::size_t axis, std::int64_t begin, std::int64_t end) {
  Tensor to = tensor;
  const Format& format = tensor.format();
  for (std::int64_t i = 0; i < tensor.size(); ++i) {
    const std::int64_t index = tensor.view().multi_index(i)[axis];
    if (index < begin || index >= end) continue;
    const double value = decode(format, tensor.bits_at(i));
    const double other = format.is_float() ? std::isfinite(value) ? 1.5 - value / 2 : 1
                         : value >= 1      ? value - 1
                                           : value + 1;
    to.set_bits(i, encode(format, other));
  }
  return to;
}

// Indices [begin, end) of an axis.
struct Slice {
  std::size_t axis;
  std::int64_t begin, end;

  bool has(const Tensor& tensor, std::int64_t element) const {
    const std::int64_t index = tensor.view().multi_index(element)[axis];
    return index >= begin && index < end;
  }
};

// True if the output is unchanged in most of the elements in which the exact result changes.
// Elements of `own` do not count: they are computed from the changed elements of the input one by
// one.
bool is_blind(const Tensor& before, const Tensor& after, const Tensor& exact_before,
              const Tensor& exact_after, const std::optional<Slice>& own) {
  constexpr double kUnits = 16;  // units of the output's rounding that a change must have
  const double unit = before.format().is_float() ? unit_roundoff(before.format()) : 0;
  std::int64_t changed = 0, unchanged = 0;
  for (std::int64_t i = 0; i < before.size(); ++i) {
    const double a = exact_before.view().value_at(i), b = exact_after.view().value_at(i);
    if (!(std::abs(a - b) > kUnits * unit * std::max(std::abs(a), std::abs(b)))) continue;
    if (own && own->has(before, i)) continue;
    ++changed;
    if (before.bits_at(i) == after.bits_at(i)) ++unchanged;
  }
  return changed > 0 && 10 * unchanged > 9 * changed;
}

bool same_bytes(const Tensor& a, const Tensor& b) {
  return a.byte_count() == b.byte_count() && std::memcmp(a.bytes(), b.bytes(), a.byte_count()) == 0;
}

class Diagnosis {
 public:
  Diagnosis(const TrialKernel& kernel, const TrialContract& contract, const GateRequest& request,
            const FloatEnvironment& environment, const Subject& subject)
      : kernel_(kernel),
        contract_(contract),
        request_(request),
        environment_(environment),
        subject_(subject) {}

  // Finds inputs and their parts without influence.
  void find_ignored(std::vector<std::string>& said) const {
    const Tensor before = output_of(kernel_, environment_, contract_, subject_);
    if (before.empty() || before.size() == 0) return;
    constexpr std::int64_t kMost = 1 << 16;
    const Tensor exact = golden_result(subject_.test_case, 1);
    if (before.format().is_complex()) return;
    for (const Dimension& dimension : dimensions_of(subject_.test_case)) {
      for (const auto& place : dimension.places) {
        // A structured binding cannot be captured by clang 14.
        const std::string& name = place.first;
        const std::size_t axis = place.second;
        const Tensor& input = subject_.test_case.input(name);
        const std::int64_t n = dimension.extent;
        if (input.size() > kMost || n < 2) continue;
        const auto ignores = [&](std::int64_t begin, std::int64_t end) {
          Subject changed = subject_;
          changed.test_case.inputs[name] = perturbed(input, axis, begin, end);
          const Tensor after = output_of(kernel_, environment_, contract_, changed);
          if (after.empty() || after.shape() != before.shape()) return false;
          std::optional<Slice> own;
          if (before.shape() == input.shape() && end - begin < n) own = {axis, begin, end};
          return is_blind(before, after, exact, golden_result(changed.test_case, 1), own);
        };
        if (ignores(0, n)) {
          said.push_back(formatted(
              "the input {} has no influence on most of the output, which depends on it", name));
          break;
        }
        if (ignores(n - 1, n)) {
          std::int64_t low = 0;  // [low, n) has an influence
          std::int64_t first = n - 1;
          while (first - low > 1) {
            const std::int64_t middle = low + (first - low) / 2;
            (ignores(middle, n) ? first : low) = middle;
          }
          const bool one = first == n - 1;
          const std::string of = dimension.name.find(" of ") != std::string::npos
                                     ? dimension.name
                                     : formatted("{} of {}", dimension.name, name);
          said.push_back(
              one ? formatted("element {} of {}, the last one, has no influence on most of the "
                              "output, which depends on it",
                              grouped(first), of)
                  : formatted("elements {} and later of {} have no influence on most of the "
                              "output, which depends on them",
                              grouped(first), of));
        } else if (ignores(0, 1)) {
          said.push_back(
              formatted("element 0 of {} has no influence on most of the output, which "
                        "depends on it",
                        dimension.name));
        }
        if (said.size() >= 3) return;
      }
    }
  }

  // Finds values of parameters for which the output would be right.
  void find_parameters(std::vector<std::string>& said) const {
    const Tensor output = output_of(kernel_, environment_, contract_, subject_);
    if (output.empty() || output.size() == 0) return;
    const Operator* op = find_operator(subject_.test_case.op);
    for (const Parameter& parameter : op->parameters) {
      const auto set = subject_.test_case.attributes.find(parameter.name);
      const std::string now = set == subject_.test_case.attributes.end()
                                  ? parameter.default_value
                                  : attribute_text(set->second);
      std::vector<std::string> values = parameter.tried;
      if (parameter.name == "output_dtype") continue;
      if (parameter.kind == ParameterKind::kNumber) values.emplace_back("0");
      for (const std::string& value : values) {
        if (value == now) continue;
        Case c = subject_.test_case;
        c.attributes[parameter.name] = parameter_value(parameter, value);
        if (is_right(c, output)) {
          said.push_back(formatted("the output is right for {}={}{}", parameter.name, value,
                                   now.empty() ? "" : formatted(", and the input has {}", now)));
          break;
        }
      }
      // A parameter without a default means its absence, too.
      if (set != subject_.test_case.attributes.end() && parameter.default_value.empty()) {
        Case c = subject_.test_case;
        c.attributes.erase(parameter.name);
        if (is_right(c, output)) {
          said.push_back(
              formatted("the output is right if {} is not given, as if the kernel ignored it",
                        parameter.name));
        }
      }
    }
  }

  // Finds two inputs that are exchanged, and an optional input that is left out.
  void find_inputs(std::vector<std::string>& said) const {
    const Tensor output = output_of(kernel_, environment_, contract_, subject_);
    if (output.empty() || output.size() == 0) return;
    const auto& inputs = subject_.test_case.inputs;
    for (auto a = inputs.begin(); a != inputs.end(); ++a) {
      for (auto b = std::next(a); b != inputs.end(); ++b) {
        if (a->second.shape() != b->second.shape() || &a->second.format() != &b->second.format()) {
          continue;
        }
        Case c = subject_.test_case;
        std::swap(c.inputs[a->first], c.inputs[b->first]);
        if (is_right(c, output)) {
          said.push_back(formatted("the output is right if the inputs {} and {} are exchanged",
                                   a->first, b->first));
        }
      }
      const Operator* op = find_operator(subject_.test_case.op);
      for (const OperatorInput& input : op->inputs) {
        if (input.name != a->first || !input.optional) continue;
        Case c = subject_.test_case;
        c.inputs.erase(a->first);
        if (is_right(c, output)) {
          said.push_back(formatted("the output is right without the input {}", a->first));
        }
      }
    }
  }

 private:
  bool is_right(Case c, const Tensor& output) const {
    try {
      c.outputs.clear();
      c.output().golden = golden_result(c, 1);
      if (c.output().golden->shape() != output.shape()) return false;
      const Case& before = subject_.test_case;
      if (same_bytes(*c.output().golden, golden_result(before, 1))) return false;
      GateRequest request = request_;
      request.threads = 1;
      request.patterns = request.metrics = false;
      return gate_case(c, output, request).outcome() == Outcome::kPass;
    } catch (const Refusal&) {
      return false;
    }
  }

  const TrialKernel& kernel_;
  const TrialContract& contract_;
  const GateRequest& request_;
  const FloatEnvironment& environment_;
  const Subject& subject_;
};

// Returns the sizes of the reduced input, none of which can be one less.
std::string size_text(const Subject& reduced) {
  std::string text;
  for (const Dimension& dimension : dimensions_of(reduced.test_case)) {
    if (dimension.extent < 2) continue;
    text += formatted("{}{} = {}", text.empty() ? "" : " and ", dimension.name,
                      grouped(dimension.extent));
  }
  return text.empty() ? "" : "the smallest input that fails has " + text;
}

}  // namespace

Tensor output_of(const TrialKernel& kernel, const FloatEnvironment& environment,
                 const TrialContract& contract, const Subject& subject) {
  Subject only = subject;
  only.decoy.reset();
  TrialContract once = contract;
  once.unordered = true;
  once.batch_invariant = false;
  try {
    Examined examined = examine(kernel, once, {}, environment, std::move(only));
    return std::move(examined.output);
  } catch (const Refusal&) {
    return {};
  }
}

std::vector<std::string> diagnose(const TrialKernel& kernel, const TrialContract& contract,
                                  const GateRequest& request, const FloatEnvironment& environment,
                                  TrialFinding finding, const Subject& failing,
                                  const Subject& reduced, bool is_minimal) {
  std::vector<std::string> said;
  const bool is_wrong = finding == TrialFinding::kWrongResult ||
                        finding == TrialFinding::kNotFinite ||
                        finding == TrialFinding::kSpecialValues;
  if (is_wrong) {
    const Diagnosis of_failing(kernel, contract, request, environment, failing);
    of_failing.find_parameters(said);
    of_failing.find_inputs(said);
    // A parameter that explains the output says more than the elements without influence.
    if (said.empty()) of_failing.find_ignored(said);
  }
  if (const std::string sizes = is_minimal ? size_text(reduced) : ""; !sizes.empty()) {
    said.push_back(sizes);
  }
  // Several dimensions of an input may say the same.
  std::vector<std::string> once;
  for (std::string& sentence : said) {
    if (std::ranges::find(once, sentence) == once.end()) once.push_back(std::move(sentence));
  }
  return once;
}

}  // namespace assay::trial
