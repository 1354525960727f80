#include "assay/machine/machine_file.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <mutex>
#include <variant>

#include "assay/base/file.h"
#include "assay/base/json.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/format/rounding.h"

namespace assay::inline v0_2 {
namespace {

using json::check_keys;
using json::is_int64;
using json::Json;
using json::parse_json;
using json::text_of;
using json::wrong;

// Returns the one of `values` that has this word. Throws Refusal if none of them has it.
template <typename Value>
Value value_named(const std::string& word, std::initializer_list<Value> values,
                  std::string_view (*word_of)(Value), const char* kind, const std::string& where) {
  std::vector<std::string> words;
  for (const Value value : values) {
    words.emplace_back(word_of(value));
    if (word == words.back()) return value;
  }
  wrong(where, unknown_word(kind, word, words));
}

// A value in a machine file, with its provenance: {"value": 16, "how": "measured"}. The provenance
// of a plain value is "assumed".
struct ModelEntry {
  const Json& value;
  Provenance how;
  std::string where;
};
ModelEntry model_entry_of(const Json& json, const std::string& where) {
  if (!json.is_object()) return {json, Provenance::kAssumed, where};
  check_keys(json, {"value", "how"}, where);
  if (!json.contains("value")) wrong(where, "'value' is missing");
  const Provenance how = value_named(
      text_of(json, "how", where),
      {Provenance::kDocumented, Provenance::kMeasured, Provenance::kInferred, Provenance::kAssumed},
      provenance_word, "'how'", where);
  return {json["value"], how, where};
}

std::string word(const ModelEntry& e) {
  if (!e.value.is_string()) wrong(e.where, "a word is needed, not {}", e.value.dump());
  return e.value.get<std::string>();
}
std::string_view float_name(const ModelEntry& e) {
  const std::string name = word(e);
  const Format* const f = at_place(e.where, [&] { return &format_named(name); });
  if (!f->is_float() || f->is_complex()) wrong(e.where, "'{}' is no float format", name);
  return f->name;
}

// Returns the least value of a number. In a file, 0 mantissa bits mean those of the accumulator's
// format.
int least_of(const UnitParameter& p) { return p.name == "mantissa_bits" ? 0 : p.low; }

void read_value(const ModelEntry& e, const UnitParameter& p, int& to) {
  const bool is_whole = is_int64(e.value);
  const std::int64_t value = is_whole ? e.value.get<std::int64_t>() : 0;
  if (!is_whole || value < least_of(p) || value > p.high) {
    wrong(e.where, "a whole number from {} to {} is needed, not {}", least_of(p), p.high,
          e.value.dump());
  }
  to = static_cast<int>(value);
}
void read_value(const ModelEntry& e, const UnitParameter&, bool& to) {
  if (!e.value.is_boolean()) wrong(e.where, "true or false is needed, not {}", e.value.dump());
  to = e.value.get<bool>();
}
void read_value(const ModelEntry& e, const UnitParameter&, Rounding& to) {
  const std::string name = word(e);
  to = at_place(
      e.where, [&] { return row_named("rounding", deterministic_rounding_rows(), name).rounding; });
}
void read_value(const ModelEntry& e, const UnitParameter&, ChunkOrder& to) {
  to = value_named(word(e), {ChunkOrder::kFused, ChunkOrder::kSequential, ChunkOrder::kPairwise},
                   order_word, "order", e.where);
}
void read_value(const ModelEntry& e, const UnitParameter&, IntegerOverflow& to) {
  to = value_named(word(e), {IntegerOverflow::kSaturate, IntegerOverflow::kWrap}, overflow_word,
                   "overflow", e.where);
}
void read_value(const ModelEntry& e, const UnitParameter&, std::string_view& to) {
  to = float_name(e);
  if (format_named(to).precision > 24) {
    wrong(e.where, "an accumulator is one that float32 holds");
  }
}

// Returns the parameters of a row of integers, or of a row of floats.
std::vector<UnitParameter> parameters_of(bool integers) {
  std::vector<UnitParameter> rows;
  for (const UnitParameter& p : unit_parameters()) {
    if (p.is_of_integers() == integers) rows.push_back(p);
  }
  return rows;
}

// Sets the parameters that the row has. `where` is the row's place.
void read_keys(const Json& row, bool integers, const std::string& where, DotModel& model) {
  for (const UnitParameter& p : parameters_of(integers)) {
    if (!row.contains(p.name)) continue;
    const ModelEntry entry =
        model_entry_of(row[std::string(p.name)], formatted("{}: {}", where, p.name));
    std::visit(
        [&](const auto field) {
          read_value(entry, p, (model.*field).value);
          (model.*field).how = entry.how;
        },
        p.field);
  }
}

Json value_json(Rounding value, const UnitParameter&) { return rounding_name(value); }
Json value_json(ChunkOrder value, const UnitParameter&) { return order_word(value); }
Json value_json(IntegerOverflow value, const UnitParameter&) { return overflow_word(value); }
Json value_json(bool value, const UnitParameter&) { return value; }
Json value_json(int value, const UnitParameter& p) {
  return std::max(value, least_of(p));  // kNoFloor
}
Json value_json(std::string_view value, const UnitParameter&) { return value; }
Json json_of(const Json& value, Provenance how) {
  return {{"value", value}, {"how", provenance_word(how)}};
}
void write_keys(Json& row, bool integers, const DotModel& model) {
  for (const UnitParameter& p : parameters_of(integers)) {
    std::visit(
        [&](const auto field) {
          const auto& known = model.*field;
          row[std::string(p.name)] = json_of(value_json(known.value, p), known.how);
        },
        p.field);
  }
}

// Reads the row for integers. int32 holds sums of int8 products exactly in any order, so the row
// only says what happens to sums beyond int32's range.
DotModel read_integer_row(const Json& json, const std::string& where) {
  check_keys(json, {"input", "overflow"}, where);
  DotModel model{.input = "int8",
                 .chunk = assumed(1),
                 .accumulator = assumed(std::string_view("int32")),
                 .rounding = assumed(Rounding::kNearestEven)};
  read_keys(json, true, where, model);
  return model;
}

DotModel read_row(const Json& json, const std::string& source) {
  std::vector<std::string> keys = names_of(parameters_of(false));
  keys.emplace_back("input");
  if (!json.is_object() || !json.contains("input")) {
    wrong(source, "each row of 'matrix_unit' is an object with 'input', a format");
  }
  if (json["input"] == "int8") return read_integer_row(json, source + ": int8");
  const ModelEntry input{json["input"], Provenance::kAssumed, source + ": input"};
  DotModel model{.input = float_name(input),
                 .chunk = assumed(1),
                 .accumulator = assumed(std::string_view("float32")),
                 .rounding = assumed(Rounding::kNearestEven)};
  const std::string where = formatted("{}: {}", source, model.input);
  check_keys(json, keys, where);
  read_keys(json, false, where, model);
  if (!json.contains("chunk")) wrong(where, "'chunk' is missing");
  if (const std::string why = why_no_model(model); !why.empty()) wrong(where, why);
  return model;
}

bool is_name(const std::string& name) {
  return !name.empty() && std::ranges::all_of(name, [](unsigned char c) {
    return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
  });
}

// A machine that was read, with the storage that its views refer to.
struct Stored {
  std::string path, name, summary, source, vector_unit;
  std::vector<DotModel> dots;
  Machine machine;
};

struct Store {
  std::recursive_mutex mutex;
  std::deque<Stored> machines;
};
Store& store() {
  static Store all;
  return all;
}

void parse(const std::string& text, Stored& to) {
  const std::string& source = to.path;
  const Json json = parse_json(text, source);
  check_keys(json,
             {"schema", "name", "summary", "device", "driver", "date", "evidence", "vector_unit",
              "bias_first", "matrix_unit"},
             source);
  if (!json.contains("schema") || json["schema"] != 1) wrong(source, "'schema' must be 1");
  to.name = text_of(json, "name", source);
  if (!is_name(to.name) || to.name.ends_with(".json")) {
    wrong(source, "'name' is '{}'; letters, digits, '_', '-' and '.' are needed", to.name);
  }
  const std::vector<std::string> taken = names_of(machines());
  if (contains(taken, to.name)) {
    wrong(source, "the name '{}' is taken by a machine of assay's own", to.name);
  }
  to.summary = text_of(json, "summary", source);
  if (to.summary.empty()) to.summary = "a machine of the user's own";
  std::vector<std::string> parts;
  for (const char* key : {"device", "driver", "date", "evidence"}) {
    const std::string value = text_of(json, key, source);
    if (!value.empty()) parts.push_back(formatted("{} {}", key, value));
  }
  to.source = parts.empty() ? to.path : formatted("{}: {}", to.path, joined(parts));
  to.vector_unit = text_of(json, "vector_unit", source);
  if (!to.vector_unit.empty()) (void)row_named("machine", machines(), to.vector_unit);
  Known<bool> bias_first = assumed(true);
  if (json.contains("bias_first")) {
    const ModelEntry entry = model_entry_of(json["bias_first"], source + ": bias_first");
    read_value(entry, {}, bias_first.value);
    bias_first.how = entry.how;
  }
  if (!json.contains("matrix_unit") || !json["matrix_unit"].is_array() ||
      json["matrix_unit"].empty()) {
    wrong(source, "'matrix_unit' must be an array of at least one row");
  }
  for (const Json& row : json["matrix_unit"]) {
    to.dots.push_back(read_row(row, source));
    for (std::size_t i = 0; i + 1 < to.dots.size(); ++i) {
      if (to.dots[i].input == to.dots.back().input) {
        wrong(source, "there are two rows of {}", to.dots[i].input);
      }
    }
  }
  to.machine = {.name = to.name,
                .summary = to.summary,
                .dots = to.dots,
                .source = to.source,
                .bias_first = bias_first,
                .vector_unit = to.vector_unit};
}

std::vector<std::string> folders() {
  if (const char* given = std::getenv("ASSAY_MACHINES"); given != nullptr) return split(given, ':');
  const char* home = std::getenv("HOME");
  if (home == nullptr) return {};
  return {(std::filesystem::path(home) / ".config" / "assay" / "machines").string()};
}

std::vector<std::string> files_in_folders() {
  std::vector<std::string> files;
  for (const std::string& folder : folders()) {
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
      if (entry.path().extension() == ".json") files.push_back(entry.path().string());
    }
  }
  std::ranges::sort(files);
  return files;
}

}  // namespace

