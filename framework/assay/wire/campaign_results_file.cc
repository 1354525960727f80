#include "assay/wire/campaign_results_file.h"

#include <filesystem>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/wire/bins.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

namespace fs = std::filesystem;
using campaign::SavedCell;

constexpr std::uintmax_t kMostBytes = std::uintmax_t{64} << 20;

const Json& member(const Json& object, const char* key, const std::string& where) {
  if (!object.is_object()) wrong(where, "an object {...} is expected");
  if (!object.contains(key)) wrong(where, "'{}' is missing", key);
  return object[key];
}

const Json& list(const Json& object, const char* key, const std::string& where) {
  (void)member(object, key, where);
  return list_in(object, key, where);
}

std::string word(const Json& object, const char* key, const std::string& where) {
  (void)member(object, key, where);
  return text_of(object, key, where);
}

std::int64_t count(const Json& object, const char* key, const std::string& where) {
  (void)member(object, key, where);
  return *count_of(object, key, where);
}

// Reads a number. NaN and infinity are strings.
double number_in(const Json& object, const char* key, const std::string& where) {
  const Json& value = member(object, key, where);
  const auto special = special_number(value);
  if (special && !(*special < 0)) return *special;
  return *number_of(object, key, where);
}

void hold(bool holds, const std::string& where, const char* what) {
  if (!holds) wrong(where, what);
}

campaign::MeasuredRate rate(const Json& object, const char* key, const std::string& where) {
  const Json& json = member(object, key, where);
  const std::string here = formatted("{}: '{}'", where, key);
  campaign::MeasuredRate r;
  r.rate = {count(json, "events", here), count(json, "trials", here)};
  hold(r.rate.events <= r.rate.trials, here, "there are more events than trials");
  if (!json.contains("matrices")) {
    wrong(here,
          "it does not say of how many matrices it is, as results of versions before 0.2.0 do not; "
          "merging their folder writes them again");
  }
  r.clusters = count(json, "matrices", here);
  if (r.rate.trials == 0) return r;
  hold(r.clusters > 0 && r.clusters <= r.rate.trials, here,
       "'matrices' must be from 1 to the number of trials");
  const Json& interval = member(json, "interval", here);
  if (interval.is_null()) return r;
  const bool two = interval.is_array() && interval.size() == 2 && interval[0].is_number() &&
                   interval[1].is_number();
  campaign::Interval i;
  if (two) i = {interval[0].get<double>(), interval[1].get<double>()};
  hold(two && i.low >= 0 && i.low <= i.high && i.high <= 1, here,
       "'interval' must be null or [low, high], both from 0 to 1");
  r.interval = i;
  return r;
}

campaign::RatioCounts ratios(const Json& object, std::int64_t most, const std::string& where) {
  const std::optional<Bins> bins = read_bins(word(object, "ratios", where));
  campaign::RatioCounts counts{};
  const char* const kWords = "'ratios' must be bins and their counts as in \"0:12 128:3\"";
  hold(bins.has_value(), where, kWords);
  for (const auto& [bin, n] : *bins) {
    hold(bin >= 0 && static_cast<std::size_t>(bin) < counts.size(), where, kWords);
    std::int64_t& counted = counts[static_cast<std::size_t>(bin)];
    hold(n <= most && counted == 0, where, "'ratios' counts more than there were checks");
    most -= n;
    counted = n;
  }
  return counts;
}

// Reads the faults of a series and how many of them were detected. Throws if the counts contradict
// each other.
void read_seen(const Json& json, const std::string& where, campaign::SeenFaults& seen) {
  campaign::FaultCounts& faults = seen.faults;
  faults = {count(json, "injected", where), count(json, "masked", where),
            count(json, "not_injectable", where), count(json, "not_finite", where)};
  seen.detected = rate(json, "detected", where);
  campaign::DetectionCounts& d = seen.detections;
  d = {seen.detected.rate.events, count(json, "dismissed", where),
       count(json, "not_checkable", where)};
  hold(d.not_checkable <= faults.injected &&
           seen.detected.rate.trials == faults.injected - d.not_checkable,
       where, "'detected' must be of the injected ones that could be checked");
  hold(d.detected + d.dismissed <= seen.detected.rate.trials, where,
       "'detected' and 'dismissed' are more than was injected");
}

