#include "audit_subjects.h"

#include <algorithm>
#include <set>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/gate/case_outputs.h"
#include "assay/op/operator.h"
#include "audit_files.h"

namespace assay::inline v0_2::tools {
namespace {

// The source of the right outputs that an audit changes.
struct RightOutputs {
  const CaseSource* recorded = nullptr;
  std::string producer;
  const Machine* machine = nullptr;
  // If no member is set, right outputs are rounded golden results.
};

RightOutputs choose(const GateFileOptions& o, const CaseSource& golden, const CaseSource* outputs,
                    const std::vector<std::string>& names, bool rounded) {
  if (rounded) return {};
  if (o.recorded.empty() && outputs == nullptr && !o.machine.empty()) {
    return {nullptr, "", &machine_named(o.machine)};
  }
  const CaseSource& from = outputs != nullptr ? *outputs : golden;
  std::vector<std::string> there;
  for (const std::string& name : names) {
    if (from.has_case(name)) there.push_back(name);
  }
  const std::vector<std::string> producers = producers_of(from, there);
  if (!o.recorded.empty()) {
    if (!contains(producers, o.recorded)) {
      refuse("{} has no outputs of '{}'{}; it has {}", from.path(), o.recorded,
             did_you_mean_aside(o.recorded, producers), joined(producers));
    }
    return {&from, o.recorded, nullptr};
  }
  if (producers.size() > 1) {
    refuse("{} has outputs of several producers; choose one with --recorded, or give --rounded: {}",
           from.path(), joined(producers));
  }
  if (producers.empty() && outputs != nullptr) {
    refuse("{} has no recorded outputs for these cases", from.path());
  }
  if (producers.empty()) return {};
  return {&from, producers.front(), nullptr};
}

// Returns one output of a case. If it is left out, throws Refusal with the reason.
audit::Subject subject_of(Case c, const RightOutputs& from,
                          const std::optional<std::string>& computed) {
  const std::string output = c.output_name();
  if (!c.output().golden) refuse("there is no golden result");
  audit::Subject subject;
  if (from.machine != nullptr) {
    if (output != computed) {
      refuse("no emulated machine computes this output");
    }
    subject.clean = emulate(c, *from.machine);
    subject.producer = from.machine->name;
  } else if (from.recorded != nullptr) {
    const auto place = from.recorded->has_case(c.name)
                           ? from.recorded->result_place(c.name, from.producer, output)
                           : std::nullopt;
    if (const Tensor* known = c.output().recorded_by(from.producer)) {
      subject.clean = *known;
    } else if (place) {
      subject.clean = from.recorded->read_output(c.name, from.producer, output);
    } else {
      refuse("there is no output of '{}'", from.producer);
    }
    subject.producer = from.producer;
  } else {
    subject.clean = rounded_to(output_format(c), *c.output().golden);
  }
  c.take_output_dtype(output, subject.clean.format());
  if (subject.clean.shape() != c.output().golden->shape()) {
    refuse("the output has the shape {}, and the golden result {}",
           shape_text(subject.clean.shape()), shape_text(c.output().golden->shape()));
  }
  if (subject.clean.size() == 0) refuse("the output has no element");
  subject.test_case = std::move(c);
  return subject;
}

void add_case(const Case& c, const RightOutputs& from, AuditSubjects& found) {
  const std::size_t first = found.subjects.size();
  const auto add = [&](const std::string& output) {
    try {
      const CaseOutput* of = c.find_output(output);
      // An output without a golden result is not compared.
      if (of != nullptr && of->golden.is_absent()) return;
      found.subjects.push_back(subject_of(judged_case(c, output), from, computed_output(c).name));
    } catch (const Refusal& e) {
      found.notes.push_back(formatted("{}{} is left out: {}", c.name,
                                      output.empty() ? "" : ":" + output, e.reason()));
    }
  };
  if (c.outputs.empty()) add("");
  for (const auto& [output, of] : c.outputs) add(output);
  for (std::size_t i = first; i < found.subjects.size(); ++i) {
    for (std::size_t k = first; k < found.subjects.size(); ++k) {
      const audit::Subject& other = found.subjects[k];
      if (k == i) continue;
      found.subjects[i].siblings[other.test_case.output_name()] = {other.clean,
                                                                   other.test_case.output().golden};
    }
  }
}

// Gives each subject the output of another case: the next one with the same dtype, preferably of
// the same shape.
void add_others(std::vector<audit::Subject>& subjects) {
  const std::size_t n = subjects.size();
  for (std::size_t i = 0; i < n; ++i) {
    const audit::Subject* chosen = nullptr;
    for (std::size_t step = 1; step < n; ++step) {
      const audit::Subject& other = subjects[(i + step) % n];
      if (&other.clean.format() != &subjects[i].clean.format()) continue;
      const bool same = other.clean.shape() == subjects[i].clean.shape();
      if (chosen == nullptr || same) chosen = &other;
      if (same) break;
    }
    if (chosen != nullptr) {
      subjects[i].other = audit::fitted(chosen->clean, subjects[i].clean.shape());
    }
  }
}

}  // namespace

AuditSubjects read_subjects(const GateFileOptions& o, bool rounded) {
  AuditSubjects found;
  if (o.outputs.size() > 1) refuse("give one --outputs");
  std::vector<OpenedCases> sources;
  if (!o.source.pairs.empty()) {
    OpenOptions request = o.source.request(Side::kGolden);
    request.producer = o.recorded;
    sources.push_back(open_pairs(o.source.pairs[0], o.source.pairs[1], request));
  }
  for (const std::string& path : find_sources(o.golden, o.source.layout)) {
    sources.push_back(open_cases(path, o.source.request(Side::kGolden)));
  }
  std::optional<OpenedCases> outputs;
  if (!o.outputs.empty()) {
    OpenOptions request = o.source.request(Side::kOutputs);
    request.producer = o.recorded;
    request.golden_sources = golden_sources(sources);
    outputs = open_cases(o.outputs.front(), request);
  }
  o.source.check_used(sources, outputs);
  std::size_t all = 0;
  std::set<std::string> seen;
  for (const OpenedCases& source : sources) {
    found.notes.insert(found.notes.end(), source.notes.begin(), source.notes.end());
    std::vector<std::string> names = source.cases->case_names();
    all += names.size();
    std::erase_if(names, [&](const std::string& name) { return !o.filter.takes(name); });
    std::ranges::sort(names, natural_less);
    const CaseSource* recorded = outputs ? outputs->cases.get() : nullptr;
    const RightOutputs from = choose(o, *source.cases, recorded, names, rounded);
    for (const std::string& name : names) {
      if (!seen.insert(name).second) {
        throw FileError(source.cases->path(), name, "is also a case of another GOLDEN");
      }
      if (recorded != nullptr && recorded->has_case(name)) {
        check_same_source(source.cases->path(), source.cases->attributes_of(name), recorded->path(),
                          recorded->attributes_of(name), name);
      }
      add_case(source.cases->read(name), from, found);
    }
  }
  if (found.subjects.empty()) {
    throw NoCaseError(joined(o.given()), "",
                      seen.empty() ? formatted("none of its {} cases was chosen", all)
                                   : formatted("no case is left: {}", found.notes.front()));
  }
  add_others(found.subjects);
  return found;
}

}  // namespace assay::tools
