#include "assay/op/deform_roi_pool.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "assay/base/index.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/op/roi_inputs.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::int64_t kMostSamples = 1 << 20;  // of one bin

[[noreturn]] void refuse(const Case& c, const std::string& what) {
  refuse_case(c.name, "deform_roi_pool: {}", what);
}

// The case's operands and parameters, checked.
struct Pool {
  std::int64_t batch, channels, height, width, rois, pooled_height, pooled_width, sampling_ratio;
  double scale, gamma;  // a kernel reads these two numbers in float32
  std::vector<double> boxes, shifts;

  // Extents of one region along a dimension d. d = 0 is the width, and d = 1 is the height.
  double low(std::int64_t roi, int d) const { return box(roi, 1 + d); }
  double high(std::int64_t roi, int d) const { return box(roi, 3 + d); }
  std::int64_t bins(int d) const { return d == 0 ? pooled_width : pooled_height; }
  std::int64_t extent(int d) const { return d == 0 ? width : height; }
  double shift(std::int64_t roi, int d, std::int64_t ph, std::int64_t pw) const {
    if (shifts.empty()) return 0;
    return shifts[at(((roi * 2 + d) * pooled_height + ph) * pooled_width + pw)];
  }
  double box(std::int64_t roi, int column) const { return boxes[at(roi * 5 + column)]; }
};

double parameter(const Case& c, const char* name) {
  const double value = number_of(c, name);
  if (!std::isfinite(static_cast<float>(value))) refuse(c, formatted("{} is not finite", name));
  return value;
}

std::vector<double> finite(const Case& c, const char* name) {
  std::vector<double> values = c.input(name).view().values();
  for (const double v : values) {
    if (!std::isfinite(v)) refuse(c, formatted("{} holds NaN or infinity", name));
  }
  return values;
}

Pool pool_of(const Case& c) {
  const Tensor &input = c.input("input"), &rois = c.input("rois");
  const bool has_offset = c.inputs.count("offset") != 0;
  for (const char* name : {"input", "rois", "offset"}) {
    if (std::string(name) == "offset" && !has_offset) continue;
    const Format& f = c.input(name).format();
    if (f.name != "float32" && f.name != "float16") {
      refuse(c, formatted("{} is {}, but it must be float32 or float16", name, f.name));
    }
  }
  if (!output_format(c).is_float()) {
    refuse(c, formatted("output_dtype is {}, but it must be a float dtype", output_format(c).name));
  }
  if (input.shape().size() != 4 || input.size() == 0) {
    refuse(c, formatted("input has the shape {}, but it must be (N, C, H, W) without a 0",
                        shape_text(input.shape())));
  }
  if (rois.shape().size() != 2 || rois.shape()[1] != 5 || rois.shape()[0] == 0) {
    refuse(c, formatted("rois has the shape {}, but it must be (n, 5) with at least one roi",
                        shape_text(rois.shape())));
  }
  Pool p{input.shape()[0],
         input.shape()[1],
         input.shape()[2],
         input.shape()[3],
         rois.shape()[0],
         integer_of(c, "pooled_height"),
         integer_of(c, "pooled_width"),
         integer_of(c, "sampling_ratio"),
         parameter(c, "spatial_scale"),
         parameter(c, "gamma"),
         finite(c, "rois"),
         {}};
  if (has_offset) {
    const Shape wanted = {p.rois, 2, p.pooled_height, p.pooled_width};
    if (c.input("offset").shape() != wanted) {
      refuse(c, formatted("offset is {}; {} rois need {}", shape_text(c.input("offset").shape()),
                          p.rois, shape_text(wanted)));
    }
    p.shifts = finite(c, "offset");
  }
  for (std::int64_t roi = 0; roi < p.rois; ++roi) {
    const double index = p.box(roi, 0);
    if (index != std::floor(index) || index < 0 || index >= static_cast<double>(p.batch)) {
      refuse(c, formatted("roi {} is of image {}, but the batch has only {} images", roi,
                          number_text(index), p.batch));
    }
  }
  return p;
}

