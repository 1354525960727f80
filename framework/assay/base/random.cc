#include "assay/base/random.h"

#include <Random123/philox.h>

#include <cmath>

#include "assay/base/elementary.h"
#include "assay/base/hash.h"
#include "assay/base/int128.h"

namespace assay::inline v0_2 {

std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index) {
  const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
  const auto high = [](std::uint64_t x) { return static_cast<std::uint32_t>(x >> 32); };
  const r123::Philox4x32::ctr_type counter = {{low(index), high(index), low(stream), high(stream)}};
  const r123::Philox4x32::key_type key = {{low(seed), high(seed)}};
  const r123::Philox4x32::ctr_type out = r123::Philox4x32{}(counter, key);
  return {out[0], out[1], out[2], out[3]};
}

std::uint64_t stream_of(std::string_view name) { return fnv1a(name); }

std::uint64_t substream(std::uint64_t stream, std::uint64_t part) {
  std::uint64_t x = stream + part * 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

NormalPair normal_pair(double radius_draw, double angle_draw) {
  const double radius = std::sqrt(-2.0 * portable::log(1.0 - radius_draw));
  const portable::SineCosine angle = portable::of_turns(angle_draw);
  return {radius * angle.cosine, radius * angle.sine};
}

double student_t(double nu, double radius_draw, double angle_draw) {
  const double power = -2.0 / nu * portable::log(1.0 - radius_draw);
  return std::sqrt(nu * portable::expm1(power)) * portable::of_turns(angle_draw).cosine;
}

std::uint64_t Random::next64() {
  if (has_word_) {
    has_word_ = false;
    return spare_word_;
  }
  const auto words = philox(seed_, stream_, index_++);
  spare_word_ = (std::uint64_t{words[3]} << 32) | words[2];
  has_word_ = true;
  return (std::uint64_t{words[1]} << 32) | words[0];
}

std::uint64_t Random::below(std::uint64_t n) {
  const std::uint64_t reject_below = (0 - n) % n;
  for (;;) {
    const UInt128 product = static_cast<UInt128>(next64()) * n;
    if (static_cast<std::uint64_t>(product) >= reject_below) {
      return static_cast<std::uint64_t>(product >> 64);
    }
  }
}

std::int64_t Random::index_below(std::int64_t n) {
  return static_cast<std::int64_t>(below(static_cast<std::uint64_t>(n)));
}

double Random::uniform() { return static_cast<double>(next64() >> 11) * 0x1p-53; }

double Random::normal() {
  if (has_normal_) {
    has_normal_ = false;
    return spare_normal_;
  }
  const double radius_draw = uniform();
  const NormalPair pair = normal_pair(radius_draw, uniform());
  spare_normal_ = pair.second;
  has_normal_ = true;
  return pair.first;
}

}  // namespace assay
