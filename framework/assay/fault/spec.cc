// The text of a fault: parse_fault, FaultSpec::text, fault_help.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <stdexcept>

#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/fault/fault.h"

namespace assay {
namespace {

template <typename T>
bool read_number(std::string_view text, T& value) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && !text.empty();
}

template <typename T>
T whole_number(std::string_view spec, std::string_view key, std::string_view text,
               int at_least = 0) {
  T value = 0;
  const bool read = read_number(text, value) && text.front() != '-';
  if (read && value >= static_cast<T>(at_least)) return value;
  if (read) {
    throw std::invalid_argument(format("fault '{}': {} must be at least {}", spec, key, at_least));
  }
  throw std::invalid_argument(
      format("fault '{}': {} must be a whole number of at least 0, not '{}'", spec, key, text));
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

template <typename E>
struct Word {
  E value;
  std::string_view text;
};
constexpr Word<Direction> kDirections[] = {{Direction::kZeroToOne, "0to1"},
                                           {Direction::kOneToZero, "1to0"},
                                           {Direction::kEither, "either"}};
constexpr Word<Carry> kCarries[] = {
    {Carry::kWrong, "wrong"}, {Carry::kMissing, "missing"}, {Carry::kEither, "either"}};
constexpr Word<bool> kWhens[] = {{true, "before"}, {false, "after"}};

template <typename E, std::size_t kCount>
std::string_view word_of(const Word<E> (&words)[kCount], E value) {
  for (const Word<E>& word : words) {
    if (word.value == value) return word.text;
  }
  return "";
}

template <typename E, std::size_t kCount>
E value_of(const Word<E> (&words)[kCount], std::string_view spec, std::string_view key,
           std::string_view text) {
  std::string known;
  for (std::size_t i = 0; i < kCount; ++i) {
    if (words[i].text == text) return words[i].value;
    known += format("{}{}", i == 0 ? "" : i + 1 == kCount ? " or " : ", ", words[i].text);
  }
  throw std::invalid_argument(
      format("fault '{}': {} must be {}, not '{}'", spec, key, known, text));
}

// ": did you mean 'x'?", or nothing.
std::string guess(std::string_view word, std::span<const std::string> known) {
  const std::string near = nearest_word(word, known);
  return near.empty() ? "" : format(": did you mean '{}'?", near);
}

template <typename Row>
std::vector<std::string> names_of(std::span<const Row> rows) {
  std::vector<std::string> names;
  for (const Row& row : rows) names.emplace_back(row.name);
  return names;
}

const ChangeRow& change_named(std::string_view spec, std::string_view name) {
  for (const ChangeRow& row : change_rows()) {
    if (row.name == name) return row;
  }
  const std::vector<std::string> known = names_of(change_rows());
  throw std::invalid_argument(
      format("fault '{}' must begin with what it does, as in flip,bit=14{}; known: {}", spec,
             guess(name, known), joined(known)));
}

const SiteRow& site_named(std::string_view spec, std::string_view name) {
  for (const SiteRow& row : site_rows()) {
    if (row.name == name) return row;
  }
  const std::vector<std::string> known = names_of(site_rows());
  throw std::invalid_argument(format("fault '{}': unknown site '{}'{}; known: {}", spec, name,
                                     guess(name, known), joined(known)));
}

std::uint64_t bits_of(std::string_view spec, std::string_view key, std::string_view text) {
  std::uint64_t mask = 0;
  for (const std::string& one : every_part(text, ':')) {
    const auto bit = whole_number<std::uint64_t>(spec, key, one);
    if (bit > 63) {
      throw std::invalid_argument(
          format("fault '{}': no element has a bit {}: they are 0 to 63", spec, bit));
    }
    if (((mask >> bit) & 1) != 0) {
      throw std::invalid_argument(format("fault '{}': bit {} is given twice", spec, bit));
    }
    mask |= std::uint64_t{1} << bit;
  }
  return mask;
}

// A number to add, and how many values to go; both say more than nothing.
void read_addend(FaultSpec& out, std::string_view spec, const std::string& key,
                 std::string_view text) {
  Change& c = out.change;
  const bool read = key == "value" ? read_number(text, c.value) && std::isfinite(c.value)
                                   : read_number(text, c.ulps);
  if (!read || (c.value == 0 && c.ulps == 0)) {
    throw std::invalid_argument(format("fault '{}': {} must be a {} other than 0, not '{}'", spec,
                                       key, key == "value" ? "finite number" : "whole number",
                                       text));
  }
}

void read_part(FaultSpec& out, std::string_view spec, const std::string& key,
               const std::string& value) {
  if (key == "bit") {
    out.change.bit = whole_number<int>(spec, key, value);
  } else if (key == "direction") {
    out.change.direction = value_of(kDirections, spec, key, value);
  } else if (key == "length") {
    out.change.length = whole_number<int>(spec, key, value, 1);
  } else if (key == "k") {
    out.change.k = whole_number<int>(spec, key, value, 1);
  } else if (key == "bits") {
    out.change.mask = bits_of(spec, key, value);
  } else if (key == "carry") {
    out.change.carry = value_of(kCarries, spec, key, value);
  } else if (key == "value" || key == "ulps") {
    read_addend(out, spec, key, value);
  } else if (key == "site") {
    const SiteRow& row = site_named(spec, value);
    out.site = row.site;
    if (!row.input.empty()) out.input = row.input;
  } else if (key == "every") {
    out.every = whole_number<std::int64_t>(spec, key, value, 1);
  } else if (key == "step") {
    out.step = whole_number<std::int64_t>(spec, key, value);
  } else if (key == "input") {
    out.input = value;
  } else if (key == "when") {
    out.before_encoding = value_of(kWhens, spec, key, value);
  } else if (key == "at") {
    if (value.empty()) {
      throw std::invalid_argument(format("fault '{}': at needs an index, as in at=3:17", spec));
    }
    out.at.emplace();
    for (const std::string& index : every_part(value, ':')) {
      out.at->push_back(whole_number<std::int64_t>(spec, key, index));
    }
  } else if (key == "seed") {
    out.seed = whole_number<std::uint64_t>(spec, key, value);
  } else {
    out.count = whole_number<std::int64_t>(spec, key, value, 1);
  }
}

// The site is read first: it says which words the rest may hold.
const SiteRow& site_in(std::string_view spec, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (part.rfind("site=", 0) == 0) return site_named(spec, part.substr(5));
  }
  return row_of(Site::kElement);
}

// Whether one of the words was said; none asked for is none missing.
bool any_said(std::string_view words, const std::set<std::string>& said) {
  const std::vector<std::string> list = split(words, ' ');
  return list.empty() || std::any_of(list.begin(), list.end(),
                                     [&](const std::string& word) { return said.count(word) > 0; });
}

void require_needs(std::string_view text, const FaultSpec& spec,
                   const std::set<std::string>& said) {
  const ChangeRow& change = row_of(spec.change.kind);
  if (change.needs == "bit" && said.count("bit") == 0) {
    throw std::invalid_argument(
        format("fault '{}' needs a bit, as in {},bit=14", text, change.name));
  }
  if (!any_said(change.needs, said)) {
    throw std::invalid_argument(
        format("fault '{}' needs {}", text, joined(split(change.needs, ' '), " or ")));
  }
  if (change.kind == ChangeKind::kFlips || change.kind == ChangeKind::kAdd) {
    const std::vector<std::string> either = split(change.needs, ' ');
    if (said.count(either[0]) > 0 && said.count(either[1]) > 0) {
      throw std::invalid_argument(
          format("fault '{}' takes {}, not both", text, joined(either, " or ")));
    }
  }
  if (spec.site == Site::kPeriodic && spec.every == 0) {
    throw std::invalid_argument(
        format("fault '{}' needs every, as in site=periodic,every=64", text));
  }
  if (spec.site == Site::kInput && spec.input.empty()) {
    throw std::invalid_argument(format("fault '{}' needs input, as in site=input,input=x", text));
  }
}

}  // namespace

