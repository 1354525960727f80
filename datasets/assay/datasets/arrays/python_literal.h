// Python's literals, as tables of test cases contain them. They are parsed, never evaluated.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace assay::inline v0_2 {

struct LiteralItem;

// A value: None, True or False, an integer, a float, a string, a tuple, a list or a dict.
struct Literal {
  using List = std::vector<Literal>;
  using Dict = std::vector<LiteralItem>;
  std::variant<std::monostate, bool, std::int64_t, double, std::string, List, Dict> value;

  bool is_none() const { return std::holds_alternative<std::monostate>(value); }
  const bool* flag() const { return std::get_if<bool>(&value); }
  const std::int64_t* integer() const { return std::get_if<std::int64_t>(&value); }
  const std::string* text() const { return std::get_if<std::string>(&value); }
  const List* list() const { return std::get_if<List>(&value); }
  const Dict* dict() const { return std::get_if<Dict>(&value); }
};

struct LiteralItem {
  LiteralItem(Literal k, Literal v) : key(std::move(k)), value(std::move(v)) {}
  Literal key, value;
};

// The Python version that wrote the literal: Python 2 has u'text', and integers that end in L.
enum class Python : std::uint8_t { k2, k3 };

// Parses the whole text as one literal. Nothing but literals is accepted: no names, calls,
// operators, prefixed strings or joined ones. Nesting ends at 64. Throws Refusal, which says at
// which position what is expected.
Literal parse_literal(std::string_view text, Python version = Python::k3);
// Returns the literal in Python's syntax. Lists are written as tuples.
std::string literal_text(const Literal& literal);

}  // namespace assay
