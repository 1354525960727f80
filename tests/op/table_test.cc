// Every row of the table is complete, and what follows only from its data is right: defaults,
// refusals, and the tables of the pages under docs/operators.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "assay/base/text.h"
#include "assay/format/convert.h"
#include "assay/op/attributes.h"
#include "assay/op/operator.h"
#include "assay/op/sum_bound.h"
#include "cases.h"

namespace assay {
namespace {

using cases::ascend;
using cases::error_of;
using testing::HasSubstr;

// Registers an operator with a parameter of every kind, as a team may do it, and returns its row.
const Operator& registered_row() {
  static const bool once = [] {
    Operator row;
    row.name = "all_kinds";
    row.summary = "x, whatever its parameters say";
    row.inputs = {{.name = "x", .shape = "(...)"}};
    row.parameters = {
        {.name = "loud", .default_value = "0", .words = "a flag"},
        {.name = "count",
         .kind = ParameterKind::kInteger,
         .default_value = "3",
         .least = 1,
         .most = 9},
        {.name = "slope", .kind = ParameterKind::kNumber, .default_value = "0.5", .least = 0},
        {.name = "mode",
         .kind = ParameterKind::kWord,
         .default_value = "plain",
         .choices = {"plain", "fancy"}},
        {.name = "inner_dtype", .kind = ParameterKind::kDtype}};
    row.run = [](const Call& call) {
      return Tensor::from_values(call.output, call.test_case.input("x").shape(),
                                 call.test_case.input("x").view().values());
    };
    row.reference = [](const ReferenceCall& call) {
      const Case& c = call.test_case;
      // If a case leaves out a parameter, the row gives its value.
      std::vector<double> values = c.input("x").view().values();
      for (double& v : values) {
        v = word_of(c, "mode") == "fancy" || flag_of(c, "loud") || integer_of(c, "count") != 3 ||
                    number_of(c, "slope") != 0.5
                ? 2 * v
                : v;
      }
      return Tensor::from_values(call.output, c.input("x").shape(), values);
    };
    row.tolerance = [](const Case&) { return DerivedTolerance{0, 0, "none"}; };
    row.generate = generate_vector;
    register_operator(row);
    return true;
  }();
  EXPECT_TRUE(once);
  return *find_operator("all_kinds");
}

// Returns assay's own operators and the one that this test registers.
std::vector<const Operator*> rows() {
  const Operator& last = registered_row();
  std::vector<const Operator*> all;
  for (const Operator& op : operators()) {
    // Skips operators that other tests of this program registered.
    if (op.name.rfind("twice", 0) != 0) all.push_back(&op);
  }
  EXPECT_EQ(all.back(), &last);
  return all;
}

Case small_case(const Operator& op) {
  Case c = generate_case(op.name, cases::small_recipe(op.name));
  c.name = "t";
  return c;
}

std::vector<std::uint64_t> bits(const Tensor& t) {
  std::vector<std::uint64_t> all;
  for (std::int64_t i = 0; i < t.size(); ++i) all.push_back(t.bits_at(i));
  return all;
}

// A case of an operator that assay does not know may have the parameters of one that it knows.
TEST(AttributeNames, NoParameterIsASlipOfTheSchemas) {
  for (const Operator& op : operators()) {
    for (const Parameter& p : op.parameters) {
      EXPECT_EQ(name_problem(op.name, p.name), "") << op.name;
      EXPECT_EQ(name_problem("team_op", p.name), "") << op.name;
      EXPECT_THAT(name_problem(op.name, p.name + "_x"), HasSubstr("' is unknown")) << op.name;
    }
  }
  for (const KnownAttribute& known : known_attributes()) {
    const std::string name(known.name);
    if (name.size() < 4) continue;
    for (const std::string& slip :
         {name + "s", name.substr(1), name[1] + name.substr(0, 1) + name.substr(2)}) {
      if (slip == name) continue;
      for (const char* op : {"team_op", "matmul"}) {
        EXPECT_THAT(name_problem(op, slip), HasSubstr("' is unknown: did you mean '"))
            << op << slip;
      }
    }
    EXPECT_EQ(name_problem("team_op", "x_" + name + "s"), "");
  }
}

TEST(OperatorTable, EveryRowHasItsColumnsOrSaysWhyNot) {
  for (const Operator* op : rows()) {
    SCOPED_TRACE(op->name);
    EXPECT_FALSE(op->summary.empty());
    EXPECT_NE(op->run, nullptr);
    EXPECT_NE(op->reference, nullptr);
    EXPECT_NE(op->tolerance, nullptr);
    EXPECT_NE(op->generate, nullptr);
    if (op == &registered_row()) continue;
    EXPECT_NE(op->output_format, nullptr);
    EXPECT_EQ(op->element_bounds == nullptr, !op->no_element_bounds.empty());
    for (const Parameter& p : op->parameters) {
      EXPECT_FALSE(p.words.empty()) << p.name;
      EXPECT_EQ(p.choices.empty(), p.kind != ParameterKind::kWord) << p.name;
      auto attributes = small_case(*op).attributes;
      if (const auto value = default_value(p)) attributes[p.name] = *value;
      EXPECT_EQ(parameter_problem(*op, attributes), "");
    }
  }
}

TEST(OperatorTable, DefaultsAreWhatAnOperatorDoesWithoutThem) {
  int checked = 0;
  for (const Operator* op : rows()) {
    const Case plain = small_case(*op);
    const auto on_machine = bits(emulate(plain, ascend())), golden = bits(golden_result(plain));
    for (const Parameter& p : op->parameters) {
      const auto value = default_value(p);
      if (!value) continue;
      Case said = plain;
      said.attributes[p.name] = *value;
      EXPECT_EQ(bits(emulate(said, ascend())), on_machine) << op->name << " " << p.name;
      EXPECT_EQ(bits(golden_result(said)), golden) << op->name << " " << p.name;
      ++checked;
    }
  }
  EXPECT_GT(checked, 40);
}

// Returns values that a parameter must refuse.
std::vector<Attribute> wrong_values(const Parameter& p) {
  const double inf = std::numeric_limits<double>::infinity();
  std::vector<Attribute> values;
  switch (p.kind) {
    case ParameterKind::kFlag:
      return {std::int64_t{2}, 0.5, std::string("maybe")};
    case ParameterKind::kInteger:
      values = {1.5, std::string("word"), inf, std::nan("")};
      break;
    case ParameterKind::kNumber:
      values = {std::string("word"), inf, -inf, std::nan("")};
      break;
    case ParameterKind::kWord:
      return {std::int64_t{1}, 2.5, p.choices.front() + "x", std::string("")};
    case ParameterKind::kDtype:
    case ParameterKind::kScaling:
      return {std::int64_t{1}, 2.5, std::string("float17")};
  }
  if (std::isfinite(p.least)) values.emplace_back(p.least - 1);
  if (std::isfinite(p.most)) values.emplace_back(p.most + 1);
  return values;
}

TEST(OperatorTable, EveryParameterRefusesWhatItDoesNotTake) {
  int checked = 0;
  for (const Operator* op : rows()) {
    for (const Parameter& p : op->parameters) {
      for (const Attribute& value : wrong_values(p)) {
        SCOPED_TRACE(formatted("{} {}={}", op->name, p.name, attribute_text(value)));
        Case c = small_case(*op);
        c.attributes[p.name] = value;
        const auto text = testing::AllOf(testing::StartsWith("case t: "), HasSubstr(p.name));
        EXPECT_THAT(error_of([&] { emulate(c, ascend()); }), text);
        EXPECT_THAT(error_of([&] { golden_result(c); }), text);
        EXPECT_THAT(error_of([&] { derived_tolerance(c); }), text);
        if (op->element_bounds != nullptr) {
          EXPECT_THAT(error_of([&] { accumulation_bounds(c, ascend()); }), text);
        }
        Recipe recipe = cases::small_recipe(op->name);
        recipe.attributes[p.name] = value;
        if (p.kind != ParameterKind::kScaling) {
          EXPECT_THAT(error_of([&] { generate_case(op->name, recipe); }), HasSubstr(p.name));
        }
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 300);
}

TEST(OperatorTable, ANearWordIsSuggested) {
  for (const Operator* op : rows()) {
    for (const Parameter& p : op->parameters) {
      SCOPED_TRACE(op->name + " " + p.name);
      Case c = small_case(*op);
      c.attributes[p.name + "x"] = std::int64_t{1};
      EXPECT_THAT(error_of([&] { golden_result(c); }),
                  HasSubstr(formatted("case t: {} does not know the parameter '{}x': did you mean "
                                      "'{}'?; it knows ",
                                      op->name, p.name, p.name)));
      c = small_case(*op);
      if (p.kind == ParameterKind::kWord) {
        c.attributes[p.name] = p.choices.back() + "x";
        EXPECT_EQ(error_of([&] { golden_result(c); }),
                  formatted("case t: {} is '{}x': did you mean '{}'?; it may be {}", p.name,
                            p.choices.back(), p.choices.back(), joined(p.choices)));
      } else if (p.kind == ParameterKind::kDtype) {
        c.attributes[p.name] = "float33";
        EXPECT_EQ(error_of([&] { golden_result(c); }),
                  formatted("case t: {} 'float33' is no dtype that assay knows; docs/formats.md "
                            "lists all: did you mean 'float32'?",
                            p.name));
      }
    }
    EXPECT_EQ(find_parameter(*op, ""), nullptr);
  }
}

TEST(OperatorTable, ANeededParameterIsAskedFor) {
  std::set<std::string> needing;
  for (const Operator* op : rows()) {
    for (const Parameter& p : op->parameters) {
      if (!p.needed) continue;
      needing.insert(op->name);
      Case c = small_case(*op);
      c.attributes.erase(p.name);
      const std::string text =
          formatted("{} needs the attribute {}: {}", op->name, p.name, p.words);
      EXPECT_EQ(error_of([&] { emulate(c, ascend()); }), "case t: " + text);
      Recipe recipe = cases::small_recipe(op->name);
      recipe.attributes.erase(p.name);
      EXPECT_THAT(error_of([&] { generate_case(op->name, recipe); }), HasSubstr(text));
    }
  }
  EXPECT_EQ(needing, (std::set<std::string>{"cast", "quantize", "deform_roi_pool"}));
}

// A machine's model bounds a sum of K terms. Other operators explain why they have no such bound.
TEST(OperatorTable, ElementBoundsAreTheRows) {
  for (const Operator* op : rows()) {
    const Case c = small_case(*op);
    if (op->has_element_bounds != nullptr && !op->has_element_bounds(c)) continue;
    if (op->element_bounds == nullptr) {
      EXPECT_THAT(
          error_of([&] { accumulation_bounds(c, ascend()); }),
          HasSubstr(formatted(
              "the bound of accumulation is known for matmul, dot, scaled_matmul, "
              "reduce_sum, reduce_mean, softmax, layernorm, rmsnorm and attention, not {}{}",
              op->name, op->no_element_bounds.empty() ? "" : ": " + op->no_element_bounds)));
      continue;
    }
    const Tensor bounds = accumulation_bounds(c, ascend());
    const Tensor result = emulate(c, ascend()), golden = golden_result(c);
    ASSERT_EQ(bounds.shape(), result.shape()) << op->name;
    const double u = unit_roundoff(result.format()), tiny = min_subnormal(result.format()) / 2;
    const auto bound = bounds.view().values(), actual = result.view().values(),
               expected = golden.view().values();
    for (std::size_t i = 0; i < bound.size(); ++i) {
      EXPECT_LE(std::abs(actual[i] - expected[i]), bound[i] + u * std::abs(expected[i]) + tiny)
          << op->name << " " << i;
    }
  }
}

// The machine `exact` gives the reference, rounded once to the output's dtype.
TEST(OperatorTable, TheMachineExactAsksForTheReference) {
  for (const Operator* op : rows()) {
    const Case c = small_case(*op);
    const Tensor result = emulate(c, machine_named("exact"));
    const Tensor golden = golden_result(c);
    ASSERT_EQ(result.shape(), golden.shape()) << op->name;
    EXPECT_EQ(&result.format(), &output_format(c)) << op->name;
    EXPECT_EQ(bits(result),
              bits(Tensor::from_values(result.format(), golden.shape(), golden.view().values())))
        << op->name;
  }
}

TEST(OperatorTable, WhatIsAProductTheRowSays) {
  std::vector<std::string> products;
  for (const Operator* op : rows()) {
    Case c = small_case(*op);
    EXPECT_EQ(is_product(c), op->product);
    if (op->product) products.push_back(op->name);
    c.inputs.erase("a");
    EXPECT_FALSE(is_product(c));
  }
  EXPECT_THAT(products, testing::ElementsAre("matmul"));
  EXPECT_FALSE(is_product(Case()));
}

TEST(OperatorTable, RowsThatContradictThemselvesAreNotRegistered) {
  const auto error = [](const Parameter& p) {
    Operator row = registered_row();
    row.name = "all_wrong";
    row.parameters = {p};
    return error_of([&] { register_operator(row); });
  };
  const std::string begin = "the operator 'all_wrong' cannot be registered: ";
  EXPECT_EQ(error({.name = "n", .kind = ParameterKind::kInteger, .default_value = "0", .least = 1}),
            begin + "n is 0, below 1");
  EXPECT_EQ(error({.name = "n", .kind = ParameterKind::kInteger, .default_value = "few"}),
            begin + "the default 'few' of n is no integer");
  EXPECT_EQ(
      error(
          {.name = "w", .kind = ParameterKind::kWord, .default_value = "other", .choices = {"a"}}),
      begin + "w is 'other'; it may be a");
  EXPECT_EQ(error({.name = "w", .kind = ParameterKind::kWord}),
            begin + "its parameter 'w' is a word without choices; list the words that it may be");
  EXPECT_EQ(error({.name = "f", .default_value = "1", .needed = true}),
            begin + "its parameter 'f' is needed but has a default; drop one of the two");
  EXPECT_EQ(error({.name = "tags"}), begin +
                                         "its parameter 'tags' has the name of an attribute that "
                                         "every case may have; choose another name");
  EXPECT_THAT(error({.name = "two words"}),
              HasSubstr("the parameter name 'two words' must have only"));
  Operator row = registered_row();
  row.name = "all_wrong";
  row.inputs.push_back(row.inputs.front());
  EXPECT_EQ(error_of([&] { register_operator(row); }), begin + "it has the input 'x' twice");
  row.inputs.pop_back();
  row.product = true;
  EXPECT_EQ(error_of([&] { register_operator(row); }),
            begin +
                "it is registered as a product, but does not have the inputs a and b; name its "
                "operands a and b");
}

// -- The pages
// -------------------------------------------------------------------------------------

// Returns the table between the marks "<!-- operators: NAMES -->" and "<!-- end -->" of a page. The
// operators of one such table have the same parameters.
std::string page_table(const std::vector<std::string>& names) {
  std::string out = "\n| operator | computes | inputs |\n| --- | --- | --- |\n";
  const auto cell = [](const std::string& text) {
    std::string escaped;
    for (const char c : text) {
      if (c == '|') escaped += '\\';
      escaped += c;
    }
    return escaped;
  };
  for (const std::string& name : names) {
    const Operator& op = *find_operator(name);
    out += formatted("| `{}` | {} | {} |\n", name, cell(op.summary), inputs_text(op));
  }
  out += "\n| parameter | takes | default | |\n| --- | --- | --- | --- |\n";
  for (const Parameter& p : find_operator(names.front())->parameters) {
    std::vector<std::string> defaults;
    for (const std::string& name : names) {
      const Parameter* same = find_parameter(*find_operator(name), p.name);
      EXPECT_NE(same, nullptr) << name << " " << p.name;
      if (same == nullptr) continue;
      EXPECT_EQ(same->words, p.words) << name << " " << p.name;
      EXPECT_EQ(values_text(*same), values_text(p)) << name << " " << p.name;
      const std::string value = same->needed ? "needed" : same->default_value;
      if (std::find(defaults.begin(), defaults.end(), value) == defaults.end()) {
        defaults.push_back(value);
      }
    }
    out += formatted("| `{}` | {} | {} | {} |\n", p.name, values_text(p), joined(defaults, "; "),
                     cell(p.words));
  }
  return out + "\n";
}

TEST(OperatorPages, TablesAreTheRows) {
  namespace fs = std::filesystem;
  const std::string begin = "<!-- operators: ", close = " -->\n", end = "<!-- end -->";
  std::vector<std::string> documented;
  for (const auto& entry : fs::directory_iterator(fs::path(ASSAY_SOURCE_DIR) / "docs/operators")) {
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    const std::string page = text.str();
    std::string wanted;
    std::size_t at = 0;
    for (std::size_t mark; (mark = page.find(begin, at)) != std::string::npos;) {
      const std::size_t words = mark + begin.size(), from = page.find(close, words);
      const std::size_t to = page.find(end, from);
      ASSERT_NE(to, std::string::npos) << entry.path() << ": a table without its end";
      const auto names = split(page.substr(words, from - words), ' ');
      for (const std::string& name : names) {
        ASSERT_NE(find_operator(name), nullptr) << entry.path() << " " << name;
        documented.push_back(name);
      }
      wanted += page.substr(at, from + close.size() - at) + page_table(names);
      at = to;
    }
    wanted += page.substr(at);
    if (wanted == page) continue;
    const std::string received =
        formatted("{}/{}.received.md", ASSAY_BINARY_DIR, entry.path().stem().string());
    std::ofstream(received) << wanted;
    ADD_FAILURE() << "the table of the page is not what the rows say; to take theirs:\ncp "
                  << received << " " << entry.path().string();
  }
  std::vector<std::string> own;
  for (const Operator* op : rows()) {
    if (op != &registered_row()) own.push_back(op->name);
  }
  EXPECT_THAT(documented, testing::UnorderedElementsAreArray(own));
}

}  // namespace
}  // namespace assay
