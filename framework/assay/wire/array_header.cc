#include "assay/wire/array_header.h"

#include <algorithm>
#include <set>
#include <tuple>

#include "assay/base/text.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

using Table = SortedJson;

// The largest depth of a header's JSON, which is deeper than any real header. Without a limit, a
// hostile header could overflow the stack.
constexpr int kDeepestHeader = 16;

Table parse(const std::string& text) {
  std::vector<std::set<std::string>> keys;
  std::string of;  // the array that the current values belong to
  const auto callback = [&](int depth, Table::parse_event_t event, Table& value) {
    if (depth > kDeepestHeader) refuse("its JSON is nested too deeply");
    if (depth == 1 && event == Table::parse_event_t::key) of = value.get<std::string>();
    // A text with U+0000 is refused, because the message that names it would end there. The
    // metadata that other programs write to a file is not read, so it may have U+0000.
    if (value.is_string() && of != "__metadata__" &&
        value.get_ref<const std::string&>().find('\0') != std::string::npos) {
      refuse("the text {} of its JSON holds U+0000", value.dump());
    }
    if (event == Table::parse_event_t::object_start) keys.emplace_back();
    if (event == Table::parse_event_t::object_end) keys.pop_back();
    if (event == Table::parse_event_t::key &&
        !keys.back().insert(value.get<std::string>()).second) {
      refuse("{}: stands twice in its JSON", value.get<std::string>());
    }
    return true;
  };
  try {
    Table table = Table::parse(text, callback);
    if (!table.is_object()) refuse("its JSON is no object {...}");
    return table;
  } catch (const Table::exception& e) {
    refuse("its header is no JSON: {}", e.what());
  }
}

std::vector<std::int64_t> whole_numbers(const Table& object, const char* key,
                                        const std::string& where) {
  const auto found = object.find(key);
  const auto is_extent = [](const Table& one) {
    return one.is_number_integer() && one >= 0 && one <= INT64_MAX;
  };
  if (found == object.end() || !found->is_array() ||
      !std::all_of(found->begin(), found->end(), is_extent)) {
    wrong(where, "'{}' must be a list of whole numbers of at least 0", key);
  }
  return found->get<std::vector<std::int64_t>>();
}

std::string dtype_in(const Table& object, const std::string& where) {
  const auto found = object.find("dtype");
  if (found == object.end() || !found->is_string()) wrong(where, "'dtype' must be a string");
  return found->get<std::string>();
}

}  // namespace

std::vector<ArrayHeader> read_safetensors_header(const std::string& text) {
  std::vector<ArrayHeader> arrays;
  const Table table = parse(text);
  for (const auto& [name, entry] : table.items()) {
    if (name == "__metadata__") continue;
    if (!entry.is_object()) wrong(name, "an object {...} is expected");
    ArrayHeader array{
        .name = name, .dtype = dtype_in(entry, name), .shape = whole_numbers(entry, "shape", name)};
    const std::vector<std::int64_t> offsets = whole_numbers(entry, "data_offsets", name);
    if (offsets.size() != 2 || offsets[0] > offsets[1]) {
      wrong(name, "'data_offsets' must be where its bytes begin and end");
    }
    array.begin = offsets[0];
    array.end = offsets[1];
    arrays.push_back(std::move(array));
  }
  std::ranges::sort(arrays, {}, [](const ArrayHeader& array) {
    return std::tie(array.begin, array.end, array.name);
  });
  return arrays;
}

std::string safetensors_header(const std::vector<ArrayHeader>& arrays) {
  Json table = Json::object();
  for (const ArrayHeader& array : arrays) {
    table[array.name] = {{"dtype", array.dtype},
                         {"shape", *array.shape},
                         {"data_offsets", {array.begin, array.end}}};
  }
  return table.dump();
}

ArrayHeader read_raw_header(const std::string& text) {
  const Table table = parse(text);
  for (const auto& [key, value] : table.items()) {
    if (key != "dtype" && key != "shape") {
      refuse("unknown key '{}'; known: dtype, shape", key);
    }
  }
  ArrayHeader header;
  if (table.contains("dtype")) header.dtype = dtype_in(table, "the file");
  if (table.contains("shape")) header.shape = whole_numbers(table, "shape", "the file");
  return header;
}

std::string raw_header(const std::string& dtype, const Shape& shape) {
  Json header = Json::object();
  header["dtype"] = dtype;
  header["shape"] = shape;
  return header.dump() + "\n";
}

}  // namespace assay::wire
