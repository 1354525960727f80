#include "assay/fault/fault.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <stdexcept>

#include "assay/base/text.h"

namespace assay {
namespace {

template <typename T>
T whole_number(std::string_view spec, std::string_view key, std::string_view text) {
  T value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || text.empty() ||
      text.front() == '-') {
    throw std::invalid_argument(
        format("fault '{}': {} must be a whole number of at least 0, not '{}'", spec, key, text));
  }
  return value;
}

// The parts between separators, empty ones too.
std::vector<std::string> every_part(std::string_view text, char separator) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == separator)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

std::string_view direction_word(Direction direction) {
  switch (direction) {
    case Direction::kZeroToOne:
      return "0to1";
    case Direction::kOneToZero:
      return "1to0";
    case Direction::kEither:
      break;
  }
  return "either";
}

bool can_flip(std::uint64_t bits, int bit, Direction direction) {
  const bool set = ((bits >> bit) & 1) != 0;
  return direction == Direction::kEither || set == (direction == Direction::kOneToZero);
}

std::int64_t position_of(const Tensor& t, const std::vector<std::int64_t>& at) {
  const auto outside = [&] {
    return std::invalid_argument(format("there is no element {} in an output of shape {}",
                                        shape_text(at), shape_text(t.shape())));
  };
  for (const std::int64_t index : at) {
    if (index < 0) throw outside();
  }
  if (at.size() == 1 && t.shape().size() != 1) {
    if (at[0] >= t.size()) throw outside();
    return at[0];
  }
  if (at.size() != t.shape().size()) throw outside();
  std::int64_t position = 0;
  for (std::size_t d = 0; d < at.size(); ++d) {
    if (at[d] >= t.shape()[d]) throw outside();
    position = position * t.shape()[d] + at[d];
  }
  return position;
}

}  // namespace

std::vector<std::string> fault_help() {
  return {
      "flip                  flips one bit of an element of the output",
      "  bit=N               which; 0 is the lowest bit of the stored element",
      "  direction=either    also 0to1, 1to0: elements whose bit has that value already cannot "
      "take it",
      "  at=I:J              this element (an index a dimension, or one row-major position)",
      "  seed=N, count=N     otherwise: count different elements at random, addressed by the seed",
  };
}

std::string FaultSpec::text() const {
  std::string out = format("flip,bit={},direction={}", bit, direction_word(direction));
  if (at) return out + format(",at={}", fmt::join(*at, ":"));
  return out + format(",seed={},count={}", seed, count);
}

FaultSpec parse_fault(std::string_view text) {
  const std::vector<std::string> parts = every_part(text, ',');
  if (parts.empty() || parts[0] != "flip") {
    throw std::invalid_argument(
        format("fault '{}' must begin with its kind: flip, as in flip,bit=14", text));
  }
  FaultSpec spec;
  bool has_bit = false;
  std::set<std::string> seen;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string key = parts[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : parts[i].substr(equals + 1);
    if (!seen.insert(key).second) {
      throw std::invalid_argument(format("fault '{}': '{}' is given twice", text, key));
    }
    if (key == "bit") {
      spec.bit = whole_number<int>(text, key, value);
      has_bit = true;
    } else if (key == "direction") {
      if (value == "0to1")
        spec.direction = Direction::kZeroToOne;
      else if (value == "1to0")
        spec.direction = Direction::kOneToZero;
      else if (value == "either")
        spec.direction = Direction::kEither;
      else
        throw std::invalid_argument(
            format("fault '{}': direction must be 0to1, 1to0 or either, not '{}'", text, value));
    } else if (key == "at") {
      if (value.empty()) {
        throw std::invalid_argument(format("fault '{}': at needs an index, as in at=3:17", text));
      }
      spec.at.emplace();
      for (const std::string& index : every_part(value, ':')) {
        spec.at->push_back(whole_number<std::int64_t>(text, key, index));
      }
    } else if (key == "seed") {
      spec.seed = whole_number<std::uint64_t>(text, key, value);
    } else if (key == "count") {
      spec.count = whole_number<std::int64_t>(text, key, value);
      if (spec.count == 0) {
        throw std::invalid_argument(format("fault '{}': count must be at least 1", text));
      }
    } else {
      const std::vector<std::string> known = {"bit", "direction", "at", "seed", "count"};
      const std::string near = nearest_word(key, known);
      throw std::invalid_argument(
          format("fault '{}': unknown part '{}'{}; a flip takes {}", text, key,
                 near.empty() ? "" : format(": did you mean '{}'?", near), joined(known)));
    }
  }
  if (!has_bit) {
    throw std::invalid_argument(format("fault '{}' needs a bit, as in flip,bit=14", text));
  }
  return spec;
}

Injection inject(Tensor& output, const FaultSpec& spec, std::uint64_t stream) {
  const Format& f = output.format();
  if (spec.bit < f.padding || spec.bit >= f.padding + f.bits) {
    throw std::invalid_argument(format("{} has no bit {}; its bits are {} to {}", f.name, spec.bit,
                                       f.padding, f.padding + f.bits - 1));
  }
  Injection done;
  const auto flip = [&](std::int64_t position) {
    const std::uint64_t before = output.bits_at(position);
    const std::uint64_t after = before ^ (std::uint64_t{1} << spec.bit);
    output.set_bits(position, after);
    done.flips.push_back({position, before, after});
  };
  if (spec.at) {
    const std::int64_t position = position_of(output, *spec.at);
    if (can_flip(output.bits_at(position), spec.bit, spec.direction))
      flip(position);
    else
      done.not_injectable = 1;
    return done;
  }
  // Uniform among the elements that can take the flip, each once: draws are rejected until one
  // fits, and where few fit, the rest is drawn from a list of them.
  constexpr int kDraws = 1000;
  Random random(spec.seed, stream);
  const std::int64_t size = output.size();
  std::set<std::int64_t> taken;
  const auto able = [&](std::int64_t i) {
    return taken.count(i) == 0 && can_flip(output.bits_at(i), spec.bit, spec.direction);
  };
  const auto take = [&](std::int64_t i) {
    flip(i);
    taken.insert(i);
  };
  for (std::int64_t n = 0; n < spec.count && size > 0; ++n) {
    std::int64_t found = -1;
    for (int draw = 0; draw < kDraws && found < 0; ++draw) {
      const auto i = static_cast<std::int64_t>(random.below(static_cast<std::uint64_t>(size)));
      if (able(i)) found = i;
    }
    if (found >= 0) {
      take(found);
      continue;
    }
    std::vector<std::int64_t> rest;
    for (std::int64_t i = 0; i < size; ++i) {
      if (able(i)) rest.push_back(i);
    }
    for (; n < spec.count && !rest.empty(); ++n) {
      std::swap(rest[random.below(rest.size())], rest.back());
      take(rest.back());
      rest.pop_back();
    }
    break;
  }
  done.not_injectable =
      std::max<std::int64_t>(spec.count, 0) - static_cast<std::int64_t>(done.flips.size());
  return done;
}

}  // namespace assay
