// Tests how the parts of a gate's result are joined, and what is refused.
#include "assay/wire/gate_parts_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/text.h"
#include "error_of.h"

namespace assay::wire {
namespace {

using testing::ElementsAre;

std::string part(const std::string& shard, const std::string& cases, const std::string& more = "") {
  return formatted(R"({{"schema": 2, "assay": "0.2", "golden": "g.h5", "shard": "{}"{},
                      "outcome": "pass", "cases": [{}]}})",
                   shard, more, cases);
}
std::string entry(const std::string& name, const std::string& outcome,
                  const std::string& more = "") {
  return formatted(R"({{"case": "{}", "outcome": "{}", "because": "why {}"{}}})", name, outcome,
                   name, more);
}

std::string refusal(const std::vector<std::string>& texts) {
  std::vector<std::pair<std::string, std::string>> parts;
  for (const std::string& text : texts) {
    parts.emplace_back(formatted("{}.json", parts.size() + 1), text);
  }
  return error_of([&] { (void)join_gate(parts); });
}

TEST(GateParts, CasesTakeTurns) {
  const JoinedGate joined =
      join_gate({{"b", part("2/2", entry("b", "untrusted") + "," + entry("d", "pass"),
                            R"(, "notes": ["same", "two"])")},
                 {"a", part("1/2",
                            entry("a", "pass", R"(, "output_name": "x")") + "," +
                                entry("a", "fail", R"(, "output_name": "y")") + "," +
                                entry("c", "pass") + "," + entry("e", "not_comparable"),
                            R"(, "notes": ["one", "same"])")}});
  const auto json = nlohmann::json::parse(joined.json);
  std::vector<std::string> names;
  for (const auto& c : json["cases"]) names.push_back(c["case"]);
  EXPECT_THAT(names, ElementsAre("a", "a", "b", "c", "d", "e"));
  EXPECT_EQ(json["outcome"], "fail");
  EXPECT_EQ(json.count("shard"), 0u);
  EXPECT_EQ(json["notes"], nlohmann::json::parse(R"(["one", "same", "two"])"));
  EXPECT_EQ(joined.counts, (std::map<std::string, std::int64_t>{
                               {"fail", 1}, {"not_comparable", 1}, {"pass", 2}, {"untrusted", 1}}));
  EXPECT_THAT(joined.unpassed,
              ElementsAre("a: fail: why a", "b: untrusted: why b", "e: not_comparable: why e"));
}

// Cases of the same name in several files are counted separately.
TEST(GateParts, CasesAreToldApartByFileAndOutput) {
  const JoinedGate joined = join_gate(
      {{"a", part("1/1", entry("a", "pass", R"(, "file": "f")") + "," +
                             entry("a", "pass", R"(, "file": "g")") + "," + entry("b", "error"))}});
  EXPECT_EQ(joined.counts.at("pass"), 2);
  EXPECT_EQ(joined.outcome, "error");
}

TEST(GateParts, NoCaseIsNotComparable) {
  const JoinedGate joined = join_gate({{"a", part("1/1", "")}});
  EXPECT_EQ(joined.outcome, "not_comparable");
  EXPECT_TRUE(joined.counts.empty());
}

TEST(GateParts, OtherThingsAreRefused) {
  const std::string one = part("1/2", entry("a", "pass"));
  EXPECT_EQ(refusal({}), "there is nothing to join");
  EXPECT_EQ(refusal({one}), "shard 2 of 2 is missing");
  EXPECT_EQ(refusal({one, one}), "2.json: is shard 1 of 2, and so is 1.json");
  EXPECT_EQ(refusal({one, part("2/3", "")}), "2.json: is shard 2 of 3; 1.json is one of 2");
  std::string other = part("2/2", "");
  other.replace(other.find("g.h5"), 4, "h.h5");
  EXPECT_EQ(refusal({one, other}), "2.json: 'golden' is \"h.h5\", and \"g.h5\" in 1.json");
  EXPECT_EQ(refusal({part("", "")}), "1.json: is of no shard");
  for (const char* shard : {"1", "0/2", "3/2", "1/2/3", "x/2"}) {
    EXPECT_EQ(refusal({part(shard, "")}), "1.json: is of no shard") << shard;
  }
  for (const char* none : {"[]", "{}", R"({"schema": 2})", R"({"schema": 2, "cases": 3})"}) {
    EXPECT_EQ(refusal({none}), "1.json: is no result of a gate") << none;
  }
  EXPECT_EQ(refusal({R"({"schema": 1, "cases": []})"}),
            "1.json: has schema 1: it was written by an older assay");
  EXPECT_EQ(refusal({R"({"schema": 3, "cases": []})"}),
            "1.json: has schema 3; this assay reads schema 2");
  EXPECT_EQ(refusal({part("1/1", "3")}), "1.json: case 1: an object {...} is expected");
  EXPECT_EQ(refusal({part("1/1", entry("a", "worse"))}),
            "1.json: case 1: the outcome 'worse' is not known");
  EXPECT_THAT(refusal({"{"}), testing::StartsWith("1.json: "));
}

}  // namespace
}  // namespace assay::wire
