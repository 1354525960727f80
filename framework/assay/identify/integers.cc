#include "assay/identify/integers.h"

#include <algorithm>
#include <cmath>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/cases/product.h"
#include "assay/identify/sentence.h"
#include "assay/identify/space.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::identify {
namespace {

// A machine, and the number of elements in which its results differ from the recorded ones.
struct IntegerFit {
  const Machine* machine;
  const DotModel* row;
  std::int64_t differ = 0, first = -1;
};

// True if some inputs of the case's shape make a sum that is beyond the range of int32.
bool may_overflow(const Case& c) {
  // With a start value, which may be any int32, even one product may suffice.
  if (c.op == "dot" || c.inputs.count("bias") != 0) return true;
  const Format& input = c.input("a").format();
  const double most =
      input.is_signed() ? std::ldexp(1.0, input.bits - 1) : std::ldexp(1.0, input.bits);
  const auto k = static_cast<double>(matmul_shape(c).k);
  return k * most * most >= 0x1p31;
}

}  // namespace

bool sums_in_int32(const Case& c) {
  if (c.op != "matmul" && c.op != "dot") return false;
  const auto a = c.inputs.find("a"), b = c.inputs.find("b");
  if (a == c.inputs.end() || b == c.inputs.end()) return false;
  return std::ranges::any_of(machines(), [&](const Machine& machine) {
    return row_of(machine, a->second.format().name, true) != nullptr &&
           row_of(machine, b->second.format().name, true) != nullptr;
  });
}

Finding identify_integers(const Case& c, Finding f, int threads) {
  const Tensor& recorded = c.output().recorded.at(f.producer).tensor;
  const std::string_view input = c.input("a").format().name;
  f.elements = f.of = recorded.size();
  std::vector<IntegerFit> tried;
  std::string why;
  for (const Machine& machine : machines()) {
    const DotModel* row = row_of(machine, input, true);
    if (row == nullptr) continue;
    IntegerFit fit{&machine, row};
    try {
      const Tensor ours = emulate(c, machine, threads);
      if (&ours.format() != &recorded.format() || ours.size() != recorded.size()) {
        refuse_case(c.name, "the output of {} is {} {}, which does not fit this case", f.producer,
                    recorded.format().name, shape_text(recorded.shape()));
      }
      for (std::int64_t i = 0; i < ours.size(); ++i) {
        if (ours.bits_at(i) == recorded.bits_at(i)) continue;
        if (fit.first < 0) fit.first = i;
        ++fit.differ;
      }
      tried.push_back(fit);
    } catch (const Refusal& e) {
      why = e.reason();
    }
  }
  if (tried.empty()) refuse_case(c.name, why);
  f.tried = std::ssize(tried);
  const IntegerFit* best = &tried.front();
  const IntegerFit* other = nullptr;  // the nearest machine that does not fit
  for (const IntegerFit& fit : tried) {
    if (fit.differ < best->differ) best = &fit;
    if (fit.differ == 0) ++f.fits;
  }
  f.model = best->machine->name;
  f.is_row = true;
  f.agree = f.of - best->differ;
  if (f.fits == 0) {
    f.outcome = Outcome::kNone;
    f.first = {best->first};
    f.sentence =
        sentence_of(formatted("no exact int32 sum gives every element; {} gives {} of {}",
                              units_in_words({f.model}, input), grouped(f.agree), grouped(f.of)));
    return f;
  }
  bool is_open = false;  // true if machines that fit differ for sums beyond int32
  for (const IntegerFit& fit : tried) {
    if (fit.differ != 0) {
      if (other == nullptr || fit.differ < other->differ) other = &fit;
      continue;
    }
    const bool is_alike = fit.row->overflow.value == best->row->overflow.value;
    if (is_alike || !may_overflow(c)) {
      f.alike.emplace_back(fit.machine->name);
    } else {
      is_open = true;
      f.rivals.emplace_back(fit.machine->name);
    }
  }
  f.outcome = is_open ? Outcome::kUndecided : Outcome::kFound;
  Evidence evidence{"overflow", std::string(overflow_word(best->row->overflow.value)), "", 0, f.of,
                    {}};
  if (other != nullptr) {
    evidence.rival = overflow_word(other->row->overflow.value);
    evidence.differ = other->differ;
  }
  if (is_open) f.note = "no sum leaves the range of int32 here; record data whose sums do";
  const std::string units = units_in_words(f.alike, input);
  if (other == nullptr) {
    evidence.same = {"saturate", "wrap"};
    std::erase(evidence.same, evidence.value);
    f.sentence =
        sentence_of(formatted("exact int32 sums, which every order of adding gives: {}{}", units,
                              is_open ? ", " + units_in_words(f.rivals, input) : ""));
  } else {
    f.sentence = sentence_of(formatted(
        "exact int32 sums that {} beyond int32: {}",
        best->row->overflow.value == IntegerOverflow::kWrap ? "wrap around" : "saturate", units));
  }
  f.evidence = {evidence};
  return f;
}

}  // namespace assay::identify