fault::Direction direction(const Json& json, const std::string& where) {
  const std::string text = word(json, "direction", where);
  if (text == "0to1") return fault::Direction::kZeroToOne;
  if (text == "1to0") return fault::Direction::kOneToZero;
  wrong(where, "'direction' must be 0to1 or 1to0, not '{}'", text);
}

int bit(const Json& json, const std::string& where) {
  const std::int64_t b = count(json, "bit", where);
  hold(b < 128, where, "'bit' must be below 128");
  return static_cast<int>(b);
}

// Returns the index of this fault in the cell's list of faults. Adds the fault if the list does not
// have it.
std::size_t fault_number(SavedCell& cell, const campaign::SavedFault& fault) {
  for (std::size_t f = 0; f < cell.faults.size(); ++f) {
    if (cell.faults[f].text == fault.text && cell.faults[f].class_name == fault.class_name) {
      return f;
    }
  }
  cell.faults.push_back(fault);
  return cell.faults.size() - 1;
}

campaign::SeriesResult series(SavedCell& cell, const Json& json, const std::string& where) {
  campaign::SeriesResult s;
  const bool census = json.is_object() && json.contains("bit");
  const campaign::SavedFault fault{census ? "" : word(json, "fault", where),
                                   text_of(json, "class", where)};
  s.series.fault = fault_number(cell, fault);
  if (census) {
    s.series.bit = bit(json, where);
    s.series.direction = direction(json, where);
  }
  read_seen(json, where, s);
  s.ratios = ratios(json, s.detected.rate.trials, where);
  return s;
}

std::vector<campaign::SavedPublished> published(const Json& gate, const std::string& where) {
  std::vector<campaign::SavedPublished> all;
  if (!gate.contains("published")) return all;
  for (const Json& json : list(gate, "published", where)) {
    const std::string here = formatted("{}: published {}", where, all.size() + 1);
    campaign::SavedPublished p;
    (void)member(json, "trials", here);
    p.variant = text_of(json, "variant", here);
    if (json.contains("bit")) {
      p.bit = bit(json, here);
      p.direction = direction(json, here);
    }
    p.rate = number_of(json, "rate", here, 1);
    p.word = text_of(json, "word", here);
    hold(p.rate || !p.word.empty(), here, "'rate' is missing");
    p.trials = count(json, "trials", here);
    p.remark = text_of(json, "remark", here);
    p.why = text_of(json, "why", here);
    const Json& agrees = member(json, "agrees", here);
    hold(agrees.is_null() || agrees.is_boolean(), here, "'agrees' must be true, false or null");
    if (agrees.is_boolean()) p.agrees = agrees.get<bool>();
    all.push_back(std::move(p));
  }
  return all;
}

