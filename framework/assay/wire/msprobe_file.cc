#include "assay/wire/msprobe_file.h"

#include "assay/base/text.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

constexpr int kDeepestArgument = 16;

// Collects the tensors in arguments, which may be lists of lists. Skips values that are not
// tensors.
void add_tensors(std::vector<MsprobeTensor>& tensors, const Json& value, const std::string& place,
                 const std::string& where, int depth) {
  if (depth > kDeepestArgument) wrong(where, "its arguments are nested too deeply");
  if (value.is_array()) {
    std::size_t i = 0;
    for (const Json& item : value) {
      add_tensors(tensors, item, formatted("{}_{}", place, i++), where, depth + 1);
    }
  } else if (value.is_object() && value.contains("data_name")) {
    tensors.push_back({place, text_of(value, "dtype", where), text_of(value, "data_name", where)});
  }
}

}  // namespace

std::vector<MsprobeCall> parse_msprobe(const std::string& text, const std::string& source) {
  const Json json = parse_json(text, source);
  if (!json.is_object() || !json.contains("data") || !json["data"].is_object()) {
    wrong(source, "has no object 'data' of calls");
  }
  std::vector<MsprobeCall> calls;
  for (const auto& [name, value] : json["data"].items()) {
    const std::string where = source + ": " + name;
    if (!value.is_object()) wrong(where, "an object is expected");
    MsprobeCall call{name, {}, {}};
    for (const char* key : {"input_args", "input"}) {
      if (value.contains(key)) add_tensors(call.inputs, value[key], "input", where, 0);
    }
    if (value.contains("input_kwargs") && value["input_kwargs"].is_object()) {
      for (const auto& [keyword, argument] : value["input_kwargs"].items()) {
        add_tensors(call.inputs, argument, "input_" + keyword, where, 0);
      }
    }
    if (value.contains("output")) add_tensors(call.outputs, value["output"], "output", where, 0);
    calls.push_back(std::move(call));
  }
  return calls;
}

}  // namespace assay::wire
