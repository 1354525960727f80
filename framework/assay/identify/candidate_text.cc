#include "assay/identify/candidate_text.h"

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/format/rounding.h"

namespace assay::inline v0_2::identify {
namespace {

std::string bit_text(bool flag) { return flag ? "1" : "0"; }

// A parameter of a row that `--machine` can set: its name there, and its value in a model.
struct TextKey {
  std::string_view name;
  std::string (*value)(const DotModel& model);
  bool may_be_hidden = false;  // other parameters may take its meaning away: plain()
};
constexpr TextKey kTextKeys[] = {
    {"chunk", [](const DotModel& m) { return formatted("{}", m.chunk.value); }},
    {"accumulator", [](const DotModel& m) { return std::string(m.accumulator.value); }},
    {"order", [](const DotModel& m) { return std::string(order_word(m.order.value)); }},
    {"rounding", [](const DotModel& m) { return std::string(rounding_name(m.rounding.value)); }},
    {"kept_bits", [](const DotModel& m) { return formatted("{}", m.kept_bits.value); }},
    {"alignment", [](const DotModel& m) { return std::string(rounding_name(m.alignment.value)); },
     true},
    {"emax_floor",
     [](const DotModel& m) {
       const int floor = m.emax_floor.value;
       return formatted("{}", floor == DotModel::kNoFloor ? kFloorless : floor);
     },
     true},
    {"mantissa_bits", [](const DotModel& m) { return formatted("{}", m.mantissa_bits.value); }},
    {"round_products", [](const DotModel& m) { return bit_text(m.round_products.value); }, true},
    {"flush_inputs", [](const DotModel& m) { return bit_text(m.flush_inputs.value); }},
    {"flush_sums", [](const DotModel& m) { return bit_text(m.flush_sums.value); }},
    {"sum_bits", [](const DotModel& m) { return formatted("{}", m.sum_bits.value); }},
    {"interleave", [](const DotModel& m) { return formatted("{}", m.interleave.value); }, true},
    {"reach", [](const DotModel& m) { return formatted("{}", m.reach.value); }, true},
};

}  // namespace

bool divides_by_promotion(const Sums& s, const Candidate& c) {
  if (c.split != KSplit{.terms = c.split.terms}) return false;
  return s.is_dot() || s.is_scaled() || c.split.terms >= s.k ||
         (s.a_format->bits == 8 && c.split.terms <= 512 && c.inner_interval == 0);
}

CandidateText text_of(const Sums& s, const Candidate& c) {
  const Conversion conversion{c.compute, c.compute_rounding};
  CandidateText best{.changes = 1000};
  int place = 0;
  for (const Machine& machine : machines()) {
    ++place;
    const DotModel* row = row_of(s, machine, conversion);
    if (row == nullptr) continue;
    const Candidate base = candidate_of(s, machine, *row, conversion);
    CandidateText text{.machine = std::string(machine.name)};
    // A parameter that has no meaning in the machine's row may get one if order, kept_bits or
    // sum_bits change.
    Candidate hidden = base;
    hidden.model = *row;
    hidden.model.order = c.model.order;
    hidden.model.kept_bits = c.model.kept_bits;
    hidden.model.sum_bits = c.model.sum_bits;
    hidden = plain(hidden);
    for (const TextKey& key : kTextKeys) {
      const std::string value = key.value(c.model);
      if (value == key.value((key.may_be_hidden ? hidden : base).model)) continue;
      // Leaves out parameters that a dot with float16 sums fixes, and those that have no meaning
      // without alignment.
      if (s.sums_in_float16 &&
          (key.name == "accumulator" || key.name == "rounding" || key.name == "mantissa_bits")) {
        continue;
      }
      const bool of_alignment = key.name == "alignment" || key.name == "emax_floor";
      if (of_alignment && c.model.kept_bits.value == 0) continue;
      text.machine += formatted(",{}={}", key.name, value);
      ++text.changes;
    }
    text.has_rows_unit = text.changes == 0;
    if (!s.is_dot() && !s.start.empty() && c.bias_first != base.bias_first) {
      text.machine += formatted(",bias_first={}", bit_text(c.bias_first));
      ++text.changes;
    }
    if (row->promotion_interval.value > 0 && c.split.terms == 0) {
      text.machine += ",promotion_interval=0";
      ++text.changes;
    }
    if (text.changes == 0 && best.changes == 0) best.rows.push_back(&machine);
    if (text.changes >= best.changes) continue;
    if (text.changes == 0) text.rows = {&machine};
    text.is_row = text.changes == 0;
    text.place = place;
    best = text;
  }
  if (c.compute != nullptr) {
    best.parameters["compute_dtype"] = std::string(c.compute->name);
    if (c.compute_rounding != Rounding::kNearestEven) {
      best.parameters["compute_rounding"] = std::string(rounding_name(c.compute_rounding));
    }
    if (c.in_two_terms) best.parameters["compute_terms"] = std::int64_t{2};
  }
  if (c.split.first > 0) best.parameters["split_first"] = c.split.first;
  if (c.split.dealt > 0) best.parameters["split_parts"] = c.split.dealt;
  if (c.split.order != PartOrder::kAscending) {
    best.parameters["split_order"] =
        std::string(kPartOrderWords[static_cast<std::size_t>(c.split.order)]);
  }
  if (c.split.part != nullptr) best.parameters["split_dtype"] = std::string(c.split.part->name);
  if (c.split.sum != nullptr) best.parameters["split_sum_dtype"] = std::string(c.split.sum->name);
  if (c.round_before_bias) best.parameters["round_before_bias"] = std::int64_t{1};
  if (c.output_rounding != Rounding::kNearestEven) {
    best.parameters["output_rounding"] = std::string(rounding_name(c.output_rounding));
  }
  if (c.split.terms > 0) {
    best.parameters[divides_by_promotion(s, c) ? "promotion_interval" : "split_k"] = c.split.terms;
  }
  if (c.inner_interval > 0) best.parameters["promotion_interval"] = c.inner_interval;
  if (c.scale_order != ScaleOrder::kTogether) {
    best.parameters["scale_order"] =
        std::string(kScaleOrderWords[static_cast<std::size_t>(c.scale_order)]);
  }
  if (s.scales_change()) best.parameters["fused"] = std::int64_t{c.fused ? 1 : 0};
  return best;
}

std::vector<MachineRow> rows_like(const Sums& s, const Candidate& c) {
  const Candidate form = canonical(s, c);
  const Conversion conversion{c.compute, c.compute_rounding, c.in_two_terms};
  std::vector<MachineRow> rows;
  for (const Machine& machine : machines()) {
    const DotModel* row = row_of(s, machine, conversion);
    if (row == nullptr) continue;
    const Candidate base = candidate_of(s, machine, *row, conversion);
    Candidate other = c;
    other.model = base.model;
    if (!same(canonical(s, other), form)) continue;
    const std::vector<const Machine*> named = text_of(s, other).rows;
    if (contains(named, &machine)) {
      rows.push_back({&machine, other});
    }
  }
  return rows;
}

}  // namespace assay::identify
