#include "assay/datasets/arrays/python_literal.h"

#include <cctype>
#include <cmath>

#include "assay/base/call_text.h"
#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

constexpr int kDeepest = 64;

class Parser {
 public:
  Parser(std::string_view text, Python version) : text_(text), version_(version) {}

  Literal whole() {
    Literal literal = value(0);
    // "1, 2" is a tuple without brackets.
    if (peek() == ',') {
      Literal::List list{std::move(literal)};
      while (take(',') && peek() != '\0') list.push_back(value(1));
      literal.value = std::move(list);
    }
    if (peek() != '\0') refuse("nothing more is expected");
    return literal;
  }

 private:
  [[noreturn]] void refuse(const std::string& wanted) const {
    assay::refuse("'{}' is no Python literal: at character {}, {}",
                  text_.size() > 80 ? std::string(text_.substr(0, 77)) + "..." : std::string(text_),
                  at_ + 1, wanted);
  }

  char peek() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  Literal value(int depth) {
    if (depth > kDeepest) refuse("it is nested too deeply");
    const char c = peek();
    if (c == '(' || c == '[') return list(depth);
    if (c == '{') return dict(depth);
    if (c == '\'' || c == '"') return {string()};
    if (c == '-' || c == '+' || c == '.' || (c >= '0' && c <= '9')) return number();
    if (version_ == Python::k2 && c == 'u' && text_.substr(at_ + 1).find_first_of("'\"") == 0) {
      ++at_;
      return {string()};
    }
    const std::size_t begin = at_;
    std::size_t end = at_;
    while (end < text_.size() &&
           (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 || text_[end] == '_')) {
      ++end;
    }
    const std::string_view word = text_.substr(begin, end - begin);
    if (word == "None" || word == "True" || word == "False") {
      at_ = end;
      if (word == "None") return {};
      return {word == "True"};
    }
    refuse("None, True, False, a number, a string, a tuple, a list or a dict is expected");
  }

  Literal list(int depth) {
    const bool round = text_[at_++] == '(';
    const char close = round ? ')' : ']';
    Literal::List items;
    bool comma = false;
    while (peek() != close) {
      if (!items.empty() && !comma) refuse(formatted("',' or '{}' is expected", close));
      items.push_back(value(depth + 1));
      comma = take(',');
    }
    ++at_;
    // (x) is x.
    if (round && items.size() == 1 && !comma) return std::move(items[0]);
    return {std::move(items)};
  }

  Literal dict(int depth) {
    ++at_;
    Literal::Dict items;
    bool comma = false;
    while (peek() != '}') {
      if (!items.empty() && !comma) refuse("',' or '}' is expected");
      Literal key = value(depth + 1);
      if (!take(':')) refuse("':' is expected");
      items.push_back({std::move(key), value(depth + 1)});
      comma = take(',');
    }
    ++at_;
    return {std::move(items)};
  }

  std::string string() {
    const char quote = text_[at_++];
    std::string result;
    for (; at_ < text_.size() && text_[at_] != quote; ++at_) {
      if (text_[at_] == '\n') refuse("the string does not end");
      if (text_[at_] != '\\') {
        result += text_[at_];
        continue;
      }
      ++at_;
      const char c = at_ < text_.size() ? text_[at_] : '\0';
      if (c == 'n')
        result += '\n';
      else if (c == 't')
        result += '\t';
      else if (c == '\\' || c == '\'' || c == '"')
        result += c;
      else
        refuse("only \\n, \\t, \\\\, \\' and \\\" are known in strings");
    }
    if (at_ >= text_.size()) refuse("the string does not end");
    ++at_;
    return result;
  }

  Literal number() {
    std::size_t end = at_;
    while (end < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[end])) != 0 ||
                                  text_[end] == '.' || text_[end] == '-' || text_[end] == '+')) {
      // A sign belongs to the number only at its beginning, or behind the 'e' of an exponent.
      const char before = end > at_ ? text_[end - 1] : '\0';
      if ((text_[end] == '-' || text_[end] == '+') && end > at_ && before != 'e' && before != 'E') {
        break;
      }
      ++end;
    }
    std::string_view word = text_.substr(at_, end - at_);
    if (version_ == Python::k2 && word.ends_with('L')) word.remove_suffix(1);
    if (word.starts_with('+')) word.remove_prefix(1);
    const bool digit = word.find_first_of("0123456789") != std::string_view::npos;
    if (word.find_first_not_of("0123456789.eE+-") == std::string_view::npos && digit) {
      if (const auto whole = read_number<std::int64_t>(word)) {
        at_ = end;
        return {*whole};
      }
      // Integers beyond int64 are refused, because no size, index or attribute of an operator is
      // that large.
      const bool is_whole = word.find_first_of(".eE") == std::string_view::npos;
      const auto real = read_number<double>(word);
      if (real && !is_whole && std::isfinite(*real)) {
        at_ = end;
        return {*real};
      }
    }
    refuse("a decimal number that int64 or float64 can hold is expected");
  }

  std::string_view text_;
  Python version_;
  std::size_t at_ = 0;
};

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\')
      result += std::string("\\") + c;
    else if (c == '\n')
      result += "\\n";
    else if (c == '\t')
      result += "\\t";
    else
      result += c;
  }
  return result + "'";
}

}  // namespace

Literal parse_literal(std::string_view text, Python version) {
  return Parser(text, version).whole();
}

std::string literal_text(const Literal& literal) {
  if (literal.is_none()) return "None";
  if (const bool* flag = literal.flag()) return *flag ? "True" : "False";
  if (const std::int64_t* integer = literal.integer()) return formatted("{}", *integer);
  if (const double* real = std::get_if<double>(&literal.value)) {
    const std::string text = number_text(*real);
    return text.find_first_of(".en") == std::string::npos ? text + ".0" : text;
  }
  if (const std::string* text = literal.text()) return quoted(*text);
  std::string result;
  if (const Literal::Dict* dict = literal.dict()) {
    for (const auto& [key, value] : *dict) {
      result += (result.empty() ? "" : ", ") + literal_text(key) + ": " + literal_text(value);
    }
    return "{" + result + "}";
  }
  const Literal::List& list = *literal.list();
  for (const Literal& item : list) result += (result.empty() ? "" : ", ") + literal_text(item);
  return "(" + result + (list.size() == 1 ? ",)" : ")");
}

}  // namespace assay