campaign::GateResult gate_result(SavedCell& cell, const Json& json, const std::string& where) {
  campaign::GateResult gate;
  gate.gate = word(json, "gate", where);
  const std::string here = formatted("{}: gate '{}'", where, gate.gate);
  const Json& clean = member(json, "clean", here);
  const std::string of_clean = here + ": 'clean'";
  campaign::CleanCounts& c = gate.clean;
  c.rows = count(clean, "rows", of_clean);
  c.not_checkable = count(clean, "not_checkable", of_clean);
  c.dismissed = count(clean, "dismissed", of_clean);
  c.worst = number_in(clean, "largest_ratio", of_clean);
  gate.rms_z = number_in(clean, "rms_z", of_clean);
  gate.clean_matrices = count(clean, "matrices", of_clean);
  gate.alarmed_matrices = count(clean, "alarmed_matrices", of_clean);
  gate.alarms = rate(clean, "alarms", of_clean);
  c.alarms = gate.alarms.rate.events;
  hold(gate.alarmed_matrices <= gate.clean_matrices, of_clean,
       "more matrices alarm than there are");
  hold(c.not_checkable <= c.rows && gate.alarms.rate.trials == c.rows - c.not_checkable, of_clean,
       "'alarms' must be of the rows that could be checked");
  gate.ratios = ratios(clean, c.rows, of_clean);
  // The sum of the faults of a gate, and the sum over the bits of its census, must be valid
  // numbers, too. So they are also checked.
  std::int64_t room = std::int64_t{1} << 53;
  for (const Json& one : list(json, "faults", here)) {
    const std::string place = formatted("{}: fault {}", here, gate.series.size() + 1);
    gate.series.push_back(series(cell, one, place));
    const campaign::FaultCounts& f = gate.series.back().faults;
    for (const std::int64_t n : {f.injected, f.masked, f.not_injectable, f.not_finite}) {
      hold(n <= room, place, "so many faults cannot have been counted");
      room -= n;
    }
  }
  if (json.contains("classes")) {
    for (const Json& one : list(json, "classes", here)) {
      campaign::ClassResult of;
      of.name = word(one, "class", here);
      read_seen(one, formatted("{}: class '{}'", here, of.name), of);
      gate.classes.push_back(std::move(of));
    }
  }
  return gate;
}

bool same_faults(const campaign::GateResult& a, const campaign::GateResult& b) {
  if (a.series.size() != b.series.size() || a.classes.size() != b.classes.size()) return false;
  for (std::size_t s = 0; s < a.series.size(); ++s) {
    const campaign::Series &x = a.series[s].series, &y = b.series[s].series;
    if (x.fault != y.fault || x.bit != y.bit || x.direction != y.direction) return false;
  }
  for (std::size_t c = 0; c < a.classes.size(); ++c) {
    if (a.classes[c].name != b.classes[c].name) return false;
  }
  return true;
}

SavedCell cell_of(const Json& json, const std::string& source) {
  SavedCell cell;
  cell.name = word(json, "name", source + ": a cell");
  const std::string where = formatted("{}: cell '{}'", source, cell.name);
  cell.op = word(json, "operator", where);
  cell.machine = word(json, "machine", where);
  cell.dtype = word(json, "dtype", where);
  cell.output_dtype = word(json, "output_dtype", where);
  for (const Json& size : list(json, "shape", where)) {
    hold(size.is_number_integer(), where, "'shape' must be a list of whole numbers");
    cell.shape.push_back(size.get<std::int64_t>());
  }
  for (const char* key : {"a", "b", "bias", "draw", "case"}) {
    if (json.contains(key)) cell.inputs.emplace_back(key, text_of(json, key, where));
  }
  if (json.contains("inputs")) {
    hold(json["inputs"].is_object(), where, "'inputs' must be an object {...}");
    for (const auto& [name, draw] : json["inputs"].items()) {
      cell.inputs.emplace_back(name, text_of(json["inputs"], name.c_str(), where));
    }
  }
  cell.result.matrices = count(json, "matrices", where);
  for (const Json& one : list(json, "gates", where)) {
    cell.result.gates.push_back(gate_result(cell, one, where));
    const campaign::GateResult& gate = cell.result.gates.back();
    cell.published.push_back(published(one, formatted("{}: gate '{}'", where, gate.gate)));
    if (!same_faults(cell.result.gates.front(), gate)) {
      wrong(where, "gate '{}' has other faults than gate '{}'", gate.gate,
            cell.result.gates.front().gate);
    }
  }
  hold(!cell.result.gates.empty(), where, "'gates' must not be empty");
  return cell;
}

// Says what a file with another schema holds, and which command makes a page from it.
std::string what_it_is(const Json& json) {
  if (json.contains("cases")) {
    return "it is a result of a gate or of a comparison; a gate writes its page itself";
  }
  if (json.contains("cells")) {
    return "it is the plan of a campaign, not its results";
  }
  return "it is no result of a campaign: 'campaign' is missing";
}

