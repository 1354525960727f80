#include "assay/wire/trial_results.h"

#include <algorithm>
#include <limits>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/trial/case_text.h"
#include "assay/wire/gate_results.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

Json counts_json(const TrialReport::Counts& counts) {
  return {{"passed", counts.passed},
          {"failed", counts.failed},
          {"not_supported", counts.not_supported},
          {"not_judged", counts.not_judged}};
}

Json failure_json(const TrialFailure& f) {
  Json json = {{"finding", finding_word(f.finding)}, {"text", f.text}, {"causes", f.causes}};
  json["draw"] = f.draw < 0 ? Json(nullptr) : Json(f.draw);
  json["drawn"] = f.drawn;
  json["reduced"] = f.reduced;
  json["output"] = f.output.empty() ? Json(nullptr) : Json(trial::tensor_text(f.output));
  json["nonzero"] = f.nonzero;
  json["tries"] = f.tries;
  json["is_minimal"] = f.is_minimal;
  json["repeat"] = f.repeat;
  if (f.report) {
    const Verdict* verdict = f.report->deciding_verdict();
    if (verdict != nullptr) {
      Json of_gate = Json::parse(verdict_json(*verdict));
      of_gate.erase("schema");
      json["verdict"] = std::move(of_gate);
    }
  }
  return json;
}

// The readers below throw Refusal that names the place.

const Json& trial_member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) wrong(where, "an object {...} is expected");
  if (!object.contains(key)) wrong(where, "'{}' is missing", key);
  return object[key];
}

std::string trial_word(const Json& object, const char* key, const std::string& where) {
  const Json& value = trial_member(object, key, where);
  if (!value.is_string()) wrong(where, "'{}' must be a text", key);
  return value.get<std::string>();
}

std::int64_t trial_count(const Json& object, const char* key, const std::string& where) {
  const Json& value = trial_member(object, key, where);
  // A sum of two of them stays within int64.
  constexpr std::int64_t kMost = std::int64_t{1} << 53;
  if (!is_int64(value) || value.get<std::int64_t>() < 0 || value.get<std::int64_t>() > kMost) {
    wrong(where, "'{}' must be a whole number from 0 to 2^53", key);
  }
  return value.get<std::int64_t>();
}

bool trial_flag(const Json& object, const char* key, const std::string& where) {
  const Json& value = trial_member(object, key, where);
  if (!value.is_boolean()) wrong(where, "'{}' must be true or false", key);
  return value.get<bool>();
}

std::vector<std::string> trial_words(const Json& object, const char* key,
                                     const std::string& where) {
  const Json& list = trial_member(object, key, where);
  const bool fits =
      list.is_array() && std::ranges::all_of(list, [](const Json& one) { return one.is_string(); });
  if (!fits) wrong(where, "'{}' must be a list of texts", key);
  return list.get<std::vector<std::string>>();
}

const Json& trial_object(const Json& object, const char* key, const std::string& where) {
  const Json& value = trial_member(object, key, where);
  if (!value.is_object()) wrong(where, "'{}' must be an object {{...}}", key);
  return value;
}

std::optional<double> trial_tolerance(const Json& object, const char* key,
                                      const std::string& where) {
  const Json& value = trial_member(object, key, where);
  if (value.is_null()) return std::nullopt;
  if (!value.is_number() || !(value.get<double>() >= 0)) {
    wrong(where, "'{}' must be null or a number of at least 0", key);
  }
  return value.get<double>();
}

std::map<std::string, std::int64_t> trial_counts(const Json& object, const char* key,
                                                 const std::string& where) {
  const Json& all = trial_object(object, key, where);
  std::map<std::string, std::int64_t> counts;
  for (const auto& [name, count] : all.items()) {
    counts[name] = trial_count(all, name.c_str(), formatted("{}: '{}'", where, key));
  }
  return counts;
}

std::vector<std::int64_t> trial_nexts(const Json& list, const std::string& where) {
  std::vector<std::int64_t> nexts;
  for (const Json& one : list) {
    nexts.push_back(trial_count(Json{{"next", one}}, "next", where));
  }
  return nexts;
}

TrialReport::Counts counts_of(const Json& object, const char* key, const std::string& where) {
  const Json& json = trial_object(object, key, where);
  const std::string here = formatted("{}: '{}'", where, key);
  return {trial_count(json, "passed", here), trial_count(json, "failed", here),
          trial_count(json, "not_supported", here), trial_count(json, "not_judged", here)};
}

TrialFinding finding_named(const std::string& word, const std::string& where) {
  for (std::size_t i = 0; i < kTrialFindings; ++i) {
    const auto finding = static_cast<TrialFinding>(i);
    if (finding_word(finding) == word) return finding;
  }
  wrong(where, "there is no finding '{}'", word);
}

TrialFailure failure_of(const Json& json, const std::string& op, const std::string& where) {
  TrialFailure f;
  f.finding = finding_named(trial_word(json, "finding", where), where);
  f.text = trial_word(json, "text", where);
  f.causes = trial_words(json, "causes", where);
  if (!trial_member(json, "draw", where).is_null()) f.draw = trial_count(json, "draw", where);
  f.drawn = trial_word(json, "drawn", where);
  f.reduced = trial_word(json, "reduced", where);
  f.nonzero = trial_count(json, "nonzero", where);
  f.tries = trial_count(json, "tries", where);
  f.is_minimal = trial_flag(json, "is_minimal", where);
  f.repeat = trial_word(json, "repeat", where);
  try {
    f.test_case = trial::parse_case(op, f.reduced).test_case;
    if (!trial_member(json, "output", where).is_null()) {
      f.output = trial::parse_tensor(trial_word(json, "output", where), "output");
    }
  } catch (const Refusal& e) {
    wrong(where, "{}", e.reason());
  }
  return f;
}

}  // namespace

