#include "assay/wire/audit_results.h"

#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

Json caught_json(const audit::Caught& c) {
  return {{"tried", c.tried}, {"caught", c.caught}, {"let_through", c.escaped}};
}

std::string_view finding_word(audit::Finding::Kind kind) {
  return kind == audit::Finding::Kind::kRefusesRight  ? "refuses_right"
         : kind == audit::Finding::Kind::kPassesWrong ? "passes_wrong"
                                                      : "not_comparable";
}

Json target_json(const audit::AuditResult& result, std::size_t index) {
  const audit::TargetResult& t = result.targets[index];
  Json json = {{"name", t.name}, {"audited", t.audited}};
  json["score"] = t.score ? Json{{"share", number(t.score->share)},
                                 {"low", number(t.score->interval.low)},
                                 {"high", number(t.score->interval.high)}}
                          : Json(nullptr);
  json["findings"] = list_json(t.findings, [](const audit::Finding& f) -> Json {
    return {{"finding", finding_word(f.kind)}, {"case", f.subject}, {"because", f.because}};
  });
  Json classes = Json::object();
  for (std::size_t c = 0; c < t.classes.size(); ++c) {
    classes[std::string(audit::corruption_classes()[c].name)] = caught_json(t.classes[c]);
  }
  json["classes"] = std::move(classes);
  Json corruptions = Json::object();
  for (std::size_t c = 0; c < t.corruptions.size(); ++c) {
    if (t.corruptions[c].tried == 0) continue;
    corruptions[result.corruptions[c]->name] = caught_json(t.corruptions[c]);
  }
  json["corruptions"] = std::move(corruptions);
  json["smallest_seen"] = list_json(t.sights, [](const audit::Sight& s) -> Json {
    return {{"error", s.kind},
            {"dtype", s.dtype},
            {"case", s.subject},
            {"least_seen", s.least ? Json(*s.least) : Json(nullptr)},
            {"most_tried", s.most}};
  });
  json["blind"] = list_json(t.blindness, [](const audit::Blindness& b) -> Json {
    return {{"dtype", b.dtype}, {"case", b.subject}, {"blind", b.blind}, {"nonzero", b.nonzero}};
  });
  json["sizes"] = list_json(t.sizes, [](const audit::SizeSeries& s) -> Json {
    return {{"corruption", s.corruption},
            {"dtype", s.dtype},
            {"case", s.subject},
            {"flips", s.flips()},
            {"verdicts", list_json(s.points, [](const auto& p) -> Json {
               return {{"size", p.size}, {"passed", p.passed}};
             })}};
  });
  Json escapes = Json::array();
  for (const audit::Escape& e : result.escapes) {
    if (e.target != index) continue;
    Json one = {{"case", e.subject},
                {"corruption", e.corruption},
                {"changed", e.changed},
                {"elements", e.size},
                {"repeat", e.repeat}};
    if (e.is_drawn) one["draw"] = e.draw;
    if (!e.saved.empty()) one["saved"] = e.saved;
    escapes.push_back(std::move(one));
  }
  json["let_through"] = std::move(escapes);
  return json;
}

}  // namespace

std::string audit_json(const audit::AuditResult& result, const AuditHead& head) {
  Json json = {{"schema", 1},
               {"kind", "audit"},
               {"version", head.version},
               {"command", head.command},
               {"golden", head.golden},
               {"yardstick", result.yardstick},
               {"subjects", result.subjects},
               {"verdicts", result.trials},
               {"seconds", number(result.seconds)}};
  json["corruptions"] = list_json(result.corruptions, [](const audit::Corruption* row) -> Json {
    return {{"name", row->name}, {"class", row->of}, {"meaning", row->meaning}};
  });
  Json targets = Json::array();
  for (std::size_t t = 0; t < result.targets.size(); ++t) {
    targets.push_back(target_json(result, t));
  }
  json["targets"] = std::move(targets);
  // The output of an audited program may have any bytes. dumped() replaces those that are not
  // UTF-8.
  return dumped(json, 1);
}

}  // namespace assay::wire
