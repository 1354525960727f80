// Tests the matchers on tensors of a device: they match the same tensors as on the host, and say
// the same. The host itself is the device.
#include "assay/matchers.h"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "assay/device/device_memory.h"
#include "matchers/texts.h"

namespace assay {
namespace {

using testing::Not;
using testing::StartsWith;

DeviceView on_device(const TensorView& v, int device = 0) {
  return {&host_memory(), device, nullptr, v, "a tensor"};
}

constexpr const char* kMetricsNote =
    "judged on the host, to which the output was copied from host:0: its metrics are computed "
    "there";

// Returns the text without the line of this note, which must be there once.
std::string without_note(std::string text, const std::string& note) {
  const std::string line = "\n  note: " + note;
  for (const std::string& form : {line, "\nnote: " + note}) {
    const std::size_t at = text.find(form);
    if (at == std::string::npos) continue;
    text.erase(at, form.size());
    EXPECT_EQ(text.find(note), std::string::npos);
    return text;
  }
  ADD_FAILURE() << "no note '" << note << "' in: " << text;
  return text;
}

template <typename M>
std::string description(const M& matcher) {
  return testing::DescribeMatcher<const DeviceView&>(matcher);
}

struct Pair {
  Tensor expected = tensor("float32", {2, 3}, {1, 2, 3, -1, 0.25, 7});
  Tensor out = tensor("bfloat16", {2, 3}, {1, 2, 3, -1, 0.25, 7});
  Tensor wrong = tensor("bfloat16", {2, 3}, {1, 2, 3, -1, 0.5, 7});
};

// Tests a matcher of a reference with every side that may lie on a device. `note` is the note if
// both do.
template <typename Make>
void expect_as_on_host(const Make& make, const std::string& note) {
  const Pair p;
  const DeviceView out = on_device(p.out), wrong = on_device(p.wrong),
                   expected = on_device(p.expected);
  EXPECT_THAT(out, make(expected));
  EXPECT_THAT(out, make(p.expected));
  EXPECT_THAT(p.out, make(expected));
  EXPECT_THAT(wrong, Not(make(expected)));
  EXPECT_THAT(wrong, Not(make(p.expected)));
  EXPECT_THAT(p.wrong, Not(make(expected)));
  EXPECT_EQ(description(make(expected)), description(make(p.expected)));
  for (const Tensor* actual : {&p.out, &p.wrong}) {
    EXPECT_EQ(without_note(explanation(on_device(*actual), make(expected)), note),
              explanation(*actual, make(p.expected)));
  }
}

TEST(DeviceMatchers, ElementMatchersSayTheSame) {
  expect_as_on_host([](const auto& e) { return CloseTo(e); }, kMetricsNote);
  expect_as_on_host([](const auto& e) { return CloseTo(e).rtol(1e-3).atol(0); }, kMetricsNote);
  expect_as_on_host([](const auto& e) { return MeetsStandard("torch", e); }, kMetricsNote);
  expect_as_on_host([](const auto& e) { return WithinUlps(e, 2); }, kMetricsNote);
}

TEST(DeviceMatchers, BitsAreCompared) {
  const Tensor a = tensor("float32", {4}, {1, 2, 3, 4}), same = a,
               negative_zero = tensor("float32", {4}, {1, -0.0, 3, 4}),
               zero = tensor("float32", {4}, {1, 0.0, 3, 4});
  EXPECT_THAT(on_device(a), BitEqual(on_device(same)));
  EXPECT_THAT(on_device(negative_zero), Not(BitEqual(on_device(zero))));
  EXPECT_EQ(
      without_note(explanation(on_device(zero), BitEqual(on_device(negative_zero))), kMetricsNote),
      explanation(zero, BitEqual(negative_zero)));
}

TEST(DeviceMatchers, APassOfTheDeviceHasNoNote) {
  const Pair p;
  const MatchReport report = CloseTo(on_device(p.expected)).check(on_device(p.out), false);
  EXPECT_EQ(report.outcome, Outcome::kPass);
  EXPECT_TRUE(report.notes.empty());
}

TEST(DeviceMatchers, NotesSayWhichSideWasCopied) {
  const Pair p;
  const auto notes = [](const AnyView& actual, const ElementwiseMatcher& matcher) {
    return matcher.check(actual, false).notes;
  };
  EXPECT_EQ(notes(on_device(p.out), CloseTo(p.expected)),
            std::vector<std::string>{"judged on the host, to which the output was copied from "
                                     "host:0: the expected tensor is there"});
  EXPECT_EQ(notes(p.out.view(), CloseTo(on_device(p.expected))),
            std::vector<std::string>{"judged on the host, to which the reference was copied from "
                                     "host:0: the output is there"});
  EXPECT_EQ(notes(on_device(p.out), CloseTo(on_device(p.expected, 1))),
            std::vector<std::string>{"judged on the host, to which the output was copied from "
                                     "host:0: the reference is on host:1"});
}

// The element matchers' texts if a tensor cannot be judged.
TEST(DeviceMatchers, WhatCannotBeReadFailsTheTest) {
  const Pair p;
  DeviceView missing = on_device(p.out);
  missing.layout = view_bytes(nullptr, format_named("bfloat16"), {2, 3});
  EXPECT_EQ(failures_of([&] { EXPECT_THAT(missing, Not(CloseTo(p.expected))); }).front(),
            "Failed\na matcher cannot judge: the output: the pointer is null");
  EXPECT_EQ(failures_of([&] { EXPECT_THAT(p.out, Not(CloseTo(missing))); }).front(),
            "Failed\na matcher cannot judge: the reference: the pointer is null");
  EXPECT_EQ(failures_of([&] { EXPECT_THAT(missing, Not(SnrAtLeast(p.expected, 20))); }).front(),
            "Failed\na matcher cannot judge: the output: the pointer is null");
  EXPECT_THAT(explanation(on_device(tensor("bfloat16", {6}, {1, 2, 3, 4, 5, 6})),
                          CloseTo(on_device(p.expected))),
              StartsWith("which cannot be compared: the output's shape is [6], the expected one is "
                         "[2, 3]"));
}

TEST(DeviceMatchers, AFailureShowsTheTensorWithoutReadingIt) {
  const Pair p;
  const std::vector<std::string> failures =
      failures_of([&] { EXPECT_THAT(on_device(p.wrong), CloseTo(on_device(p.expected))); });
  ASSERT_EQ(failures.size(), 1U);
  EXPECT_THAT(failures[0], testing::HasSubstr("Actual: bfloat16 [2, 3] on host:0"));
}

TEST(DeviceMatchers, OthersCopy) {
  const std::string both =
      "judged on the host, to which the output and the reference were copied from host:0: its "
      "metrics are computed there";
  expect_as_on_host([](const auto& e) { return SnrAtLeast(e, 40); }, both);
  const Pair p;
  EXPECT_EQ(without_note(explanation(on_device(p.wrong),
                                     NoWorseThan(on_device(p.out), on_device(p.expected, 1))),
                         "judged on the host, to which the output, the golden result and the "
                         "reference implementation were copied from host:0 and host:1: its metrics "
                         "are computed there"),
            explanation(p.wrong, NoWorseThan(p.out, p.expected)));
  // The identity of two tensors is seen, although both are copied.
  EXPECT_EQ(without_note(
                explanation(on_device(p.out), NoWorseThan(on_device(p.out), on_device(p.expected))),
                "judged on the host, to which the output, the golden result and the "
                "reference implementation were copied from host:0: its metrics are "
                "computed there"),
            explanation(p.out, NoWorseThan(p.out, p.expected)));
  EXPECT_EQ(without_note(explanation(on_device(p.out), DrawnFrom("uniform,low=0,high=1")),
                         "judged on the host, to which the output was copied from host:0: draws "
                         "are judged there"),
            explanation(p.out, DrawnFrom("uniform,low=0,high=1")));
  EXPECT_EQ(without_note(explanation(on_device(p.wrong),
                                     AmplificationNear(p.expected, on_device(p.expected))),
                         "judged on the host, to which the output and the coordinates were copied "
                         "from host:0: the elements that differ are found there"),
            explanation(p.wrong, AmplificationNear(p.expected, p.expected)));
  EXPECT_THAT([&] { return on_device(p.out); }, Deterministic(3));
}

TEST(DeviceMatchers, ACaseIsJudgedOnTheHost) {
  const Pair p;
  Case c;
  c.name = "gelu_1";
  c.attributes["output_dtype"] = std::string("bfloat16");
  c.output().golden = p.expected;
  const std::string note =
      "judged on the host, to which the output was copied from host:0: cases are judged there";
  EXPECT_THAT(on_device(p.out), CloseTo(c).rtol(1e-2).atol(0));
  const auto matcher = CloseTo(c).rtol(1e-2).atol(0);
  EXPECT_EQ(without_note(explanation(on_device(p.wrong), matcher), note),
            explanation(p.wrong, matcher));

  Case several;
  several.name = "norm_1";
  several.outputs["mean"].golden = p.expected;
  several.outputs["y"].golden = p.expected;
  for (auto& [name, output] : several.outputs) {
    output.attributes["output_dtype"] = std::string("bfloat16");
  }
  const auto by_name = CloseTo(several).rtol(1e-2).atol(0);
  using Outputs = std::map<std::string, DeviceView>;
  EXPECT_THAT((Outputs{{"mean", on_device(p.out)}, {"y", on_device(p.out)}}), by_name);
  const std::string text =
      explanation(Outputs{{"mean", on_device(p.out)}, {"y", on_device(p.wrong)}}, by_name);
  EXPECT_THAT(text, testing::HasSubstr("to which the output mean was copied from host:0"));
  EXPECT_THAT(text, testing::HasSubstr("to which the output y was copied from host:0"));
}

TEST(DeviceMatchers, ProductsAreCheckedByChecksums) {
  const Tensor a = tensor("bfloat16", {2, 2}, {1, 2, 3, 4}), b = a,
               c = tensor("float32", {2, 2}, {7, 10, 15, 22}),
               wrong = tensor("float32", {2, 2}, {7, 10, 15, 23}),
               bias = tensor("float32", {2}, {0, 0});
  const auto note = [](const std::string& copied) {
    return "judged on the host, to which " + copied +
           " copied from host:0: checksums are computed there";
  };
  EXPECT_THAT(on_device(c), AbftClose(on_device(a), on_device(b)));
  EXPECT_THAT(c, AbftClose(on_device(a), b));
  EXPECT_THAT(on_device(wrong), Not(AbftClose(a, b)));
  for (const Tensor* product : {&c, &wrong}) {
    EXPECT_EQ(without_note(explanation(on_device(*product), AbftClose(on_device(a), on_device(b))),
                           note("the output, operand a and operand b were")),
              explanation(*product, AbftClose(a, b)));
    EXPECT_EQ(
        without_note(explanation(on_device(*product), AbftClose(a, b)), note("the output was")),
        explanation(*product, AbftClose(a, b)));
    EXPECT_EQ(without_note(explanation(*product, AbftClose(a, b).bias(on_device(bias))),
                           note("the bias was")),
              explanation(*product, AbftClose(a, b).bias(bias)));
    EXPECT_EQ(without_note(explanation(on_device(*product), AbftClose(on_device(c))),
                           note("the output and the golden result were")),
              explanation(*product, AbftClose(c)));
    EXPECT_EQ(
        without_note(
            explanation(
                *product,
                AbftClose(a, b).threshold("residual_compensated").accumulator(on_device(c))),
            note("the accumulator was")),
        explanation(*product, AbftClose(a, b).threshold("residual_compensated").accumulator(c)));
  }
  EXPECT_EQ(description(AbftClose(on_device(a), on_device(b))), description(AbftClose(a, b)));
  DeviceView missing = on_device(b);
  missing.layout = view_bytes(nullptr, format_named("bfloat16"), {2, 2});
  EXPECT_THAT(explanation(c, AbftClose(a, missing)),
              StartsWith("which cannot be compared: operand b: the pointer is null"));
}

}  // namespace
}  // namespace assay
