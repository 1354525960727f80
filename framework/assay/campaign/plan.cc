#include "assay/campaign/plan.h"

#include <algorithm>

#include "assay/base/hash.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2::campaign {
namespace {

// Returns two 64-bit FNV-1a hashes of the text with different start values, in hexadecimal.
std::string digest(std::string_view text) {
  return formatted("{:016x}{:016x}", fnv1a(text), fnv1a(text, 0x84222325cbf29ce4));
}

}  // namespace

std::string FaultPlan::text() const {
  if (!census) return formatted("{} drawn {} times, {} a matrix", fault.text(), trials, per_matrix);
  std::vector<std::string> words;
  for (const int b : bits) words.push_back(std::to_string(b));
  return formatted("census of {} matrices, bits {}, {}", trials,
                   words.empty() ? "all" : joined(words, " "),
                   direction ? fault::word_of(*direction) : "both");
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

const DistributionSpec& Cell::distribution_of(const std::string& input) const {
  const auto named = distributions.find(input);
  return named == distributions.end() ? distribution : named->second;
}

std::string Cell::sizes_text() const { return formatted("{}", fmt::join(shape, "x")); }

std::string Cell::inputs_text() const {
  std::string text = distribution.text();
  for (const auto& [input, spec] : distributions) text += formatted(", {}: {}", input, spec.text());
  return text;
}

std::string products_text() { return joined(names_with(operators(), &Operator::product), " or "); }

bool Cell::is_product() const {
  const Operator* row = find_operator(op);
  return row != nullptr && row->product;
}

std::int64_t Cell::clean_matrices() const {
  if (!dataset.empty()) return clean_rows > 0 ? std::ssize(cases) : 0;
  return (clean_rows + rows_a_matrix() - 1) / rows_a_matrix();
}

std::int64_t Cell::matrices() const {
  if (!dataset.empty()) return std::ssize(cases);
  std::int64_t most = clean_matrices();
  for (const FaultPlan& f : faults) {
    most = std::max(most, f.census ? f.trials : (f.trials + f.per_matrix - 1) / f.per_matrix);
  }
  return most;
}

void check_cell(const Cell& cell) {
  const Operator* row = find_operator(cell.op);
  const bool has_checksums = row != nullptr && (row->product || row->attention);
  for (const GateSpec& gate : cell.gates) {
    if (!gate.threshold || has_checksums) continue;
    refuse(
        "gate {}: the operator {} has no checksums; give tolerance or standard:NAME as the gate, "
        "or the operator {}",
        gate.text, cell.op, products_text());
  }
  for (const FaultPlan& plan : cell.faults) {
    if (plan.census || cell.is_product()) continue;
    const FaultSpec& fault = plan.fault;
    const auto refuse = [&](const std::string& why) {
      assay::refuse("fault '{}': {}", plan.short_text(), why);
    };
    if (fault.site_row().needs_product) {
      refuse(
          formatted("only a {} has a site {}, and {} is not one; break its output (site=element, "
                    "row, column, tile, periodic) or an input (site=input,input=NAME)",
                    products_text(), fault.site_row().name, cell.op));
    }
    if (fault.before_encoding) {
      refuse(formatted("when=before is only for a {}, and {} is not one; leave it out",
                       products_text(), cell.op));
    }
    if (fault.site == fault::Site::kInput && !cell.recorded.empty()) {
      refuse(
          formatted("a fault in an input needs a result that is computed again, but these results "
                    "were recorded by {}; leave out 'recorded'",
                    cell.recorded));
    }
  }
}

void set_fingerprint(Plan& plan, const std::vector<std::string>& digests) {
  std::string text = formatted("assay plan 1, seed {}\n", plan.seed);
  for (const Cell& c : plan.cells) {
    text += formatted("cell {}\n", c.name);
    if (c.dataset.empty()) {
      text += formatted("  {} on {}, {} to {}, {}, rows {}, ", c.op, c.machine->name, c.dtype->name,
                        c.output->name, fmt::join(c.shape, " x "), c.rows_a_matrix());
      if (c.is_product()) {
        text +=
            formatted("a {}, b {}", c.distribution_of("a").text(), c.distribution_of("b").text());
        if (c.distributions.count("bias") != 0) {
          text += formatted(", bias {}", c.distribution_of("bias").text());
        }
      } else {
        text += formatted("inputs {}", c.inputs_text());
      }
      text += "\n";
    } else {
      text += formatted("  case {} on {}{}{}\n", fmt::join(c.cases, ", "), c.machine->name,
                        c.recorded.empty() ? "" : ", recorded by " + c.recorded,
                        c.recorded_on_machine ? " on this machine" : "");
    }
    for (const auto& [name, value] : c.attributes) {
      text += formatted("  attribute {} = {}\n", name, attribute_text(value));
    }
    for (const GateSpec& g : c.gates) text += formatted("  gate {}\n", g.text);
    for (const FaultPlan& f : c.faults) text += formatted("  {}\n", f.text());
    text += formatted("  clean rows {}\n", c.clean_rows);
    if (c.precision) {
      text += formatted("  +-{} at {}, {} looks\n", c.precision->half_width,
                        c.precision->confidence, c.precision->looks);
    }
  }
  for (const std::string& d : digests) text += formatted("dataset {}\n", d);
  plan.canonical = std::move(text);
  plan.fingerprint = digest(plan.canonical);
}

}  // namespace assay::campaign
