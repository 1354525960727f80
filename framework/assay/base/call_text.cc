#include "assay/base/call_text.h"

#include <algorithm>
#include <cmath>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {

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

std::optional<std::string_view> argument_of(std::string_view text, std::string_view word) {
  const bool is_call = text.starts_with(word) && text.size() >= word.size() + 2 &&
                       text[word.size()] == '(' && text.back() == ')';
  if (!is_call) return std::nullopt;
  return text.substr(word.size() + 1, text.size() - word.size() - 2);
}

SpecText::SpecText(std::string_view kind, std::string_view text) : kind_(kind), text_(text) {
  const std::vector<std::string> parts = every_part(text, ',');
  name_ = parts[0];
  for (std::size_t i = 1; i < parts.size(); ++i) {
    const std::size_t equals = parts[i].find('=');
    settings_.push_back({.key = parts[i].substr(0, equals),
                         .value = equals == std::string::npos ? "" : parts[i].substr(equals + 1)});
  }
}

const SpecText::Setting* SpecText::find(std::string_view key) const {
  const auto found = std::ranges::find(settings_, key, &Setting::key);
  return found == settings_.end() ? nullptr : &*found;
}

void SpecText::check_keys(std::string_view taker, std::span<const std::string> known) const {
  for (const Setting& setting : settings_) {
    const std::string& key = setting.key;
    if (key.empty()) refuse("KEY=VALUE is needed after each comma");
    if (!contains(known, key)) {
      refuse(formatted("{} takes no '{}'{}; it takes {}", taker, key,
                       did_you_mean_aside(key, known), joined(known)));
    }
    if (find(key) != &setting) refuse(formatted("'{}' is given twice", key));
  }
}

void SpecText::refuse(const std::string& what) const {
  assay::refuse("{} '{}': {}", kind_, text_, what);
}

void SpecText::refuse_value(const Setting& setting, std::string_view wanted,
                            std::string_view value) const {
  refuse(formatted("{} must be {}, not '{}'", setting.key, wanted, value));
}

double SpecText::number(const Setting& setting, const NumberRange& range) const {
  const std::optional<double> value = read_number<double>(setting.value);
  const bool good = value && std::isfinite(*value) &&
                    (range.low_is_open ? *value > range.low : *value >= range.low) &&
                    *value <= range.high && (!range.whole || *value == std::floor(*value));
  if (good) return *value;
  std::string wanted = range.whole ? "a whole number" : "a number";
  if (std::isfinite(range.low)) {
    const std::string low = number_text(range.low);
    wanted += range.low_is_open           ? " above " + low
              : std::isfinite(range.high) ? " from " + low
                                          : " of at least " + low;
    if (std::isfinite(range.high)) {
      wanted += (range.low_is_open ? " and at most " : " to ") + number_text(range.high);
    }
  }
  refuse_value(setting, wanted, setting.value);
}

bool SpecText::flag(const Setting& setting) const {
  if (setting.value == "1" || setting.value == "true") return true;
  if (setting.value == "0" || setting.value == "false") return false;
  refuse_value(setting, "0 or 1", setting.value);
}

std::size_t SpecText::choice(const Setting& setting, std::span<const std::string> words) const {
  const auto found = std::ranges::find(words, setting.value);
  if (found != words.end()) return static_cast<std::size_t>(found - words.begin());
  refuse(formatted("{} must be one of {}, not '{}'{}", setting.key, joined(words), setting.value,
                   did_you_mean_aside(setting.value, words)));
}

}  // namespace assay
