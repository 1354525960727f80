#include "assay/trial/examine.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "assay/base/text.h"
#include "assay/op/operator.h"
#include "assay/trial/dimensions.h"
#include "assay/trial/memory.h"

namespace assay::inline v0_2 {
namespace {

struct FindingRow {
  TrialFinding finding;
  std::string_view word, promise;
};
constexpr FindingRow kFindings[] = {
    {TrialFinding::kCrashed, "crash", "no call crashes"},
    {TrialFinding::kHung, "hang", "every call ends within its time limit"},
    {TrialFinding::kThrew, "error", "no call ends with an error"},
    {TrialFinding::kWrongShape, "wrong shape or dtype", "outputs have the right shape and dtype"},
    {TrialFinding::kWroteOutside, "write outside the output",
     "nothing is written outside the output"},
    {TrialFinding::kChangedInput, "changed input", "no input is changed"},
    {TrialFinding::kUnwritten, "unwritten elements", "every element of the output is written"},
    {TrialFinding::kStale, "stale result",
     "results do not depend on earlier calls or on what the output held"},
    {TrialFinding::kNotFinite, "NaN or infinity",
     "finite inputs with a finite result give finite outputs"},
    {TrialFinding::kSpecialValues, "special values",
     "infinities, NaN and zeros are treated as the operator defines"},
    {TrialFinding::kWrongResult, "wrong result", "every element is within its bound"},
    {TrialFinding::kNotRepeatable, "not repeatable", "the same input gives the same bits"},
    {TrialFinding::kRowAlone, "wrong row alone", "a row that is computed alone is right"},
    {TrialFinding::kBatchVariant, "batch-dependent bits",
     "a row that is computed alone has the same bits"},
};
static_assert(std::size(kFindings) == kTrialFindings);

const FindingRow& row_of_finding(TrialFinding finding) {
  return kFindings[static_cast<std::size_t>(finding)];
}

}  // namespace

std::string_view finding_word(TrialFinding finding) { return row_of_finding(finding).word; }
std::string_view kept_promise(TrialFinding finding) { return row_of_finding(finding).promise; }

namespace trial {
namespace {

// Two fills of the output. No element has the same bits in both.
constexpr std::byte kFirstFill{0x5A}, kSecondFill{0xA5};
constexpr std::byte kInputGap{0x3C};

// The memory of one call.
struct CallMemory {
  std::map<std::string, Memory> inputs;
  std::map<std::string, std::vector<std::byte>> written =
      {};  // the bytes of inputs as they were set
  std::unique_ptr<Memory> output;

  CallMemory(const Case& c, const Format& format, const Shape& shape, Layout of_inputs,
             Layout of_output) {
    for (const auto& [name, tensor] : c.inputs) {
      inputs.try_emplace(name, tensor.format(), tensor.shape(), of_inputs);
    }
    output = std::make_unique<Memory>(format, shape, of_output);
  }

  void set(const Case& c, std::byte fill) {
    for (auto& [name, memory] : inputs) {
      memory.fill(kInputGap);
      memory.write(c.input(name));
      written[name].assign(memory.bytes(), memory.bytes() + memory.byte_count());
    }
    output->fill(fill);
  }
  KernelCall call(const Case& header) const {
    KernelCall call{.test_case = header, .inputs = {}, .output = output->view()};
    for (const auto& [name, memory] : inputs) {
      call.inputs.emplace(name, memory.view());
    }
    return call;
  }
};

// The state that one call left. It may lie in memory that is shared with a child process.
struct CallResult {
  CallEnd::How how;
  bool finished;
  char text[400], outside[64], changed[64];

  template <std::size_t kSize>
  static void put(char (&to)[kSize], std::string_view from) {
    const std::size_t n = std::min(from.size(), kSize - 1);
    std::memcpy(to, from.data(), n);
    to[n] = 0;
  }
};

// One of the calls of an examination.
struct Step {
  const Case* inputs;
  const Case* header;
  CallMemory* memory;
  std::byte fill;
};

// True if no element is NaN, infinite, or too large for the format.
bool is_finite(const TensorView& view, const Format& format) {
  if (!view.format->is_float() || view.format->is_complex()) return true;
  const double most = format.is_float() ? max_finite(format) : HUGE_VAL;
  for (const double v : view.values()) {
    if (!(std::abs(v) <= most)) return false;
  }
  return true;
}

}  // namespace

struct Examination::State {
  const TrialKernel& kernel;
  const TrialContract& contract;
  const GateRequest& request;
  Subject subject;
  Case header, decoy_header;
  const Format* format = nullptr;
  Shape shape = {};
  std::vector<CallMemory> memories = {};
  std::optional<Case> row = {};
  RowDimension rows = {};
  std::int64_t row_index = 0;
  Case row_header = {};
  std::vector<Step> steps = {};
  std::size_t main_step = 0;
  std::optional<std::size_t> row_step = {}, repeat_step = {};
  std::unique_ptr<SharedMemory> shared = {};
  std::vector<CallResult*> results = {};
  std::vector<std::byte*> outputs = {};  // contiguous copies
  std::optional<ChildEnd> child = {};

