#include "assay/trial/draw.h"

#include <algorithm>
#include <cmath>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/op/parameter.h"
#include "assay/trial/sizes.h"

namespace assay::inline v0_2::trial {

namespace {

constexpr std::pair<Layout, std::string_view> kLayouts[] = {{Layout::kContiguous, "contiguous"},
                                                            {Layout::kOffset, "offset"},
                                                            {Layout::kPadded, "padded"},
                                                            {Layout::kTransposed, "transposed"}};

}  // namespace

std::string_view layout_word(Layout layout) {
  return std::ranges::find(kLayouts, layout, &std::pair<Layout, std::string_view>::first)->second;
}

Layout layout_named(std::string_view word) {
  for (const auto& [layout, text] : kLayouts) {
    if (text == word) return layout;
  }
  refuse("unknown memory layout '{}'; known: contiguous, offset, padded, transposed", word);
}

std::string Draw::text() const {
  std::string sizes, attributes, values;
  for (const std::int64_t size : recipe.sizes)
    sizes += formatted("{}{}", sizes.empty() ? "" : "x", size);
  for (const auto& [name, value] : recipe.attributes) {
    attributes += formatted(" {}={}", name, attribute_text(value));
  }
  values = recipe.distribution.text();
  for (const auto& [name, spec] : recipe.distributions) {
    values += formatted(" {}:{}", name, spec.text());
  }
  std::string layouts;
  if (inputs != Layout::kContiguous) layouts += formatted(", {} inputs", layout_word(inputs));
  if (output != Layout::kContiguous) layouts += formatted(", {} output", layout_word(output));
  return formatted("{} {}{}, {}{}", recipe.dtype->name, sizes.empty() ? "scalar" : sizes,
                   attributes, values, layouts);
}

Drawing::Drawing(const Operator& op, const TrialKernel& kernel, std::vector<std::string> dtypes,
                 std::map<std::string, Attribute> fixed, DrawLimits limits, std::uint64_t seed)
    : op_(op),
      kernel_(kernel),
      dtypes_(std::move(dtypes)),
      fixed_(std::move(fixed)),
      limits_(std::move(limits)),
      seed_(seed) {
  if (op.generate == nullptr) {
    refuse("the operator '{}' has no `generate`, so a trial cannot draw its inputs", op.name);
  }
  for (std::string name : split(op.sizes, ',')) {
    while (!name.empty() && name.front() == ' ') name.erase(0, 1);
    if (name == "...") {
      has_batch_ = true;
    } else {
      names_.push_back(name);
    }
  }
  if (!limits_.sizes.empty() && !has_batch_) {
    for (const auto& sizes : limits_.sizes) {
      if (sizes.size() == names_.size()) continue;
      refuse("{} takes the sizes {}, and not {}", op.name, op.sizes, shape_text(sizes));
    }
  }
  for (const std::string& input : kernel.always) {
    const std::string& flag = input_of(input).needs;
    if (!flag.empty()) fixed_.try_emplace(flag, std::int64_t{1});
  }
  if (dtypes_.empty()) dtypes_ = kernel.dtypes;
  for (std::string& dtype : dtypes_) {
    const Format& format = format_named(dtype);
    const auto is_format = [&](const std::string& of) { return &format_named(of) == &format; };
    if (!kernel.dtypes.empty() && std::ranges::none_of(kernel.dtypes, is_format)) {
      refuse("{} takes {}, and not {}", kernel.name, joined(kernel.dtypes), dtype);
    }
    dtype = format.name;  // "fp32" is float32
  }
  if (dtypes_.empty()) {
    for (const char* dtype : {"float32", "float8_e4m3fn", "int8"}) {
      if (!why_not_dtype(dtype).empty()) continue;
      dtypes_ = {dtype};
      break;
    }
    if (dtypes_.empty()) dtypes_ = {"float32"};
  }
  for (const std::string& dtype : dtypes_) check_dtype(dtype);
  std::vector<std::vector<std::int64_t>> sizes = listed_sizes();
  if (sizes.empty()) sizes.push_back(drawn_sizes());
  for (const std::string& input : kernel.sometimes) {
    Draw with_input = base(dtypes_.front());
    with_input.recipe.sizes = sizes.front();
    const std::string& flag = input_of(input).needs;
    if (kernel.parameters.count(flag) != 0) {
      with_input.recipe.attributes.try_emplace(flag, std::int64_t{1});
    }
    add_optional(with_input, input);
    const bool is_made = with_input.recipe.names(input) && can_make(with_input);
    (is_made ? sometimes_ : cannot_make_).push_back(input);
  }
  const auto& normal = value_classes().front();
  const auto add = [&](Draw draw) {
    if (!fits(draw.recipe.sizes) || !can_make(draw)) return;
    draw.number = listed();
    draw.is_listed = true;
    draw.recipe.seed = static_cast<std::uint64_t>(draw.number) + 1;
    add_classes(draw);
    list_.push_back(std::move(draw));
  };
  for (const std::string& dtype : dtypes_) {
    const auto with = [&](const std::vector<std::int64_t>& of, const ValueClass& values,
                          bool sometimes) {
      Draw draw = base(dtype);
      draw.recipe.sizes = of;
      set_optional(draw, sometimes);
      set_values(draw, values);
      return draw;
    };
    for (std::size_t i = 0; i < sizes.size(); ++i) add(with(sizes[i], normal, i % 2 == 0));
    // The first two sizes are small and long.
    for (const ValueClass& values : value_classes()) {
      if (&values == &normal || !takes(op_, values, format_named(dtype), limits_.subnormals))
        continue;
      for (std::size_t i = 0; i < std::min<std::size_t>(2, sizes.size()); ++i) {
        add(with(sizes[i], values, true));
      }
    }
    for (const Parameter& parameter : op.parameters) {
      if (!varies(parameter)) continue;
      for (const std::string& value : parameter.tried) {
        // The fourth sizes are square.
        for (const std::size_t i : {std::size_t{0}, std::size_t{1}, std::size_t{3}}) {
          if (i >= sizes.size()) continue;
          Draw draw = with(sizes[i], normal, true);
          draw.recipe.attributes[parameter.name] = parameter_value(parameter, value);
          set_optional(draw, true);  // those that need this parameter
          add(std::move(draw));
        }
      }
    }
    for (const auto& [layout, word] : kLayouts) {
      if (layout == Layout::kContiguous) continue;
      Draw draw = with(sizes[0], normal, true);
      const bool offset = layout == Layout::kOffset;
      if (offset ? kernel.takes_offsets : kernel.takes_strides) draw.inputs = layout;
      if (!kernel.returns_output && (offset ? kernel.takes_offsets : kernel.takes_out_strides)) {
        draw.output = layout;
      }
      if (draw.inputs != Layout::kContiguous || draw.output != Layout::kContiguous) {
        add(std::move(draw));
      }
    }
  }
  if (list_.empty()) {
    Draw first = base(dtypes_.front());
    first.recipe.sizes = sizes.front();
    set_optional(first, false);
    (void)make(first);
  }
}

std::string Drawing::why_not_dtype(const std::string& dtype) const {
  std::string reason;
  Draw draw = base(dtype);
  set_optional(draw, false);
  for (const std::vector<std::int64_t>& sizes : listed_sizes()) {
    draw.recipe.sizes = sizes;
    set_values(draw, value_classes().front());
    try {
      (void)golden_result(make(draw), 1);
      return "";
    } catch (const Refusal& e) {
      if (reason.empty()) reason = e.reason();
    }
  }
  return reason;
}

void Drawing::check_dtype(const std::string& dtype) const {
  const std::string reason = why_not_dtype(dtype);
  if (reason.empty()) return;
  std::vector<std::string> taken;
  for (const Format& format : formats()) {
    const std::string name(format.name);
    if (why_not_dtype(name).empty()) taken.push_back(name);
  }
  if (taken.empty()) refuse("a trial of {} cannot draw its inputs: {}", op_.name, reason);
  refuse("{} takes no inputs of {}: {}; it takes {}", op_.name, dtype, reason, joined(taken));
}

bool Drawing::can_make(const Draw& draw) const {
  try {
    (void)make(draw);
    return true;
  } catch (const Refusal&) {
    return false;
  }
}

std::vector<std::vector<std::int64_t>> Drawing::listed_sizes() const {
  if (!limits_.sizes.empty()) return limits_.sizes;
  std::vector<std::vector<std::int64_t>> all = revealing_sizes(op_.sizes, names_.size());
  std::erase_if(all, [&](const std::vector<std::int64_t>& sizes) { return !fits(sizes); });
  return all;
}

std::vector<std::int64_t> Drawing::drawn_sizes() const {
  constexpr std::uint64_t kAttempts = 32;
  for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    Random random(attempt, 0);
    std::vector<std::int64_t> sizes = random_sizes(random);
    if (!contains(sizes, 0) && !sizes.empty() && fits(sizes)) return sizes;
  }
  refuse("no sizes {} of {} have {} to {} dimensions and at most {} elements; change these limits",
         op_.sizes, op_.name, kernel_.least_rank, kernel_.most_rank, grouped(limits_.elements));
}