std::string trial_json(const TrialReport& r, const TrialHead& head) {
  Json json = {{"schema", kTrialSchema},     {"assay", head.version},
               {"command", head.command},    {"operator", r.op},
               {"kernel", r.kernel},         {"outcome", outcome_word(r.outcome())},
               {"because", r.because()},     {"machine", r.machine},
               {"dtypes", r.dtypes},         {"output_dtype", r.output_dtype},
               {"parameters", r.parameters}, {"standards", r.standards}};
  json["rtol"] = r.rtol ? Json(*r.rtol) : Json(nullptr);
  json["atol"] = r.atol ? Json(*r.atol) : Json(nullptr);
  json["unordered"] = r.contract.unordered;
  json["batch_invariant"] = r.contract.batch_invariant;
  json["max_elements"] = r.limits.elements;
  json["max_products"] = r.limits.products;
  json["seed"] = r.seed;
  json["shard"] = r.shard + 1;
  json["shards"] = r.shards;
  json["next"] = !r.shard_nexts.empty() ? Json(r.shard_nexts)
                 : r.next < 0           ? Json(nullptr)
                                        : Json(r.next);
  json["was_interrupted"] = r.was_interrupted;
  json["seconds"] = number(r.seconds);
  json["listed"] = counts_json(r.listed);
  json["random"] = counts_json(r.random);
  json["fails_fewer_than_one_in"] = r.outcome() == Outcome::kPass && r.random.passed > 0
                                        ? Json(fails_fewer_than_one_in(r.random.passed))
                                        : Json(nullptr);
  json["not_supported"] = r.not_supported;
  json["not_judged"] = r.not_judged;
  json["coverage"] = r.coverage;
  json["left_out"] = r.left_out;
  json["unchecked"] = list_json(r.unchecked, [](TrialFinding f) { return finding_word(f); });
  json["failures"] = list_json(r.failures, failure_json);
  return dumped(json, 1);
}

TrialReport parse_trial_results(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source, Controls::kAllowed);
  const std::string schema = json.is_object() ? text_of(json, "schema", source) : "";
  if (schema != kTrialSchema) {
    wrong(source, "is not a result of `assay trial`: 'schema' must be \"{}\"", kTrialSchema);
  }
  TrialReport r;
  r.op = trial_word(json, "operator", source);
  r.kernel = trial_word(json, "kernel", source);
  r.machine = trial_word(json, "machine", source);
  r.dtypes = trial_words(json, "dtypes", source);
  r.output_dtype = trial_word(json, "output_dtype", source);
  const Json& parameters = trial_object(json, "parameters", source);
  for (const auto& [name, value] : parameters.items()) {
    r.parameters[name] = trial_word(parameters, name.c_str(), source + ": 'parameters'");
  }
  r.standards = trial_words(json, "standards", source);
  r.rtol = trial_tolerance(json, "rtol", source);
  r.atol = trial_tolerance(json, "atol", source);
  r.contract.unordered = trial_flag(json, "unordered", source);
  r.contract.batch_invariant = trial_flag(json, "batch_invariant", source);
  r.limits.elements = trial_count(json, "max_elements", source);
  r.limits.products = trial_count(json, "max_products", source);
  const Json& seed = trial_member(json, "seed", source);
  if (!seed.is_number_unsigned()) wrong(source, "'seed' must be a whole number of at least 0");
  r.seed = seed.get<std::uint64_t>();
  r.shard = trial_count(json, "shard", source) - 1;
  r.shards = trial_count(json, "shards", source);
  if (r.shard < 0 || r.shard >= r.shards) wrong(source, "'shard' must be from 1 to 'shards'");
  const Json& next = trial_member(json, "next", source);
  if (next.is_array()) {
    r.shard_nexts = trial_nexts(next, source);
  } else if (!next.is_null()) {
    r.next = trial_count(json, "next", source);
  }
  r.was_interrupted = trial_flag(json, "was_interrupted", source);
  r.seconds = number_of(json, "seconds", source).value_or(0);
  r.listed = counts_of(json, "listed", source);
  r.random = counts_of(json, "random", source);
  r.not_supported = trial_counts(json, "not_supported", source);
  r.not_judged = trial_counts(json, "not_judged", source);
  const Json& coverage = trial_object(json, "coverage", source);
  for (const auto& [kind, classes] : coverage.items()) {
    r.coverage[kind] = trial_counts(coverage, kind.c_str(), source + ": 'coverage'");
  }
  r.left_out = trial_words(json, "left_out", source);
  for (const std::string& word : trial_words(json, "unchecked", source)) {
    r.unchecked.push_back(finding_named(word, source + ": 'unchecked'"));
  }
  for (const Json& failure : list_in(json, "failures", source)) {
    const std::string where = formatted("{}: failure {}", source, r.failures.size() + 1);
    r.failures.push_back(failure_of(failure, r.op, where));
  }
  return r;
}

TrialReport read_trial_results(const std::string& path) {
  return parse_trial_results(read_file(path), path);
}

}  // namespace assay::wire