  State(const TrialKernel& k, const TrialContract& t, const GateRequest& r, Subject s)
      : kernel(k), contract(t), request(r), subject(std::move(s)) {
    Case& c = subject.test_case;
    c.outputs.clear();
    c.output().golden = golden_result(c, 1);
    format = &output_format(c);
    shape = c.output().golden->shape();
    header = c.without_tensors();
    if (subject.decoy) decoy_header = subject.decoy->without_tensors();
    rows = rows_of(c);
    if (rows.of_inputs.extent > 1) {
      row_index = static_cast<std::int64_t>(subject.row %
                                            static_cast<std::uint64_t>(rows.of_inputs.extent));
      row = cut(c, rows.of_inputs, row_index, 1);
      try {
        row->output().golden = golden_result(*row, 1);
        row_header = row->without_tensors();
      } catch (const Refusal&) {  // such as blocks of scales that need more rows
        row.reset();
      }
    }
    const bool together = static_cast<bool>(kernel.call_all);
    memories.reserve(4);
    const auto memory = [&]() -> CallMemory* {
      memories.emplace_back(subject.test_case, *format, shape, subject.inputs, subject.output);
      return &memories.back();
    };
    CallMemory* const first = memory();
    if (subject.decoy && kernel.keeps_state && !(together && kernel.together == 1)) {
      steps.push_back({&*subject.decoy, &decoy_header, first, kFirstFill});
    }
    main_step = steps.size();
    steps.push_back({&c, &header, together && !steps.empty() ? memory() : first, kFirstFill});
    repeat_step = steps.size();
    steps.push_back({&c, &header, together ? memory() : first, kSecondFill});
    if (row) {
      memories.emplace_back(*row, *format, row->output().golden->shape(), subject.inputs,
                            subject.output);
      row_step = steps.size();
      steps.push_back({&*row, &row_header, &memories.back(), kFirstFill});
    }
    std::size_t bytes = 0;
    for (const Step& step : steps) bytes += sizeof(CallResult) + 64 + elements_bytes(step);
    shared = std::make_unique<SharedMemory>(bytes);
    std::byte* at = shared->bytes();
    for (const Step& step : steps) {
      results.push_back(reinterpret_cast<CallResult*>(at));
      at += (sizeof(CallResult) + 63) / 64 * 64;
      outputs.push_back(at);
      at += elements_bytes(step);
    }
  }

  static std::size_t elements_bytes(const Step& step) {
    const MutableTensorView view = step.memory->output->view();
    const auto bytes = static_cast<std::size_t>(view.size() * view.format->storage_bytes);
    return (bytes + 63) / 64 * 64;
  }

  void after(std::size_t i, const CallEnd& end) {
    CallResult& result = *results[i];
    result.how = end.how;
    CallResult::put(result.text, end.text);
    if (end.how == CallEnd::How::kDone) {
      const Step& step = steps[i];
      const MutableTensorView view = step.memory->output->view();
      copy_elements(view, {outputs[i], view.format, view.shape, contiguous_strides(view.shape)});
      CallResult::put(result.outside, step.memory->output->first_change_outside(step.fill));
      for (const auto& [name, memory] : step.memory->inputs) {
        const std::vector<std::byte>& written = step.memory->written.at(name);
        if (std::memcmp(written.data(), memory.bytes(), written.size()) != 0) {
          CallResult::put(result.changed, name);
        }
      }
      if (!end.changed_input.empty()) CallResult::put(result.changed, end.changed_input);
    }
    result.finished = true;
  }

