#include "assay/wire/identification.h"

#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

using identify::Finding;

Json decision_json(const Finding& f) {
  const identify::Decision& d = *f.decision;
  Json json = {{"models", d.models}, {"has_more", f.has_more}, {"parameters", d.parameters}};
  if (d.format == nullptr) return json;
  json["arithmetics"] = d.arithmetics;
  json["like_the_first"] = d.like_first;
  json["results"] = d.results;
  if (!d.command.empty()) json["command"] = d.command;
  json["probe"] = d.probe;
  json["told_apart"] = d.told_apart;
  return json;
}

Json evidence_json(const Finding& f) {
  Json all = Json::object();
  for (const identify::Evidence& e : f.evidence) {
    Json entry = {{"value", e.value}, {"differ", e.differ}, {"of", e.of}};
    if (!e.rival.empty()) entry["other_value"] = e.rival;
    if (!e.same.empty()) entry["same"] = e.same;
    all[e.parameter] = entry;
  }
  return all;
}

Json errors_json(const identify::UlpErrors& e) {
  return {{"elements", e.elements},
          {"largest_ulps", e.largest},
          {"mean_ulps", e.mean},
          {"not_nearest", e.inexact}};
}

Json function_json(const identify::FunctionReport& report) {
  Json json = errors_json(report.errors);
  json["at"] = report.errors.at;
  json["special"] = report.special;
  json["flushed"] = report.flushed;
  json["inversions"] = report.inversions;
  json["unsteady"] = report.unsteady;
  json["ranges"] = list_json(report.ranges, [](const identify::FunctionRange& range) {
    Json entry = errors_json(range.errors);
    entry["low"] = range.low;
    entry["high"] = range.high;
    return entry;
  });
  json["bounds"] = list_json(report.bounds, [](const identify::FunctionBound& bound) -> Json {
    return {{"name", bound.name}, {"outside", bound.outside}};
  });
  for (const auto& [key, candidates] :
       {std::pair("fits", &report.fits), std::pair("nearest", &report.nearest)}) {
    json[key] = list_json(*candidates, [](const identify::FunctionCandidate& c) -> Json {
      return {{"name", c.name}, {"differ", c.differ}};
    });
  }
  return json;
}

Json finding_json(const Finding& f) {
  Json json = {{"case", f.case_name}, {"op", f.op}, {"producer", f.producer}};
  if (!f.output_name.empty()) json["output_name"] = f.output_name;
  if (!f.why.empty()) {
    json["outcome"] = "not_identified";
    json["because"] = f.why;
    return json;
  }
  Json parameters = Json::object();
  for (const auto& [name, value] : f.parameters) {
    std::visit([&, &key = name](const auto& v) { parameters[key] = v; }, value);
  }
  json["outcome"] = outcome_word(f.outcome);
  json["sentence"] = f.sentence;
  json["model"] = f.model;
  json["parameters"] = parameters;
  json["elements"] = f.elements;
  json["tried"] = f.tried;
  if (!f.note.empty()) json["note"] = f.note;
  if (f.function) {
    json["function"] = function_json(*f.function);
    return json;
  }
  if (f.outcome == identify::Outcome::kNone) {
    json["nearest"] = {{"agree", f.agree}, {"of", f.of}, {"largest_ulps", f.largest_ulps}};
    return json;
  }
  json["row"] = f.is_row;
  if (!f.alike.empty()) json["alike"] = f.alike;
  json["by_others"] = f.by_others;
  json["fits"] = f.fits;
  json["evidence"] = evidence_json(f);
  if (!f.rivals.empty()) json["rivals"] = f.rivals;
  if (f.decision) json["decide"] = decision_json(f);
  return json;
}

}  // namespace

std::string identification_json(const std::vector<Finding>& findings, const std::string& file) {
  const Json all = {{"schema", 2}, {"file", file}, {"cases", list_json(findings, finding_json)}};
  return dumped(all, 1);
}

}  // namespace assay::wire
