#include "assay/wire/plan_file.h"

#include <filesystem>
#include <set>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

const std::vector<std::string> kPlanKeys = {"schema",  "name",     "about",    "seed", "published",
                                            "remarks", "variants", "defaults", "cells"};
const std::vector<std::string> kRemarkKeys = {"algorithm", "dtype", "distribution", "direction",
                                              "shape",     "bits",  "remark"};
const std::vector<std::string> kCellKeys = {
    "name",       "operator",     "machine", "dtype",      "output_dtype", "shape",
    "rows",       "distribution", "dataset", "case",       "together",     "recorded",
    "attributes", "gates",        "faults",  "clean_rows", "precision"};
const std::vector<std::string> kDistributionWords = {"draw", "name", "published"};
const std::vector<std::string> kFaultKeys = {"census", "bits",       "direction", "fault",
                                             "trials", "per_matrix", "class"};

// Reads "x" as well as ["x", "y"].
std::vector<Json> list_of(const Json& object, const char* key) {
  if (!object.contains(key)) return {};
  if (!object[key].is_array()) return {object[key]};
  return object[key].get<std::vector<Json>>();
}

std::string word_of(const Json& value, const char* key, const std::string& where) {
  if (!value.is_string()) wrong(where, "'{}' must be a string, not {}", key, value.dump());
  return value.get<std::string>();
}

std::int64_t positive_of(const Json& object, const char* key, const std::string& where,
                         std::optional<std::int64_t> fallback = {}) {
  const auto value = count_of(object, key, where);
  if (!value && !fallback) wrong(where, "'{}' is missing", key);
  if (value && *value < 1) wrong(where, "'{}' must be at least 1", key);
  return value ? *value : *fallback;
}

campaign::GateSpec read_gate(const std::string& text, const std::string& where) {
  constexpr std::string_view kStandard = "standard:", kTolerance = "tolerance";
  campaign::GateSpec gate;
  gate.text = text;
  if (text == kTolerance) return gate;
  if (!text.starts_with(kStandard)) {
    gate.threshold = at_place(where, [&] { return parse_threshold(text); });
    gate.text = gate.threshold->text();
    return gate;
  }
  gate.standard = text.substr(kStandard.size());
  return gate;
}

// Reads a fault of a plan. `bits` gets the bits of a census, as the file writes them.
campaign::FaultPlan read_fault(const Json& json, const std::string& where,
                               std::vector<std::string>& bits) {
  check_keys(json, kFaultKeys, where);
  campaign::FaultPlan plan;
  plan.class_name = text_of(json, "class", where);
  plan.census = json.contains("census");
  if (plan.census == json.contains("fault")) {
    wrong(where, "give either 'census' (a number of matrices) or 'fault'");
  }
  if (!plan.census) {
    if (json.contains("bits") || json.contains("direction")) {
      wrong(where, "'bits' and 'direction' belong to a census; a fault says its own");
    }
    const std::string text = text_of(json, "fault", where);
    plan.fault = at_place(where, [&] { return parse_fault(text); });
    if (plan.fault.count != 1) {
      wrong(where, "a trial is one fault: 'trials' says how many, not 'count'");
    }
    plan.trials = positive_of(json, "trials", where);
    plan.per_matrix = positive_of(json, "per_matrix", where, std::int64_t{64});
    return plan;
  }
  if (json.contains("trials") || json.contains("per_matrix")) {
    wrong(where, "a census takes every element of its matrices: it has no 'trials'");
  }
  plan.trials = positive_of(json, "census", where);
  const std::string direction = text_of(json, "direction", where);
  if (direction == "0to1") {
    plan.direction = fault::Direction::kZeroToOne;
  } else if (direction == "1to0") {
    plan.direction = fault::Direction::kOneToZero;
  } else if (!direction.empty() && direction != "both") {
    wrong(where, "'direction' is 0to1, 1to0 or both, not '{}'", direction);
  }
  for (const Json& bit : list_of(json, "bits")) bits.push_back(bit.dump());
  return plan;
}

