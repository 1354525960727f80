// Compares the checks of products on a device with those of the host. The host itself is the
// device: it runs the code of the kernels.
#include "assay/device/device_checksum.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/checker.h"
#include "assay/format/convert.h"
#include "device/on_device.h"
#include "document.h"
#include "emulated.h"
#include "error_of.h"

namespace assay {
namespace {

// Numbers that repeat on every machine.
class Draws {
 public:
  explicit Draws(unsigned seed) : state_(seed) {}
  double next() {  // about normal, with mean `shift`
    double sum = 0;
    for (int i = 0; i < 4; ++i) sum += uniform();
    return (sum - 2) * 1.7;
  }
  double uniform() {
    state_ = state_ * 1664525u + 1013904223u;
    return static_cast<double>(state_ >> 8) / (1 << 24);
  }

 private:
  unsigned state_;
};

// A product with its operands. Matrices are stored as their transposed ones if the kind says so.
struct Made {
  Tensor a, b, c, bias;
  TensorView view_a, view_b, view_c;
};

struct Sizes {
  std::int64_t batch, m, k, n;
};
struct Kind {
  std::string input, output;
  bool transpose_a = false, transpose_b = false, bias = false, one_b = false;
  double mean = 0;
};

TensorView shaped(const Tensor& t, std::int64_t batch, std::int64_t rows, std::int64_t columns,
                  bool transposed) {
  TensorView v = t.view();
  v.shape = {batch, rows, columns};
  v.strides = transposed ? Strides{rows * columns, 1, rows} : Strides{rows * columns, columns, 1};
  return v;
}

Made make(const Kind& kind, const Sizes& s, unsigned seed) {
  Draws draws(seed);
  const Format &in = format_named(kind.input), &out = format_named(kind.output);
  const auto values = [&](std::int64_t count) {
    std::vector<double> v(static_cast<std::size_t>(count));
    for (double& x : v)
      x = in.is_float() ? kind.mean + draws.next() : std::floor(draws.uniform() * 9) - 4;
    return v;
  };
  const std::int64_t b_batch = kind.one_b ? 1 : s.batch;
  Made made;
  made.a = Tensor::from_values(in, {s.batch * s.m * s.k}, values(s.batch * s.m * s.k));
  made.b = Tensor::from_values(in, {b_batch * s.k * s.n}, values(b_batch * s.k * s.n));
  if (kind.bias) made.bias = Tensor::from_values(out, {s.n}, values(s.n));
  made.view_a = shaped(made.a, s.batch, s.m, s.k, kind.transpose_a);
  made.view_b = shaped(made.b, b_batch, s.k, s.n, kind.transpose_b);
  const std::vector<double> a = made.view_a.values(), b = made.view_b.values();
  const std::vector<double> bias =
      kind.bias ? made.bias.view().values() : std::vector<double>(static_cast<std::size_t>(s.n));
  std::vector<double> c;
  for (std::int64_t batch = 0; batch < s.batch; ++batch) {
    for (std::int64_t i = 0; i < s.m; ++i) {
      for (std::int64_t j = 0; j < s.n; ++j) {
        double sum = bias[static_cast<std::size_t>(j)];
        for (std::int64_t k = 0; k < s.k; ++k) {
          const std::int64_t of_b = kind.one_b ? 0 : batch;
          sum += a[static_cast<std::size_t>((batch * s.m + i) * s.k + k)] *
                 b[static_cast<std::size_t>((of_b * s.k + k) * s.n + j)];
        }
        c.push_back(sum);
      }
    }
  }
  made.c = Tensor::from_values(out, {s.batch, s.m, s.n}, c);
  made.view_c = made.c.view();
  return made;
}

DeviceProduct product_of(const Made& made) {
  DeviceProduct p{on_device(made.view_a, "a"), on_device(made.view_b, "b"),
                  on_device(made.view_c, "the output")};
  if (!made.bias.empty()) p.bias = on_device(made.bias.view(), "the bias");
  return p;
}

TensorView matrix(const TensorView& v, std::int64_t batch) {
  TensorView one = v;
  one.data += (v.shape[0] == 1 ? 0 : batch) * v.strides[0] * v.format->storage_bytes;
  one.shape.erase(one.shape.begin());
  one.strides.erase(one.strides.begin());
  return one;
}

// The findings of the host in all matrices.
struct OfHost {
  std::int64_t flagged = 0, not_checkable = 0;
  double worst = 0;
  std::vector<std::pair<std::int64_t, std::int64_t>> rows;  // that are flagged
};
OfHost by_host(const Made& made, AbftOptions options) {
  OfHost found;
  const std::int64_t batches = made.view_a.shape[0];
  options.spec.delta /= static_cast<double>(batches);
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    const AbftChecker checker = AbftChecker::of_product(
        matrix(made.view_a, batch), matrix(made.view_b, batch), options,
        made.bias.empty() ? std::vector<double>() : made.bias.view().values());
    const AbftVerdict verdict = checker.check(matrix(made.view_c, batch));
    EXPECT_NE(verdict.outcome, Outcome::kNotComparable) << verdict.because;
    found.flagged += verdict.flagged;
    found.not_checkable += verdict.not_checkable;
    found.worst = std::max(found.worst, verdict.worst_ratio);
    const TensorView c = matrix(made.view_c, batch);
    for (std::int64_t row = 0; row < c.shape[0]; ++row) {
      abft::Reading reading;
      checker.read_row(row, c.data + row * c.strides[0] * c.format->storage_bytes, *c.format,
                       &reading);
      if (reading.flagged()) found.rows.emplace_back(batch, row);
    }
  }
  return found;
}

ChecksumFindings by_device(const Made& made, const AbftOptions& options) {
  const DeviceProduct product = product_of(made);
  const DeviceChecksum checksum(product, options);
  const FindingsArray findings(product.c, 1);
  const auto weights =
      checksum.weights(made.view_b.data, made.bias.empty() ? nullptr : made.bias.view().data);
  checksum.start(made.view_a.data, *weights, made.view_c.data, 7, findings.at(0));
  EXPECT_EQ(checksum.checks(), made.view_c.shape[0] * made.view_c.shape[1]);
  return findings.fetch()[0];
}

void expect_same(const Made& made, const AbftOptions& options, const std::string& what) {
  const OfHost host = by_host(made, options);
  const ChecksumFindings device = by_device(made, options);
  EXPECT_EQ(device.flagged, host.flagged) << what;
  EXPECT_EQ(device.not_checkable, host.not_checkable) << what;
  // The host adds up the ulps and squares of long rows in float32.
  const double near = made.view_c.shape[2] < 256 ? 1e-7 : 1e-5;
  if (std::isfinite(host.worst)) {
    EXPECT_NEAR(device.worst_ratio, host.worst, near * (1 + host.worst)) << what;
  } else {
    EXPECT_EQ(device.worst_ratio, host.worst) << what;
  }
  EXPECT_EQ(device.first_call, host.flagged > 0 ? 7u : 0u) << what;
  if (host.flagged > 0) {
    EXPECT_THAT(host.rows, testing::Contains(std::pair(device.first_matrix, device.first_row)))
        << what;
  }
}

AbftOptions options_of(const std::string& threshold) {
  AbftOptions options;
  options.spec = parse_threshold(threshold);
  return options;
}

std::vector<Kind> kinds() {
  std::vector<Kind> all;
  for (const auto& [input, output] :
       {std::pair("bfloat16", "bfloat16"), std::pair("float16", "float16"),
        std::pair("float32", "float32"), std::pair("bfloat16", "float32"),
        std::pair("float8_e4m3fn", "bfloat16"), std::pair("float8_e5m2", "float16")}) {
    for (const bool transpose_a : {false, true}) {
      for (const bool transpose_b : {false, true}) {
        for (const bool bias : {false, true}) {
          all.push_back({input, output, transpose_a, transpose_b, bias, bias, bias ? 0.7 : 0});
        }
      }
    }
  }
  return all;
}

constexpr Sizes kSizes[] = {{1, 5, 16, 24}, {3, 6, 37, 19}, {1, 9, 64, 300}, {2, 1, 1, 2}};
constexpr const char* kThresholds[] = {
    "rounding_variance,groups=0,confirm=0",
    "rounding_variance,groups=0,confirm=0,coarse=1",
    "rounding_variance,groups=0,confirm=0,kappa=3",
    "v_abft",
    "v_abft,variant=recalibrated",
    "a_abft",
};

std::string text(const Kind& kind, const Sizes& s, const std::string& threshold) {
  return threshold + " " + kind.input + " to " + kind.output + (kind.transpose_a ? " a^T" : "") +
         (kind.transpose_b ? " b^T" : "") + (kind.bias ? " bias" : "") + " " +
         std::to_string(s.batch) + "x" + std::to_string(s.m) + "x" + std::to_string(s.k) + "x" +
         std::to_string(s.n);
}

TEST(DeviceChecksum, ChecksFindWhatTheHostFinds) {
  unsigned seed = 1;
  int compared = 0, flagged = 0;
  std::size_t place = 0;
  for (const Kind& kind : kinds()) {
    for (const Sizes& sizes : kSizes) {
      for (const char* const threshold : kThresholds) {
        // A share is every fifth of them.
        if (walks_a_share() && place++ % 5 != 0) continue;
        Made made = make(kind, sizes, ++seed);
        const AbftOptions options = options_of(threshold);
        if (!why_not_on_device(product_of(made), options).empty()) continue;
        expect_same(made, options, text(kind, sizes, threshold));
        // A flip of one bit in every third row.
        Draws draws(seed);
        for (std::int64_t row = 0; row < sizes.batch * sizes.m; row += 3) {
          const auto column =
              static_cast<std::int64_t>(draws.uniform() * static_cast<double>(sizes.n));
          const std::int64_t at = row * sizes.n + column;
          const int bit = static_cast<int>(draws.uniform() * made.c.format().bits);
          made.c.set_bits(at, made.c.bits_at(at) ^ std::uint64_t{1} << bit);
        }
        made.view_c = made.c.view();
        expect_same(made, options, "flips, " + text(kind, sizes, threshold));
        ++compared;
        flagged += by_device(made, options).flagged > 0 ? 1 : 0;
      }
    }
  }
  EXPECT_GT(compared, walks_a_share() ? 160 : 800);
  EXPECT_GT(flagged, compared / 4);
}

TEST(DeviceChecksum, MachinesThatTruncate) {
  unsigned seed = 1;
  for (const char* const machine : {"hopper", "ascend910b", "cpu_fma", "ampere"}) {
    for (const char* const input : {"bfloat16", "float16", "float32"}) {
      const DotModel* model = nullptr;
      try {
        model = &dot_model(machine_named(machine), format_named(input));
      } catch (const Refusal&) {
        continue;
      }
      for (const char* const output : {"float32", input}) {
        for (const bool transposed : {false, true}) {
          const Kind kind{input, output, transposed, transposed, transposed, false, 1.0};
          const Made made = make(kind, {2, 7, 65, 40}, ++seed);
          AbftOptions options = options_of(kThresholds[0]);
          options.model = model;
          ASSERT_EQ(why_not_on_device(product_of(made), options), "") << machine;
          expect_same(made, options, std::string(machine) + " " + input + " to " + output);
        }
      }
    }
  }
}

TEST(DeviceChecksum, IntegersAreExact) {
  Made made = make({"int8", "int32", false, true, false, false, 0}, {2, 9, 50, 33}, 5);
  expect_same(made, options_of(kThresholds[0]), "int8");
  EXPECT_EQ(by_device(made, options_of(kThresholds[0])).worst_ratio, 0);
  made.c.set_bits(40, made.c.bits_at(40) ^ 1);
  const ChecksumFindings found = by_device(made, options_of(kThresholds[0]));
  EXPECT_EQ(found.flagged, 1);
  EXPECT_EQ(found.first_row, 1);
  EXPECT_EQ(found.first_difference, 1);
}

TEST(DeviceChecksum, SpecialValues) {
  const Kind kind{"bfloat16", "bfloat16"};
  const Sizes sizes{1, 8, 40, 40};
  const std::uint64_t nan = 0x7fc0, infinity = 0x7f80;
  for (const char* const threshold : kThresholds) {
    for (const std::uint64_t code : {nan, infinity}) {
      Made made = make(kind, sizes, 3);
      made.c.set_bits(5 * 40 + 3, code);
      ChecksumFindings found = by_device(made, options_of(threshold));
      EXPECT_EQ(found.flagged, 1) << threshold;
      EXPECT_EQ(found.first_row, 5) << threshold;
      EXPECT_EQ(found.worst_ratio, std::numeric_limits<double>::infinity()) << threshold;
      made = make(kind, sizes, 3);
      made.a.set_bits(2 * 40, code);
      found = by_device(made, options_of(threshold));
      EXPECT_EQ(found.not_checkable, 1) << threshold;
      EXPECT_EQ(found.flagged, 0) << threshold;
      made = make(kind, sizes, 3);
      made.b.set_bits(2 * 40, code);
      EXPECT_EQ(by_device(made, options_of(threshold)).not_checkable, 8) << threshold;
    }
  }
}

TEST(DeviceChecksum, FindingsOfCallsAddUp) {
  const Kind kind{"bfloat16", "bfloat16"};
  const Made right = make(kind, {1, 8, 64, 64}, 3);
  Made wrong = make(kind, {1, 8, 64, 64}, 3);
  wrong.c.set_bits(70, wrong.c.bits_at(70) ^ 0x4000);
  const DeviceProduct product = product_of(right);
  const DeviceChecksum checksum(product, options_of(kThresholds[0]));
  const FindingsArray findings(product.c, 2);
  const auto weights = checksum.weights(right.view_b.data, nullptr);
  std::uint64_t number = 0;
  for (const Made* made : std::vector<const Made*>{&right, &wrong, &right, &wrong}) {
    checksum.start(made->view_a.data, *weights, made->c.view().data, ++number, findings.at(1));
  }
  const std::vector<ChecksumFindings> found = findings.fetch();
  EXPECT_EQ(found[0].flagged, 0);
  EXPECT_EQ(found[1].flagged, 2);
  EXPECT_EQ(found[1].first_call, 2u);
  EXPECT_EQ(found[1].first_row, 1);
}

TEST(DeviceChecksum, WhatIsNotCheckedIsSaid) {
  const Kind kind{"bfloat16", "bfloat16"};
  const Made made = make(kind, {1, 4, 8, 8}, 3);
  const DeviceProduct product = product_of(made);
  const auto why = [&](const std::string& threshold) {
    return why_not_on_device(product, options_of(threshold));
  };
  EXPECT_EQ(why("rounding_variance"), "kernels check whole rows only (groups=0)");
  EXPECT_EQ(why("rounding_variance,groups=0,columns=1"), "kernels check rows only (columns=0)");
  EXPECT_EQ(why("rounding_variance,groups=0,arithmetic=float32"), "kernels sum in float64 only");
  EXPECT_EQ(why("v_abft,confirm=1"), "kernels confirm no checks (confirm=0)");
  EXPECT_EQ(why("sea_abft"), "no kernel computes the threshold sea_abft");
  DeviceProduct gaps = product;
  gaps.a.layout.strides[2] = 2;
  gaps.a.layout.strides[1] = 20;
  EXPECT_EQ(why_not_on_device(gaps, options_of(kThresholds[0])),
            "neither rows nor columns of a are contiguous");
  DeviceProduct other = product;
  other.b.layout.shape = {1, 9, 8};
  EXPECT_EQ(why_not_on_device(other, options_of(kThresholds[0])),
            "[1, 4, 8] and [1, 9, 8] do not give [1, 4, 8]");
  EXPECT_EQ(error_of([&] { DeviceChecksum(gaps, options_of(kThresholds[0])); }),
            "the product cannot be checked in the memory of host:0: neither rows nor columns of a "
            "are contiguous");
}

}  // namespace
}  // namespace assay
