// Counter-based randomness (Philox4x32-10, Salmon et al., SC11; Random123). A draw is addressed by
// (seed, stream, index), so results never depend on threads, shards or the order of draws, and are
// the same bits on every machine. Whole arrays of them: simd/draw.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace assay {

// The four words at one address.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// A stream number from a name (FNV-1a).
std::uint64_t stream_of(std::string_view name);

// Streams that belong to one stream: its part 1, 2, ..., for what needs several draws an element.
// Mixed (the finaliser of SplitMix64, Steele, Lea, Flood, OOPSLA 2014), so that parts of
// neighbouring streams do not meet.
std::uint64_t substream(std::uint64_t stream, std::uint64_t part);

// Two standard normals of two uniforms in [0, 1), Box and Muller's.
struct NormalPair {
  double first, second;
};
NormalPair normal_pair(double radius_draw, double angle_draw);

// Student's t with nu (0.5 or more) degrees of freedom, of two uniforms in [0, 1):
// sqrt(nu (U^(-2/nu) - 1)) cos(2 pi V) (Bailey, Mathematics of Computation 62(206), 1994).
double student_t(double nu, double radius_draw, double angle_draw);

// A stream of draws at one (seed, stream), counted from zero.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::uint64_t next64();
  // Uniform in [0, n), without bias (Lemire's multiply and reject); n > 0.
  std::uint64_t below(std::uint64_t n);
  // Uniform in [0, 1), a multiple of 2^-53.
  double uniform();
  // Standard normal, two at a time.
  double normal();

 private:
  std::uint64_t seed_, stream_, index_ = 0;
  std::uint64_t spare_word_ = 0;  // the second half of a Philox block
  double spare_normal_ = 0;
  bool has_word_ = false, has_normal_ = false;
};

}  // namespace assay
