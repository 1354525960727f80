// deform_roi_pool.
#include "assay/op/deform_roi_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "vector_cases.h"

namespace assay {
namespace {

using cases::error_of;
using cases::on;
using cases::operation;
using cases::random_tensor;
using cases::values;
using testing::HasSubstr;

Case pool(Tensor input, Tensor rois, std::int64_t ph, std::int64_t pw) {
  return operation("deform_roi_pool", {{"input", std::move(input)}, {"rois", std::move(rois)}},
                   {{"pooled_height", ph}, {"pooled_width", pw}});
}

Case random_case(const char* dtype, std::int64_t rois, std::uint64_t stream) {
  Random random(90, stream);
  std::vector<double> boxes, offsets;
  for (std::int64_t i = 0; i < rois; ++i) {
    boxes.push_back(static_cast<double>(random.below(2)));
    const double x = random.uniform() * 200, y = random.uniform() * 150;
    boxes.insert(boxes.end(),
                 {x, y, x + 20 + random.uniform() * 150, y + 10 + random.uniform() * 99});
  }
  for (std::int64_t i = 0; i < rois * 2 * 49; ++i) offsets.push_back(2 * random.uniform() - 1);
  Case c =
      pool(random_tensor(dtype, {2, 3, 15, 20}, stream), values("float32", {rois, 5}, boxes), 7, 7);
  c.inputs["offset"] = values("float32", {rois, 2, 7, 7}, offsets);
  c.attributes["spatial_scale"] = 1.0 / 16;
  return c;
}

// The case of mmcv's own test: a 2 x 2 image with one roi over it.
TEST(DeformRoiPoolTest, KnownCase) {
  for (const char* machine : {"exact", "hopper", "ascend910b", "cpu_mul_add"}) {
    for (const char* dtype : {"float32", "float16"}) {
      Case c = pool(values(dtype, {1, 1, 2, 2}, {1, 2, 3, 4}),
                    values(dtype, {1, 5}, {0, 0, 0, 1, 1}), 2, 2);
      c.attributes["sampling_ratio"] = std::int64_t{2};
      EXPECT_EQ(on(machine, c), (std::vector<double>{1, 1.25, 1.5, 1.75})) << machine;
      c.inputs["offset"] = values(dtype, {1, 2, 2, 2}, std::vector<double>(8, 0));
      EXPECT_EQ(on(machine, c), (std::vector<double>{1, 1.25, 1.5, 1.75})) << machine;
    }
  }
}

// Computes the formula a second time, one sample at a time, in long double.
double by_formula(const Case& c, std::int64_t roi, std::int64_t channel, std::int64_t ph,
                  std::int64_t pw) {
  using Real = long double;
  const auto at = [&](const char* name, std::int64_t i) {
    return static_cast<Real>(c.input(name).view().value_at(i));
  };
  const Shape& shape = c.input("input").shape();
  const std::int64_t channels = shape[1], H = shape[2], W = shape[3];
  const Real scale = c.real("spatial_scale").value_or(1), gamma = c.real("gamma").value_or(0.1);
  const std::int64_t PH = *c.integer("pooled_height"), PW = *c.integer("pooled_width");
  Real sw = at("rois", roi * 5 + 1) * scale - 0.5L, sh = at("rois", roi * 5 + 2) * scale - 0.5L;
  const Real rw = at("rois", roi * 5 + 3) * scale - 0.5L - sw,
             rh = at("rois", roi * 5 + 4) * scale - 0.5L - sh, bw = rw / PW, bh = rh / PH;
  const std::int64_t ratio = c.integer("sampling_ratio").value_or(0);
  const std::int64_t gh = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(rh / PH)),
                     gw = ratio > 0 ? ratio : static_cast<std::int64_t>(std::ceil(rw / PW));
  sw += gamma * rw * at("offset", ((roi * 2 + 0) * PH + ph) * PW + pw);
  sh += gamma * rh * at("offset", ((roi * 2 + 1) * PH + ph) * PW + pw);
  const auto image = static_cast<std::int64_t>(at("rois", roi * 5));
  Real sum = 0;
  for (std::int64_t iy = 0; iy < gh; ++iy) {
    for (std::int64_t ix = 0; ix < gw; ++ix) {
      Real y = sh + ph * bh + (iy + 0.5L) * bh / gh, x = sw + pw * bw + (ix + 0.5L) * bw / gw;
      if (y < -1 || y > H || x < -1 || x > W) continue;
      y = std::max(y, Real{0});
      x = std::max(x, Real{0});
      auto yl = static_cast<std::int64_t>(y), xl = static_cast<std::int64_t>(x);
      std::int64_t yh = yl + 1, xh = xl + 1;
      if (yl >= H - 1) y = yl = yh = H - 1;
      if (xl >= W - 1) x = xl = xh = W - 1;
      const auto v = [&](std::int64_t i, std::int64_t j) {
        return at("input", ((image * channels + channel) * H + i) * W + j);
      };
      const Real ly = y - yl, lx = x - xl;
      sum += (1 - ly) * (1 - lx) * v(yl, xl) + (1 - ly) * lx * v(yl, xh) +
             ly * (1 - lx) * v(yh, xl) + ly * lx * v(yh, xh);
    }
  }
  return static_cast<double>(sum / static_cast<Real>(std::max<std::int64_t>(gh * gw, 1)));
}

TEST(DeformRoiPoolTest, GoldenIsTheFormula) {
  for (const std::int64_t ratio : {0, 2, 3}) {
    Case c = random_case("float32", 12, 3);
    c.attributes["sampling_ratio"] = ratio;
    const auto golden = golden_result(c).view().values();
    int zeros = 0;
    for (std::int64_t i = 0; i < static_cast<std::int64_t>(golden.size()); ++i) {
      const double expected = by_formula(c, i / 147, i / 49 % 3, i / 7 % 7, i % 7);
      ASSERT_NEAR(golden[static_cast<std::size_t>(i)], expected, 1e-13) << i;
      zeros += expected == 0 ? 1 : 0;
    }
    EXPECT_LT(zeros, 12 * 147 / 2);
  }
}

TEST(DeformRoiPoolTest, MeetsItsTolerance) {
  for (const char* dtype : {"float32", "float16"}) {
    for (std::uint64_t stream = 1; stream <= 5; ++stream) {
      Case c = random_case(dtype, 20, stream);
      c.attributes["sampling_ratio"] = std::int64_t{2};
      for (const std::int64_t fused : {0, 1}) {
        c.attributes["fused"] = fused;
        EXPECT_EQ(cases::outside_tolerance(c, "hopper"), 0) << dtype << " " << stream;
      }
      const DerivedTolerance t = derived_tolerance(c);
      EXPECT_LT(t.atol, 2e-3);
      EXPECT_THAT(t.why, HasSubstr("atol: coordinates off by at most"));
    }
  }
}

// No tolerance can be promised if a sample may jump to 0.
TEST(DeformRoiPoolTest, NoToleranceAtAnEdge) {
  // The only sample is the middle of a roi from -1 to 0, moved up by half a pixel, so that it lies
  // on the edge y = -1.
  Case c = pool(values("float32", {1, 1, 2, 2}, {1, 2, 3, 4}),
                values("float32", {1, 5}, {0, 0, -1, 1, 0}), 1, 1);
  c.attributes["sampling_ratio"] = std::int64_t{1};
  EXPECT_EQ(deform_roi_coordinates(c, true), (std::vector<float>{-1, 0}));
  EXPECT_EQ(on("hopper", c), std::vector<double>{1});
  EXPECT_EQ(
      error_of([&] { derived_tolerance(c); }),
      "case t: deform_roi_pool: no tolerance can be derived: float32 may find a sample of roi "
      "0 on the other side of an edge");
}

TEST(DeformRoiPoolTest, EdgesAndEmptyRegions) {
  Case c =
      pool(values("float32", {1, 1, 2, 2}, {1, 2, 3, 4}),
           values("float32", {3, 5}, {0, 0, -1.25, 1, -0.25, 0, 0, 5, 1, 9, 0, 3, 3, 1, 1}), 1, 1);
  for (const char* machine : {"exact", "hopper"}) {
    c.attributes["sampling_ratio"] = std::int64_t{1};
    // The samples lie at y = -1.25, at y = 6.5, and in the middle of a reversed roi.
    EXPECT_EQ(on(machine, c), (std::vector<double>{0, 0, 4})) << machine;
    c.attributes["sampling_ratio"] = std::int64_t{0};
    EXPECT_EQ(on(machine, c), (std::vector<double>{0, 0, 0})) << machine;
  }
}

// Fused and separate multiply-adds give different coordinates at some sites, because float32 does
// not hold 1/3.
TEST(DeformRoiPoolTest, FusedChangesCoordinates) {
  Case c = random_case("float32", 50, 9);
  c.attributes["sampling_ratio"] = std::int64_t{2};
  const auto one = deform_roi_coordinates(c, true), two = deform_roi_coordinates(c, false);
  ASSERT_EQ(one.size(), two.size());
  ASSERT_EQ(one.size(), 2u * 50 * 49 * 2);
  int differ = 0;
  for (std::size_t i = 0; i < one.size(); ++i) {
    differ += one[i] != two[i] ? 1 : 0;
    ASSERT_NEAR(one[i], two[i], 4e-6);
  }
  EXPECT_GT(differ, 100);
  c.attributes["fused"] = std::int64_t{1};
  const auto fused = on("cpu_mul_add", c);
  EXPECT_EQ(fused, on("hopper", c));
  c.attributes["fused"] = std::int64_t{0};
  EXPECT_NE(fused, on("hopper", c));
}

TEST(DeformRoiPoolTest, ThreadsDoNotMatter) {
  const Case c = random_case("float32", 20, 2);
  EXPECT_EQ(emulate(c, machine_named("hopper"), 1).view().values(),
            emulate(c, machine_named("hopper"), 3).view().values());
}

TEST(DeformRoiPoolTest, RefusesByName) {
  const auto error = [](const Case& c) { return error_of([&] { golden_result(c); }); };
  const Case good = random_case("float32", 2, 1);
  Case c = good;
  c.inputs["input"] = values("float32", {0, 3, 4, 4}, {});
  EXPECT_EQ(error(c),
            "case t: deform_roi_pool: input has the shape [0, 3, 4, 4], but it must be (N, C, H, "
            "W) without a 0");
  c = good;
  c.inputs["rois"] = values("float32", {0, 5}, {});
  EXPECT_EQ(error(c),
            "case t: deform_roi_pool: rois has the shape [0, 5], but it must be (n, 5) with at "
            "least one roi");
  c = good;
  c.inputs["rois"] = values("float32", {2, 4}, std::vector<double>(8, 1));
  EXPECT_THAT(error(c), HasSubstr("rois has the shape [2, 4], but it must be (n, 5)"));
  c = good;
  c.inputs["offset"] = values("float32", {2, 2, 7, 6}, std::vector<double>(168, 0));
  EXPECT_EQ(error(c), "case t: deform_roi_pool: offset is [2, 2, 7, 6]; 2 rois need [2, 2, 7, 7]");
  c = good;
  c.inputs["rois"] = values("float32", {2, 5}, {0, 1, 1, 2, 2, 2, 1, 1, 2, 2});
  EXPECT_EQ(error(c),
            "case t: deform_roi_pool: roi 1 is of image 2, but the batch has only 2 images");
  c.inputs["rois"] = values("float32", {2, 5}, {0, 1, 1, 2, std::nan(""), 0, 1, 1, 2, 2});
  EXPECT_EQ(error(c), "case t: deform_roi_pool: rois holds NaN or infinity");
  c.inputs["rois"] = values("float32", {2, 5}, {0, 1, 1, 2, 1e30, 0, 1, 1, 2, 2});
  EXPECT_THAT(error(c), HasSubstr("samples along one side of a bin, more than 1048576"));
  c.inputs["rois"] = values("float32", {2, 5}, {0, 1, 1, 200000, 200000, 0, 1, 1, 2, 2});
  EXPECT_THAT(error(c), HasSubstr("samples a bin, more than 1048576"));
  c = good;
  c.inputs["input"] = random_tensor("bfloat16", {2, 3, 4, 4}, 1);
  EXPECT_EQ(error(c),
            "case t: deform_roi_pool: input is bfloat16, but it must be float32 or float16");
  c = good;
  c.attributes.erase("pooled_width");
  EXPECT_EQ(error(c),
            "case t: deform_roi_pool needs the attribute pooled_width: PW, the number of bins of a "
            "region along w");
  c.attributes["pooled_width"] = std::int64_t{0};
  EXPECT_EQ(error(c), "case t: pooled_width is 0, below 1");
  c = good;
  c.attributes["gamma"] = 1e300;
  EXPECT_EQ(error(c), "case t: deform_roi_pool: gamma is not finite");
}

}  // namespace
}  // namespace assay
