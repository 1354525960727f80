// Texts of the form "name,key=value,key=value", which say which row of a table is meant and what
// is set of it: faults, distributions, thresholds, machines with parameters of their own.
//
//   const SpecText spec("distribution", "normal,mean=1");
//   spec.check_keys("normal", {"mean", "deviation", "scale"});
//   for (const SpecText::Setting& s : spec.settings()) values[s.key] = spec.number(s, {.low = 0});
//
// Whatever is wrong is refused by std::invalid_argument, in the same words for every kind of text:
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

namespace assay {

// The whole text as a number; empty where it is none, or none of the type. A '+' before it is not
// taken, nor are blanks.
template <typename T>
std::optional<T> read_number(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stopped, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc() || stopped != end) return std::nullopt;
  return value;
}

// The parts between separators, empty ones too: one part more than there are separators.
std::vector<std::string> every_part(std::string_view text, char separator);

// What stands between the brackets of "ulp(4)" for the word "ulp"; empty for any other text.
std::optional<std::string_view> argument_of(std::string_view text, std::string_view word);

// What a number may be; both ends are included, but for `low` where it is open.
struct NumberRange {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_is_open = false;
  bool whole = false;  // whole numbers alone
};

class SpecText {
 public:
  struct Setting {
    std::string key;
    std::string value;  // "" where the part has no '='
  };

  // `kind`: what the text is of, for messages.
  SpecText(std::string_view kind, std::string_view text);

  const std::string& text() const { return text_; }  // all of it
  const std::string& name() const { return name_; }  // what stands before the first comma
  std::span<const Setting> settings() const { return settings_; }
  const Setting* find(std::string_view key) const;  // nullptr where it is not set

  // Refuses an empty part, a key that is set twice, and one that `taker` does not know.
  void check_keys(std::string_view taker, std::span<const std::string> known) const;

  // Throws "KIND 'TEXT': WHAT".
  [[noreturn]] void refuse(const std::string& what) const;

  // The value of a setting, which must be one of a type. `wanted` takes the place of the words for
  // what it may be, as in "a number of columns, or 0 for whole rows".
  double number(const Setting& setting, const NumberRange& range) const;
  template <std::integral T>
  T whole(const Setting& setting, T low, T high = std::numeric_limits<T>::max(),
          std::string_view wanted = "") const {
    return whole_of(setting, setting.value, low, high, wanted);
  }
  bool flag(const Setting& setting) const;  // 0, 1, false or true
  // The position of the value among the words.
  std::size_t choice(const Setting& setting, std::span<const std::string> words) const;
  // The row of a table whose name it is.
  template <typename Rows>
  const auto& row(const Setting& setting, const Rows& rows) const {
    return rows[choice(setting, names_of(rows))];
  }
  // Numbers between separators, one at least.
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
