// Machines with parameters of their own: "ascend910b,chunk=8,order=pairwise".
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/machine/machine.h"

namespace assay {
namespace {

// What a variant sets is a choice: assumed, whatever the row's own value rests on.
struct Setting {
  std::string_view name;
  void (*apply)(DotModel& model, const std::string& value);
};

[[noreturn]] void bad_value(const std::string& value, const std::string& wanted) {
  throw std::invalid_argument(format("'{}' is not {}", value, wanted));
}

int number(const std::string& value, int least, int most) {
  std::size_t used = 0;
  int result = 0;
  try {
    result = std::stoi(value, &used);
  } catch (const std::exception&) {
    used = 0;
  }
  if (used == 0 || used != value.size() || result < least || result > most) {
    bad_value(value, format("a whole number from {} to {}", least, most));
  }
  return result;
}
bool flag(const std::string& value) { return number(value, 0, 1) != 0; }

Rounding rounding(const std::string& value) {
  std::vector<std::string> names;
  for (const Rounding r : {Rounding::kNearestEven, Rounding::kNearestAway, Rounding::kTowardZero,
                           Rounding::kUp, Rounding::kDown, Rounding::kToOdd}) {
    if (value == rounding_name(r)) return r;
    names.emplace_back(rounding_name(r));
  }
  bad_value(value, format("one of {}", joined(names)));
}

ChunkOrder order(const std::string& value) {
  for (const ChunkOrder o : {ChunkOrder::kFused, ChunkOrder::kSequential, ChunkOrder::kPairwise}) {
    if (value == order_word(o)) return o;
  }
  bad_value(value, "one of fused, sequential, pairwise");
}

constexpr Setting kSettings[] = {
    {"chunk", [](DotModel& m, const std::string& v) { m.chunk = assumed(number(v, 1, 1 << 20)); }},
    {"order", [](DotModel& m, const std::string& v) { m.order = assumed(order(v)); }},
    {"rounding", [](DotModel& m, const std::string& v) { m.rounding = assumed(rounding(v)); }},
    {"kept_bits",
     [](DotModel& m, const std::string& v) { m.kept_bits = assumed(number(v, 0, 40)); }},
    {"alignment", [](DotModel& m, const std::string& v) { m.alignment = assumed(rounding(v)); }},
    {"emax_floor",
     [](DotModel& m, const std::string& v) { m.emax_floor = assumed(number(v, -300, 300)); }},
    {"mantissa_bits",
     [](DotModel& m, const std::string& v) { m.mantissa_bits = assumed(number(v, 1, 23)); }},
    {"round_products",
     [](DotModel& m, const std::string& v) { m.round_products = assumed(flag(v)); }},
    {"flush_inputs", [](DotModel& m, const std::string& v) { m.flush_inputs = assumed(flag(v)); }},
    {"flush_sums", [](DotModel& m, const std::string& v) { m.flush_sums = assumed(flag(v)); }},
    {"promotion_interval",
     [](DotModel& m, const std::string& v) {
       m.promotion_interval = assumed(number(v, 0, 1 << 30));
     }},
};

// A variant lives as long as the program, as the rows of the table do.
struct Variant {
  std::string name, summary;
  std::vector<DotModel> dots;
  Machine machine;
};

}  // namespace

const Machine& machine_variant(std::string_view text) {
  static std::mutex mutex;
  static std::map<std::string, std::unique_ptr<Variant>, std::less<>> known;
  const std::lock_guard lock(mutex);
  if (const auto found = known.find(text); found != known.end()) return found->second->machine;
  const std::vector<std::string> words = split(text, ',');
  const Machine& base = machine_named(words.empty() ? std::string_view() : words[0]);
  auto variant = std::make_unique<Variant>();
  variant->name = std::string(text);
  variant->dots.assign(base.dots.begin(), base.dots.end());
  for (std::size_t i = 1; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const std::string name = words[i].substr(0, equals);
    std::vector<std::string> names;
    const Setting* found = nullptr;
    for (const Setting& s : kSettings) {
      if (s.name == name) found = &s;
      names.emplace_back(s.name);
    }
    if (found == nullptr || equals == std::string::npos) {
      const std::string near = nearest_word(name, names);
      throw std::invalid_argument(format(
          "machine '{}': '{}' is no parameter of a matrix unit{}; it is name=value, with {}", text,
          words[i], near.empty() ? "" : format(": did you mean '{}'?", near), joined(names)));
    }
    if (!base.has_matrix_unit()) {
      throw std::invalid_argument(
          format("machine '{}': {} has no matrix unit to change", text, base.name));
    }
    for (DotModel& model : variant->dots) {
      if (model.accumulator.value == "int32") continue;  // exact whatever its parameters
      try {
        found->apply(model, words[i].substr(equals + 1));
      } catch (const std::invalid_argument& e) {
        throw std::invalid_argument(format("machine '{}': {}: {}", text, name, e.what()));
      }
    }
  }
  variant->summary = format("{}, with other parameters", base.name);
  variant->machine = {variant->name, variant->summary, variant->dots, base.source, base.bias_first};
  return known.emplace(variant->name, std::move(variant)).first->second->machine;
}

}  // namespace assay