  void run(const FloatEnvironment* environment) {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const Step& step = steps[i];
      step.memory->set(*step.inputs, step.fill);
      const KernelCall call = step.memory->call(*step.header);
      CallEnd end;
      try {
        std::optional<CallersFloatEnvironment> callers;
        if (environment != nullptr) callers.emplace(*environment);
        kernel.call(call);
      } catch (const OutOfMemory&) {
        throw;
      } catch (const NotSupported& e) {
        end = {CallEnd::How::kNotSupported, e.what()};
      } catch (const WrongOutput& e) {
        end = {CallEnd::How::kWrongOutput, e.what()};
      } catch (const std::exception& e) {
        end = {CallEnd::How::kThrew, e.what()};
      } catch (...) {
        end = {CallEnd::How::kThrew, "an exception that is not a std::exception"};
      }
      after(i, end);
      if (end.how != CallEnd::How::kDone) break;
    }
  }

  Tensor output_of(std::size_t i) const {
    const MutableTensorView view = steps[i].memory->output->view();
    Tensor tensor(*view.format, view.shape);
    std::memcpy(tensor.bytes(), outputs[i], tensor.byte_count());
    return tensor;
  }

  static Examined failed(TrialFinding finding, std::string text) {
    return {.how = Examined::How::kFailed, .finding = finding, .text = std::move(text)};
  }

  std::string which(std::size_t i) const {
    if (i == main_step) return "";
    if (row_step && i == *row_step) return formatted(" (in the call with only row {})", row_index);
    if (repeat_step && i == *repeat_step) return " (in the second call with the same input)";
    return " (in the call with other values of the same shape)";
  }

  // Returns the finding of how the calls ended, or nothing. `step` gets the number of the call.
  std::optional<Examined> ends(std::size_t& step) const {
    for (std::size_t i = 0; i < steps.size(); ++i) {
      step = i;
      const CallResult& r = *results[i];
      if (!r.finished) {
        const bool hung = child && child->how == ChildEnd::How::kTime;
        return failed(hung ? TrialFinding::kHung : TrialFinding::kCrashed,
                      formatted("the call{} was {}", which(i),
                                child ? child->text(contract.call_seconds) : "not made"));
      }
      switch (r.how) {
        case CallEnd::How::kDone:
          break;
        case CallEnd::How::kNotSupported:
          if (row_step && i == *row_step) break;  // a single row need not be supported
          return Examined{.how = Examined::How::kNotSupported, .text = r.text};
        case CallEnd::How::kThrew:
          return failed(TrialFinding::kThrew, formatted("{}{}", r.text, which(i)));
        case CallEnd::How::kCrashed:
          return failed(TrialFinding::kCrashed, formatted("{}{}", r.text, which(i)));
        case CallEnd::How::kHung:
          return failed(TrialFinding::kHung, formatted("{}{}", r.text, which(i)));
        case CallEnd::How::kWrongOutput:
          return failed(TrialFinding::kWrongShape, formatted("{}{}", r.text, which(i)));
      }
      if (r.outside[0] != 0) {
        return failed(TrialFinding::kWroteOutside,
                      formatted("bytes {} of the output were written{}", r.outside, which(i)));
      }
      if (r.changed[0] != 0) {
        return failed(TrialFinding::kChangedInput,
                      formatted("the {} of the input {} was changed{}",
                                kernel.call_all ? "file" : "memory", r.changed, which(i)));
      }
    }
    return std::nullopt;
  }

  bool is_done(std::optional<std::size_t> i) const {
    return i && results[*i]->finished && results[*i]->how == CallEnd::How::kDone;
  }

  std::optional<Examined> unwritten(const Tensor& first, const Tensor& second) const {
    if (kernel.returns_output) return std::nullopt;
    const auto width = static_cast<std::size_t>(format->storage_bytes);
    const auto untouched = [&](const Tensor& tensor, std::int64_t element, std::byte fill) {
      const std::byte* const at = tensor.bytes() + static_cast<std::size_t>(element) * width;
      return std::all_of(at, at + width, [&](std::byte b) { return b == fill; });
    };
    std::int64_t count = 0, at = -1;
    for (std::int64_t i = 0; i < first.size(); ++i) {
      if (!untouched(first, i, kFirstFill) || !untouched(second, i, kSecondFill)) continue;
      if (count++ == 0) at = i;
    }
    if (count == 0) return std::nullopt;
    return failed(
        TrialFinding::kUnwritten,
        formatted("{} of {} elements of the output are not written, the first at {}",
                  grouped(count), grouped(first.size()), shape_text(first.view().multi_index(at))));
  }

  CaseReport gated(const Case& c, const Tensor& output, bool patterns) const {
    GateRequest asked = request;
    asked.threads = 1;
    asked.bounds.allow_empty = true;
    asked.metrics = patterns;
    asked.patterns = patterns;
    return gate_case(c, output, asked);
  }

