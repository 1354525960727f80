#include "assay/base/text.h"

#include <fnmatch.h>

#include <algorithm>
#include <cmath>

#include "assay/base/edit_distance.h"
#include "assay/base/printable.h"

namespace assay::inline v0_2 {

std::string grouped(std::int64_t count) { return grouped(std::to_string(count)); }

std::string grouped(std::string digits) {
  const std::size_t first = digits[0] == '-' ? 1 : 0;
  for (std::size_t at = digits.size(); at > first + 3;) {
    at -= 3;
    digits.insert(at, " ");
  }
  return digits;
}

std::string counted(std::int64_t count, std::string_view noun) {
  return formatted("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return formatted("[{}]", fmt::join(shape.begin(), shape.end(), ", "));
}

std::string_view without_prefix(std::string_view text, std::string_view prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string number_text(double value) {
  if (std::isnan(value)) return "nan";
  return formatted("{}", value);
}

std::string short_number(double value, int digits) {
  if (std::isnan(value)) return "nan";
  return formatted("{:.{}g}", value, digits);
}

std::string percent_text(std::int64_t part, std::int64_t whole) {
  const double percent = 100.0 * static_cast<double>(part) / static_cast<double>(whole);
  if (part < whole && percent >= 99.95)
    return formatted("{:.{}g} %", percent, percent >= 99.9995 ? 8 : 5);
  if (percent >= 0.1) return formatted("{:.1f} %", percent);
  return formatted("{:.{}g} %", percent, percent < 1e-4 ? 3 : 2);
}

std::string joined(std::span<const std::string> parts, std::string_view separator) {
  if (parts.empty()) return "(none)";
  return formatted("{}", fmt::join(parts.begin(), parts.end(), separator));
}

std::string columns_text(std::span<const std::vector<std::string>> cells) {
  std::vector<std::vector<std::string>> rows(cells.begin(), cells.end());
  std::vector<std::size_t> widths;
  for (auto& row : rows) {
    for (std::string& cell : row) cell = printable_sentence(cell);
    widths.resize(std::max(widths.size(), row.size()), 0);
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string out;
  for (const auto& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      line += i + 1 == row.size() ? row[i] : formatted("{:<{}}  ", row[i], widths[i]);
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  return out;
}

std::string csv_cell(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + "\"";
}

std::string nearest_word(std::string_view word, std::span<const std::string> candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool glob_match(std::string_view pattern, std::string_view text) {
  // FNM_NOESCAPE: a backslash is an ordinary character.
  return fnmatch(std::string(pattern).c_str(), std::string(text).c_str(), FNM_NOESCAPE) == 0;
}

std::string exact_glob(std::string_view text) {
  std::string pattern;
  for (const char c : text) {
    const bool special = c == '*' || c == '?' || c == '[';
    pattern += special ? std::string{'[', c, ']'} : std::string(1, c);
  }
  return pattern;
}

bool natural_less(std::string_view a, std::string_view b) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  // Returns the digits of the number that begins at text[at], without leading zeros.
  const auto number = [&](std::string_view text, std::size_t& at) {
    while (at < text.size() && text[at] == '0') ++at;
    const std::size_t begin = at;
    while (at < text.size() && is_digit(text[at])) ++at;
    return text.substr(begin, at - begin);
  };
  std::size_t i = 0, k = 0;
  while (i < a.size() && k < b.size()) {
    if (is_digit(a[i]) && is_digit(b[k])) {
      const std::string_view one = number(a, i), other = number(b, k);
      if (one.size() != other.size()) return one.size() < other.size();
      if (one != other) return one < other;
    } else if (a[i] != b[k]) {
      return static_cast<unsigned char>(a[i]) < static_cast<unsigned char>(b[k]);
    } else {
      ++i, ++k;
    }
  }
  if (i < a.size() || k < b.size()) return k < b.size();
  return a < b;  // "01" and "1"
}

namespace {

// Returns $'...' with escapes that the shell reads, for words that cannot be printed as they are.
std::string escaped_word(std::string_view word) {
  std::string quoted = "$'";
  while (!word.empty()) {
    const std::size_t length = printable_length(word);
    if (length == 0) {
      quoted += formatted("\\{:03o}", static_cast<unsigned char>(word.front()));
    } else {
      if (word.front() == '\\' || word.front() == '\'') quoted += '\\';
      quoted += word.substr(0, length);
    }
    word.remove_prefix(std::max<std::size_t>(length, 1));
  }
  return quoted + "'";
}

// Reads the text of escaped_word() from after "$'" on. `at` becomes the index of the quote that
// ends it.
std::string read_escaped(std::string_view line, std::size_t& at) {
  std::string word;
  for (; at < line.size() && line[at] != '\''; ++at) {
    if (line[at] != '\\' || at + 1 == line.size()) {
      word += line[at];
      continue;
    }
    ++at;
    const auto is_octal = [&](std::size_t i) {
      return i < line.size() && line[i] >= '0' && line[i] <= '7';
    };
    if (is_octal(at) && is_octal(at + 1) && is_octal(at + 2)) {
      word +=
          static_cast<char>((line[at] - '0') * 64 + (line[at + 1] - '0') * 8 + line[at + 2] - '0');
      at += 2;
    } else if (line[at] == '\\' || line[at] == '\'') {
      word += line[at];
    } else {
      refuse("between $' and ' only \\\\, \\' and three octal digits are known, not \\{}",
             line[at]);
    }
  }
  if (at >= line.size()) refuse("a quote ' is not closed");
  return word;
}

}  // namespace

std::string shell_word(std::string_view word) {
  if (printable(word) != word) return escaped_word(word);
  const bool plain = !word.empty() && std::ranges::all_of(word, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("_./=,:+-@%").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(word);
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'')
      quoted += "'\\''";
    else
      quoted += c;
  }
  return quoted + "'";
}

std::vector<std::string> shell_words(std::string_view line) {
  std::vector<std::string> words;
  bool inside = false;  // true if a word has begun, even if it has no character yet, as in ''
  char quote = 0;
  for (std::size_t i = 0; i < line.size(); ++i) {
    char c = line[i];
    if (quote == 0 && (c == ' ' || c == '\t' || c == '\r')) {
      inside = false;
      continue;
    }
    if (!inside && c == '#') break;
    if (!inside) words.emplace_back();
    inside = true;
    if (c == quote) {
      quote = 0;
      continue;
    }
    if (quote == 0 && line.substr(i, 2) == "$'") {
      i += 2;
      words.back() += read_escaped(line, i);
      continue;
    }
    if (quote == 0 && (c == '\'' || c == '"')) {
      quote = c;
      continue;
    }
    // Between double quotes, a backslash is itself unless a character follows that it can quote.
    const bool escapes =
        quote == 0 || (quote == '"' && i + 1 < line.size() &&
                       std::string_view("\"\\$`").find(line[i + 1]) != std::string_view::npos);
    if (c == '\\' && escapes) {
      if (++i == line.size())
        refuse("the line '{}' ends in a backslash; remove it, or write two for one", line);
      c = line[i];
    }
    words.back() += c;
  }
  if (quote != 0) refuse("a quote {} is not closed", quote);
  return words;
}

}  // namespace assay
