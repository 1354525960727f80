// Texts of the form "name,key=value,key=value". They name a row of a table and set its parameters:
// faults, distributions, thresholds, machines.
//
//   const SpecText spec("distribution", "normal,mean=1");
//   spec.check_keys("normal", {"mean", "deviation", "scale"});
//   for (const SpecText::Setting& s : spec.settings()) values[s.key] = spec.number(s, {.low = 0});
//
// Every error in a text throws Refusal, with the same wording for every kind of text:
// "distribution 'normal,mean=x': mean must be a number of at least 0, not 'x'".
#pragma once

#include <charconv>
#include <concepts>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/text.h"
#include "assay/base/words.h"

namespace assay::inline v0_2 {

// Returns the whole text as a number of type T, or nothing if it is not one. A leading '+' and
// blanks are not accepted.
template <typename T>
std::optional<T> read_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// Returns the parts between separators, including empty ones. There is one part more than there are
// separators.
std::vector<std::string> every_part(std::string_view text, char separator);

// Returns the text between the brackets of `text` if it consists of `word` and brackets: "4" of
// "ulp(4)" for the word "ulp". Returns nothing for any other text.
std::optional<std::string_view> argument_of(std::string_view text, std::string_view word);

// The numbers that a setting may have. The range includes both ends, except `low` if `low_is_open`.
struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_is_open = false;
  bool whole = false;  // only whole numbers
};

class SpecText {
 public:
  struct Setting {
    std::string key;
    std::string value;  // empty if the part has no '='
  };

  // `kind` names the kind of text in messages, such as "distribution".
  SpecText(std::string_view kind, std::string_view text);

  const std::string& text() const { return text_; }  // the whole text
  const std::string& name() const { return name_; }  // the part before the first comma
  std::span<const Setting> settings() const { return settings_; }
  const Setting* find(std::string_view key) const;  // nullptr if the text does not set this key

  // Throws Refusal if a part is empty, a key is set twice, or a key is not in `known`. `taker` is
  // the name of the row that takes the keys.
  void check_keys(std::string_view taker, std::span<const std::string> known) const;

  // Throws Refusal with "KIND 'TEXT': WHAT".
  [[noreturn]] void refuse(const std::string& what) const;

  // Return the value of a setting. Throw Refusal if it does not have the type.
  // `wanted` replaces the description of what is allowed, as in "a number of columns, or 0 for
  // whole rows".
  double number(const Setting& setting, const NumberRange& range) const;
  template <std::integral T>
  T whole(const Setting& setting, T low, T high = std::numeric_limits<T>::max(),
          std::string_view wanted = "") const {
    return whole_of(setting, setting.value, low, high, wanted);
  }
  bool flag(const Setting& setting) const;  // 0, 1, false or true
  // Returns the index in `words` of the setting's value. Throws Refusal if `words` does not have
  // the value.
  std::size_t choice(const Setting& setting, std::span<const std::string> words) const;
  // Returns the row of a table whose name is the setting's value.
  template <typename Rows>
  const auto& row(const Setting& setting, const Rows& rows) const {
    return rows[choice(setting, names_of(rows))];
  }
  // Returns the numbers of the setting's value, which `separator` divides. There is at least one.
  template <std::integral T>
  std::vector<T> whole_list(const Setting& setting, char separator, T low) const {
    std::vector<T> numbers;
    for (const std::string& part : every_part(setting.value, separator)) {
      numbers.push_back(whole_of(setting, part, low, std::numeric_limits<T>::max(), ""));
    }
    return numbers;
  }

 private:
  [[noreturn]] void refuse_value(const Setting& setting, std::string_view wanted,
                                 std::string_view value) const;

  template <std::integral T>
  T whole_of(const Setting& setting, std::string_view text, T low, T high,
             std::string_view wanted) const {
    const std::optional<T> value = read_number<T>(text);
    if (value && *value >= low && *value <= high) return *value;
    if (!wanted.empty()) refuse_value(setting, wanted, text);
    refuse_value(setting,
                 high == std::numeric_limits<T>::max()
                     ? formatted("a whole number of at least {}", low)
                     : formatted("a whole number from {} to {}", low, high),
                 text);
  }

  std::string kind_, text_, name_;
  std::vector<Setting> settings_;
};

}  // namespace assay
