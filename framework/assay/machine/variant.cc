// Machines with parameters of their own: "ascend910b,chunk=8,order=pairwise".
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "assay/base/spec.h"
#include "assay/format/rounding.h"
#include "assay/machine/machine.h"

namespace assay {
namespace {

// What a variant sets is a choice: assumed, whatever the row's own value rests on.
struct Parameter {
  std::string_view name;
  void (*apply)(DotModel& model, const SpecText& text, const SpecText::Setting& value);
};

constexpr ChunkOrder kOrders[] = {ChunkOrder::kFused, ChunkOrder::kSequential,
                                  ChunkOrder::kPairwise};

Rounding rounding(const SpecText& text, const SpecText::Setting& value) {
  return text.row(value, deterministic_rounding_rows()).rounding;
}

ChunkOrder order(const SpecText& text, const SpecText::Setting& value) {
  std::vector<std::string> words;
  for (const ChunkOrder o : kOrders) words.emplace_back(order_word(o));
  return kOrders[text.choice(value, words)];
}

using Value = SpecText::Setting;
constexpr Parameter kParameters[] = {
    {.name = "chunk",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.chunk = assumed(t.whole(v, 1, 1 << 20)); }},
    {.name = "order",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.order = assumed(order(t, v)); }},
    {.name = "rounding",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.rounding = assumed(rounding(t, v)); }},
    {.name = "kept_bits",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.kept_bits = assumed(t.whole(v, 0, 40)); }},
    {.name = "alignment",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.alignment = assumed(rounding(t, v)); }},
    {.name = "emax_floor",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.emax_floor = assumed(t.whole(v, -300, 300)); }},
    {.name = "mantissa_bits",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.mantissa_bits = assumed(t.whole(v, 1, 23)); }},
    {.name = "round_products",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.round_products = assumed(t.flag(v)); }},
    {.name = "flush_inputs",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.flush_inputs = assumed(t.flag(v)); }},
    {.name = "flush_sums",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.flush_sums = assumed(t.flag(v)); }},
    {.name = "promotion_interval",
     .apply = [](DotModel& m, const SpecText& t,
                 const Value& v) { m.promotion_interval = assumed(t.whole(v, 0, 1 << 30)); }},
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
  const SpecText given("machine", text);
  const Machine& base = machine_named(given.name());
  auto variant = std::make_unique<Variant>();
  variant->name = std::string(text);
  variant->dots.assign(base.dots.begin(), base.dots.end());
  given.check_keys("a matrix unit", names_of(kParameters));
  if (!base.has_matrix_unit()) given.refuse(format("{} has no matrix unit to change", base.name));
  for (const SpecText::Setting& setting : given.settings()) {
    for (DotModel& model : variant->dots) {
      if (model.accumulator.value == "int32") continue;  // exact whatever its parameters
      row_named("parameter", kParameters, setting.key).apply(model, given, setting);
    }
  }
  variant->summary = format("{}, with other parameters", base.name);
  variant->machine = {variant->name, variant->summary, variant->dots, base.source, base.bias_first};
  return known.emplace(variant->name, std::move(variant)).first->second->machine;
}

}  // namespace assay
