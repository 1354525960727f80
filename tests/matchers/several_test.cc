// Tests CloseTo of a case with several outputs, given by name.
#include <assay/gate/case_outputs.h>
#include <assay/matchers.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <utility>
#include <vector>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::Not;
using Values = std::vector<double>;

Tensor floats(const Values& values, const char* dtype = "float32") {
  return Tensor::from_values(format_named(dtype), {static_cast<std::int64_t>(values.size())},
                             values);
}

// Returns a case of the top k of x, with a tie and with an output that is not compared.
Case top_k() {
  Case c;
  c.name = "topk";
  c.op = "external";
  c.inputs["x"] = floats({3, 1, 3, 2});
  c.outputs["values"].golden = floats({3, 3, 2});
  c.outputs["indices"].golden = floats({0, 2, 3}, "int64");
  c.outputs["indices"].attributes = {{"standard", std::string("indices")},
                                     {"of", std::string("x")}};
  c.outputs["scratch"].golden = Golden::absent();
  return c;
}

template <typename Outputs>
std::string case_explanation(const Outputs& outputs, const Case& c) {
  testing::StringMatchResultListener listener;
  (void)CloseTo(c).MatchAndExplain(outputs, &listener);
  return listener.str();
}

TEST(SeveralOutputs, AreMatchedByName) {
  const Case c = top_k();
  const std::map<std::string, Tensor> outputs = {{"values", floats({3, 3, 2})},
                                                 {"indices", floats({2, 0, 3}, "int64")}};
  EXPECT_THAT(outputs, CloseTo(c));
  EXPECT_THAT(outputs, MeetsStandard("torch", c));
  // The outputs may be a vector of pairs with views.
  const std::vector<std::pair<std::string, TensorView>> views = {{"indices", outputs.at("indices")},
                                                                 {"values", outputs.at("values")}};
  EXPECT_THAT(views, CloseTo(c));
}

TEST(SeveralOutputs, UnsortedIndicesMatchInAnyOrder) {
  Case c = top_k();
  c.outputs.erase("values");
  const std::map<std::string, Tensor> outputs = {{"indices", floats({3, 0, 2}, "int64")}};
  EXPECT_THAT(outputs, Not(CloseTo(c)));
  c.outputs["indices"].attributes["standard"] = std::string("indices(unsorted)");
  EXPECT_THAT(outputs, CloseTo(c));
  const std::map<std::string, Tensor> wrong = {{"indices", floats({1, 0, 2}, "int64")}};
  EXPECT_THAT(wrong, Not(CloseTo(c)));
}

TEST(SeveralOutputs, EachFailsByItself) {
  const Case c = top_k();
  const std::map<std::string, Tensor> wrong = {{"values", floats({3, 3, 2})},
                                               {"indices", floats({0, 0, 3}, "int64")}};
  EXPECT_THAT(wrong, Not(CloseTo(c)));
  EXPECT_THAT(case_explanation(wrong, c),
              HasSubstr("which fails: indices fails: 1 of 3 indices are wrong: 1 a second time in "
                        "the row"));
}

TEST(SeveralOutputs, NamesMustBeThoseOfTheCase) {
  const Case c = top_k();
  using Map = std::map<std::string, Tensor>;
  EXPECT_THAT(case_explanation(Map{{"values", floats({3, 3, 2})}}, c),
              HasSubstr("indices fails: it is not among the outputs"));
  EXPECT_THAT(case_explanation(Map{{"value", floats({3, 3, 2})}}, c),
              HasSubstr("value fails: case topk has no such output"));
}

TEST(SeveralOutputs, OneAndSeveralAreNotMixedUp) {
  const Case c = top_k();
  EXPECT_THAT(case_explanation(floats({1}), c), HasSubstr("which cannot be judged: "));
  const Case named = judged_case(c, "values");
  const std::map<std::string, Tensor> outputs = {{"values", floats({3, 3, 2})}};
  EXPECT_THAT(floats({3, 3, 2}), CloseTo(named));
  EXPECT_THAT(outputs, CloseTo(named));
  Case one;
  one.name = "one";
  one.output().golden = floats({3, 3, 2});
  EXPECT_THAT(case_explanation(outputs, one),
              HasSubstr("case one has only one output, without a name; give that tensor instead of "
                        "outputs by name"));
}

}  // namespace
}  // namespace assay