  // Returns why a failure says nothing about the kernel: the operator has bounds of its own, but
  // they are not known for this input, so that the tolerance of the default standard judged it.
  static std::string why_no_bound(const CaseReport& report) {
    const Operator& op = *find_operator(report.op);
    const Verdict* verdict = report.deciding_verdict();
    const bool has_own =
        op.element_bounds != nullptr || op.tolerance != nullptr || op.machine_tolerance != nullptr;
    if (verdict == nullptr || !has_own || verdict->bound.origin != kDefaultOrigin) return "";
    return "the operator's own bound is not known for this input";
  }

  // Returns the finding of a report that failed.
  TrialFinding kind_of(const Case& c, const Tensor& output, const CaseReport& report) const {
    const Verdict* verdict = report.deciding_verdict();
    const bool finite_inputs = std::ranges::all_of(
        c.inputs, [](const auto& input) { return is_finite(input.second, input.second.format()); });
    const bool finite_result = is_finite(*c.output().golden, *format);
    if (finite_inputs && finite_result && !is_finite(output, *format))
      return TrialFinding::kNotFinite;
    if (verdict != nullptr && !finite_inputs && verdict->mismatches > 0 &&
        verdict->special_mismatches == verdict->mismatches) {
      return TrialFinding::kSpecialValues;
    }
    return TrialFinding::kWrongResult;
  }

  Examined judged(bool patterns) {
    std::size_t step = 0;
    if (auto end = ends(step)) {
      end->is_of_decoy = step < main_step;
      return std::move(*end);
    }
    const Case& c = subject.test_case;
    Examined examined;
    examined.output = output_of(main_step);
    const Tensor& output = examined.output;
    const bool repeats = is_done(repeat_step);
    const Tensor again = repeats ? output_of(*repeat_step) : Tensor();
    const auto with_output = [&](Examined found) {
      found.output = examined.output;
      found.report = std::move(examined.report);
      return found;
    };
    if (repeats) {
      if (auto found = unwritten(output, again)) return with_output(std::move(*found));
    }
    examined.report = gated(c, output, patterns);
    const Outcome outcome = examined.report->outcome();
    if (const std::string why = why_no_bound(*examined.report);
        outcome == Outcome::kFail && !why.empty()) {
      examined.how = Examined::How::kNotJudged;
      examined.text = why;
      return examined;
    }
    if (outcome == Outcome::kFail) {
      const bool right_again = repeats && gated(c, again, false).outcome() == Outcome::kPass;
      if (right_again) {
        return with_output(failed(
            TrialFinding::kStale,
            "the first call after another input gives a wrong result, and the next call with the "
            "same input a right one; what a call returns depends on earlier calls"));
      }
      if (is_output_of_decoy(output)) {
        return with_output(failed(
            TrialFinding::kStale,
            "the output is that of the call before, which had other values in the same memory "
            "and the same shapes"));
      }
      const TrialFinding kind = kind_of(c, output, *examined.report);
      const std::string because = examined.report->because();
      return with_output(failed(kind, because));
    }
    if (repeats && !contract.unordered && !is_same(again, output)) {
      return with_output(failed(TrialFinding::kNotRepeatable, difference(output, again)));
    }
    if (is_done(row_step)) {
      const Tensor alone = output_of(*row_step);
      const CaseReport of_row = gated(*row, alone, patterns);
      if (of_row.outcome() == Outcome::kFail && outcome == Outcome::kPass &&
          why_no_bound(of_row).empty()) {
        return with_output(failed(TrialFinding::kRowAlone,
                                  formatted("row {} along {} is right together with the "
                                            "other rows, but not alone: {}",
                                            row_index, rows.of_inputs.name, of_row.because())));
      }
      if (contract.batch_invariant) {
        TensorView together = output.view();
        together.data += row_index * together.strides[rows.output_axis] * format->storage_bytes;
        together.shape[rows.output_axis] = 1;
        const Tensor same = copy_of(together);
        if (!is_same(same, alone)) {
          return with_output(
              failed(TrialFinding::kBatchVariant,
                     formatted("row {} along {} has other bits alone than together with the other "
                               "rows: {}",
                               row_index, rows.of_inputs.name, difference(same, alone))));
        }
      }
    }
    if (outcome != Outcome::kPass) {
      // The verdict's own reason has numbers, and reasons are counted.
      examined.how = Examined::How::kNotJudged;
      examined.text = outcome == Outcome::kUntrusted
                          ? "the verdict is not trusted, because a wrong output would pass, too"
                          : examined.report->because();
    }
    return examined;
  }