const Machine& read_machine(const std::string& path) {
  Store& all = store();
  const std::lock_guard lock(all.mutex);
  if (const auto* stored = find_row(all.machines, path, &Stored::path)) return stored->machine;
  const std::string text = read_file(path);
  all.machines.emplace_back();
  try {
    all.machines.back().path = path;
    parse(text, all.machines.back());
    for (std::size_t i = 0; i + 1 < all.machines.size(); ++i) {
      if (all.machines[i].name != all.machines.back().name) continue;
      wrong(path, "the name '{}' is that of {}, too", all.machines[i].name, all.machines[i].path);
    }
  } catch (...) {
    all.machines.pop_back();
    throw;
  }
  return all.machines.back().machine;
}

std::vector<DotModel> parse_machine(const std::string& text, const std::string& source) {
  Stored stored;
  stored.path = source;
  parse(text, stored);
  return stored.dots;
}

std::vector<const Machine*> folder_machines() {
  std::vector<const Machine*> found;
  for (const std::string& file : files_in_folders()) found.push_back(&read_machine(file));
  return found;
}

bool is_place_of_machine(const std::string& path) {
  namespace fs = std::filesystem;
  if (fs::path(path).extension() != ".json") return false;
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(fs::absolute(path, error), error).parent_path();
  const std::vector<std::string> all = folders();
  return std::ranges::any_of(all, [&](const std::string& of_machines) {
    return !of_machines.empty() && fs::weakly_canonical(of_machines, error) == folder;
  });
}

