#include "assay/op/roi_inputs.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/op/parameter.h"

namespace assay::inline v0_2 {
namespace {

// The corners of regions along a side of `extent` pixels are whole numbers up to `end`, at most
// `apart` from each other. `apart` gives one or two samples a bin, because more of the samples then
// fall near whole pixels than with many.
struct SampleReach {
  std::int64_t end, apart;
};
SampleReach reach_of(const Recipe& recipe, const Case& c, std::int64_t extent, const char* bins) {
  const double scale = number_of(c, "spatial_scale");
  // Above this, the dtype cannot hold all whole numbers.
  const double most = std::ldexp(1.0, std::min(recipe.dtype->precision, 31));
  const double reach = scale > 0 ? std::floor(static_cast<double>(extent) / scale) : 0;
  if (!(reach >= 1)) {
    refuse(
        "deform_roi_pool: at spatial_scale {} an image of {} pixels holds no region of whole "
        "numbers; give rois a distribution",
        number_text(scale), extent);
  }
  const double end = std::min(reach, most);
  const double two = std::ceil(2 * static_cast<double>(integer_of(c, bins)) / scale);
  return {static_cast<std::int64_t>(end), static_cast<std::int64_t>(std::clamp(two, 1.0, end))};
}

}  // namespace

void generate_deform_roi_pool(const Recipe& recipe, Case& c) {
  check_sizes(recipe, c, 5, 5, "sizes N,C,H,W,n of at least 1");
  const std::vector<std::int64_t>& sizes = recipe.sizes;
  const std::int64_t images = sizes[0], rois = sizes[4];
  if (std::ranges::any_of(sizes, [](std::int64_t size) { return size < 1; })) {
    refuse_case(c.name, "the sizes N,C,H,W,n are {}; all must be at least 1", shape_text(sizes));
  }
  c.inputs["input"] =
      recipe.draw_input("input", *recipe.dtype, {images, sizes[1], sizes[2], sizes[3]});
  std::vector<double> boxes(static_cast<std::size_t>(rois * 5));
  std::map<std::string, InputRule> rules;
  if (recipe.names("rois")) {
    boxes = recipe.draw_input("rois", *recipe.dtype, {rois, 5}).view().values();
    rules["rois"] = {true, "corners in order, of each image in turn"};
  } else {
    const SampleReach reach[] = {reach_of(recipe, c, sizes[3], "pooled_width"),
                                 reach_of(recipe, c, sizes[2], "pooled_height")};
    Random random(recipe.seed, stream_of("rois"));
    for (std::int64_t roi = 0; roi < rois; ++roi) {
      for (std::int64_t d = 0; d < 2; ++d) {
        const std::int64_t end = reach[d].end;
        const std::int64_t low = random.index_below(end);
        const std::int64_t room = std::min(end - low, reach[d].apart);
        const std::int64_t high = low + 1 + random.index_below(room);
        boxes[static_cast<std::size_t>(roi * 5 + 1 + d)] = static_cast<double>(low);
        boxes[static_cast<std::size_t>(roi * 5 + 3 + d)] = static_cast<double>(high);
      }
    }
    rules["rois"] = {false, "whole numbers inside the image, of each image in turn"};
  }
  for (std::int64_t roi = 0; roi < rois; ++roi) {
    double* box = boxes.data() + roi * 5;
    box[0] = static_cast<double>(roi % images);
    for (const int d : {1, 2}) {
      if (box[d] > box[d + 2]) std::swap(box[d], box[d + 2]);
    }
  }
  c.inputs["rois"] = Tensor::from_values(*recipe.dtype, {rois, 5}, boxes);
  if (recipe.names("offset")) {
    c.inputs["offset"] =
        recipe.draw_input("offset", *recipe.dtype,
                          {rois, 2, integer_of(c, "pooled_height"), integer_of(c, "pooled_width")});
  }
  describe_inputs(recipe, c, rules);
}

}  // namespace assay