bool Drawing::fits(const std::vector<std::int64_t>& sizes) const {
  if (!limits_.sizes.empty()) return true;
  std::int64_t all = 1;
  for (const std::int64_t size : sizes) {
    if (size == 0 && !kernel_.takes_empty) return false;
    all *= std::max<std::int64_t>(size, 1);
  }
  const bool is_whole = names_.empty();
  // The first input of a matrix operator has one dimension less than there are sizes.
  const auto rank =
      static_cast<int>(sizes.size()) - (is_whole ? 0 : static_cast<int>(names_.size()) - 2);
  if (has_batch_ && (rank > kernel_.most_rank || rank < kernel_.least_rank)) return false;
  return all <= (is_whole ? limits_.elements : limits_.products);
}

Draw Drawing::base(const std::string& dtype) const {
  Draw draw;
  draw.recipe.dtype = &format_named(dtype);
  draw.recipe.least_size = 0;
  draw.recipe.threads = 1;
  draw.recipe.attributes = fixed_;
  if (!kernel_.output_dtype.empty()) {
    draw.recipe.attributes.try_emplace("output_dtype", kernel_.output_dtype);
  }
  for (const Parameter& parameter : op_.parameters) {
    if (parameter.needed && draw.recipe.attributes.count(parameter.name) == 0 &&
        !parameter.tried.empty()) {
      draw.recipe.attributes[parameter.name] = parameter_value(parameter, parameter.tried.front());
    }
  }
  return draw;
}