// Reads the keys that all cells of an entry share, for every machine, dtype, shape and inputs.
void read_common(campaign::Cell& cell, const Json& json, const std::string& where) {
  if (json.contains("attributes")) {
    if (!json["attributes"].is_object()) wrong(where, "'attributes' must be an object {...}");
    if (json["attributes"].contains("output_dtype")) {
      wrong(where, "'output_dtype' is a key of the cell; move it out of 'attributes'");
    }
    for (const auto& [key, value] : json["attributes"].items()) {
      if (value.is_number_integer() && !is_int64(value)) {
        wrong(where, "attribute '{}' is {}, beyond int64", key, value.dump());
      } else if (value.is_number_integer()) {
        cell.attributes[key] = value.get<std::int64_t>();
      } else if (value.is_number()) {
        cell.attributes[key] = value.get<double>();
      } else {
        cell.attributes[key] = word_of(value, "attributes", where);
      }
    }
  }
  cell.clean_rows = count_of(json, "clean_rows", where).value_or(0);
  if (json.contains("precision")) {
    const std::string place = where + ": precision";
    check_keys(json["precision"], {"half_width", "confidence", "looks"}, place);
    campaign::Precision p;
    p.half_width = number_of(json["precision"], "half_width", place, 1).value_or(0);
    p.confidence = number_of(json["precision"], "confidence", place, 1).value_or(0.95);
    p.looks = positive_of(json["precision"], "looks", place, p.looks);
    if (!(p.half_width > 0)) wrong(place, "'half_width' must be above 0");
    if (!(p.confidence > 0 && p.confidence < 1)) wrong(place, "'confidence' lies between 0 and 1");
    cell.precision = p;
  }
}

// Reads the gates and faults of a cell at a place of the file.
campaign::UncheckedCell with_judges(campaign::Cell cell, const Json& json,
                                    const std::string& where) {
  campaign::UncheckedCell unchecked;
  std::set<std::string> seen;
  for (const Json& gate : list_of(json, "gates")) {
    cell.gates.push_back(read_gate(word_of(gate, "gates", where), where));
    if (!seen.insert(cell.gates.back().text).second) {
      wrong(where, "the gate {} is there twice", cell.gates.back().text);
    }
  }
  if (cell.gates.empty()) {
    wrong(where, "'gates' is missing: a threshold, tolerance, or standard:NAME");
  }
  const std::vector<Json> faults = list_of(json, "faults");
  for (std::size_t i = 0; i < faults.size(); ++i) {
    cell.faults.push_back(read_fault(faults[i], formatted("{}: fault {}", where, i + 1),
                                     unchecked.bits.emplace_back()));
  }
  if (cell.faults.empty() && cell.clean_rows == 0) {
    wrong(where, "there is nothing to do: give 'faults' or 'clean_rows'");
  }
  unchecked.cell = std::move(cell);
  unchecked.place = where;
  return unchecked;
}

// Reads true or false; false if the key is missing.
bool read_flag(const Json& json, const char* key, const std::string& where) {
  if (!json.contains(key)) return false;
  if (!json[key].is_boolean()) wrong(where, "'{}' is true or false, not {}", key, json[key].dump());
  return json[key].get<bool>();
}

// Gives each matrix of a cell an equal share of the trials, if there are more than its matrices
// take.
void share_trials(campaign::Cell& cell) {
  for (campaign::FaultPlan& fault : cell.faults) {
    const std::int64_t share = (fault.trials + cell.matrices() - 1) / cell.matrices();
    if (!fault.census) fault.per_matrix = std::max(fault.per_matrix, share);
  }
}

void read_distribution(campaign::Cell& cell, const Json& json, const std::string& where,
                       std::string& name) {
  std::string draw;
  std::vector<std::pair<std::string, std::string>> inputs;
  if (json.is_string()) {
    name = draw = json.get<std::string>();
  } else {
    if (cell.is_product()) {
      check_keys(json, {"a", "b", "bias", "draw", "name", "published"}, where + ": distribution");
    } else if (!json.is_object()) {
      wrong(where + ": distribution", "an object {...} is expected");
    }
    draw = text_of(json, "draw", where);
    for (const auto& [key, value] : json.items()) {
      const auto& words = kDistributionWords;
      if (contains(words, key)) continue;
      inputs.emplace_back(key, text_of(json, key.c_str(), where));
    }
    const auto text = [&](const char* input) {
      return json.contains(input) ? text_of(json, input, where) : draw;
    };
    if (cell.is_product()) {
      const std::string a = text("a"), b = text("b");
      if (a.empty() || b.empty()) wrong(where, "'distribution' needs 'draw', or 'a' and 'b'");
      name = a == b ? a : a + " " + b;
      if (json.contains("bias")) name += " bias " + text("bias");
    } else {
      if (draw.empty()) draw = "normal";  // inputs are normal by default, as in generated datasets
      name = draw;
      for (const auto& [input, spec] : inputs) name += formatted(" {}={}", input, spec);
    }
    if (json.contains("name")) name = text_of(json, "name", where);
    for (const Json& called : list_of(json, "published")) {
      cell.published_distributions.push_back(word_of(called, "published", where));
    }
  }
  at_place(where, [&] {
    if (!draw.empty()) cell.distribution = parse_distribution(draw);
    for (const auto& [input, spec] : inputs) cell.distributions[input] = parse_distribution(spec);
  });
}