Json rate_json(const campaign::MeasuredRate& r) {
  Json json = {{"events", r.rate.events}, {"trials", r.rate.trials}, {"matrices", r.clusters}};
  if (r.rate.trials == 0) return json;
  json["rate"] = campaign::share_of(r.rate);
  if (r.interval) {
    json["interval"] = {r.interval->low, r.interval->high};
    json["interval_by"] = "matrices";
  } else {
    json["interval"] = nullptr;
    json["interval_by"] = formatted("none: fewer than {} matrices", campaign::kLeastClusters);
  }
  if (campaign::is_bounded(r)) {
    const campaign::RateBounds bounds = campaign::bounds_of(r);
    const char* side = campaign::nothing_seen(r) ? "upper" : "lower";
    json["bound"] = {
        {"side", side}, {"by_trials", bounds.by_trials}, {"by_matrices", bounds.by_matrices}};
  }
  return json;
}

// Returns the counts of the bins in the format of docs/campaigns.md.
std::string ratios_text(const campaign::RatioCounts& counts) {
  Bins bins;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] > 0) bins.emplace_back(static_cast<int>(i), counts[i]);
  }
  return bins_text(bins);
}

void add_seen(Json& json, const campaign::SeenFaults& seen) {
  json.update({{"injected", seen.faults.injected},
               {"masked", seen.faults.masked},
               {"not_injectable", seen.faults.not_injectable},
               {"not_finite", seen.faults.not_finite},
               {"not_checkable", seen.detections.not_checkable},
               {"dismissed", seen.detections.dismissed},
               {"detected", rate_json(seen.detected)}});
}

Json series_json(const campaign::Cell& cell, const campaign::SeriesResult& s) {
  Json json = Json::object();
  if (s.series.bit >= 0) {
    json["bit"] = s.series.bit;
    json["direction"] = fault::word_of(s.series.direction);
  } else {
    json["fault"] = cell.faults[s.series.fault].fault.text();
  }
  const std::string& class_name = cell.faults[s.series.fault].class_name;
  if (!class_name.empty()) json["class"] = class_name;
  add_seen(json, s);
  json["ratios"] = ratios_text(s.ratios);
  return json;
}

// Returns the published rates of a gate, with its own rates beside them.
Json published_json(const std::vector<campaign::Comparison>& published, const std::string& cell,
                    const std::string& gate) {
  Json list = Json::array();
  for (const campaign::Comparison& c : published) {
    if (c.cell != cell || c.gate != gate) continue;
    const campaign::PublishedRate& p = *c.published;
    Json one = Json::object();
    if (!p.variant.empty()) one["variant"] = p.variant;
    if (p.bit >= 0) {
      one["bit"] = p.bit;
      one["direction"] = p.direction;
    }
    if (p.rate) {
      one["rate"] = *p.rate;
    } else {
      one["word"] = p.word;
    }
    one["trials"] = p.trials;
    if (!p.remark.empty()) one["remark"] = p.remark;
    one["agrees"] = c.judged ? Json(c.agrees) : Json(nullptr);
    if (!c.why.empty()) one["why"] = c.why;
    list.push_back(std::move(one));
  }
  return list;
}

}  // namespace

