#include "assay/identify/reductions.h"

#include <algorithm>
#include <cstring>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/identify/sentence.h"
#include "assay/identify/sum_order_search.h"
#include "assay/machine/vector_model.h"
#include "assay/op/operator.h"
#include "assay/op/order.h"
#include "assay/op/parameter.h"
#include "assay/op/sum_bound.h"

namespace assay::inline v0_2::identify {
namespace {

struct Order {
  const Machine* machine;
  std::map<std::string, Attribute> parameters;
};

// True if a parameter belongs to an order of adding. The search replaces the case's own such
// parameters.
bool is_of_order(const std::string& name) {
  static const std::vector<Parameter> all = plan_parameters({});
  return name == "compute_dtype" || find_row(all, name, &Parameter::name) != nullptr;
}

std::vector<Order> orders_of(const Case& c) {
  const Operator& op = *find_operator(c.op);
  const Tensor& x = c.input(op.inputs.front().name);
  std::vector<std::map<std::string, Attribute>> orders;
  for (const std::string& word : find_parameter(op, "order")->choices) {
    if (word != "block") {
      orders.push_back({{"order", word}});
      continue;
    }
    const auto most = std::min<std::int64_t>(x.size(), std::int64_t{1} << 20);
    for (std::int64_t size = 2; size <= most; size *= 2) {
      orders.push_back({{"order", word}, {"block_size", size}});
    }
  }
  std::vector<Order> all;
  for (const Machine& machine : machines()) {
    if (find_vector_model(machine) == nullptr) continue;
    for (const auto& order : orders) {
      all.push_back({&machine, order});
      if (x.format().is_float() && x.format().bits < 32) {
        all.push_back({&machine, order});
        all.back().parameters["compute_dtype"] = std::string("float32");
      }
    }
  }
  return all;
}

Case ordered(Case c, const Order& order) {
  std::erase_if(c.attributes, [](const auto& attribute) { return is_of_order(attribute.first); });
  for (const auto& [name, value] : order.parameters) c.attributes[name] = value;
  return c;
}

bool same_bits(const Tensor& x, const Tensor& y, std::int64_t element) {
  return same_code(x.format(), x.bits_at(element), y.bits_at(element));
}

// Returns the number of recorded elements that the machine gives with this order, or -1 if it does
// not accept the case with this order.
std::int64_t agreement(const Case& c, const Order& order, const Tensor& recorded, int threads) {
  try {
    const Tensor result = emulate(ordered(c, order), *order.machine, threads);
    if (&result.format() != &recorded.format() || result.size() != recorded.size()) return -1;
    std::int64_t agree = 0;
    for (std::int64_t i = 0; i < result.size(); ++i)
      agree += same_bits(result, recorded, i) ? 1 : 0;
    return agree;
  } catch (const Refusal&) {
    return -1;
  }
}

// Returns the case with its input's elements rotated by `by` places, which is more data of the same
// kind.
Case turned(Case c, std::int64_t by) {
  Tensor& x = c.inputs.at(find_operator(c.op)->inputs.front().name);
  const auto width = static_cast<std::int64_t>(x.format().storage_bytes);
  std::vector<std::byte> bytes(x.bytes(), x.bytes() + x.byte_count());
  std::rotate(bytes.begin(), bytes.begin() + by * width, bytes.end());
  std::memcpy(x.bytes(), bytes.data(), bytes.size());
  return c;
}

bool equivalent_orders(const Case& c, const Order& a, const Order& b, int threads) {
  const std::int64_t size = c.input(find_operator(c.op)->inputs.front().name).size();
  for (int i = 0; i < 8; ++i) {
    const Case other = turned(c, size * (2 * i + 1) / 17);
    const Tensor x = emulate(ordered(other, a), *a.machine, threads),
                 y = emulate(ordered(other, b), *b.machine, threads);
    for (std::int64_t element = 0; element < x.size(); ++element) {
      if (!same_bits(x, y, element)) return false;
    }
  }
  return true;
}

std::string one_line(const Order& order) {
  std::string line(order.machine->name);
  for (const auto& [name, value] : order.parameters) {
    line += formatted(" {}={}", name, attribute_text(value));
  }
  return line;
}

// Searches the trees by which kernels add. If the search does not accept the case, returns nothing
// and writes the reason to the finding.
std::optional<SumOrderFinding> trees_of(const Case& c, int threads, Finding& f) {
  try {
    SumOrderFinding found = find_sum_order({recorded_sums(c, f.producer)}, threads);
    f.tried += found.tried;
    return found;
  } catch (const Refusal& e) {
    f.note = formatted("the summation trees of kernels were not searched: {}", e.reason());
    return std::nullopt;
  }
}

void list_trees(const SumOrderFinding& found, std::size_t first, Finding& f) {
  constexpr std::size_t kShown = 8;
  for (std::size_t i = first; i < found.fits.size() && f.rivals.size() < kShown; ++i) {
    f.rivals.push_back(sum_order_text(found.fits[i]));
  }
}

// Returns the reason why there are too few sums to trust a tree that gives all of them. Returns an
// empty string if there are enough.
std::string why_by_chance(const SumOrderFinding& found) {
  if (found.by_chance <= kMostByChance) return "";
  return formatted(
      "{} sums are too few to choose from {} trees, because about {} wrong trees would give the "
      "same sums by chance; record more sums",
      grouped(found.sums), grouped(found.tried), short_number(found.by_chance, 2));
}

// Writes the result of the search for trees to the finding, if no machine's own order gives the
// sums.
void take_trees(const Case& c, int threads, const SumOrderFinding& found, Finding& f) {
  if (found.fits.empty() && found.agree <= f.agree) return;
  if (!found.fits.empty()) {
    f.outcome = found.outcome == SumOrderOutcome::kFound ? Outcome::kFound : Outcome::kUndecided;
    f.fits = found.fits.size();
  }
  const Order order{nullptr, sum_order_parameters(found.nearest)};
  f.parameters = order.parameters;
  f.agree = found.agree;
  f.of = found.sums;
  f.first.clear();
  f.is_row = false;
  // Chooses the vector unit that gives the most elements. The case's machine is tried first, then
  // cpu_fma, then the others. The first of equally good ones is chosen.
  f.model.clear();
  const Tensor& recorded = c.output().recorded.at(f.producer).tensor;
  std::int64_t most = -1;
  const auto try_machine = [&](const Machine& machine) {
    if (find_vector_model(machine) == nullptr) return;
    const std::int64_t agree = agreement(c, {&machine, order.parameters}, recorded, threads);
    if (agree <= most) return;
    most = agree;
    f.model = machine.name;
  };
  if (const Machine* named = named_machine(c)) try_machine(*named);
  try_machine(machine_named("cpu_fma"));
  for (const Machine& machine : machines()) try_machine(machine);
  if (!found.fits.empty() && most < f.elements) {
    f.outcome = Outcome::kUndecided;
    f.note = "no vector unit of the table gives the sums that hold NaN or infinity as well";
  }
  for (const SumOrderEvidence& e : found.evidence) {
    f.evidence.push_back({e.parameter, e.value, e.rival, e.differ, found.sums, {}});
  }
  if (found.outcome != SumOrderOutcome::kUndecided) return;
  f.note = why_by_chance(found);
  list_trees(found, 1, f);
}

// Returns the finding's sentence, for a decided and for an undecided order.
std::string reduction_sentence(const Finding& f) {
  const std::string words = order_in_words(f.parameters);
  const std::string noun = f.op == "reduce_mean" ? "means" : "sums";
  switch (f.outcome) {
    case Outcome::kFound:
      return sentence_of(formatted("{} by {}", noun, words));
    case Outcome::kUndecided:
      return sentence_of(formatted("undecided: {} by {}, or another order", noun, words));
    case Outcome::kNone:
      return sentence_of(formatted("no order gives every element; the nearest, {}, gives {} of {}",
                                   words, grouped(f.agree), grouped(f.of)));
  }
  return "";
}

Finding searched(const Case& c, Finding f, int threads) {
  const Tensor& recorded = c.output().recorded.at(f.producer).tensor;
  f.elements = recorded.size();
  const std::vector<Order> orders = orders_of(c);
  std::vector<const Order*> fits;
  const Order* nearest = nullptr;
  std::int64_t most = -1;
  for (const Order& order : orders) {
    const std::int64_t agree = agreement(c, order, recorded, threads);
    if (agree < 0) continue;
    ++f.tried;
    if (agree == recorded.size()) fits.push_back(&order);
    if (agree > most) {
      most = agree;
      nearest = &order;
    }
  }
  if (nearest == nullptr) {
    refuse_case(c.name, "no machine's vector unit sums {}", c.input("x").format().name);
  }
  f.agree = most;
  f.of = recorded.size();
  f.fits = fits.size();
  f.model = nearest->machine->name;
  f.parameters = nearest->parameters;
  f.is_row = true;
  if (fits.empty()) {
    f.outcome = Outcome::kNone;
    const Tensor ours = emulate(ordered(c, *nearest), *nearest->machine, threads);
    std::int64_t first = -1;
    for (std::int64_t i = 0; i < ours.size(); ++i) {
      if (same_bits(ours, recorded, i)) continue;
      if (first < 0) first = i;
      const auto ulps = ulp_distance(ours.format(), ours.bits_at(i), recorded.bits_at(i));
      if (ulps) f.largest_ulps = std::max(f.largest_ulps, *ulps);
    }
    f.first = {first};
    if (const auto found = trees_of(c, threads, f)) {
      take_trees(c, threads, *found, f);
    }
    return f;
  }
  Evidence evidence{"order", attribute_text(nearest->parameters.at("order")), "", 0, f.elements,
                    {}};
  std::int64_t next = -1;
  for (const Order& order : orders) {
    const std::int64_t agree = agreement(c, order, recorded, threads);
    if (agree >= 0 && agree < recorded.size() && agree > next) {
      next = agree;
      evidence.rival = one_line(order);
      evidence.differ = recorded.size() - agree;
    }
  }
  std::vector<const Order*> rivals;  // the first fitting machine of each other order
  for (const Order* order : fits) {
    if (order == nearest) continue;
    if (equivalent_orders(c, *nearest, *order, threads)) {
      evidence.same.push_back(one_line(*order));
    } else if (std::ranges::none_of(rivals, [&](const Order* rival) {
                 return rival->parameters == order->parameters;
               })) {
      rivals.push_back(order);
      f.rivals.push_back(one_line(*order));
    }
  }
  f.evidence.push_back(evidence);
  // Even if a machine's order gives all sums, a tree of another kind may give them, too.
  const auto found = trees_of(c, threads, f);
  if (found && found->outcome == SumOrderOutcome::kUndecided) {
    f.note = why_by_chance(*found);
    list_trees(*found, 0, f);
  } else if (found && found->outcome == SumOrderOutcome::kFound) {
    const Order tree{nearest->machine, sum_order_parameters(found->nearest)};
    if (!equivalent_orders(c, *nearest, tree, threads)) list_trees(*found, 0, f);
  }
  constexpr std::int64_t kFewest = 4;
  const bool knows_trees = found && found->outcome != SumOrderOutcome::kNone;
  const bool is_few = !knows_trees && f.elements < kFewest;
  if (is_few)
    f.note = formatted("{} sums are too few to tell orders apart; record more sums", f.elements);
  const bool is_open = !f.rivals.empty() || is_few || (knows_trees && !f.note.empty());
  f.outcome = is_open ? Outcome::kUndecided : Outcome::kFound;
  return f;
}

}  // namespace

Finding identify_reduction(const Case& c, Finding finding, int threads) {
  Finding f = searched(c, std::move(finding), threads);
  f.sentence = reduction_sentence(f);
  return f;
}

}  // namespace assay::identify
