// Compares the verdicts on tensors of a device with those of the host. The host itself is the
// device: it runs the code of the kernels.
#include "assay/device/device_judge.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "assay/gate/gate.h"
#include "assay/judge/elements.h"
#include "device/on_device.h"
#include "document.h"
#include "emulated.h"

namespace assay {
namespace {

JudgeOptions without_metrics() {
  JudgeOptions options;
  options.metrics = false;
  return options;
}

Bound sum(double rtol, double atol) {
  Bound bound;
  bound.rtol = rtol;
  bound.atol = atol;
  return bound;
}

// The formats of the table that kernels read, with what they read as expected values.
std::vector<const Format*> kernel_formats() {
  std::vector<const Format*> found;
  const Bound plain = sum(0.5, 0);
  for (const Format& f : formats()) {
    if (why_not_on_device(f, f, plain).empty()) found.push_back(&f);
  }
  return found;
}

// Values that are hard to compare: of all sizes, around the format's ends, zeros of both signs, and
// near each other.
Tensor expected_values(const Format& golden, const Format& output, std::int64_t n, unsigned seed) {
  std::vector<double> values;
  const double most = std::min(max_finite(output), max_finite(golden));
  const double least = std::max(min_subnormal(output), min_subnormal(golden));
  unsigned state = seed;
  const auto next = [&] {
    state = state * 1664525u + 1013904223u;
    return state >> 8;
  };
  for (std::int64_t i = 0; i < n; ++i) {
    const double sign = next() % 2 == 0 ? 1 : -1;
    const double unit = 1 + static_cast<double>(next()) / (1 << 24);
    switch (next() % 12) {
      case 0:
        values.push_back(sign * least * static_cast<double>(1 + next() % 9) / 2);
        break;
      case 1:
        values.push_back(sign * min_normal(output) * unit);
        break;
      case 2:
        values.push_back(sign * most * (1 - static_cast<double>(next() % 4) / 8));
        break;
      case 3:
        values.push_back(i % 7 == 0 ? sign * 0.0 : sign);
        break;
      default:
        values.push_back(sign *
                         std::min(unit * std::ldexp(1, static_cast<int>(next() % 9) - 5), most));
    }
  }
  return Tensor::from_values(golden, {n}, values);
}

// The expected values in the output's format, some of them up to `ulps` codes away.
Tensor output_near(const Format& output, const Tensor& expected, unsigned ulps) {
  Tensor out = Tensor::from_values(output, expected.shape(), expected.view().values());
  if (ulps == 0) return out;
  for (std::int64_t i = 0; i < out.size(); i += 3) {
    const auto at = ordinal(output, out.bits_at(i));
    if (!at || *at == 0) continue;
    const std::int64_t by = i % 2 == 0 ? ulps : -static_cast<std::int64_t>(ulps);
    if (const auto code = at_ordinal(output, *at + by); code && !is_inf(output, *code)) {
      out.set_bits(i, *code);
    }
  }
  return out;
}

void expect_same(const Verdict& device, const Verdict& host, const std::string& what) {
  EXPECT_EQ(device.outcome, host.outcome) << what;
  EXPECT_EQ(device.mismatches, host.mismatches) << what;
  EXPECT_EQ(device.nonzero, host.nonzero) << what;
  EXPECT_EQ(device.blind, host.blind) << what;
  EXPECT_EQ(device.worst_ratio, host.worst_ratio) << what;
  EXPECT_EQ(device.because, host.because) << what;
  EXPECT_EQ(device.where, host.where) << what;
  EXPECT_EQ(device.sites, host.sites) << what;
  ASSERT_EQ(device.worst.size(), host.worst.size()) << what;
  for (std::size_t i = 0; i < host.worst.size(); ++i) {
    EXPECT_EQ(device.worst[i].linear, host.worst[i].linear) << what;
    EXPECT_EQ(std::to_string(device.worst[i].error), std::to_string(host.worst[i].error)) << what;
  }
}

std::vector<Bound> bounds_to_try() {
  std::vector<Bound> bounds;
  for (const double rtol : {0.0, 0x1p-8, 0.3}) {
    for (const double atol : {0.0, 1e-5, 0.25}) {
      for (const bool rounds : {true, false}) {
        bounds.push_back(sum(rtol, atol));
        bounds.back().round_expected = rounds;
      }
    }
    for (const Rule rule : {Rule::kEither, Rule::kLargest, Rule::kSymmetric}) {
      bounds.push_back(sum(rtol, rule == Rule::kEither ? 1e-4 : 0));
      bounds.back().rule = rule;
      bounds.back().floor = 0.5;
    }
    bounds.push_back(sum(rtol, 0.01));
    bounds.back().small_value = 0.1;
    bounds.back().small_atol = 0.02;
  }
  for (const std::uint64_t or_ulps : {1u, 2u}) {
    bounds.push_back(sum(1e-3, 0.25));
    bounds.back().or_ulps = or_ulps;
  }
  for (const std::uint64_t ulps : {0u, 1u, 3u}) {
    bounds.emplace_back();
    bounds.back().rule = Rule::kUlps;
    bounds.back().ulps = ulps;
  }
  bounds.emplace_back();
  bounds.back().rule = Rule::kBits;
  return bounds;
}

// The passes that a device decides are the host's passes, for every format and rule that it takes.
TEST(DeviceJudge, PassesAreThoseOfTheHost) {
  const auto formats = kernel_formats();
  ASSERT_GT(formats.size(), 10u);
  int decided = 0;
  unsigned seed = 1;
  std::size_t place = 0;
  for (const Format* output : formats) {
    for (const Format* golden : {output, &format_named("float32"), &format_named("float64")}) {
      // So many that every thread loads packs of elements.
      const int bytes = std::max(output->storage_bytes, golden->storage_bytes);
      const std::int64_t count = 4 * 256 * 16 / bytes + 77;
      for (const unsigned ulps : {0u, 1u}) {
        const Tensor expected = expected_values(*golden, *output, count, ++seed);
        const Tensor out = output_near(*output, expected, ulps);
        for (const Bound& bound : bounds_to_try()) {
          if (!why_not_on_device(*output, *golden, bound).empty()) continue;
          // A share is every fifth pair of tensors and a bound, so that each bound meets several
          // formats.
          if (walks_a_share() && place++ % 5 != 0) continue;
          const std::string what =
              std::string(output->name) + " " + std::string(golden->name) + " " + bound.text();
          const Verdict host = judge(out, expected, bound, without_metrics());
          const auto device =
              pass_on_device(on_device(out, "actual"), on_device(expected, "expected"), bound);
          EXPECT_EQ(device.has_value(), host.outcome == Outcome::kPass) << what;
          if (!device) continue;
          ++decided;
          expect_same(*device, host, what);
        }
      }
    }
  }
  EXPECT_GT(decided, walks_a_share() ? 100 : 500);
}

// A tensor of several units, in which few elements need the host.
TEST(DeviceJudge, OnlySuspiciousUnitsAreCopied) {
  const Format &bf16 = format_named("bfloat16"), &f32 = format_named("float32");
  constexpr std::int64_t kCount = 5 * 65536 + 17;
  for (const Format* golden : {&bf16, &f32}) {
    const Tensor clean = expected_values(*golden, bf16, kCount, 7);
    const Tensor out = output_near(bf16, clean, 1);
    for (const std::int64_t at : {std::int64_t{3}, std::int64_t{200000}, kCount - 1}) {
      for (const double wrong : {std::numeric_limits<double>::quiet_NaN(), HUGE_VAL, 1e30}) {
        Tensor a = out, e = clean;
        a.set_bits(at, encode(bf16, wrong));
        for (const bool both : {false, true}) {
          if (both) e.set_bits(at, encode(*golden, wrong));
          for (const std::int64_t forgiven : {0, 2}) {
            Bound bound = sum(0.02, 1e-3);
            bound.nan_equal = true;
            bound.max_mismatches = forgiven;
            const Verdict host = judge(a, e, bound, without_metrics());
            const auto device =
                pass_on_device(on_device(a, "actual"), on_device(e, "expected"), bound);
            ASSERT_EQ(device.has_value(), host.outcome == Outcome::kPass);
            if (device) expect_same(*device, host, "");
          }
        }
      }
    }
  }
}

// Through the gate, every verdict is the host's, whoever decides.
TEST(DeviceJudge, TheGateGivesTheSameVerdicts) {
  for (const Format& output : formats()) {
    if (!output.is_float()) continue;
    for (const unsigned ulps : {0u, 1u, 40u}) {
      const Tensor expected = expected_values(output, output, 1100, 5);
      const Tensor out = output_near(output, expected, ulps);
      for (const char* standard :
           {"", "ulp(2)", "bit_equal", "torch", "triton_ascend", "cann_ecosystem", "numpy"}) {
        GateRequest request;
        request.metrics = false;
        if (*standard != 0) request.bounds.standards = {standard};
        const auto host = gate_tensors(out, expected, request);
        const auto device =
            gate_tensors(on_device(out, "actual"), on_device(expected, "expected"), request);
        ASSERT_EQ(device.size(), host.size());
        for (std::size_t i = 0; i < host.size(); ++i) {
          expect_same(device[i], host[i], std::string(output.name) + " " + standard);
        }
      }
    }
  }
}

TEST(DeviceJudge, AHostsVerdictSaysWhy) {
  const Format& f32 = format_named("float32");
  const Tensor e = expected_values(f32, f32, 64, 3), a = output_near(f32, e, 0);
  const auto note = [&](const DeviceView& x, const DeviceView& y, GateRequest request) {
    const auto verdicts = gate_tensors(x, y, request);
    return verdicts[0].notes.empty() ? "" : verdicts[0].notes.back();
  };
  GateRequest request;
  request.metrics = false;
  const DeviceView x = on_device(a, "actual"), y = on_device(e, "expected");
  EXPECT_EQ(note(x, y, request), "");
  request.metrics = true;
  EXPECT_EQ(note(x, y, request),
            "judged on the host, to which actual was copied from host:0: its metrics are computed "
            "there");
  request.metrics = false;
  request.bounds.standards = {"cann_ecosystem"};
  EXPECT_EQ(
      note(x, y, request),
      "judged on the host, to which actual was copied from host:0: cann_ecosystem@2026-07 limits "
      "statistics");
  request.bounds.standards = {};
  DeviceView reversed = y;
  reversed.layout = view_bytes(e.bytes(), f32, {8, 8}, {1, 8});
  DeviceView square = x;
  square.layout = view_bytes(a.bytes(), f32, {8, 8}, {1, 8});
  EXPECT_EQ(note(square, reversed, request),
            "judged on the host, to which actual was copied from host:0: a tensor is not "
            "contiguous");
  const auto one_side = gate_tensors(x, e.view(), request);
  EXPECT_EQ(one_side[0].outcome, Outcome::kPass);
  EXPECT_EQ(one_side[0].notes.back(),
            "judged on the host, to which actual was copied from host:0: the expected tensor is "
            "there");
}

TEST(DeviceJudge, ATensorIsNotComparedWithItself) {
  const Format& f32 = format_named("float32");
  const Tensor e = expected_values(f32, f32, 64, 3);
  GateRequest request;
  request.metrics = false;
  const auto verdicts = gate_tensors(on_device(e, "actual"), on_device(e, "expected"), request);
  EXPECT_EQ(verdicts[0].outcome, Outcome::kUntrusted);
  EXPECT_TRUE(verdicts[0].same_data);
}

TEST(DeviceJudge, AnAddressThatCannotBeIsRefused) {
  const Format& f32 = format_named("float32");
  const Tensor e = expected_values(f32, f32, 64, 3);
  DeviceView odd = on_device(e, "actual");
  odd.layout = view_bytes(e.bytes() + 2, f32, {8});
  const auto message = [&](const DeviceView& v) -> std::string {
    try {
      gate_tensors(v, on_device(e, "expected"));
    } catch (const Refusal& refusal) {
      return refusal.what();
    }
    return "";
  };
  EXPECT_EQ(message(odd),
            "actual: its address is not a multiple of 4, the size of a float32; make a contiguous "
            "copy");
  odd.layout = view_bytes(nullptr, f32, {8});
  EXPECT_EQ(message(odd), "actual: the pointer is null");
}

}  // namespace
}  // namespace assay