std::vector<std::int64_t> read_shape(const Json& json, bool is_product, const std::string& where) {
  std::vector<std::int64_t> shape;
  for (const Json& size : json) {
    if (size.is_number_integer() && size.get<std::int64_t>() > 0 &&
        size.get<std::int64_t>() <= 1 << 20) {
      shape.push_back(size.get<std::int64_t>());
    }
  }
  const bool fits = json.is_array() && shape.size() == json.size() && !shape.empty();
  if (!fits || (is_product && shape.size() != 3)) {
    wrong(where, "'shape' is {}, each from 1 to 1048576, or a list of those, not {}",
          is_product ? "[M, K, N]" : "a list of sizes", json.dump());
  }
  return shape;
}

std::vector<std::int64_t> whole_numbers(const Json& json, const char* key,
                                        const std::string& where) {
  std::vector<std::int64_t> numbers;
  for (const Json& number : list_of(json, key)) {
    if (!number.is_number_integer() || number.get<std::int64_t>() < 0) {
      wrong(where, "'{}' holds whole numbers, not {}", key, number.dump());
    }
    numbers.push_back(number.get<std::int64_t>());
  }
  return numbers;
}

campaign::PublishedRemark read_remark(const Json& json, const std::string& where) {
  check_keys(json, kRemarkKeys, where);
  campaign::PublishedRemark r;
  r.algorithm = text_of(json, "algorithm", where);
  r.dtype = text_of(json, "dtype", where);
  r.distribution = text_of(json, "distribution", where);
  r.direction = text_of(json, "direction", where);
  r.shape = whole_numbers(json, "shape", where);
  r.bits = whole_numbers(json, "bits", where);
  r.remark = text_of(json, "remark", where);
  if (r.remark.empty()) wrong(where, "'remark' is missing");
  return r;
}

campaign::PublishedVariant read_variant(const Json& json, const std::string& where) {
  check_keys(json, {"gate", "names"}, where);
  campaign::PublishedVariant v;
  v.gate = read_gate(text_of(json, "gate", where), where).text;
  for (const Json& name : list_of(json, "names")) {
    if (!name.is_string()) wrong(where, "'names' holds texts, not {}", name.dump());
    v.names.push_back(name.get<std::string>());
  }
  if (v.names.empty()) wrong(where, "'names' is missing: what the table calls this threshold");
  return v;
}

void require_gate(const campaign::UncheckedPlan& plan, const std::string& gate,
                  const std::string& where) {
  for (const campaign::UncheckedCell& cell : plan.cells) {
    for (const campaign::GateSpec& g : cell.cell.gates) {
      if (g.text == gate) return;
    }
  }
  wrong(where, "no cell has the gate {}", gate);
}

struct Reader {
  const std::string& source;
  const std::string& folder;
  const DatasetLister& list;
  campaign::UncheckedPlan& plan;
  std::set<std::string> names;

  void add(campaign::UncheckedCell cell) {
    if (!names.insert(cell.cell.name).second) {
      wrong(cell.place, "two cells are called '{}': give them names", cell.cell.name);
    }
    plan.cells.push_back(std::move(cell));
  }

  // Reads the format of the result if the file names it. For a product it is the cell's output
  // format. For another operator it is a parameter, which only the operator can interpret.
  static void read_output(campaign::Cell& cell, const std::string& word) {
    if (word.empty()) return;
    const Format& output = format_named(word);
    if (cell.is_product()) {
      cell.output = &output;
    } else {
      cell.attributes["output_dtype"] = std::string(output.name);
    }
  }

  using Entries = std::vector<DatasetCases::Entry>;
  // Refuses cases that cannot be the matrices of one cell.
  static void check_together(const Entries& cases, const std::string& where) {
    const DatasetCases::Entry& first = cases.front();
    for (const DatasetCases::Entry& entry : cases) {
      if (entry.op == first.op && entry.dtype == first.dtype && entry.output == first.output &&
          entry.shape == first.shape) {
        continue;
      }
      wrong(where,
            "'together' is for cases of one operator, dtype and shape, which {} and {} are not; "
            "choose them with 'case'",
            first.name, entry.name);
    }
  }

