// Tests AmplificationNear, which passes if every difference comes from an index that another
// rounding of its coordinate would change.
#include "assay/matchers/amplification.h"

#include <cmath>
#include <vector>

#include "assay/op/deform_roi_pool.h"
#include "matchers/approved.h"

namespace assay {
namespace {

using testing::Not;

std::vector<float> looked_up(const std::vector<float>& y) {
  std::vector<float> out;
  for (const float v : y) out.push_back(static_cast<int>(v) != 0 ? 1000 : -1000);
  return out;
}

const std::vector<float> kExact = {0.25F, 1, 0.5F, 1, 3};
const std::vector<float> kRounded = {0.25F, 0.99999994F, 0.5F, 1, 3};

TEST(AmplificationNear, NamesTheElement) {
  const auto out = looked_up(kRounded), reference = looked_up(kExact);
  EXPECT_THAT(out, AmplificationNear(reference, kExact));
  EXPECT_THAT(out, AmplificationNear(reference, kRounded)) << "either side's coordinates";
  expect_approved("amplification_pass", all_texts(out, AmplificationNear(reference, kExact)));
}

TEST(AmplificationNear, ADifferenceElsewhereFails) {
  auto out = looked_up(kRounded);
  out[2] = 7;
  const auto reference = looked_up(kExact);
  EXPECT_THAT(out, Not(AmplificationNear(reference, kExact)));
  expect_approved("amplification_fail", all_texts(out, AmplificationNear(reference, kExact)));
}

// The matcher claims that there is amplification, so it does not match if nothing differs.
TEST(AmplificationNear, NothingDiffers) {
  const auto out = looked_up(kExact);
  EXPECT_THAT(out, Not(AmplificationNear(out, kExact)));
  EXPECT_THAT(std::vector<float>{},
              Not(AmplificationNear(std::vector<float>{}, std::vector<float>{})));
  expect_approved("amplification_none", all_texts(out, AmplificationNear(out, kExact)));
}

TEST(AmplificationNear, HowNearIsNear) {
  const std::vector<float> out = {1000}, reference = {-1000};
  const auto at = [](float y) { return std::vector<float>{y}; };
  const float ulp = 0x1p-23F;
  EXPECT_THAT(out, AmplificationNear(reference, at(1 + 4 * ulp)));
  EXPECT_THAT(out, Not(AmplificationNear(reference, at(1 + 5 * ulp))));
  EXPECT_THAT(out, AmplificationNear(reference, at(1 + 5 * ulp)).ulps(5));
  EXPECT_THAT(out, AmplificationNear(reference, at(-7)));
  EXPECT_THAT(out, Not(AmplificationNear(reference, at(1e-9F)))) << "int() does not change at 0";
  EXPECT_THAT(out, Not(AmplificationNear(reference, at(std::nanf("")))));
  EXPECT_THAT(out, Not(AmplificationNear(reference, at(INFINITY))));
}

TEST(AmplificationNear, Tolerances) {
  const std::vector<float> out = {1.5F}, reference = {1}, y = {2};
  EXPECT_THAT(out, AmplificationNear(reference, y));
  EXPECT_THAT(out, Not(AmplificationNear(reference, y).atol(0.5)));
  EXPECT_THAT(out, Not(AmplificationNear(reference, y).rtol(0.5)));
  EXPECT_THAT(out, AmplificationNear(reference, y).rtol(0.25).atol(0.125));
  EXPECT_THAT(std::vector<float>{std::nanf("")}, AmplificationNear(reference, y).atol(1e30));
}

TEST(AmplificationNear, SeveralCoordinatesAnElement) {
  const std::vector<float> y = {0.5F, 2, 0.5F, 0.25F};
  const std::vector<float> reference = {1, 1}, first = {5, 1}, second = {1, 5};
  EXPECT_THAT(first, AmplificationNear(reference, view(y, {2, 2})));
  EXPECT_THAT(second, Not(AmplificationNear(reference, view(y, {2, 2}))));
  EXPECT_THAT(first, Not(AmplificationNear(reference, view(y, {4}))));
  EXPECT_THAT(first, Not(AmplificationNear(std::vector<float>{1, 1, 1}, y)));
}

// Tests deform_roi_pool as a whole, with rois of whole numbers and a sample at the end of the
// image.
TEST(AmplificationNear, DeformRoiPool) {
  const Format& f32 = format_named("float32");
  std::vector<double> boxes;
  for (int start = 0; start < 256; ++start) {
    for (int size = 1; size <= 112; ++size) {
      boxes.insert(boxes.end(), {0, 0, double(start), 112, double(start + size)});
    }
  }
  Case c;
  c.name = "t";
  c.op = "deform_roi_pool";
  const auto n = static_cast<std::int64_t>(boxes.size()) / 5;
  c.inputs["input"] = Tensor::from_values(f32, {1, 1, 12, 12}, std::vector<double>(144, 1000));
  c.inputs["rois"] = Tensor::from_values(f32, {n, 5}, boxes);
  c.attributes["pooled_height"] = std::int64_t{7};
  c.attributes["pooled_width"] = std::int64_t{1};
  c.attributes["spatial_scale"] = 0.0625;
  c.attributes["sampling_ratio"] = std::int64_t{1};
  c.attributes["fused"] = std::int64_t{1};
  const Tensor fused = emulate(c, machine_named("hopper"));
  const std::vector<float> all = deform_roi_coordinates(c, true);
  const std::vector<float> y(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(n) * 7);
  c.attributes["fused"] = std::int64_t{0};
  EXPECT_THAT(emulate(c, machine_named("hopper")),
              AmplificationNear(fused, view(y, fused.shape())));
}

}  // namespace
}  // namespace assay
