#include "assay/wire/gate_parts_file.h"

#include <algorithm>
#include <cstddef>

#include "assay/base/call_text.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

// The outcomes of a gate's cases, from the worst to the best.
constexpr const char* kOutcomes[] = {"error", "fail", "not_comparable", "untrusted", "pass"};

std::size_t rank_of(const std::string& outcome, const std::string& where) {
  const auto* const at = std::ranges::find(kOutcomes, outcome);
  if (at == std::end(kOutcomes)) wrong(where, "the outcome '{}' is not known", outcome);
  return static_cast<std::size_t>(at - std::begin(kOutcomes));
}

// The entries of one case, one for each of its outputs. They are consecutive in a result file.
using CaseEntries = std::vector<Json>;

struct Part {
  std::string name;
  Json head = Json::object();  // without its cases
  int index = 0, count = 0;
  std::vector<CaseEntries> cases = {};
};

bool is_same_case(const Json& a, const Json& b, const std::string& where) {
  return text_of(a, "case", where) == text_of(b, "case", where) &&
         text_of(a, "file", where) == text_of(b, "file", where) && b.contains("output_name");
}

Part read_part(const std::string& name, const std::string& text) {
  Part part{name, parse_json(text, name, Controls::kAllowed)};
  Json& head = part.head;
  if (!head.is_object() || !head.contains("schema") || !head.contains("cases") ||
      !head["cases"].is_array()) {
    wrong(name, "is no result of a gate");
  }
  if (const std::string why = why_not_read(head["schema"]); !why.empty()) {
    wrong(name, why);
  }
  const std::vector<std::string> shard = every_part(text_of(head, "shard", name), '/');
  if (shard.size() == 2) {
    part.index = read_number<int>(shard[0]).value_or(0);
    part.count = read_number<int>(shard[1]).value_or(0);
  }
  if (part.index < 1 || part.index > part.count) {
    wrong(name, "is of no shard");
  }
  for (Json& entry : head["cases"]) {
    const std::string where = formatted("{}: case {}", name, part.cases.size() + 1);
    if (!entry.is_object()) wrong(where, "an object {...} is expected");
    (void)rank_of(text_of(entry, "outcome", where), where);
    const bool next = !part.cases.empty() && is_same_case(part.cases.back().front(), entry, where);
    if (!next) part.cases.emplace_back();
    part.cases.back().push_back(std::move(entry));
  }
  head.erase("cases");
  return part;
}

// Throws if the parts are not all results of the same run.
void require_one_run(const std::vector<Part>& parts) {
  const Part& first = parts.front();
  for (const Part& part : parts) {
    for (const char* key : {"assay", "golden"}) {
      const Json none, &a = first.head.contains(key) ? first.head[key] : none,
                       &b = part.head.contains(key) ? part.head[key] : none;
      if (a != b) {
        wrong(part.name, "'{}' is {}, and {} in {}", key, b.dump(), a.dump(), first.name);
      }
    }
    if (part.count != first.count) {
      wrong(part.name, "is shard {} of {}; {} is one of {}", part.index, part.count, first.name,
            first.count);
    }
  }
  for (int index = 1; index <= first.count; ++index) {
    const auto is_it = [&](const Part& part) { return part.index == index; };
    const auto found = std::ranges::find_if(parts, is_it);
    if (found == parts.end()) {
      refuse("shard {} of {} is missing", index, first.count);
    }
    const auto again = std::find_if(found + 1, parts.end(), is_it);
    if (again != parts.end()) {
      wrong(again->name, "is shard {} of {}, and so is {}", index, first.count, found->name);
    }
  }
}

}  // namespace

JoinedGate join_gate(const std::vector<std::pair<std::string, std::string>>& texts) {
  std::vector<Part> parts;
  for (const auto& [name, text] : texts) parts.push_back(read_part(name, text));
  if (parts.empty()) refuse("there is nothing to join");
  require_one_run(parts);
  std::ranges::sort(parts, [](const Part& a, const Part& b) { return a.index < b.index; });
  JoinedGate joined;
  Json all = parts.front().head;
  all.erase("shard");
  Json notes = Json::array();
  std::string cases;
  std::size_t worst = std::size(kOutcomes) - 1, most = 0;
  for (const Part& part : parts) {
    most = std::max(most, part.cases.size());
    const Json none = Json::array();
    for (const Json& note : part.head.contains("notes") ? part.head["notes"] : none) {
      if (!contains(notes, note)) notes.push_back(note);
    }
  }
  // Shard i of n has every n-th case from the i-th on. So taking one case of each shard in turn
  // gives the order of the whole run.
  for (std::size_t turn = 0; turn < most; ++turn) {
    for (const Part& part : parts) {
      if (turn >= part.cases.size()) continue;
      std::size_t rank = std::size(kOutcomes) - 1;
      std::string because;
      for (const Json& entry : part.cases[turn]) {
        const std::size_t its = rank_of(text_of(entry, "outcome", part.name), part.name);
        if (its < rank) because = text_of(entry, "because", part.name);
        rank = std::min(rank, its);
        cases += line_of_list(entry, cases.empty());
      }
      const std::string name = text_of(part.cases[turn].front(), "case", part.name);
      ++joined.counts[kOutcomes[rank]];
      worst = std::min(worst, rank);
      if (rank + 1 < std::size(kOutcomes)) {
        joined.unpassed.push_back(formatted("{}: {}: {}", name, kOutcomes[rank], because));
      }
    }
  }
  joined.outcome = cases.empty() ? "not_comparable" : kOutcomes[worst];
  all["outcome"] = joined.outcome;
  if (!notes.empty()) all["notes"] = notes;
  joined.json = begin_of_list(std::move(all), "cases") + cases + std::string(kEndOfList);
  return joined;
}

}  // namespace assay::wire