std::vector<std::string> fault_help() {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view word, std::string_view help) {
    lines.push_back(format("{:<22}{}", word, help));
  };
  for (const ChangeRow& row : change_rows()) {
    add(row.name, row.help);
    for (const std::string& part : split(row.parts, ' ')) {
      if (part == "bit")
        add("  bit=N", "which; 0 is the lowest bit of the stored element");
      else if (part == "direction")
        add("  direction=either",
            "also 0to1, 1to0: elements whose bit has that value already cannot take it");
      else if (part == "length")
        add("  length=1", "how many");
      else if (part == "k")
        add(row.needs.empty() ? "  k=1" : "  k=N", "how many");
      else if (part == "bits")
        add("  bits=I:J", "which");
      else if (part == "carry")
        add("  carry=either", "also wrong, missing");
      else if (part == "value")
        add("  value=X", "the sum is rounded to the element's format");
      else
        add("  ulps=N", "below 0: down");
    }
  }
  lines.emplace_back();
  for (const SiteRow& row : site_rows()) {
    add(format("site={}", row.name), format("{}{}", row.help, row.in_output ? "" : " [campaigns]"));
  }
  add("  at=I:J",
      "this element, or the row, column, tile or period that holds it (an index a dimension, or "
      "one "
      "row-major position)");
  add("  seed=N, count=N", "otherwise: count different ones at random, addressed by the seed");
  lines.emplace_back();
  lines.emplace_back("as in: flip,bit=14,direction=0to1,site=tile or add,ulps=2,at=3:17");
  lines.emplace_back(
      "[campaigns]: only a campaign, which computes the case again, can break these");
  return lines;
}