void Drawing::set_values(Draw& draw, const ValueClass& values) const {
  trial::set_values(op_, values, draw.recipe);
  std::erase_if(draw.classes, [](const auto& c) { return c.first == "values"; });
  draw.classes.emplace_back("values", values.name);
}

void Drawing::set_optional(Draw& draw, bool sometimes) const {
  for (const std::string& input : kernel_.always) add_optional(draw, input);
  if (sometimes) {
    for (const std::string& input : sometimes_) add_optional(draw, input);
  }
}

const OperatorInput& Drawing::input_of(const std::string& name) const {
  static const OperatorInput kUnknown;
  const OperatorInput* const found = find_row(op_.inputs, name, &OperatorInput::name);
  return found != nullptr ? *found : kUnknown;
}

void Drawing::add_optional(Draw& draw, const std::string& name) const {
  const OperatorInput& input = input_of(name);
  if (!input.needs.empty()) {
    Case with;
    with.attributes = draw.recipe.attributes;
    if (!with.flag(input.needs).value_or(false)) return;
  }
  draw.recipe.distributions.try_emplace(name, parse_distribution(input.drawn));
}

void Drawing::add_classes(Draw& draw) const {
  std::erase_if(draw.classes, [](const auto& c) { return c.first != "values"; });
  draw.classes.emplace_back("dtypes", std::string(draw.recipe.dtype->name));
  for (std::size_t i = 0; i < draw.recipe.sizes.size(); ++i) {
    draw.classes.emplace_back("sizes", std::string(class_of_size(draw.recipe.sizes[i])));
  }
  draw.classes.emplace_back("dimensions", std::to_string(draw.recipe.sizes.size()));
  for (const auto& [name, value] : draw.recipe.attributes) {
    draw.classes.emplace_back("attributes", formatted("{}={}", name, attribute_text(value)));
  }
  for (const auto& [name, spec] : draw.recipe.distributions) {
    for (const OperatorInput& input : op_.inputs) {
      if (input.name == name && input.optional) draw.classes.emplace_back("inputs", name);
    }
  }
  draw.classes.emplace_back("layouts", formatted("{} inputs", layout_word(draw.inputs)));
  draw.classes.emplace_back("layouts", formatted("{} output", layout_word(draw.output)));
}