const Machine* find_file_machine(std::string_view name) {
  if (name.ends_with(".json")) return &read_machine(std::string(name));
  Store& all = store();
  const std::lock_guard lock(all.mutex);
  const auto find = [&]() -> const Machine* {
    const Stored* stored = find_row(all.machines, name, &Stored::name);
    return stored != nullptr ? &stored->machine : nullptr;
  };
  if (const Machine* found = find()) return found;
  (void)folder_machines();
  return find();
}

std::string machine_json(const MachineRecord& record, const std::vector<DotModel>& dots,
                         Known<bool> bias_first) {
  Json json = {{"schema", 1}, {"name", record.name}};
  for (const auto& [key, value] :
       {std::pair("summary", record.summary), std::pair("device", record.device),
        std::pair("driver", record.driver), std::pair("date", record.date),
        std::pair("evidence", record.evidence)}) {
    if (!value.empty()) json[key] = value;
  }
  json["bias_first"] = json_of(bias_first.value, bias_first.how);
  Json rows = Json::array();
  for (const DotModel& model : dots) {
    Json row = {{"input", model.input}};
    write_keys(row, !format_named(model.accumulator.value).is_float(), model);
    rows.push_back(row);
  }
  json["matrix_unit"] = rows;
  return json.dump(1) + "\n";
}

}  // namespace assay
