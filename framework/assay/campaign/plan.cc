#include "assay/campaign/plan.h"

#include <algorithm>

#include "assay/base/text.h"

namespace assay {
namespace {

std::string_view direction_word(const std::optional<Direction>& d) {
  if (!d) return "both";
  return *d == Direction::kZeroToOne ? "0to1" : "1to0";
}

// FNV-1a of 64 bits from two different starts.
std::string digest(std::string_view text) {
  std::uint64_t hashes[2] = {0xcbf29ce484222325, 0x84222325cbf29ce4};
  for (const char c : text) {
    for (std::uint64_t& h : hashes) h = (h ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  }
  return format("{:016x}{:016x}", hashes[0], hashes[1]);
}

}  // namespace

std::string FaultPlan::text() const {
  if (!census) return format("{} drawn {} times, {} a matrix", fault.text(), trials, per_matrix);
  std::vector<std::string> words;
  for (const int b : bits) words.push_back(std::to_string(b));
  return format("census of {} matrices, bits {}, {}", trials,
                words.empty() ? "all" : joined(words, " "), direction_word(direction));
}

std::string FaultPlan::short_text() const {
  std::string words = fault.text();
  for (const std::string part : {",direction=either", ",seed=0", ",count=1"}) {
    const std::size_t found = words.find(part);
    const std::size_t end = found + part.size();
    if (found != std::string::npos && (end == words.size() || words[end] == ',')) {
      words.erase(found, part.size());
    }
  }
  return words;
}

std::int64_t Cell::clean_matrices() const {
  if (!dataset.empty()) return clean_rows > 0 ? 1 : 0;
  return (clean_rows + rows_a_matrix() - 1) / rows_a_matrix();
}

std::int64_t Cell::matrices() const {
  if (!dataset.empty()) return 1;  // there is but one
  std::int64_t most = clean_matrices();
  for (const FaultPlan& f : faults) {
    most = std::max(most, f.census ? f.trials : (f.trials + f.per_matrix - 1) / f.per_matrix);
  }
  return most;
}

std::vector<int> census_bits(const FaultPlan& plan, const Format& format) {
  if (!plan.bits.empty()) return plan.bits;
  std::vector<int> bits;
  for (int b = format.padding; b < format.padding + format.bits; ++b) bits.push_back(b);
  return bits;
}

void set_fingerprint(Plan& plan, const std::vector<std::string>& digests) {
  std::string text = format("assay plan 1, seed {}\n", plan.seed);
  for (const Cell& c : plan.cells) {
    text += format("cell {}\n", c.name);
    if (c.dataset.empty()) {
      text += format("  {} on {}, {} to {}, {} x {} x {}, rows {}, a {}, b {}\n", c.op,
                     c.machine->name, c.dtype->name, c.output->name, c.shape[0], c.shape[1],
                     c.shape[2], c.rows_a_matrix(), c.a.text(), c.b.text());
    } else {
      text += format("  case {} on {}{}\n", c.case_name, c.machine->name,
                     c.recorded.empty() ? "" : ", recorded by " + c.recorded);
    }
    for (const auto& [name, value] : c.attributes) {
      text += format("  attribute {} = {}\n", name, attribute_text(value));
    }
    for (const GateSpec& g : c.gates) text += format("  gate {}\n", g.text);
    for (const FaultPlan& f : c.faults) text += format("  {}\n", f.text());
    text += format("  clean rows {}\n", c.clean_rows);
    if (c.precision) {
      text += format("  +-{} at {}, {} looks\n", c.precision->half_width, c.precision->confidence,
                     c.precision->looks);
    }
  }
  for (const std::string& d : digests) text += format("dataset {}\n", d);
  plan.canonical = std::move(text);
  plan.fingerprint = digest(plan.canonical);
}

}  // namespace assay
