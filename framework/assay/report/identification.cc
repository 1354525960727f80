#include "assay/report/identification.h"

#include "assay/base/printable.h"
#include "assay/base/text.h"

namespace assay::inline v0_2::report {
namespace {

using identify::Evidence;
using identify::Finding;

std::string title_of(const Finding& f) {
  return f.output_name.empty() ? f.case_name : f.case_name + ":" + f.output_name;
}

std::string model_text(const Finding& f) {
  std::string text = f.model.empty() ? "a model that no machine of the table has" : f.model;
  for (const auto& [name, value] : f.parameters) {
    text += formatted(" {}={}", name, printable_name(attribute_text(value)));
  }
  return text;
}

std::string evidence_line(const Evidence& e) {
  std::string line = formatted("    {} {}: ", e.parameter, e.value);
  line += e.rival.empty() ? std::string("nothing else was told apart")
                          : formatted("{} would change {} of {} elements", e.rival,
                                      grouped(e.differ), grouped(e.of));
  constexpr std::size_t kShown = 6;
  if (!e.same.empty()) {
    std::vector<std::string> shown(
        e.same.begin(),
        e.same.begin() + static_cast<std::ptrdiff_t>(std::min(kShown, e.same.size())));
    line +=
        formatted("; the data do not tell it from {}{}", joined(shown),
                  e.same.size() > kShown ? formatted(" and {} more", e.same.size() - kShown) : "");
  }
  return line + "\n";
}

std::string function_text(const Finding& f) {
  std::string out;
  if (f.outcome == identify::Outcome::kFound) {
    out = formatted("    found: {}, all {} elements\n", model_text(f), grouped(f.elements));
  } else if (f.outcome == identify::Outcome::kUndecided) {
    out = "    undecided: no candidate gives every bit, and a known bound of the error is kept\n";
  } else {
    out = formatted(
        "    nothing fits of {} candidates, and the output keeps no known bound of the error\n",
        grouped(f.tried));
  }
  // The first of the function's lines is left out, because it repeats what is already printed.
  return out + f.function_lines.substr(f.function_lines.find('\n') + 1);
}

// Describes the inputs that would decide between the models that fit.
std::string decision_text(const Finding& f) {
  const identify::Decision& d = *f.decision;
  std::string out;
  if (!d.parameters.empty()) {
    out += formatted("    {} that fit{} differ in {}\n",
                     counted(static_cast<std::int64_t>(d.models), "model"),
                     f.has_more ? ", the first of more," : "", joined(d.parameters));
  }
  if (d.format == nullptr) {
    return out + "    to decide, record more cases of this kind with other data\n";
  }
  out += formatted(
      "    on probes, {} of these models give the same results as the first; all of them are {} "
      "({} compared)\n",
      grouped(static_cast<std::int64_t>(d.like_first)),
      counted(static_cast<std::int64_t>(d.arithmetics), "arithmetic"),
      counted(d.results, "result"));
  if (d.told_apart < 2) {
    return out + "    probes of this shape and output dtype tell none of them apart\n";
  }
  const std::string probes =
      !d.command.empty()
          ? d.command
          : formatted("probes of {} with {} results and M, K, N = {}, {}, {}", d.format->name,
                      d.output->name, d.shape.m, d.shape.k, d.shape.n);
  return out + formatted("    to decide, record {}; the probe {} tells {} of the {} apart\n",
                         probes, d.probe, d.told_apart,
                         counted(static_cast<std::int64_t>(d.arithmetics), "arithmetic"));
}

std::string finding_text(const Finding& f) {
  std::string out = formatted("{} ({}): ", printable_name(title_of(f)), printable_name(f.producer));
  if (!f.why.empty()) return out + formatted("not identified: {}\n", printable_sentence(f.why));
  out += formatted("{}\n", printable_sentence(f.sentence));
  if (f.function) return out + function_text(f);
  switch (f.outcome) {
    case identify::Outcome::kFound:
      out += formatted("    found: {}, all {} elements{}\n", model_text(f), grouped(f.elements),
                       f.by_others ? "; other outputs of these dtypes decided it" : "");
      break;
    case identify::Outcome::kUndecided:
      out += formatted("    undecided: {}, all {} elements, but others fit as well\n",
                       model_text(f), grouped(f.elements));
      break;
    case identify::Outcome::kNone:
      out += formatted(
          "    nothing fits of {} models; nearest {}: {} of {} elements agree, the others are up "
          "to {} ulps off\n",
          grouped(f.tried), model_text(f), grouped(f.agree), grouped(f.of), f.largest_ulps);
      break;
  }
  if (!f.note.empty()) out += formatted("    {}\n", printable_sentence(f.note));
  if (f.outcome == identify::Outcome::kNone) return out;
  if (f.decision) out += decision_text(f);
  for (const Evidence& e : f.evidence) out += evidence_line(e);
  for (const std::string& rival : f.rivals) out += formatted("    also fits: {}\n", rival);
  return out;
}

}  // namespace

std::string identification_text(const std::vector<Finding>& findings) {
  std::string out;
  std::int64_t found = 0, none = 0, undecided = 0, left = 0;
  for (const Finding& f : findings) {
    out += finding_text(f);
    if (!f.why.empty()) {
      ++left;
      continue;
    }
    (f.outcome == identify::Outcome::kFound  ? found
     : f.outcome == identify::Outcome::kNone ? none
                                             : undecided) += 1;
  }
  out += formatted("{} found, {} undecided, {} explained by nothing", grouped(found),
                   grouped(undecided), grouped(none));
  return out + (left > 0 ? formatted("; {} left out\n", grouped(left)) : "\n");
}

}  // namespace assay::report