  // True if the output is right for the decoy, has its bits, and is not so by chance: it has
  // several elements, and an exact result differs from that of the decoy by more than one percent.
  bool is_output_of_decoy(const Tensor& output) const {
    if (main_step == 0 || output.size() < 2 ||
        std::memcmp(outputs[0], output.bytes(), output.byte_count()) != 0) {
      return false;
    }
    Case decoy = *subject.decoy;
    decoy.outputs.clear();
    decoy.output().golden = golden_result(decoy, 1);
    constexpr double kShare = 0.01;
    bool differs = false;
    const Tensor& golden = *subject.test_case.output().golden;
    for (std::int64_t i = 0; i < golden.size() && !differs; ++i) {
      const double a = golden.view().value_at(i), b = decoy.output().golden->view().value_at(i);
      differs = std::abs(a - b) > kShare * std::max(std::abs(a), std::abs(b));
    }
    return differs && gated(decoy, output, false).outcome() == Outcome::kPass;
  }

  // True if the element has other bits and is not NaN in both. The sign and payload of a NaN depend
  // on the order of the operands, which a library may choose by the alignment of its memory.
  static bool differs(const TensorView& a, const TensorView& b, std::int64_t i) {
    return a.bits_at(i) != b.bits_at(i) &&
           !(std::isnan(a.value_at(i)) && std::isnan(b.value_at(i)));
  }
  static bool is_same(const Tensor& first, const Tensor& second) {
    if (std::memcmp(first.bytes(), second.bytes(), first.byte_count()) == 0) return true;
    const TensorView a = parts_of(first), b = parts_of(second);
    for (std::int64_t i = 0; i < a.size(); ++i) {
      if (differs(a, b, i)) return false;
    }
    return true;
  }
  static std::string difference(const Tensor& first, const Tensor& second) {
    std::int64_t count = 0, at = -1;
    const TensorView a = parts_of(first), b = parts_of(second);
    for (std::int64_t i = 0; i < a.size(); ++i) {
      if (differs(a, b, i) && count++ == 0) at = i;
    }
    return formatted("{} of {} elements differ, the first at {}: {} and {}", grouped(count),
                     grouped(a.size()), shape_text(a.multi_index(at)), number_text(a.value_at(at)),
                     number_text(b.value_at(at)));
  }
};

Examination::Examination(const TrialKernel& kernel, const TrialContract& contract,
                         const GateRequest& request, Subject subject)
    : state_(std::make_unique<State>(kernel, contract, request, std::move(subject))) {}
Examination::~Examination() = default;
Examination::Examination(Examination&&) noexcept = default;

void Examination::call(const FloatEnvironment& environment) {
  State& s = *state_;
  if (!s.contract.isolated) {
    s.run(&environment);
    return;
  }
  s.child = run_in_child([&] { s.run(&environment); }, s.contract.call_seconds);
}

std::vector<KernelCall> Examination::calls() {
  std::vector<KernelCall> all;
  for (const Step& step : state_->steps) {
    step.memory->set(*step.inputs, step.fill);
    all.push_back(step.memory->call(*step.header));
  }
  return all;
}

void Examination::ended(std::span<const CallEnd> ends) {
  for (std::size_t i = 0; i < ends.size(); ++i) state_->after(i, ends[i]);
}

Examined Examination::judge(bool patterns) { return state_->judged(patterns); }
const Subject& Examination::subject() const { return state_->subject; }

std::vector<CallEnd> ends_of(const TrialKernel& kernel, std::span<const KernelCall> calls) {
  std::vector<CallEnd> ends;
  while (!calls.empty()) {
    const std::size_t n = std::min(kernel.together, calls.size());
    const std::vector<CallEnd> some = kernel.call_all(calls.first(n));
    ends.insert(ends.end(), some.begin(), some.end());
    calls = calls.subspan(n);
  }
  return ends;
}

Examined examine(const TrialKernel& kernel, const TrialContract& contract,
                 const GateRequest& request, const FloatEnvironment& environment, Subject subject,
                 bool patterns) {
  Examination examination(kernel, contract, request, std::move(subject));
  if (kernel.call_all) {
    const std::vector<KernelCall> calls = examination.calls();
    const std::vector<CallEnd> ends = ends_of(kernel, calls);
    examination.ended(ends);
  } else {
    examination.call(environment);
  }
  return examination.judge(patterns);
}

}  // namespace trial
}  // namespace assay