  // Reads the cases of a dataset, with one cell for each, or for all of them together.
  void read_dataset(const campaign::Cell& common, const Json& json, const std::string& where) {
    for (const char* key :
         {"dtype", "shape", "distribution", "rows", "output_dtype", "attributes"}) {
      if (json.contains(key)) wrong(where, "a dataset's cases bring their own '{}'", key);
    }
    if (!list) wrong(where, "datasets cannot be read here");
    const std::string file = text_of(json, "dataset", where);
    const std::string path = (std::filesystem::path(folder) / file).string();
    const std::string glob = json.contains("case") ? text_of(json, "case", where) : "*";
    DatasetCases cases = list(path, glob);
    if (json.contains("operator")) {
      std::erase_if(cases.cases, [&](const auto& entry) { return entry.op != common.op; });
    }
    if (cases.cases.empty()) {
      wrong(where, "no case of {} matches '{}'{}", path, glob,
            json.contains("operator") ? " with the operator " + common.op : "");
    }
    plan.digests.push_back(formatted("{} {}", file, cases.digest));
    const bool together = read_flag(json, "together", where);
    if (together) check_together(cases.cases, where);
    std::vector<Entries> cells;
    if (together) {
      cells.push_back(cases.cases);
    } else {
      for (const DatasetCases::Entry& entry : cases.cases) cells.push_back({entry});
    }
    for (const Entries& entries : cells) {
      const DatasetCases::Entry& first = entries.front();
      campaign::Cell cell = common;
      cell.dataset = path;
      for (const DatasetCases::Entry& entry : entries) cell.cases.push_back(entry.name);
      cell.case_name = together ? glob : first.name;
      cell.op = first.op;
      cell.dtype = first.dtype;
      cell.output = first.output;
      cell.shape = first.shape;
      cell.recorded = text_of(json, "recorded", where);
      cell.recorded_on_machine = !cell.recorded.empty() && json.contains("machine");
      cell.name = common.name.empty() ? cell.case_name
                  : together          ? common.name
                                      : formatted("{} {}", common.name, first.name);
      campaign::UncheckedCell judged = with_judges(std::move(cell), json, where);
      if (together) share_trials(judged.cell);
      add(std::move(judged));
    }
  }

  void read_drawn(const campaign::Cell& common, const Json& json, const std::string& where) {
    for (const char* key : {"case", "recorded", "together"}) {
      if (json.contains(key)) wrong(where, "'{}' is only for 'dataset'; leave it out", key);
    }
    const std::vector<Json> dtypes = list_of(json, "dtype"),
                            distributions = list_of(json, "distribution");
    std::vector<Json> shapes;
    if (json.contains("shape") && json["shape"].is_array() && !json["shape"].empty() &&
        json["shape"][0].is_array()) {
      shapes = list_of(json, "shape");
    } else if (json.contains("shape")) {
      shapes = {json["shape"]};
    }
    if (dtypes.empty()) wrong(where, "'dtype' is missing");
    if (shapes.empty()) {
      wrong(where, "'shape' is missing: {}",
            common.is_product() ? "[M, K, N]" : "the sizes of the operator");
    }
    if (json.contains("rows") && !common.is_product()) {
      wrong(where, "'rows' is for {}; all of the result of {} is computed",
            campaign::products_text(), common.op);
    }
    if (distributions.empty()) {
      wrong(where, "'distribution' is missing: the values of the inputs, as in \"normal\"");
    }
    for (const Json& dtype : dtypes) {
      for (const Json& shape : shapes) {
        for (const Json& distribution : distributions) {
          campaign::Cell cell = common;
          const std::string word = word_of(dtype, "dtype", where);
          cell.dtype = at_place(where, [&] { return &format_named(word); });
          cell.shape = read_shape(shape, cell.is_product(), where);
          cell.rows = count_of(json, "rows", where).value_or(0);
          if (cell.rows > cell.shape[0]) {
            wrong(where, "'rows' is {}, more than M = {}", cell.rows, cell.shape[0]);
          }
          std::string name;
          read_distribution(cell, distribution, where, name);
          cell.name = formatted("{}{}{} {} {}", common.name.empty() ? "" : common.name + " ",
                                cell.is_product() ? "" : cell.op + " ", cell.dtype->name,
                                cell.sizes_text(), name);
          at_place(where, [&] { read_output(cell, text_of(json, "output_dtype", where)); });
          if (list_of(json, "machine").size() > 1)
            cell.name += formatted(" {}", cell.machine->name);
          add(with_judges(std::move(cell), json, where));
        }
      }
    }
  }

