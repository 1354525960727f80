#include "assay/wire/machine_file.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <filesystem>
#include <map>
#include <mutex>

#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/format/rounding.h"
#include "assay/wire/json.h"

namespace assay::wire {
namespace {

constexpr Provenance kProvenances[] = {Provenance::kDocumented, Provenance::kMeasured,
                                       Provenance::kInferred, Provenance::kAssumed};
constexpr ChunkOrder kOrders[] = {ChunkOrder::kFused, ChunkOrder::kSequential,
                                  ChunkOrder::kPairwise};

// A value with its provenance: {"value": 16, "how": "measured"}. A plain value is "assumed".
struct ModelEntry {
  const Json& value;
  Provenance how;
  std::string where;
};
ModelEntry model_entry_of(const Json& json, const std::string& where) {
  if (!json.is_object()) return {json, Provenance::kAssumed, where};
  check_keys(json, {"value", "how"}, where);
  if (!json.contains("value")) wrong(where, "'value' is missing");
  const std::string word = text_of(json, "how", where);
  std::vector<std::string> words;
  for (const Provenance p : kProvenances) {
    words.emplace_back(provenance_word(p));
    if (word == words.back()) return {json["value"], p, where};
  }
  wrong(where, formatted("'how' is '{}'; it may be {}", word, joined(words)));
}

int whole(const ModelEntry& e, int low, int high) {
  if (is_int64(e.value)) {
    const auto value = e.value.get<std::int64_t>();
    if (value >= low && value <= high) return static_cast<int>(value);
  }
  wrong(e.where,
        formatted("a whole number from {} to {} is needed, not {}", low, high, e.value.dump()));
}
bool flag(const ModelEntry& e) {
  if (!e.value.is_boolean())
    wrong(e.where, formatted("true or false is needed, not {}", e.value.dump()));
  return e.value.get<bool>();
}
std::string word(const ModelEntry& e) {
  if (!e.value.is_string()) wrong(e.where, formatted("a word is needed, not {}", e.value.dump()));
  return e.value.get<std::string>();
}
std::string_view float_name(const ModelEntry& e) {
  try {
    const Format& f = format_named(word(e));
    if (f.is_float() && !f.is_complex()) return f.name;
  } catch (const Refusal& error) {
    wrong(e.where, error.what());
  }
  wrong(e.where, formatted("'{}' is no float format", word(e)));
}
Rounding rounding_in(const ModelEntry& e) {
  const std::string name = word(e);
  for (const RoundingRow& row : deterministic_rounding_rows()) {
    if (row.name == name) return row.rounding;
  }
  wrong(e.where, unknown_word("rounding", name, names_of(deterministic_rounding_rows())));
}
ChunkOrder order_in(const ModelEntry& e) {
  const std::string name = word(e);
  std::vector<std::string> words;
  for (const ChunkOrder order : kOrders) {
    words.emplace_back(order_word(order));
    if (name == words.back()) return order;
  }
  wrong(e.where, unknown_word("order", name, words));
}

IntegerOverflow overflow_in(const ModelEntry& e) {
  const std::string name = word(e);
  std::vector<std::string> words;
  for (const IntegerOverflow o : {IntegerOverflow::kSaturate, IntegerOverflow::kWrap}) {
    words.emplace_back(overflow_word(o));
    if (name == words.back()) return o;
  }
  wrong(e.where, unknown_word("overflow", name, words));
}

Json json_of(const auto& value, Provenance how) {
  return {{"value", value}, {"how", provenance_word(how)}};
}

// A parameter of a row, with the functions that read and write it.
struct RowKey {
  std::string_view name;
  void (*read)(DotModel& model, const ModelEntry& entry);
  Json (*write)(const DotModel& model);
};
const RowKey kRowKeys[] = {
    {"chunk",
     [](DotModel& m, const ModelEntry& e) {
       m.chunk = {whole(e, 1, 1 << 20), e.how};
     },
     [](const DotModel& m) { return json_of(m.chunk.value, m.chunk.how); }},
    {"order",
     [](DotModel& m, const ModelEntry& e) {
       m.order = {order_in(e), e.how};
     },
     [](const DotModel& m) { return json_of(order_word(m.order.value), m.order.how); }},
    {"rounding",
     [](DotModel& m, const ModelEntry& e) {
       m.rounding = {rounding_in(e), e.how};
     },
     [](const DotModel& m) { return json_of(rounding_name(m.rounding.value), m.rounding.how); }},
    {"kept_bits",
     [](DotModel& m, const ModelEntry& e) {
       m.kept_bits = {whole(e, 0, 40), e.how};
     },
     [](const DotModel& m) { return json_of(m.kept_bits.value, m.kept_bits.how); }},
    {"alignment",
     [](DotModel& m, const ModelEntry& e) {
       m.alignment = {rounding_in(e), e.how};
     },
     [](const DotModel& m) { return json_of(rounding_name(m.alignment.value), m.alignment.how); }},
    {"emax_floor",
     [](DotModel& m, const ModelEntry& e) {
       m.emax_floor = {whole(e, -300, 300), e.how};
     },
     [](const DotModel& m) {
       return json_of(std::max(m.emax_floor.value, -300), m.emax_floor.how);
     }},
    {"accumulator",
     [](DotModel& m, const ModelEntry& e) {
       m.accumulator = {float_name(e), e.how};
       if (format_named(m.accumulator.value).precision > 24) {
         wrong(e.where, "an accumulator is one that float32 holds");
       }
     },
     [](const DotModel& m) { return json_of(m.accumulator.value, m.accumulator.how); }},
    {"mantissa_bits",
     [](DotModel& m, const ModelEntry& e) {
       m.mantissa_bits = {whole(e, 0, 23), e.how};
     },
     [](const DotModel& m) { return json_of(m.mantissa_bits.value, m.mantissa_bits.how); }},
    {"round_products",
     [](DotModel& m, const ModelEntry& e) {
       m.round_products = {flag(e), e.how};
     },
     [](const DotModel& m) { return json_of(m.round_products.value, m.round_products.how); }},
    {"flush_inputs",
     [](DotModel& m, const ModelEntry& e) {
       m.flush_inputs = {flag(e), e.how};
     },
     [](const DotModel& m) { return json_of(m.flush_inputs.value, m.flush_inputs.how); }},
    {"flush_sums",
     [](DotModel& m, const ModelEntry& e) {
       m.flush_sums = {flag(e), e.how};
     },
     [](const DotModel& m) { return json_of(m.flush_sums.value, m.flush_sums.how); }},
    {"promotion_interval",
     [](DotModel& m, const ModelEntry& e) {
       m.promotion_interval = {whole(e, 0, 1 << 30), e.how};
     },
     [](const DotModel& m) {
       return json_of(m.promotion_interval.value, m.promotion_interval.how);
     }},
    {"sum_bits",
     [](DotModel& m, const ModelEntry& e) {
       m.sum_bits = {whole(e, 0, 60), e.how};
     },
     [](const DotModel& m) { return json_of(m.sum_bits.value, m.sum_bits.how); }},
    {"interleave",
     [](DotModel& m, const ModelEntry& e) {
       m.interleave = {whole(e, 1, 64), e.how};
     },
     [](const DotModel& m) { return json_of(m.interleave.value, m.interleave.how); }},
    {"reach",
     [](DotModel& m, const ModelEntry& e) {
       m.reach = {whole(e, 0, 300), e.how};
     },
     [](const DotModel& m) { return json_of(m.reach.value, m.reach.how); }},
};

// Sums of int8 in int32 are exact in any order, so a row only gives their result beyond int32's
// range.
DotModel read_integer_row(const Json& json, const std::string& where) {
  check_keys(json, {"input", "overflow"}, where);
  DotModel model{.input = "int8",
                 .chunk = assumed(1),
                 .accumulator = assumed(std::string_view("int32")),
                 .rounding = assumed(Rounding::kNearestEven)};
  if (json.contains("overflow")) {
    const ModelEntry entry = model_entry_of(json["overflow"], where + ": overflow");
    model.overflow = {overflow_in(entry), entry.how};
  }
  return model;
}

DotModel read_row(const Json& json, const std::string& source) {
  std::vector<std::string> keys = names_of(kRowKeys);
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
  for (const RowKey& key : kRowKeys) {
    if (!json.contains(key.name)) continue;
    const std::string place = formatted("{}: {}", where, key.name);
    key.read(model, model_entry_of(json[std::string(key.name)], place));
  }
  if (!json.contains("chunk")) wrong(where, "'chunk' is missing");
  if (const std::string why = why_no_model(model); !why.empty()) wrong(where, why);
  return model;
}

bool is_name(const std::string& name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](unsigned char c) {
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
    wrong(source,
          formatted("'name' is '{}'; letters, digits, '_', '-' and '.' are needed", to.name));
  }
  const std::vector<std::string> taken = names_of(machines());
  if (std::find(taken.begin(), taken.end(), to.name) != taken.end()) {
    wrong(source, formatted("the name '{}' is taken by a machine of assay's own", to.name));
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
    bias_first = {flag(entry), entry.how};
  }
  if (!json.contains("matrix_unit") || !json["matrix_unit"].is_array() ||
      json["matrix_unit"].empty()) {
    wrong(source, "'matrix_unit' must be an array of at least one row");
  }
  for (const Json& row : json["matrix_unit"]) {
    to.dots.push_back(read_row(row, source));
    for (std::size_t i = 0; i + 1 < to.dots.size(); ++i) {
      if (to.dots[i].input == to.dots.back().input) {
        wrong(source, formatted("there are two rows of {}", to.dots[i].input));
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
  std::sort(files.begin(), files.end());
  return files;
}

const Machine* find_machine(std::string_view name) {
  if (name.ends_with(".json")) return &read_machine(std::string(name));
  Store& all = store();
  const std::lock_guard lock(all.mutex);
  const auto find = [&]() -> const Machine* {
    for (const Stored& stored : all.machines) {
      if (stored.name == name) return &stored.machine;
    }
    return nullptr;
  };
  if (const Machine* found = find()) return found;
  (void)folder_machines();
  return find();
}

}  // namespace

const Machine& read_machine(const std::string& path) {
  Store& all = store();
  const std::lock_guard lock(all.mutex);
  for (const Stored& stored : all.machines) {
    if (stored.path == path) return stored.machine;
  }
  const std::string text = read_file(path);
  all.machines.emplace_back();
  try {
    all.machines.back().path = path;
    parse(text, all.machines.back());
    for (std::size_t i = 0; i + 1 < all.machines.size(); ++i) {
      if (all.machines[i].name != all.machines.back().name) continue;
      wrong(path, formatted("the name '{}' is that of {}, too", all.machines[i].name,
                            all.machines[i].path));
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
  return std::any_of(all.begin(), all.end(), [&](const std::string& of_machines) {
    return !of_machines.empty() && fs::weakly_canonical(of_machines, error) == folder;
  });
}

void use_machine_files() { set_machine_finder(find_machine); }

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
    if (!format_named(model.accumulator.value).is_float()) {
      row["overflow"] = json_of(overflow_word(model.overflow.value), model.overflow.how);
    } else {
      for (const RowKey& key : kRowKeys) row[std::string(key.name)] = key.write(model);
    }
    rows.push_back(row);
  }
  json["matrix_unit"] = rows;
  return json.dump(1) + "\n";
}

}  // namespace assay::wire