std::string campaign_json(const campaign::Plan& plan,
                          const std::vector<campaign::CellResult>& results,
                          const std::vector<campaign::Comparison>& published) {
  Json json = {{"schema", 1},
               {"campaign", plan.name},
               {"about", plan.about},
               {"seed", plan.seed},
               {"fingerprint", plan.fingerprint},
               {"confidence", campaign::kConfidence}};
  json["cells"] = Json::array();
  for (const campaign::CellResult& result : results) {
    const campaign::Cell& cell = plan.cells[result.cell];
    Json c = {{"name", cell.name},
              {"operator", cell.op},
              {"machine", cell.recorded.empty() ? std::string(cell.machine->name) : cell.recorded},
              {"dtype", cell.dtype->name},
              {"output_dtype", cell.output->name},
              {"shape", cell.shape}};
    if (cell.dataset.empty()) {
      c["rows"] = cell.rows_a_matrix();
      if (cell.is_product()) {
        for (const char* input : {"a", "b"}) c[input] = cell.distribution_of(input).text();
        if (cell.distributions.count("bias") != 0) c["bias"] = cell.distribution_of("bias").text();
      } else {
        c["draw"] = cell.distribution.text();
        c["inputs"] = Json::object();
        for (const auto& [input, spec] : cell.distributions) c["inputs"][input] = spec.text();
      }
    } else {
      c["case"] = cell.case_name;
    }
    for (const auto& attribute : cell.attributes) {
      std::visit([&](const auto& value) { object_in(c, "attributes")[attribute.first] = value; },
                 attribute.second);
    }
    c["matrices"] = result.matrices;
    if (cell.precision) c["precise"] = result.precise;
    c["gates"] = Json::array();
    for (const campaign::GateResult& g : result.gates) {
      Json gate = {{"gate", g.gate}, {"void", g.is_void()}};
      gate["clean"] = {{"rows", g.clean.rows},
                       {"matrices", g.clean_matrices},
                       {"alarmed_matrices", g.alarmed_matrices},
                       {"not_checkable", g.clean.not_checkable},
                       {"dismissed", g.clean.dismissed},
                       {"alarms", rate_json(g.alarms)},
                       {"upper_bound", campaign::upper_bounds(g.alarms).by_trials},
                       {"upper_bound_by_matrices", campaign::upper_bounds(g.alarms).by_matrices},
                       {"largest_ratio", number(g.clean.worst)},
                       {"rms_z", number(g.rms_z)},
                       {"ratios", ratios_text(g.ratios)}};
      gate["faults"] = Json::array();
      for (const campaign::SeriesResult& s : g.series)
        gate["faults"].push_back(series_json(cell, s));
      for (const campaign::ClassResult& of : g.classes) {
        add_seen(array_in(gate, "classes").emplace_back(Json{{"class", of.name}}), of);
      }
      Json beside = published_json(published, cell.name, g.gate);
      if (!beside.empty()) gate["published"] = std::move(beside);
      c["gates"].push_back(gate);
    }
    json["cells"].push_back(c);
  }
  return dumped(json, 1);
}

campaign::SavedCampaign parse_campaign_results(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source, Controls::kAllowed);
  if (!json.is_object()) wrong(source, "it is no result of a campaign: it must be an object {...}");
  if (!json.contains("campaign")) wrong(source, what_it_is(json));
  const std::int64_t schema = count(json, "schema", source);
  if (schema != 1) wrong(source, "schema {} is not known; this is schema 1's", schema);
  campaign::SavedCampaign saved;
  saved.source = source;
  saved.name = word(json, "campaign", source);
  saved.about = text_of(json, "about", source);
  saved.fingerprint = word(json, "fingerprint", source);
  const Json& seed = member(json, "seed", source);
  hold(seed.is_number_integer(), source, "'seed' must be a whole number");
  saved.seed = seed.dump();
  (void)member(json, "confidence", source);
  saved.confidence = *number_of(json, "confidence", source, 1);
  for (const Json& cell : list(json, "cells", source)) saved.cells.push_back(cell_of(cell, source));
  return saved;
}

campaign::SavedCampaign read_campaign_results(const std::string& path) {
  std::error_code error;
  if (fs::is_directory(path, error)) {
    const std::string file = (fs::path(path) / "results.json").string();
    if (fs::exists(file, error)) return read_campaign_results(file);
    if (fs::exists(fs::path(path) / "blocks", error)) {
      wrong(path, "its campaign is not finished, or it is one shard");
    }
    wrong(path, "is no folder of a campaign: it has no results.json");
  }
  const std::uintmax_t size = fs::file_size(path, error);
  if (!error && size > kMostBytes) {
    wrong(path, "has {} bytes; a campaign's results of more than {} MiB are not read",
          grouped(static_cast<std::int64_t>(size)), kMostBytes >> 20);
  }
  return parse_campaign_results(read_file(path), path);
}

}  // namespace assay::wire