Drawing::Made Drawing::made(std::int64_t number) const {
  if (number < listed()) {
    const Draw& draw = list_[static_cast<std::size_t>(number)];
    return {draw, make(draw)};
  }
  constexpr std::uint64_t kAttempts = 32;
  for (std::uint64_t attempt = 0; attempt < kAttempts; ++attempt) {
    Draw draw = random(number, attempt);
    try {
      Case test_case = make(draw);
      return {std::move(draw), std::move(test_case)};
    } catch (const Refusal&) {  // the next attempt draws another one
    }
  }
  Draw last = random(number, 0);
  Case test_case = make(last);  // which says why
  return {std::move(last), std::move(test_case)};
}

std::vector<std::int64_t> Drawing::random_sizes(Random& random) const {
  std::vector<std::int64_t> sizes;
  const bool is_whole = names_.empty();
  std::int64_t left = is_whole ? limits_.elements : limits_.products;
  std::size_t count = names_.size();
  if (is_whole) {
    constexpr int kRanks[] = {2, 2, 2, 1, 3, 4};
    count = static_cast<std::size_t>(
        std::clamp(kRanks[random.index_below(6)], kernel_.least_rank, kernel_.most_rank));
  }
  sizes.assign(count, 1);
  // The sizes are drawn in a random order, so that each of them is sometimes long.
  std::vector<std::size_t> order(count);
  for (std::size_t i = 0; i < count; ++i) order[i] = i;
  for (std::size_t i = count; i > 1; --i) {
    std::swap(order[i - 1],
              order[static_cast<std::size_t>(random.index_below(static_cast<std::int64_t>(i)))]);
  }
  const std::int64_t most =
      is_whole ? limits_.elements : std::max<std::int64_t>(limits_.elements / 16, 1);
  for (const std::size_t i : order) {
    sizes[i] = draw_size(random, std::min(left, most));
    left /= std::max<std::int64_t>(sizes[i], 1);
  }
  if (!is_whole && has_batch_ && kernel_.most_rank > 2) {
    const std::int64_t batches =
        std::max<std::int64_t>(random.index_below(4) - 1, kernel_.least_rank - 2);
    for (std::int64_t i = 0; i < std::min<std::int64_t>(batches, kernel_.most_rank - 2); ++i) {
      const std::int64_t size = 1 + random.index_below(std::min<std::int64_t>(left, 3));
      left /= size;
      sizes.insert(sizes.begin(), size);
    }
  }
  if (kernel_.takes_empty && count > 0 && random.index_below(100) == 0) {
    sizes[static_cast<std::size_t>(random.index_below(std::ssize(sizes)))] = 0;
  }
  return sizes;
}

bool Drawing::varies(const Parameter& parameter) const {
  const bool is_fixed = fixed_.count(parameter.name) != 0 ||
                        (parameter.name == "output_dtype" && !kernel_.output_dtype.empty());
  return !parameter.tried.empty() && kernel_.parameters.count(parameter.name) != 0 && !is_fixed;
}

