// Tests the inputs that a trial draws: every operator has a list, draws repeat, and classes of
// sizes, values, attributes and layouts are reached.
#include "assay/trial/draw.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <set>

#include "assay/trial/memory.h"

namespace assay::trial {
namespace {

TrialKernel kernel_of_all(const Operator& op) {
  TrialKernel kernel;
  kernel.takes_strides = kernel.takes_out_strides = true;
  for (const Parameter& parameter : op.parameters) kernel.parameters.insert(parameter.name);
  for (const OperatorInput& input : op.inputs) {
    if (input.optional) kernel.sometimes.insert(input.name);
  }
  return kernel;
}

TEST(Draws, EveryOperatorHasAListThatReachesItsParameters) {
  for (const Operator& op : operators()) {
    if (op.generate == nullptr) continue;
    const TrialKernel kernel = kernel_of_all(op);
    const Drawing drawing(op, kernel, {}, {}, {}, 1);
    EXPECT_GE(drawing.listed(), 12) << op.name;
    std::set<std::string> classes;
    for (std::int64_t i = 0; i < drawing.listed(); ++i) {
      const Draw draw = drawing.at(i);
      EXPECT_TRUE(draw.is_listed);
      EXPECT_EQ(draw.number, i);
      for (const auto& [kind, name] : draw.classes) classes.insert(kind + " " + name);
    }
    for (const Parameter& parameter : op.parameters) {
      std::size_t reached = 0;
      for (const std::string& value : parameter.tried) {
        reached += classes.count("attributes " + parameter.name + "=" + value);
      }
      EXPECT_GE(reached + 1, parameter.tried.size()) << op.name << " " << parameter.name;
    }
    for (const char* layout : {"offset", "padded", "transposed"}) {
      EXPECT_EQ(classes.count(std::string("layouts ") + layout + " inputs"), 1U)
          << op.name << " " << layout;
    }
  }
}

TEST(Draws, RepeatAndDiffer) {
  const Operator& op = *find_operator("matmul");
  const TrialKernel kernel = kernel_of_all(op);
  const Drawing one(op, kernel, {"float32", "bfloat16"}, {}, {}, 1),
      again = one, other(op, kernel, {"float32", "bfloat16"}, {}, {}, 2);
  std::set<std::string> texts;
  int same = 0;
  for (std::int64_t i = one.listed(); i < one.listed() + 60; ++i) {
    EXPECT_EQ(one.at(i).text(), again.at(i).text());
    EXPECT_EQ(one.at(i).recipe.seed, again.at(i).recipe.seed);
    same += one.at(i).text() == other.at(i).text() ? 1 : 0;
    texts.insert(one.at(i).text());
  }
  EXPECT_GT(texts.size(), 50U);
  EXPECT_LT(same, 5);
}

TEST(Draws, RandomSizesAreOfEveryClassAndWithinTheLimits) {
  const Operator& op = *find_operator("softmax");
  const TrialKernel kernel = kernel_of_all(op);
  DrawLimits limits;
  limits.elements = 5000;
  const Drawing drawing(op, kernel, {"float32"}, {}, limits, 1);
  std::set<std::string> sizes, values, layouts;
  for (std::int64_t i = drawing.listed(); i < drawing.listed() + 400; ++i) {
    const Draw draw = drawing.at(i);
    std::int64_t elements = 1;
    for (const std::int64_t size : draw.recipe.sizes) elements *= size;
    EXPECT_LE(elements, limits.elements) << draw.text();
    for (const auto& [kind, name] : draw.classes) {
      if (kind == "sizes") sizes.insert(name);
      if (kind == "values") values.insert(name);
      if (kind == "layouts") layouts.insert(name);
    }
  }
  EXPECT_GE(sizes.size(), 9U) << testing::PrintToString(sizes);
  EXPECT_GE(values.size(), 14U) << testing::PrintToString(values);
  EXPECT_EQ(layouts.size(), 8U) << testing::PrintToString(layouts);
}

TEST(Draws, KeepToWhatTheKernelTakes) {
  const Operator& op = *find_operator("matmul");
  TrialKernel kernel;
  kernel.most_rank = 2;
  kernel.takes_offsets = kernel.takes_empty = false;
  const Drawing drawing(op, kernel, {}, {}, {}, 1);
  for (std::int64_t i = 0; i < drawing.listed() + 100; ++i) {
    const Draw draw = drawing.at(i);
    EXPECT_EQ(draw.recipe.sizes.size(), 3U);
    EXPECT_TRUE(draw.recipe.attributes.empty());
    EXPECT_TRUE(draw.recipe.distributions.count("bias") == 0);
    EXPECT_EQ(draw.inputs, Layout::kContiguous);
    for (const std::int64_t size : draw.recipe.sizes) EXPECT_GE(size, 1);
  }
  EXPECT_THAT(drawing.left_out(),
              testing::Contains("other values of transpose_a: the kernel does not take it"));
}

// Each class of values has a distribution of its own, and "large" reaches the ends of the format.
// Numbers beyond 2^52 are not drawn.
TEST(Draws, IntegersReachTheEndsOfTheirFormat) {
  const Operator& op = *find_operator("cast");
  const TrialKernel kernel = kernel_of_all(op);
  for (const char* dtype : {"int8", "uint8", "int16", "uint16", "int32", "uint32", "int64"}) {
    SCOPED_TRACE(dtype);
    const Drawing drawing(op, kernel, {dtype}, {}, {}, 1);
    std::map<std::string, std::string> distributions;
    double least = 0, most = 0;
    for (std::int64_t i = 0; i < drawing.listed() + 100; ++i) {
      const Drawing::Made made = drawing.made(i);
      for (const auto& [kind, name] : made.draw.classes) {
        if (kind == "values") distributions[name] = made.draw.recipe.distribution.text();
      }
      for (const double value : made.test_case.input("x").view().values()) {
        least = std::min(least, value), most = std::max(most, value);
      }
    }
    std::set<std::string> different;
    for (const auto& [name, text] : distributions) different.insert(text);
    EXPECT_EQ(different.size(), distributions.size());
    EXPECT_GE(distributions.size(), 4u);
    const Format& format = format_named(dtype);
    const double end = std::min(max_finite(format), 0x1p52);
    EXPECT_GT(most, 0.9 * end);
    if (format.name.front() == 'u') {
      EXPECT_EQ(least, 0);
    } else {
      EXPECT_LT(least, -0.9 * end);
    }
  }
}

TEST(Memory, HoldsElementsInEveryLayout) {
  const std::vector<double> values = {1, 2, 3, 4, 5, 6};
  for (const Layout layout :
       {Layout::kContiguous, Layout::kOffset, Layout::kPadded, Layout::kTransposed}) {
    for (const Shape& shape : {Shape{2, 3}, Shape{6}, Shape{1, 2, 3}}) {
      const Tensor tensor = Tensor::from_values(format_named("float32"), shape, values);
      Memory memory(tensor.format(), shape, layout);
      memory.fill(std::byte{0x5A});
      memory.write(tensor);
      EXPECT_EQ(memory.view().view().values(), values) << layout_word(layout);
      EXPECT_EQ(memory.first_change_outside(std::byte{0x5A}), "") << layout_word(layout);
      const auto address = reinterpret_cast<std::uintptr_t>(memory.view().data);
      EXPECT_EQ(address % 64 == 0, layout != Layout::kOffset);
      memory.view().data[-1] = std::byte{0};
      EXPECT_EQ(memory.first_change_outside(std::byte{0x5A}), "before the first element");
    }
  }
}

}  // namespace
}  // namespace assay::trial