  void read_cell(Json json, const Json& defaults, const std::string& where) {
    if (!json.is_object()) wrong(where, "an object {...} is expected");
    for (const auto& [key, value] : defaults.items()) {
      if (!json.contains(key)) json[key] = value;
    }
    check_keys(json, kCellKeys, where);
    campaign::Cell common;
    common.name = text_of(json, "name", where);
    const std::string place =
        common.name.empty() ? where : formatted("{}: cell '{}'", source, common.name);
    read_common(common, json, place);
    std::vector<Json> ops = list_of(json, "operator"), machines = list_of(json, "machine");
    if (ops.empty()) ops = {common.op};
    if (machines.empty()) machines = {"ascend910b"};
    for (const Json& op : ops) {
      common.op = word_of(op, "operator", place);
      for (const Json& machine : machines) {
        const std::string word = word_of(machine, "machine", place);
        common.machine = at_place(place, [&] { return &machine_named(word); });
        if (json.contains("dataset")) {
          read_dataset(common, json, place);
        } else {
          read_drawn(common, json, place);
        }
      }
    }
  }
};

}  // namespace

campaign::UncheckedPlan parse_plan(const std::string& text, const std::string& source,
                                   const std::string& folder, const DatasetLister& list) {
  const Json json = parse_json(text, source);
  check_keys(json, kPlanKeys, source);
  if (count_of(json, "schema", source).value_or(0) != 1) {
    wrong(source, "'schema' must be 1, the one that this version reads");
  }
  campaign::UncheckedPlan unchecked;
  campaign::Plan& plan = unchecked.plan;
  plan.name = text_of(json, "name", source);
  if (plan.name.empty()) wrong(source, "'name' is missing");
  plan.about = text_of(json, "about", source);
  plan.seed = static_cast<std::uint64_t>(count_of(json, "seed", source).value_or(0));
  if (json.contains("published")) {
    plan.published = (std::filesystem::path(folder) / text_of(json, "published", source)).string();
  }
  const std::vector<Json> remarks = list_of(json, "remarks");
  for (std::size_t i = 0; i < remarks.size(); ++i) {
    plan.remarks.push_back(read_remark(remarks[i], formatted("{}: remark {}", source, i + 1)));
  }
  const std::vector<Json> variants = list_of(json, "variants");
  for (std::size_t i = 0; i < variants.size(); ++i) {
    plan.variants.push_back(read_variant(variants[i], formatted("{}: variant {}", source, i + 1)));
  }
  const Json defaults = json.contains("defaults") ? json["defaults"] : Json::object();
  check_keys(defaults, kCellKeys, source + ": defaults");
  const std::vector<Json> cells = list_of(json, "cells");
  if (cells.empty()) wrong(source, "'cells' is missing: there is nothing to do");
  Reader reader{source, folder, list, unchecked, {}};
  for (std::size_t i = 0; i < cells.size(); ++i) {
    reader.read_cell(cells[i], defaults, formatted("{}: cell {}", source, i + 1));
  }
  for (std::size_t i = 0; i < plan.variants.size(); ++i) {
    require_gate(unchecked, plan.variants[i].gate, formatted("{}: variant {}", source, i + 1));
  }
  return unchecked;
}

campaign::UncheckedPlan read_plan(const std::string& path, const DatasetLister& list) {
  return parse_plan(read_file(path), path, std::filesystem::path(path).parent_path().string(),
                    list);
}

std::vector<std::string> files_named(const std::string& text, const std::string& folder) {
  const Json json = Json::parse(text, nullptr, false);
  std::vector<std::string> paths;
  const auto add = [&](const Json& object, const char* key) {
    if (object.is_object() && object.contains(key) && object[key].is_string()) {
      paths.push_back((std::filesystem::path(folder) / object[key].get<std::string>()).string());
    }
  };
  if (!json.is_object()) return paths;
  add(json, "published");
  if (json.contains("defaults")) add(json["defaults"], "dataset");
  for (const Json& cell : list_of(json, "cells")) add(cell, "dataset");
  return paths;
}

}  // namespace assay::wire