// The extent of one region along one dimension, computed in the arithmetic of Real.
template <typename Real>
struct RoiExtent {
  Real start, size, bin;
  std::int64_t samples;  // of a bin
};

template <typename Real>
RoiExtent<Real> extent_of(const Case& c, const Pool& p, std::int64_t roi, int d) {
  const auto scale = static_cast<Real>(p.scale), half = static_cast<Real>(0.5);
  const Real start = static_cast<Real>(p.low(roi, d)) * scale - half;
  const Real end = static_cast<Real>(p.high(roi, d)) * scale - half;
  RoiExtent<Real> s{start, end - start, (end - start) / static_cast<Real>(p.bins(d)),
                    p.sampling_ratio};
  if (p.sampling_ratio <= 0) {
    const Real count = std::ceil(s.bin);
    if (!(count <= static_cast<Real>(kMostSamples))) {
      refuse(c, formatted("roi {} takes {} samples along one side of a bin, more than {}", roi,
                          number_text(static_cast<double>(count)), kMostSamples));
    }
    s.samples = std::max<std::int64_t>(static_cast<std::int64_t>(count), 0);
  }
  return s;
}

void limit_samples(const Case& c, std::int64_t roi, std::int64_t a, std::int64_t b) {
  if (b > 0 && a > kMostSamples / b) {
    refuse(c,
           formatted("roi {} takes {} x {} samples a bin, more than {}", roi, a, b, kMostSamples));
  }
}

// Appends the float32 coordinates of a bin's samples along one dimension.
void coordinates(const Pool& p, const RoiExtent<float>& s, std::int64_t bin, double shift,
                 bool fused, std::vector<float>& to) {
  const auto offset = static_cast<float>(shift);
  const float reach = static_cast<float>(p.gamma) * s.size;
  float start = s.start;
  if (!p.shifts.empty()) start = fused ? std::fma(reach, offset, start) : start + reach * offset;
  const auto index = static_cast<float>(bin);
  const float first = fused ? std::fma(index, s.bin, start) : start + index * s.bin;
  for (std::int64_t i = 0; i < s.samples; ++i) {
    to.push_back(first + (static_cast<float>(i) + 0.5f) * s.bin / static_cast<float>(s.samples));
  }
}

// A coordinate between the pixels `low` and `high`.
struct Between {
  std::int64_t low = 0, high = 0;
  float to_high = 0, to_low = 0;  // distances of the coordinate from `low` and from `high`
  bool inside = false;
};

Between between(float y, std::int64_t extent) {
  Between b{.inside = y >= -1.0f && y <= static_cast<float>(extent)};
  if (!b.inside) return b;
  if (y < 0) y = 0;
  b.low = static_cast<std::int64_t>(y);
  if (b.low >= extent - 1) {
    b.low = b.high = extent - 1;
    y = static_cast<float>(b.low);
  } else {
    b.high = b.low + 1;
  }
  b.to_high = y - static_cast<float>(b.low);
  b.to_low = 1.0f - b.to_high;
  return b;
}

void emulate_roi(const Case& c, const Pool& p, std::int64_t roi, bool fused,
                 const std::vector<double>& image, std::vector<double>& out) {
  const RoiExtent<float> w = extent_of<float>(c, p, roi, 0), h = extent_of<float>(c, p, roi, 1);
  limit_samples(c, roi, h.samples, w.samples);
  const auto count = static_cast<float>(std::max<std::int64_t>(h.samples * w.samples, 1));
  std::vector<float> ys, xs;
  std::vector<Between> columns;
  for (std::int64_t ph = 0; ph < p.pooled_height; ++ph) {
    for (std::int64_t pw = 0; pw < p.pooled_width; ++pw) {
      ys.clear();
      xs.clear();
      columns.clear();
      coordinates(p, h, ph, p.shift(roi, 1, ph, pw), fused, ys);
      coordinates(p, w, pw, p.shift(roi, 0, ph, pw), fused, xs);
      for (const float x : xs) columns.push_back(between(x, p.width));
      for (std::int64_t channel = 0; channel < p.channels; ++channel) {
        const double* plane = image.data() + channel * p.height * p.width;
        const auto pixel = [&](std::int64_t i, std::int64_t j) {
          return static_cast<float>(plane[i * p.width + j]);
        };
        float sum = 0;
        for (const float y : ys) {
          const Between i = between(y, p.height);
          for (const Between& j : columns) {
            if (!i.inside || !j.inside) continue;
            sum += i.to_low * j.to_low * pixel(i.low, j.low) +
                   i.to_low * j.to_high * pixel(i.low, j.high) +
                   i.to_high * j.to_low * pixel(i.high, j.low) +
                   i.to_high * j.to_high * pixel(i.high, j.high);
          }
        }
        out.push_back(static_cast<double>(sum / count));
      }
    }
  }
}

