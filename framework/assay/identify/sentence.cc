#include "assay/identify/sentence.h"

#include <algorithm>
#include <cctype>

#include "assay/base/text.h"
#include "assay/identify/candidate_text.h"

namespace assay::inline v0_2::identify {
namespace {

// The usual names of the units of a machine of the table.
struct UnitWords {
  std::string_view machine;
  std::string_view matrix_unit;
  // Name of the unit for float32, if the matrix unit does not take float32.
  std::string_view float32_unit = {};
};
constexpr UnitWords kUnitWords[] = {
    {"ascend910b", "Ascend 910B's cube unit"},
    {"hopper", "Hopper's tensor cores", "Hopper's plain cores"},
    {"ampere", "Ampere's tensor cores"},
    {"ada", "Ada's tensor cores"},
    {"volta", "Volta's tensor cores"},
    {"blackwell", "Blackwell's tensor cores"},
    {"cdna1", "CDNA1's matrix cores"},
    {"cdna2", "CDNA2's matrix cores"},
    {"cdna3", "CDNA3's matrix cores"},
    // Plain loops of a processor run on no special unit, so the machine's name stands for it.
    {"cpu_fma", "cpu_fma"},
    {"cpu_mul_add", "cpu_mul_add"},
};

std::string unit_in_words(std::string_view machine, std::string_view input) {
  for (const UnitWords& words : kUnitWords) {
    if (words.machine != machine) continue;
    const bool is_plain = input == "float32" && !words.float32_unit.empty();
    return std::string(is_plain ? words.float32_unit : words.matrix_unit);
  }
  return formatted("the matrix unit of {}", machine);
}

bool is_plain_processor(std::string_view machine) { return machine.starts_with("cpu_"); }

// True for a chain of float32 sums of one product each, which every processor can compute.
bool is_float32_chain(const DotModel& m) {
  return m.kept_bits.value == 0 && m.chunk.value == 1 && m.accumulator.value == "float32" &&
         m.mantissa_bits.value == full_mantissa_bits("float32") &&
         m.rounding.value == Rounding::kNearestEven && m.order.value == ChunkOrder::kFused;
}

std::string spaced(std::string_view name) {
  std::string words(name);
  std::ranges::replace(words, '_', ' ');
  return words;
}

// Returns the rounding in words with a space before them, such as " toward zero". Returns an empty
// string for rounding to nearest even.
std::string rounding_in_words(Rounding rounding) {
  return rounding == Rounding::kNearestEven ? "" : " " + spaced(rounding_name(rounding));
}

std::string unit_of(const Candidate& c, const std::vector<std::string>& alike,
                    std::string_view text) {
  const std::string_view input = c.model.input;
  const std::string_view machine = text.substr(0, text.find(','));
  const std::string_view changes =
      machine.size() < text.size() ? text.substr(machine.size() + 1) : std::string_view();
  if (is_float32_chain(c.model)) {
    const std::string chain = c.model.round_products.value
                                  ? "float32 products and sums, rounded one by one,"
                                  : "float32 FMA";
    const std::string units =
        alike.empty() ? unit_in_words(machine, input) : units_in_words(alike, input);
    return formatted("{} in ascending order: {}", chain, units);
  }
  if (text.empty()) return "an arithmetic that no machine of the table has";
  if (alike.empty()) return formatted("{} with {}", unit_in_words(machine, input), changes);
  std::string units = unit_in_words(alike.front(), input);
  if (alike.size() > 1) {
    units += formatted(" (the same here as {})",
                       units_in_words({alike.begin() + 1, alike.end()}, input));
  }
  return units;
}

std::string sums_added(const KSplit& d) {
  std::string words = formatted("added in {}", d.sum == nullptr ? "float32" : d.sum->name);
  if (d.order == PartOrder::kDescending) words += " in descending order";
  if (d.order == PartOrder::kPairwise) words += " pairwise";
  return words;
}

std::string parts_of(std::int64_t k, std::int64_t terms) {
  const std::int64_t parts = (k + terms - 1) / terms, last = k - (parts - 1) * terms;
  std::string words = parts == 1 ? formatted("1 part of {}", grouped(last))
                                 : formatted("{} parts of {}", grouped(parts), grouped(terms));
  if (parts > 1 && last != terms) words += formatted(" (the last of {})", grouped(last));
  return words;
}

std::string division_in_words(const Sums& s, const Candidate& c) {
  const KSplit& d = c.split;
  if (s.scales_change() && d.terms == 0) return "each stretch of one scale summed by itself";
  if (d.terms == 0) return "K undivided";
  if (d.terms >= s.k && d.first == 0) return "K undivided, its sum added in float32";
  if (d.dealt > 0) {
    return formatted("K in pieces of {} dealt to {} parts in turn, {}", grouped(d.terms),
                     grouped(d.dealt), sums_added(d));
  }
  std::string words = divides_by_promotion(s, c) ? "partial sums of K in " : "K in ";
  words += d.first > 0 ? formatted("1 part of {} and {}", grouped(d.first),
                                   parts_of(s.k - d.first, d.terms))
                       : parts_of(s.k, d.terms);
  if (c.inner_interval > 0) {
    words += formatted(", each in partial sums of {}", grouped(c.inner_interval));
  }
  if (d.part != nullptr) words += formatted(", each rounded to {}", d.part->name);
  return words + ", " + sums_added(d);
}

}  // namespace

std::string units_in_words(const std::vector<std::string>& machines, std::string_view input) {
  std::vector<std::string> sorted = machines, words;
  std::stable_partition(sorted.begin(), sorted.end(), is_plain_processor);
  for (const std::string& name : sorted) words.push_back(unit_in_words(name, input));
  return joined(words);
}

std::string arithmetic_in_words(const Sums& s, const Candidate& c,
                                const std::vector<std::string>& alike, std::string_view text) {
  std::vector<std::string> words = {unit_of(c, alike, text)};
  if (c.compute != nullptr) {
    words.push_back(formatted("operands rounded to {}{}{}", c.compute->name,
                              rounding_in_words(c.compute_rounding),
                              c.in_two_terms ? " in two terms" : ""));
  }
  words.push_back(division_in_words(s, c));
  if (!s.is_dot() && !s.start.empty()) {
    words.emplace_back(c.bias_first ? "the sum begun with the bias"
                       : c.round_before_bias
                           ? formatted("rounded to {}, then the bias added", s.output->name)
                           : "the bias added last");
  }
  if (c.scale_order != ScaleOrder::kTogether) {
    words.push_back(
        formatted("scale_{} multiplied first", c.scale_order == ScaleOrder::kAFirst ? "a" : "b"));
  }
  if (s.scales_change() && !c.fused)
    words.emplace_back("scaled parts rounded before they are added");
  const bool rounds = s.output->precision < format_named(c.model.accumulator.value).precision;
  if (rounds) {
    words.push_back(
        formatted("rounded to {}{}", s.output->name, rounding_in_words(c.output_rounding)));
  }
  return joined(words);
}

std::string order_in_words(const std::map<std::string, Attribute>& parameters) {
  std::map<std::string, std::string> left;
  for (const auto& [name, value] : parameters) left[name] = attribute_text(value);
  const auto take = [&](const std::string& name) {
    const auto found = left.find(name);
    if (found == left.end()) return std::string();
    std::string value = found->second;
    left.erase(found);
    return value;
  };
  const std::string order = take("order"), lanes = take("lanes"), vector = take("vector"),
                    block = take("block_size"), compute = take("compute_dtype"),
                    sums = take("sum_dtype");
  std::string words = order == "sequential"                ? "adding one after the other"
                      : order == "pairwise"                ? "a tree of neighbours"
                      : order == "block"                   ? "blocks of " + block
                      : order == "lanes" && !lanes.empty() ? lanes + " lanes"
                                                           : "order " + order;
  if (order == "halves") words = formatted("halves of halves, {} lanes", lanes);
  if (order != "block" && !block.empty()) words += " in blocks of " + block;
  if (!vector.empty()) words += formatted(" that take {} elements at a time", vector);
  if (!compute.empty()) words += ", operands widened to " + compute;
  if (!sums.empty()) words += ", added in " + sums;
  std::vector<std::string> others;
  for (const auto& [name, value] : left) others.push_back(name + "=" + value);
  if (!others.empty()) words += formatted(" ({})", joined(others));
  return words;
}

std::string sentence_of(std::string words) {
  if (words.empty()) return words;
  // Names of machines are not capitalized, because the command line takes them as they are.
  if (!words.starts_with("cpu_")) {
    words[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(words[0])));
  }
  return words + ".";
}

}  // namespace assay::identify