std::string FaultSpec::text() const {
  const Change& c = change;
  const ChangeRow& row = row_of(c.kind);
  std::string out(row.name);
  for (const std::string& part : split(row.parts, ' ')) {
    if (part == "bit")
      out += format(",bit={}", c.bit);
    else if (part == "direction")
      out += format(",direction={}", word_of(kDirections, c.direction));
    else if (part == "length")
      out += format(",length={}", c.length);
    else if (part == "k" && c.mask == 0)
      out += format(",k={}", c.k);
    else if (part == "carry")
      out += format(",carry={}", word_of(kCarries, c.carry));
    else if (part == "value" && c.ulps == 0)
      out += format(",value={}", number_text(c.value));
    else if (part == "ulps" && c.ulps != 0)
      out += format(",ulps={}", c.ulps);
    if (part != "bits" || c.mask == 0) continue;
    std::vector<std::string> bits;
    for (int bit = 0; bit < 64; ++bit) {
      if (((c.mask >> bit) & 1) != 0) bits.push_back(format("{}", bit));
    }
    out += ",bits=" + joined(bits, ":");
  }
  const SiteRow& at_site = site_row();
  if (site != Site::kElement) out += format(",site={}", at_site.name);
  if (site == Site::kInput && at_site.input.empty()) out += format(",input={}", input);
  if (site == Site::kPeriodic) out += format(",every={}", every);
  if (step) out += format(",step={}", *step);
  if (before_encoding) out += ",when=before";
  if (at) out += format(",at={}", fmt::join(*at, ":"));
  // A fault at a given place has a seed where something else of it is drawn.
  const bool drawn = draws(c) || (site == Site::kAccumulator && !step);
  if (!at || (drawn && seed != 0)) out += format(",seed={}", seed);
  if (!at) out += format(",count={}", count);
  return out;
}

FaultSpec parse_fault(std::string_view text) {
  const FloatEnvironment environment;
  const std::vector<std::string> parts = every_part(text, ',');
  FaultSpec spec;
  const ChangeRow& change = change_named(text, parts[0]);
  spec.change.kind = change.kind;
  const SiteRow& site = site_in(text, parts);
  std::vector<std::string> known = split(change.parts, ' ');
  known.emplace_back("site");
  for (const std::string& word : split(site.parts, ' ')) known.push_back(word);
  for (const char* word : {"at", "seed", "count"}) known.emplace_back(word);

  std::set<std::string> said;
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    const std::string key = parts[i].substr(0, equals);
    const std::string value = equals == std::string::npos ? "" : parts[i].substr(equals + 1);
    if (!said.insert(key).second) {
      throw std::invalid_argument(format("fault '{}': '{}' is given twice", text, key));
    }
    if (std::find(known.begin(), known.end(), key) != known.end()) {
      read_part(spec, text, key, value);
      continue;
    }
    // A word of another site.
    for (const SiteRow& other : site_rows()) {
      const std::vector<std::string> words = split(other.parts, ' ');
      if (std::find(words.begin(), words.end(), key) != words.end()) {
        throw std::invalid_argument(format("fault '{}': {} goes with site={}, not with site={}",
                                           text, key, other.name, site.name));
      }
    }
    throw std::invalid_argument(format("fault '{}': unknown part '{}'{}; {} takes {}", text, key,
                                       guess(key, known), change.name, joined(known)));
  }
  require_needs(text, spec, said);
  return spec;
}

}  // namespace assay