// Weights of the reference. A sample is the sum of all pixels, each weighted by the hat functions
// of its distance from the sample. Samples along y and along x are independent, so the weights of
// all samples of a bin are summed first.
struct PoolWeights {
  std::vector<double> pixels;  // one for each row (column) of the image
  // The smallest distance of a sample from an edge at which its value jumps to 0.
  double nearest_edge;
};

PoolWeights weights_of(const Pool& p, const RoiExtent<double>& s, int d, std::int64_t bin,
                       double shift) {
  const auto extent = static_cast<double>(p.extent(d));
  PoolWeights result{std::vector<double>(at(p.extent(d)), 0.0), HUGE_VAL};
  const auto samples = static_cast<double>(s.samples);
  for (std::int64_t i = 0; i < s.samples; ++i) {
    const double along = static_cast<double>(bin) + (static_cast<double>(i) + 0.5) / samples;
    const double y = s.start + p.gamma * s.size * shift + along * s.bin;
    result.nearest_edge = std::min({result.nearest_edge, std::abs(y + 1), std::abs(y - extent)});
    if (!(y >= -1 && y <= extent)) continue;
    const double inside = std::clamp(y, 0.0, extent - 1);
    const auto low = static_cast<std::size_t>(inside);
    for (std::size_t pixel = low; pixel < std::min(low + 2, result.pixels.size()); ++pixel) {
      result.pixels[pixel] += std::max(0.0, 1 - std::abs(inside - static_cast<double>(pixel)));
    }
  }
  return result;
}

void reference_roi(const Case& c, const Pool& p, std::int64_t roi, const std::vector<double>& image,
                   std::vector<double>& out) {
  const RoiExtent<double> w = extent_of<double>(c, p, roi, 0), h = extent_of<double>(c, p, roi, 1);
  limit_samples(c, roi, h.samples, w.samples);
  const auto count = static_cast<double>(std::max<std::int64_t>(h.samples * w.samples, 1));
  for (std::int64_t ph = 0; ph < p.pooled_height; ++ph) {
    for (std::int64_t pw = 0; pw < p.pooled_width; ++pw) {
      const PoolWeights rows = weights_of(p, h, 1, ph, p.shift(roi, 1, ph, pw));
      const PoolWeights columns = weights_of(p, w, 0, pw, p.shift(roi, 0, ph, pw));
      for (std::int64_t channel = 0; channel < p.channels; ++channel) {
        double sum = 0;
        for (std::size_t i = 0; i < rows.pixels.size(); ++i) {
          if (rows.pixels[i] == 0) continue;
          const double* line =
              image.data() + (channel * p.height + static_cast<std::int64_t>(i)) * p.width;
          double along = 0;
          for (std::size_t j = 0; j < columns.pixels.size(); ++j) {
            if (columns.pixels[j] != 0) along += columns.pixels[j] * line[j];
          }
          sum += rows.pixels[i] * along;
        }
        out.push_back(sum / count);
      }
    }
  }
}

