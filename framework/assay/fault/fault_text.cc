#include "assay/fault/fault_text.h"

#include <algorithm>
#include <cmath>

#include "assay/base/call_text.h"
#include "assay/base/float_environment.h"
#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2::fault {
namespace {

constexpr Word<Direction> kDirections[] = {{"0to1", Direction::kZeroToOne},
                                           {"1to0", Direction::kOneToZero},
                                           {"either", Direction::kEither}};
constexpr Word<Carry> kCarries[] = {
    {"wrong", Carry::kWrong}, {"missing", Carry::kMissing}, {"either", Carry::kEither}};
constexpr Word<bool> kWhens[] = {{"before", true}, {"after", false}};

template <typename E, std::size_t kCount>
std::string_view word_of(const Word<E> (&words)[kCount], E value) {
  return find_row(words, value, &Word<E>::value)->name;
}

}  // namespace

std::string_view word_of(Direction direction) { return word_of(kDirections, direction); }

namespace {

const ChangeRow& change_named(const SpecText& text) {
  if (const auto* row = find_row(change_rows(), text.name(), &ChangeRow::name)) return *row;
  const std::vector<std::string> known = names_of(change_rows());
  refuse("fault '{}' must begin with what it does, as in flip,bit=14{}; known: {}", text.text(),
         did_you_mean(text.name(), known), joined(known));
}

const SiteRow& site_named(const SpecText& text, std::string_view name) {
  const SiteRow* row = find_row(site_rows(), name, &SiteRow::name);
  if (row == nullptr) text.refuse(unknown_word("site", name, names_of(site_rows())));
  return *row;
}

// No element of any format has more bits than this.
constexpr int kMostBits = 64;

void require_some_element_has(const SpecText& text, std::uint64_t bit) {
  if (bit < kMostBits) return;
  text.refuse(formatted("no element has a bit {}; give one from 0 to {}", bit, kMostBits - 1));
}

std::uint64_t bits_of(const SpecText& text, const SpecText::Setting& setting) {
  std::uint64_t mask = 0;
  for (const auto bit : text.whole_list<std::uint64_t>(setting, ':', 0)) {
    require_some_element_has(text, bit);
    if (((mask >> bit) & 1) != 0) text.refuse(formatted("bit {} is given twice", bit));
    mask |= std::uint64_t{1} << bit;
  }
  return mask;
}

// Reads the parameter of `add`: the finite number to add, or the number of representable values to
// move by. Neither may be 0.
void read_addend(Change& change, const SpecText& text, const SpecText::Setting& setting) {
  const bool is_value = setting.key == "value";
  if (is_value) {
    change.value = read_number<double>(setting.value).value_or(0);
  } else {
    change.ulps = read_number<std::int64_t>(setting.value).value_or(0);
  }
  if (!std::isfinite(change.value) || (change.value == 0 && change.ulps == 0)) {
    text.refuse(formatted("{} must be a {} other than 0, not '{}'", setting.key,
                          is_value ? "finite number" : "whole number", setting.value));
  }
}

void read_setting(FaultSpec& out, const SpecText& text, const SpecText::Setting& setting) {
  const std::string& key = setting.key;
  if (key == "bit") {
    out.change.bit = text.whole(setting, 0);
    require_some_element_has(text, static_cast<std::uint64_t>(out.change.bit));
  } else if (key == "direction") {
    out.change.direction = text.row(setting, kDirections).value;
  } else if (key == "length") {
    out.change.length = text.whole(setting, 1, kMostBits);
  } else if (key == "k") {
    out.change.k = text.whole(setting, 1, kMostBits);
  } else if (key == "bits") {
    out.change.mask = bits_of(text, setting);
  } else if (key == "carry") {
    out.change.carry = text.row(setting, kCarries).value;
  } else if (key == "rows") {
    out.change.rows = text.whole<std::int64_t>(setting, 1);
  } else if (key == "value" || key == "ulps") {
    read_addend(out.change, text, setting);
  } else if (key == "site") {
    const SiteRow& row = site_named(text, setting.value);
    out.site = row.site;
    if (!row.input.empty()) out.input = row.input;
  } else if (key == "every") {
    out.every = text.whole<std::int64_t>(setting, 1);
  } else if (key == "step") {
    out.step = text.whole<std::int64_t>(setting, 0);
  } else if (key == "input") {
    out.input = setting.value;
  } else if (key == "output") {
    if (setting.value.empty()) text.refuse("output needs a name, as in output=indices");
    out.output = setting.value;
  } else if (key == "when") {
    out.before_encoding = text.row(setting, kWhens).value;
  } else if (key == "at") {
    if (setting.value.empty()) text.refuse("at needs an index, as in at=3:17");
    out.at = text.whole_list<std::int64_t>(setting, ':', 0);
  } else if (key == "seed") {
    out.seed = text.whole<std::uint64_t>(setting, 0);
  } else {
    out.count = text.whole<std::int64_t>(setting, 1);
  }
}

// Refuses keys that belong to another site than that of the fault, because check_keys() does not
// know which site has which keys.
void refuse_words_of_other_sites(const SpecText& text, const SiteRow& site,
                                 const std::vector<std::string>& known) {
  for (const SpecText::Setting& setting : text.settings()) {
    if (contains(known, setting.key)) continue;
    for (const SiteRow& other : site_rows()) {
      const std::vector<std::string> words = split(other.parts, ' ');
      if (!contains(words, setting.key)) continue;
      text.refuse(formatted("{} is only for site={}, not for site={}; leave it out", setting.key,
                            other.name, site.name));
    }
  }
}

void require_needs(const SpecText& text, const FaultSpec& spec) {
  const auto refuse = [&](const std::string& what) {
    assay::refuse("fault '{}' {}", text.text(), what);
  };
  const ChangeRow& change = row_of(spec.change.kind);
  const std::vector<std::string> needs = split(change.needs, ' ');
  const auto given = std::ranges::count_if(
      needs, [&](const std::string& key) { return text.find(key) != nullptr; });
  if (given == 0 && change.needs == "bit") {
    refuse(formatted("needs a bit, as in {},bit=14", change.name));
  }
  if (given == 0 && !needs.empty()) refuse(formatted("needs {}", joined(needs, " or ")));
  if (given > 1) refuse(formatted("takes {}, not both", joined(needs, " or ")));
  if (change.kind == ChangeKind::kBurst && spec.change.bit + spec.change.length > kMostBits) {
    refuse(formatted("goes beyond bit {}, the highest that an element has", kMostBits - 1));
  }
  if (change.moves && !spec.site_row().in_output) {
    refuse(formatted("moves elements of the output, so that it cannot have the site {}",
                     spec.site_row().name));
  }
  if (spec.change.kind == ChangeKind::kStuckLane && spec.site == Site::kElement) {
    refuse("needs a place of several elements, as in site=periodic,every=16");
  }
  if (spec.site == Site::kPeriodic && spec.every == 0) {
    refuse("needs every, as in site=periodic,every=64");
  }
  if (spec.site == Site::kInput && spec.input.empty()) {
    refuse("needs input, as in site=input,input=x");
  }
}

}  // namespace

