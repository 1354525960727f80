#include "assay/device/device_judge.h"

#include <cmath>
#include <limits>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/device/judge_kernel.h"
#include "assay/device/kernel_format.h"
#include "assay/device/kernel_text.h"
#include "assay/gate/gate.h"
#include "assay/judge/block_rule.h"
#include "assay/judge/elements.h"
#include "assay/judge/rule_table.h"

namespace assay::inline v0_2 {
namespace {

using device::Form;
using device::JudgeCall;
using device::JudgeNumbers;
using device::JudgeSpec;
using device::JudgeTotal;
using device::UnitCounts;

// Sets the limits of the proof in float32. They are stricter than the tolerance by the relative
// 2^-20 and by 2^-100, which is more than all roundings of float32 and float64 together.
bool set_proof(JudgeNumbers& by) {
  constexpr double kOff = 0x1p-20, kFloor = 0x1p-100;
  constexpr float kUp = std::numeric_limits<float>::infinity();
  if (!(by.atol <= 0x1p100 && by.rtol <= 0.5) || by.small_value != 0) return false;
  by.proof_rtol = std::nextafter(static_cast<float>(by.rtol * (1 - kOff)), -kUp);
  by.proof_atol = std::nextafter(static_cast<float>(by.atol * (1 - kOff) - kFloor), -kUp);
  // Returns the |expected| at which the tolerance, times `off`, equals |expected|.
  const auto alone = [&](double off) { return by.atol * off / (1 - by.rtol * off); };
  by.proof_above = std::nextafter(static_cast<float>(alone(1 + kOff) + kFloor), kUp);
  by.proof_below = std::nextafter(static_cast<float>(alone(1 - kOff) - kFloor), -kUp);
  return true;
}

bool is_aligned(const DeviceView& v, int step) {
  return reinterpret_cast<std::uintptr_t>(v.layout.data) %
             static_cast<std::uintptr_t>(step * v.layout.format->storage_bytes) ==
         0;
}

// A kernel's spec and numbers for two formats and a bound.
struct Plan {
  JudgeSpec spec{};
  JudgeNumbers numbers{};
};
Plan plan_of(const DeviceView& output, const DeviceView& expected, const Bound& bound) {
  const Format &out = *output.layout.format, &golden = *expected.layout.format;
  Plan plan;
  JudgeSpec& spec = plan.spec;
  spec.actual = device::element_format(out);
  spec.expected = device::element_format(golden);
  const BlockRule rule = block_rule(bound, out);
  spec.form = rule == BlockRule::kUlps   ? Form::kUlps
              : rule == BlockRule::kBits ? Form::kBits
                                         : static_cast<Form>(row_of(bound.rule).form);
  spec.ratios = rule == BlockRule::kTolerance || rule == BlockRule::kUlps;
  spec.rounds = rounds_expected(bound, out, golden);
  const simd::Ordinals ordinals = ordinals_of(out);
  spec.drop = ordinals.drop;
  spec.rebias = ordinals.rebias;
  constexpr int kBytesAtOnce = 16;
  spec.step = kBytesAtOnce / std::max(spec.actual.bytes, spec.expected.bytes);
  if (!is_aligned(output, spec.step) || !is_aligned(expected, spec.step)) spec.step = 1;
  JudgeNumbers& by = plan.numbers;
  by = {.rtol = bound.rtol,
        .atol = bound.atol,
        .floor = bound.floor,
        .small_value = bound.small_value,
        .small_atol = bound.small_atol,
        .ulps = static_cast<double>(bound.ulps),
        .or_ulps = static_cast<double>(bound.or_ulps),
        .vanishing = spec.rounds || &out == &golden ? 0 : vanishing_size(out),
        .proof_rtol = 0,
        .proof_atol = 0,
        .proof_above = 0,
        .proof_below = 0,
        .near_codes = 0,
        .near_above = 0,
        .near_below = 0};
  if (spec.step == 1 || out.is_float64() || golden.is_float64()) return plan;
  if (spec.form == Form::kSum) {
    const bool reads = !spec.rounds || (spec.actual.as_float && spec.expected.as_float);
    spec.proves = reads && by.vanishing == 0 && set_proof(by);
    constexpr std::uint64_t kMostNear = 1 << 20;
    if (spec.proves && bound.or_ulps <= kMostNear && (spec.rounds || &out == &golden)) {
      // Two normal numbers of one binade are whole multiples of an ulp apart.
      constexpr int kFloatMantissa = 23;
      by.near_codes = static_cast<device::U32>(
          std::min<std::uint64_t>(bound.or_ulps << (kFloatMantissa - out.mantissa_bits()),
                                  (std::uint64_t{1} << kFloatMantissa) - 1));
      by.near_above = static_cast<float>(min_normal(out));
      by.near_below = static_cast<float>(max_finite(out));
    }
  } else if (spec.form == Form::kUlps || spec.form == Form::kBits) {
    spec.proves = !spec.rounds;
  }
  return plan;
}

// The text of the kernels for a spec. Their names are assay_judge and assay_sum.
std::string source_of(const JudgeSpec& s) {
  return formatted(
      "{}\n"
      "extern \"C\" __global__ void __launch_bounds__(assay::device::kThreads)\n"
      "assay_judge(const assay::device::JudgeCall call) {{\n"
      "  constexpr assay::device::JudgeSpec spec = {{{}, {}, static_cast<assay::device::Form>({}), "
      "{}, {}, {}, {}, {}, {:#x}ull}};\n"
      "  assay::device::judge_unit(spec, call, blockIdx.x, threadIdx.x);\n"
      "}}\n"
      "extern \"C\" __global__ void assay_sum(const assay::device::JudgeCall call) {{\n"
      "  assay::device::sum_units(call, threadIdx.x, blockDim.x);\n"
      "}}\n",
      device::kJudgeText, device::text_of(s.actual), device::text_of(s.expected),
      static_cast<int>(s.form), s.ratios, s.rounds, s.proves, s.step, s.drop, s.rebias);
}

void judge_on_host(const void* spec, const void* call, std::uint64_t block, std::uint32_t thread,
                   std::uint32_t) {
  judge_unit(*static_cast<const JudgeSpec*>(spec), *static_cast<const JudgeCall*>(call), block,
             thread);
}
void sum_on_host(const void*, const void* call, std::uint64_t, std::uint32_t thread,
                 std::uint32_t threads) {
  sum_units(*static_cast<const JudgeCall*>(call), thread, threads);
}

// Adds what the kernel counted over `elements` elements that match, as the judge of the host does.
void add_counts(const Bound& bound, Form form, std::int64_t elements, std::uint64_t zero,
                std::uint64_t zero_within, std::uint64_t worst, ElementFindings& found) {
  const auto zeros = static_cast<std::int64_t>(zero),
             within = static_cast<std::int64_t>(zero_within);
  found.mismatches_of_zeros += elements - within;
  found.nonzero += elements - zeros;
  if (form != Form::kBits) found.blind += within - zeros;
  double ratio = device::as_double(worst);
  if (form == Form::kUlps) ratio = bound.ulps == 0 ? 0 : ratio / static_cast<double>(bound.ulps);
  found.worst_ratio = std::max(found.worst_ratio, ratio);
}

std::vector<Verdict> with_note(std::vector<Verdict> verdicts, const std::string& note) {
  for (Verdict& verdict : verdicts) verdict.notes.push_back(note);
  return verdicts;
}

CaseReport with_note(CaseReport report, const HostCopies& copies) {
  const std::string note = copies.note("cases are judged there");
  report.verdicts = with_note(std::move(report.verdicts), note);
  if (report.verdicts.empty() && report.abft) report.abft->notes.push_back(note);
  return report;
}

// The parts of a large tensor in which mismatches may lie. If there are more, the whole tensor is
// copied.
constexpr std::uint64_t kMostBadUnits = 64;

}  // namespace

std::string why_not_on_device(const Format& output, const Format& expected, const Bound& bound) {
  for (const Format* format : {&output, &expected}) {
    if (!device::kernel_reads(*format)) return formatted("no kernel reads {}", format->name);
  }
  if (!bound.limits.empty()) return formatted("{} limits statistics", bound.standard);
  const BlockRule rule = block_rule(bound, output);
  if (rule == BlockRule::kNone || row_of(bound.rule).by_element_bounds) {
    return formatted("no kernel judges by {}", bound.text());
  }
  return "";
}

std::optional<Verdict> pass_on_device(const DeviceView& output, const DeviceView& expected,
                                      const Bound& bound) {
  const FloatEnvironment environment;
  const TensorView &a = output.layout, &e = expected.layout;
  Verdict verdict{.sites = a.size(), .bound = bound, .format = a.format, .shape = a.shape};
  const auto n = static_cast<std::uint64_t>(verdict.sites);
  const std::uint64_t units = (n + device::kUnit - 1) / device::kUnit;
  if (units == 0 || a.data == e.data) return {};
  const Plan plan = plan_of(output, expected, bound);

  const DeviceArray counts(output, sizeof(JudgeTotal) + units * sizeof(UnitCounts));
  auto* const device_total = static_cast<JudgeTotal*>(counts.data());
  auto* const device_units = reinterpret_cast<UnitCounts*>(device_total + 1);
  const JudgeCall call{.actual = a.data,
                       .expected = e.data,
                       .count = n,
                       .units = device_units,
                       .total = device_total,
                       .numbers = plan.numbers};
  const DeviceMemory& memory = *output.memory;
  DeviceKernel kernel{source_of(plan.spec), "assay_judge", judge_on_host,
                      std::make_shared<JudgeSpec>(plan.spec)};
  const void* const judge = memory.load(output.device, kernel);
  kernel.name = "assay_sum";
  kernel.on_host = sum_on_host;
  const void* const sum = memory.load(output.device, kernel);
  if (expected.stream != output.stream) memory.synchronise(expected.device, expected.stream);
  memory.launch(output.device, judge, units, device::kThreads, &call, output.stream);
  constexpr std::uint32_t kSumThreads = 1024;
  memory.launch(output.device, sum, 1, kSumThreads, &call, output.stream);
  JudgeTotal total;
  memory.copy_to_host(output.device, &total, device_total, sizeof total, output.stream);
  if (total.bad_units > kMostBadUnits) return {};

  ElementFindings found;
  std::int64_t bad_elements = 0;
  if (total.bad_units > 0) {
    std::vector<UnitCounts> each(units);
    memory.copy_to_host(output.device, each.data(), device_units, units * sizeof(UnitCounts),
                        output.stream);
    JudgeOptions options;
    options.metrics = false;
    for (std::uint64_t unit = 0; unit < units; ++unit) {
      if (each[unit].bad == 0) continue;
      const auto first = static_cast<std::int64_t>(unit * device::kUnit);
      const std::int64_t count =
          std::min(static_cast<std::int64_t>(device::kUnit), verdict.sites - first);
      const HostCopy actual = copy_to_host(output, first, count),
                     golden = copy_to_host(expected, first, count);
      ElementFindings more;
      judge_elements(actual.view, golden.view, bound, options, {.parts = 0}, first, more);
      found.merge(std::move(more), options.worst);
      bad_elements += count;
    }
  }
  add_counts(bound, plan.spec.form, verdict.sites - bad_elements, total.zero, total.zero_within,
             total.worst, found);
  settle(verdict, std::move(found), std::nullopt, false, [] { return std::vector<double>(); });
  if (verdict.outcome != Outcome::kPass) return {};
  return verdict;
}

std::vector<Verdict> gate_tensors(const DeviceView& output, const DeviceView& expected,
                                  const GateRequest& request, std::string_view advice) {
  output.check();
  expected.check();
  const TensorView &a = output.layout, &e = expected.layout;
  const std::vector<ElementCheck> checks = tensor_checks(*a.format, *e.format, request, advice);
  std::string because;
  if (output.memory != expected.memory || output.device != expected.device) {
    because = formatted("{} is on {}", expected.name, expected.place());
  } else if (!a.is_contiguous() || !e.is_contiguous()) {
    because = "a tensor is not contiguous";
  } else if (request.metrics) {
    because = "its metrics are computed there";
  }
  std::vector<Verdict> verdicts;
  bool all_pass = a.shape == e.shape && because.empty();
  for (const ElementCheck& check : checks) {
    if (!because.empty() || !check.bound) break;
    because = why_not_on_device(*a.format, *e.format, *check.bound);
    if (!because.empty() || !all_pass) break;
    std::optional<Verdict> verdict;
    if (check.why_not.empty() && !check.by_chance && !check.by_float32) {
      verdict = pass_on_device(output, expected, *check.bound);
    }
    all_pass = verdict.has_value();
    if (!all_pass) break;
    for (const std::string& note : check.notes) verdict->notes.push_back(note);
    verdicts.push_back(std::move(*verdict));
  }
  if (all_pass && because.empty() && verdicts.size() == checks.size()) return verdicts;
  HostCopies copies;
  const TensorView actual = copies.add(output, output.name);
  const std::string note = copies.note(because);
  const TensorView golden = copies.add(expected, expected.name);
  std::vector<Verdict> of_host = gate_tensors(actual, golden, request, advice);
  return because.empty() ? of_host : with_note(std::move(of_host), note);
}

std::vector<Verdict> gate_tensors(const DeviceView& output, const TensorView& expected,
                                  const GateRequest& request, std::string_view advice) {
  HostCopies copies;
  const TensorView actual = copies.add(output, output.name);
  return with_note(gate_tensors(actual, expected, request, advice),
                   copies.note("the expected tensor is there"));
}

std::vector<Verdict> gate_tensors(const TensorView& output, const DeviceView& expected,
                                  const GateRequest& request, std::string_view advice) {
  HostCopies copies;
  const TensorView golden = copies.add(expected, expected.name);
  return with_note(gate_tensors(output, golden, request, advice),
                   copies.note("the output is there"));
}

CaseReport gate_case(const Case& test_case, const std::string& name, const DeviceView& output,
                     const GateRequest& request, const Origin& origin) {
  HostCopies copies;
  const TensorView actual = copies.add(output, output.name);
  return with_note(gate_case(test_case, name, actual, request, origin), copies);
}
CaseReport gate_case(const Case& test_case, const DeviceView& output, const GateRequest& request,
                     const Origin& origin) {
  HostCopies copies;
  const TensorView actual = copies.add(output, output.name);
  return with_note(gate_case(test_case, actual, request, origin), copies);
}

}  // namespace assay