// Returns the result in `output`. pool(p, roi, image, out) appends the bins of a region to `out`,
// with the channels of each bin next to each other.
template <typename PoolRoi>
Tensor pooled(const Case& c, const Format& output, int threads, const PoolRoi& pool) {
  const Pool p = pool_of(c);
  const std::int64_t image_size = p.channels * p.height * p.width;
  const std::int64_t bins = p.pooled_height * p.pooled_width;
  Tensor result(output, {p.rois, p.channels, p.pooled_height, p.pooled_width});
  parallel_for(p.rois, threads, [&](std::int64_t roi) {
    std::vector<double> image(at(image_size)), out;
    c.input("input").view().read(static_cast<std::int64_t>(p.box(roi, 0)) * image_size, image_size,
                                 image.data());
    pool(p, roi, image, out);
    // The result has channels as its outer dimension, and `out` has bins.
    std::vector<double> turned(out.size());
    for (std::int64_t channel = 0; channel < p.channels; ++channel) {
      for (std::int64_t bin = 0; bin < bins; ++bin) {
        turned[at(channel * bins + bin)] = out[at(bin * p.channels + channel)];
      }
    }
    const auto count = static_cast<std::int64_t>(turned.size());
    store_values(c, output, Overflow::kIeee, turned.data(), count,
                 result.bytes() + roi * count * output.storage_bytes);
  });
  return result;
}

Tensor run_deform_roi_pool(const Call& call) {
  const Case& c = call.test_case;
  const bool fused = fused_of(c, call.machine);
  return pooled(c, call.output, call.threads,
                [&](const Pool& p, std::int64_t roi, const std::vector<double>& image,
                    std::vector<double>& out) { emulate_roi(c, p, roi, fused, image, out); });
}

Tensor deform_roi_pool_reference(const ReferenceCall& call) {
  const Case& c = call.test_case;
  return pooled(c, call.output, call.threads,
                [&](const Pool& p, std::int64_t roi, const std::vector<double>& image,
                    std::vector<double>& out) { reference_roi(c, p, roi, image, out); });
}

DerivedTolerance deform_roi_pool_tolerance(const Case& c) {
  const Format& output = output_format(c);
  const Pool p = pool_of(c);
  constexpr double u = 0x1p-24;
  // The largest error of a coordinate, and the largest number of samples in a bin.
  double error = 0, samples = 1;
  for (std::int64_t roi = 0; roi < p.rois; ++roi) {
    double product = 1;
    for (const int d : {0, 1}) {
      const RoiExtent<double> side = extent_of<double>(c, p, roi, d);
      const RoiExtent<float> rounded = extent_of<float>(c, p, roi, d);
      // The corners are at most `reach`, and a size is at most twice that. The roundings of each
      // step and of the two parameters are counted generously: as 40 u reach without a shift, with
      // the unit roundoff u, and as 20 u reach more for each unit of gamma * offset.
      const double reach =
          std::max(std::abs(p.low(roi, d)), std::abs(p.high(roi, d))) * std::abs(p.scale) + 0.5;
      double shift = 0;
      for (std::int64_t bin = 0; bin < p.pooled_height * p.pooled_width; ++bin) {
        shift =
            std::max(shift, std::abs(p.shift(roi, d, bin / p.pooled_width, bin % p.pooled_width)));
      }
      const double own = u * reach * (40 + 20 * std::abs(p.gamma) * shift);
      const bool same_size = static_cast<double>(rounded.bin) == side.bin;
      if (p.sampling_ratio <= 0 && !same_size && std::abs(side.bin - std::round(side.bin)) <= own) {
        refuse(
            c,
            formatted(
                "no tolerance can be derived: float32 may take another number of samples of roi {}",
                roi));
      }
      for (std::int64_t ph = 0; ph < p.pooled_height; ++ph) {
        for (std::int64_t pw = 0; pw < p.pooled_width; ++pw) {
          if (weights_of(p, side, d, d == 1 ? ph : pw, p.shift(roi, d, ph, pw)).nearest_edge <=
              own) {
            refuse(c, formatted("no tolerance can be derived: float32 may find a sample of roi {} "
                                "on the other side of an edge",
                                roi));
          }
        }
      }
      error = std::max(error, own);
      product *= static_cast<double>(std::max<std::int64_t>(side.samples, 1));
    }
    samples = std::max(samples, product);
  }
  double largest = 0, step = 0;
  const std::vector<double> pixels = finite(c, "input");
  for (std::size_t i = 0; i < pixels.size(); ++i) {
    const auto width = at(p.width), height = at(p.height);
    largest = std::max(largest, std::abs(pixels[i]));
    if (i % width + 1 < width) step = std::max(step, std::abs(pixels[i + 1] - pixels[i]));
    if (i / width % height + 1 < height) {
      step = std::max(step, std::abs(pixels[i + width] - pixels[i]));
    }
  }
  // A sample has 3 roundings of a weight and its product, and 3 roundings of sums. The bin adds one
  // rounding for the sum of each sample and one for the division.
  const double atol =
      (2 * error * step + (7 + samples) * u * largest) * (1 + unit_roundoff(output)) +
      min_subnormal(output);
  return {unit_roundoff(output), atol,
          formatted("rtol: half a {} ulp; atol: coordinates off by at most {}, pixels {} apart and "
                    "at most {}",
                    output.name, short_number(error), short_number(step), short_number(largest))};
}

}  // namespace

