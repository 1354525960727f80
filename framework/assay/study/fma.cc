#include "assay/study/fma.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "assay/base/float_environment.h"
#include "assay/base/random.h"
#include "assay/base/text.h"
#include "assay/op/deform_roi_pool.h"

namespace assay::inline v0_2::study {
namespace {

float two_roundings(float a, float x, float b) {
  const float product = a * x;
  return product + b;
}

// Returns the error of y in ulps of the exact value a x + b. The caller computes this value in
// float64, which holds a x exactly and its sum with b with a relative error of 2^-53.
double ulps_off(float y, double exact) {
  return std::abs(static_cast<double>(y) - exact) / ulp_of(format_named("float32"), exact);
}

// Returns the number with nine digits, which are enough to distinguish all float32 values.
std::string exactly(float v) { return short_number(static_cast<double>(v), 9); }

// A way to choose b, given the product a x rounded to float32.
struct Addend {
  const char* text;
  float (*draw)(Random&, float product);
};
constexpr Addend kAddends[] = {
    {.text = "normal", .draw = [](Random& r, float) { return static_cast<float>(r.normal()); }},
    {.text = "within 2^-8 of -a x",
     .draw = [](Random& r,
                float p) { return -p * static_cast<float>(1 + (r.uniform() - 0.5) * 0x1p-7); }},
    {.text = "-a x, rounded", .draw = [](Random&, float p) { return -p; }},
};

// Draws random sums a x + b. Counts how often one rounding and two roundings differ, and measures
// the distance of each from the exact value.

void errors(const StudyOptions& options, StudyResult& result) {
  const std::int64_t samples = options.repeats > 0 ? options.repeats : 100000;
  StudyTable table{.name = "errors",
                   .title = "Error of a x + b in float32, in ulps of the exact value",
                   .columns = {"b", "samples", "results that differ", "one rounding: mean",
                               "one: largest", "two roundings: mean", "two: largest"}};
  std::vector<double> one_ulps, two_ulps;
  double worst_one = 0, worst_two = 0;
  for (std::size_t kind = 0; kind < std::size(kAddends); ++kind) {
    Random random(options.seed, 100 + kind);
    std::int64_t differ = 0, counted = 0;
    double one_sum = 0, two_sum = 0, one_most = 0, two_most = 0;
    for (std::int64_t i = 0; i < samples; ++i) {
      const auto a = static_cast<float>(random.normal()), x = static_cast<float>(random.normal());
      const float b = kAddends[kind].draw(random, a * x);
      const float one = std::fma(a, x, b), two = two_roundings(a, x, b);
      const double exact = static_cast<double>(a) * static_cast<double>(x) + static_cast<double>(b);
      differ += one != two ? 1 : 0;
      if (exact == 0) continue;
      const double e1 = ulps_off(one, exact), e2 = ulps_off(two, exact);
      ++counted;
      one_sum += e1;
      two_sum += e2;
      one_most = std::max(one_most, e1);
      two_most = std::max(two_most, e2);
      if (kind == 0) {
        one_ulps.push_back(e1);
        two_ulps.push_back(e2);
      }
    }
    const auto n = static_cast<double>(std::max<std::int64_t>(counted, 1));
    table.add({std::string(kAddends[kind].text), samples,
               static_cast<double>(differ) / static_cast<double>(samples), one_sum / n, one_most,
               two_sum / n, two_most});
    worst_one = std::max(worst_one, one_most);
    worst_two = std::max(worst_two, two_most);
  }
  result.tables.push_back(std::move(table));
  result.found(worst_one <= 0.5 + 1e-6,
               "one rounding is never more than half an ulp off (largest {})", worst_one);
  result.found(worst_two > 1e4,
               "two roundings lose all digits where the sum cancels (largest {} ulps)", worst_two);
  result.charts.push_back({.name = "errors",
                           .title = "Error of a x + b, b normal",
                           .x_label = "ulps of the exact value (the last bar: and more)",
                           .y_label = "results",
                           .kind = ChartKind::kBars,
                           .log_y = true,
                           .series = {histogram("one rounding", one_ulps, 0, 2, 40),
                                      histogram("two roundings", two_ulps, 0, 2, 40)}});
}

constexpr double kTable[] = {-1000, 1000};
double looked_up(float y) { return kTable[static_cast<int>(y) != 0 ? 1 : 0]; }

// Tries all y = a x + b near 1 in which a is a whole number up to 64 and x, in float32, a tenth of
// a whole number up to 1000. Looks for those whose integer part depends on the second rounding.
void indices(StudyResult& result) {
  StudyTable table{
      .name = "indices",
      .title =
          "An index computed from y, table[int(y)] of {-1000, 1000}: the published example, then "
          "the first inputs y = a x + b that flip int(y) by a second rounding",
      .columns = {"a", "x", "b", "y, one rounding", "y, two roundings", "int(y), one",
                  "int(y), two", "difference"}};
  const float below = 0.999998f;
  const double jump = std::abs(looked_up(1.0f) - looked_up(below));
  table.add({1.0, exactly(below), exactly(0), exactly(below), exactly(1),
             static_cast<std::int64_t>(below), std::int64_t{1}, jump});
  std::int64_t tried = 0, flips = 0;
  double largest = 0;
  for (int step = 1; step <= 64; ++step) {
    for (int tenth = 1; tenth <= 1000; ++tenth) {
      const auto a = static_cast<float>(step);
      const float x = static_cast<float>(tenth) * 0.1f, b = 1.0f - std::round(a * x);
      const float one = std::fma(a, x, b), two = two_roundings(a, x, b);
      ++tried;
      if (static_cast<int>(one) == static_cast<int>(two)) continue;
      ++flips;
      const double difference = std::abs(looked_up(one) - looked_up(two));
      largest = std::max(largest, difference);
      if (flips > 10) continue;
      table.add({static_cast<double>(a), exactly(x), exactly(b), exactly(one), exactly(two),
                 static_cast<std::int64_t>(one), static_cast<std::int64_t>(two), difference});
    }
  }
  result.tables.push_back(std::move(table));
  result.found(jump == 2000, "0.999998 in place of 1 is 2e-6 off, and {} off behind an index",
               number_text(jump));
  result.found(
      flips > 1000 && largest == 2000,
      "{} of {} inputs a x + b flip int(y) by their second rounding, {} off behind the index",
      flips, tried, number_text(largest));
}

// Returns a deform_roi_pool of an image of side x side pixels. A box is image, x1, y1, x2, y2.
Case pool_of(const std::vector<double>& boxes, const std::vector<double>& pixels, std::int64_t side,
             std::int64_t pooled_width) {
  const Format& f32 = format_named("float32");
  Case c;
  c.name = "study";
  c.op = "deform_roi_pool";
  c.inputs["input"] = Tensor::from_values(f32, {1, 1, side, side}, pixels);
  c.inputs["rois"] = Tensor::from_values(f32, {std::ssize(boxes) / 5, 5}, boxes);
  c.attributes["pooled_height"] = std::int64_t{7};
  c.attributes["pooled_width"] = pooled_width;
  c.attributes["spatial_scale"] = 0.0625;
  return c;
}

// Returns a case of deform_roi_pool with random boxes, or with boxes whose corners are whole
// numbers. The image has 16 x 16 pixels near 1000.
Case pool_case(const StudyOptions& options, bool on_grid, bool with_offset, std::int64_t rois) {
  Random random(options.seed, on_grid ? 201 : 200);
  std::vector<double> boxes, offsets, pixels(256);
  for (std::int64_t i = 0; i < rois; ++i) {
    double box[4];
    for (int d = 0; d < 2; ++d) {
      double low = random.uniform() * 384, high = random.uniform() * 384;
      if (high < low) std::swap(low, high);
      box[d] = on_grid ? std::floor(low) : low;
      box[2 + d] = on_grid ? std::floor(high) + 1 : high;
    }
    boxes.insert(boxes.end(), {0, box[0], box[1], box[2], box[3]});
  }
  for (std::int64_t i = 0; i < rois * 98; ++i) offsets.push_back(random.uniform() - 0.5);
  for (double& v : pixels) v = 1000 + 10 * random.normal();
  Case c = pool_of(boxes, pixels, 16, 7);
  if (with_offset) {
    c.inputs["offset"] = Tensor::from_values(format_named("float32"), {rois, 2, 7, 7}, offsets);
  }
  return c;
}

// Returns the largest difference of the results with one rounding and with two roundings.
double largest_difference(Case c, const StudyOptions& options) {
  std::vector<double> results[2];
  for (const std::int64_t fused : {0, 1}) {
    c.attributes["fused"] = fused;
    results[fused] = emulate(c, machine_named("hopper"), options.threads).view().values();
  }
  double most = 0;
  for (std::size_t i = 0; i < results[0].size(); ++i) {
    most = std::max(most, std::abs(results[1][i] - results[0][i]));
  }
  return most;
}

// Tries all boxes whose corners y1 and y2 are whole numbers, with y1 below 256 and a height of at
// most 256. Counts the samples whose integer part of y depends on the second rounding. Also counts
// the samples that this rounding moves over the end of an image that is 12 pixels high.
void edges(const StudyOptions& options, StudyResult& result) {
  constexpr std::int64_t kStarts = 256, kSizes = 256, kSide = 12;
  StudyTable table{.name = "edges",
                   // The title contains the number of boxes that were found, so it is set below.
                   .title = "",
                   .columns = {"y1", "y2", "bin", "sample", "y, one rounding", "y, two roundings"}};
  const std::vector<double> pixels(kSide * kSide, 1000.0);
  std::vector<double> at_edge;
  std::int64_t coordinates = 0, flips = 0;
  for (std::int64_t size = 1; size <= kSizes; ++size) {
    std::vector<double> boxes;
    for (std::int64_t start = 0; start < kStarts; ++start) {
      boxes.insert(boxes.end(),
                   {0, 0, static_cast<double>(start), 112, static_cast<double>(start + size)});
    }
    const Case c = pool_of(boxes, pixels, kSide, 1);
    const std::vector<float> one = deform_roi_coordinates(c, true),
                             two = deform_roi_coordinates(c, false);
    // deform_roi_coordinates() returns the coordinates y first: for each box 7 bins of `samples`
    // samples. The coordinates x follow, with one sample in each bin, and are not used.
    const std::int64_t samples = (size + 111) / 112, count = kStarts * 7 * samples;
    coordinates += count;
    for (std::int64_t i = 0; i < count; ++i) {
      const float y1 = one[static_cast<std::size_t>(i)], y2 = two[static_cast<std::size_t>(i)];
      const std::int64_t roi = i / (7 * samples);
      const double* box = boxes.data() + 5 * roi;
      if ((y1 > kSide) != (y2 > kSide)) at_edge.insert(at_edge.end(), box, box + 5);
      if (static_cast<int>(y1) == static_cast<int>(y2)) continue;
      ++flips;
      if (flips > 10) continue;
      table.add({box[2], box[4], i / samples % 7, i % samples, exactly(y1), exactly(y2)});
    }
  }
  table.title = formatted(
      "deform_roi_pool: {} of all {} coordinates y of rois of whole numbers (y1 below 256, up to "
      "256 high, P = 7, scale 1/16) have another integer part; the first ten",
      flips, coordinates);
  result.tables.push_back(std::move(table));
  double most = 0;
  if (!at_edge.empty()) {
    most = largest_difference(pool_of(at_edge, pixels, kSide, 1), options);
  }
  const double in_a_million = 1e6 * static_cast<double>(flips) / static_cast<double>(coordinates);
  result.found(in_a_million > 20 && in_a_million < 400,
               "of all rois of whole numbers {} in a million coordinates flip", in_a_million);
  result.found(most >= 300,
               "bilinear samples hide a flip, but at the image's end, where they become 0: of an "
               "image of 1000s {} rois then differ by up to {}",
               at_edge.size() / 5, most);
}

// Compares the coordinates and the results of 20 000 boxes of each kind, with one rounding and with
// two roundings.
void pooling(const StudyOptions& options, StudyResult& result) {
  StudyTable table{
      .name = "deform_roi_pool",
      .title =
          "deform_roi_pool, one rounding against two (P = 7, scale 1/16, pixels near 1000 in a 16 "
          "x 16 image)",
      .columns = {"rois", "coordinates", "that differ", "integer parts flipped, in a million",
                  "outputs", "largest difference"}};
  const struct {
    const char* text;
    bool on_grid, with_offset;
  } kinds[] = {
      {.text = "random", .on_grid = false, .with_offset = false},
      {.text = "random, with offsets", .on_grid = false, .with_offset = true},
      {.text = "integers", .on_grid = true, .with_offset = false},
      {.text = "integers, with offsets", .on_grid = true, .with_offset = true},
  };
  constexpr std::int64_t kRois = 20000;
  double lowest = 1, highest = 0, random_flips = 0, grid_flips = 0;
  for (const auto& kind : kinds) {
    const Case c = pool_case(options, kind.on_grid, kind.with_offset, kRois);
    const std::vector<float> one = deform_roi_coordinates(c, true),
                             two = deform_roi_coordinates(c, false);
    std::int64_t differ = 0, flips = 0;
    for (std::size_t i = 0; i < one.size(); ++i) {
      differ += one[i] != two[i] ? 1 : 0;
      flips += static_cast<int>(one[i]) != static_cast<int>(two[i]) ? 1 : 0;
    }
    const double most = largest_difference(c, options);
    const auto n = static_cast<double>(one.size());
    const double share = static_cast<double>(differ) / n,
                 flipped = 1e6 * static_cast<double>(flips) / n;
    table.add({std::string(kind.text), std::ssize(one), share, flipped, kRois * 49, most});
    lowest = std::min(lowest, share);
    highest = std::max(highest, share);
    if (!kind.on_grid) random_flips = std::max(random_flips, flipped);
    if (kind.on_grid && !kind.with_offset) grid_flips = flipped;
  }
  result.tables.push_back(std::move(table));
  result.found(lowest > 0.02 && highest < 0.12,
               "{} to {} percent of deform_roi_pool's coordinates differ", 100 * lowest,
               100 * highest);
  result.found(grid_flips > 50 && grid_flips < 250 && random_flips < 5,
               "integer parts flip for integer rois ({} in a million), hardly for random ones ({})",
               grid_flips, random_flips);
}

}  // namespace

StudyResult study_fma(const StudyOptions& options) {
  const FloatEnvironment environment;
  StudyResult result{.name = "fma",
                     .question =
                         "How much does a second rounding of a * x + b change, and what becomes of "
                         "it behind an index?"};
  errors(options, result);
  indices(result);
  pooling(options, result);
  edges(options, result);
  return result;
}

}  // namespace assay::study