std::vector<std::string> fault_help() {
  std::vector<std::string> lines;
  const auto add = [&](std::string_view word, std::string_view help) {
    lines.push_back(formatted("{:<22}{}", word, help));
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
      else if (part == "rows")
        add("  rows=1", "how many below");
      else if (part == "value")
        add("  value=X", "the sum is rounded to the element's format");
      else
        add("  ulps=N", "below 0: down");
    }
  }
  lines.emplace_back();
  for (const SiteRow& row : site_rows()) {
    add(formatted("site={}", row.name),
        formatted("{}{}", row.help, row.in_output ? "" : " [campaigns]"));
  }
  add("  output=NAME", "which one, of a case that has several outputs [inject]");
  add("  at=I:J",
      "this element, or the row, column, tile or period that holds it (an index a dimension, or "
      "one row-major position)");
  add("  seed=N, count=N", "otherwise: count different ones at random, addressed by the seed");
  lines.emplace_back();
  lines.emplace_back("as in: flip,bit=14,direction=0to1,site=tile or add,ulps=2,at=3:17");
  lines.emplace_back("[inject]: a campaign breaks the output that the operator computes");
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
      out += formatted(",bit={}", c.bit);
    else if (part == "direction")
      out += formatted(",direction={}", word_of(c.direction));
    else if (part == "length")
      out += formatted(",length={}", c.length);
    else if (part == "k" && c.mask == 0)
      out += formatted(",k={}", c.k);
    else if (part == "carry")
      out += formatted(",carry={}", word_of(kCarries, c.carry));
    else if (part == "rows")
      out += formatted(",rows={}", c.rows);
    else if (part == "value" && c.ulps == 0)
      out += formatted(",value={}", number_text(c.value));
    else if (part == "ulps" && c.ulps != 0)
      out += formatted(",ulps={}", c.ulps);
    if (part != "bits" || c.mask == 0) continue;
    std::vector<std::string> bits;
    for (int bit = 0; bit < 64; ++bit) {
      if (((c.mask >> bit) & 1) != 0) bits.push_back(formatted("{}", bit));
    }
    out += ",bits=" + joined(bits, ":");
  }
  const SiteRow& at_site = site_row();
  if (site != Site::kElement) out += formatted(",site={}", at_site.name);
  if (site == Site::kInput && at_site.input.empty()) out += formatted(",input={}", input);
  if (site == Site::kPeriodic) out += formatted(",every={}", every);
  if (step) out += formatted(",step={}", *step);
  if (before_encoding) out += ",when=before";
  if (!output.empty()) out += ",output=" + output;
  if (at) out += formatted(",at={}", fmt::join(*at, ":"));
  // If the fault has a given position, its text has a seed only if something else is drawn: the
  // bits of the change, or the step of the accumulator.
  const bool drawn = draws(c) || (site == Site::kAccumulator && !step);
  if (!at || (drawn && seed != 0)) out += formatted(",seed={}", seed);
  if (!at) out += formatted(",count={}", count);
  return out;
}

FaultSpec parse_fault(std::string_view text) {
  const FloatEnvironment environment;
  const SpecText given("fault", text);
  FaultSpec spec;
  const ChangeRow& change = change_named(given);
  spec.change.kind = change.kind;
  // The site determines which keys are allowed in addition to those of the change.
  const SpecText::Setting* at_site = given.find("site");
  const SiteRow& site =
      at_site == nullptr ? row_of(Site::kElement) : site_named(given, at_site->value);
  std::vector<std::string> known = split(change.parts, ' ');
  known.emplace_back("site");
  for (const std::string& word : split(site.parts, ' ')) known.push_back(word);
  if (site.in_output) known.emplace_back("output");
  for (const char* word : {"at", "seed", "count"}) known.emplace_back(word);
  refuse_words_of_other_sites(given, site, known);
  given.check_keys(change.name, known);
  for (const SpecText::Setting& setting : given.settings()) read_setting(spec, given, setting);
  require_needs(given, spec);
  return spec;
}

}  // namespace assay::fault