Draw Drawing::random(std::int64_t number, std::uint64_t attempt) const {
  Random random(
      seed_, substream(substream(stream_of("trial"), attempt), static_cast<std::uint64_t>(number)));
  Draw draw = base(dtypes_[static_cast<std::size_t>(random.index_below(std::ssize(dtypes_)))]);
  draw.number = number;
  draw.recipe.seed = random.next64() >> 1;

  draw.recipe.sizes =
      limits_.sizes.empty()
          ? random_sizes(random)
          : limits_.sizes[static_cast<std::size_t>(random.index_below(std::ssize(limits_.sizes)))];

  for (const Parameter& parameter : op_.parameters) {
    if (!varies(parameter) || (!parameter.needed && random.index_below(2) == 0)) continue;
    const auto choice = static_cast<std::size_t>(random.index_below(std::ssize(parameter.tried)));
    draw.recipe.attributes[parameter.name] = parameter_value(parameter, parameter.tried[choice]);
  }

  for (const std::string& input : kernel_.always) add_optional(draw, input);
  for (const std::string& input : sometimes_) {
    if (random.index_below(2) != 0) add_optional(draw, input);
  }

  std::int64_t weights = 0;
  for (const ValueClass& values : value_classes()) {
    if (takes(op_, values, *draw.recipe.dtype, limits_.subnormals)) weights += values.weight;
  }
  std::int64_t chosen = random.index_below(weights);
  for (const ValueClass& values : value_classes()) {
    if (!takes(op_, values, *draw.recipe.dtype, limits_.subnormals)) continue;
    chosen -= values.weight;
    if (chosen >= 0) continue;
    set_values(draw, values);
    break;
  }

  const auto layout = [&](bool strides) {
    const std::int64_t drawn = random.index_below(8);
    if (drawn == 1 && kernel_.takes_offsets) return Layout::kOffset;
    if (drawn == 2 && strides) return Layout::kPadded;
    if (drawn == 3 && strides) return Layout::kTransposed;
    return Layout::kContiguous;
  };
  draw.inputs = layout(kernel_.takes_strides);
  if (!kernel_.returns_output) draw.output = layout(kernel_.takes_out_strides);
  add_classes(draw);
  return draw;
}

Case Drawing::make(const Draw& draw, std::uint64_t seed_step) const {
  Recipe recipe = draw.recipe;
  recipe.seed ^= seed_step;
  Case made = generate_case(op_.name, recipe);
  if (const auto axis = made.integer("axis")) {
    const auto rank = static_cast<std::int64_t>(made.input(op_.inputs.front().name).shape().size());
    if (*axis >= rank || *axis < -rank) refuse_case(made.name, "there is no dimension {}", *axis);
  }
  return made;
}

std::vector<std::string> Drawing::left_out() const {
  std::vector<std::string> all = kernel_.not_tried;
  for (const Parameter& parameter : op_.parameters) {
    if (!parameter.tried.empty() && kernel_.parameters.count(parameter.name) == 0 &&
        fixed_.count(parameter.name) == 0) {
      all.push_back(formatted("other values of {}: the kernel does not take it", parameter.name));
    }
  }
  for (const OperatorInput& input : op_.inputs) {
    if (input.optional && kernel_.always.count(input.name) == 0 &&
        kernel_.sometimes.count(input.name) == 0) {
      all.push_back(formatted("the optional input {}: the kernel does not take it", input.name));
    }
  }
  for (const std::string& input : cannot_make_) {
    all.push_back(formatted("the optional input {}: it cannot be drawn", input));
  }
  if (!takes_specials(op_)) {
    all.emplace_back("infinities and NaN: right kernels may multiply them by weights that are 0");
  }
  if (!limits_.subnormals) {
    all.emplace_back("subnormal numbers: no machine is named, and some flush them to zero");
  }
  if (kernel_.call_all) {
    all.emplace_back("memory layouts: a program gets its inputs as files");
    return all;
  }
  if (!kernel_.takes_strides)
    all.emplace_back("inputs with strides: the kernel does not take strides");
  if (!kernel_.takes_offsets) all.emplace_back("memory at any address: the kernel needs alignment");
  if (kernel_.returns_output) {
    all.emplace_back(
        "elements that are never written, and writes outside the output: the kernel "
        "returns memory of its own");
  }
  return all;
}

}  // namespace assay::trial