std::vector<float> deform_roi_coordinates(const Case& c, bool fused) {
  const Pool p = pool_of(c);
  std::vector<float> all;
  for (const int d : {1, 0}) {
    for (std::int64_t roi = 0; roi < p.rois; ++roi) {
      const RoiExtent<float> side = extent_of<float>(c, p, roi, d);
      for (std::int64_t ph = 0; ph < p.pooled_height; ++ph) {
        for (std::int64_t pw = 0; pw < p.pooled_width; ++pw) {
          coordinates(p, side, d == 1 ? ph : pw, p.shift(roi, d, ph, pw), fused, all);
        }
      }
    }
  }
  return all;
}

std::vector<Operator> deform_roi_pool_operators() {
  return {{.name = "deform_roi_pool",
           .summary = "the mean of bilinear samples in the bins of regions, each bin shifted by an "
                      "offset of its own",
           .inputs = {{.name = "input", .shape = "(N, C, H, W)"},
                      {.name = "rois", .shape = "(n, 5)", .words = "image, x1, y1, x2, y2"},
                      {.name = "offset",
                       .shape = "(n, 2, PH, PW)",
                       .optional = true,
                       .words = "shifts of the bins, along w first"}},
           .parameters = {{.name = "pooled_height",
                           .kind = ParameterKind::kInteger,
                           .needed = true,
                           .least = 1,
                           .words = "PH, the number of bins of a region along h",
                           .tried = {"1", "2", "7"}},
                          {.name = "pooled_width",
                           .kind = ParameterKind::kInteger,
                           .needed = true,
                           .least = 1,
                           .words = "PW, the number of bins of a region along w",
                           .tried = {"1", "3", "7"}},
                          {.name = "spatial_scale",
                           .kind = ParameterKind::kNumber,
                           .default_value = "1",
                           .words = "number of pixels in one unit of the corners",
                           .tried = {"1", "0.25"}},
                          {.name = "sampling_ratio",
                           .kind = ParameterKind::kInteger,
                           .default_value = "0",
                           .words = "number of samples of a bin along each side. 0 or less means "
                                    "the bin's height or width",
                           .tried = {"0", "2", "3"}},
                          {.name = "gamma",
                           .kind = ParameterKind::kNumber,
                           .default_value = "0.1",
                           .words = "number by which offsets are multiplied",
                           .tried = {"0.1", "0.5"}},
                          fused_parameter(),
                          dtype_parameter(
                              "output_dtype",
                              "dtype of the result. If it is not given, it is that of the input")},
           .sizes = "N, C, H, W, n",
           .run = run_deform_roi_pool,
           .reference = deform_roi_pool_reference,
           .output_format = first_input_format,
           .no_element_bounds = "its tolerance bounds all elements alike",
           .tolerance = deform_roi_pool_tolerance,
           .generate = generate_deform_roi_pool}};
}

}  // namespace assay
