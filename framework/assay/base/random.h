// Counter-based randomness (Philox4x32-10, Salmon et al., SC11; Random123). The address of a draw
// is (seed, stream, index). So results never depend on threads, shards or the order of draws, and
// are the same bits on every machine. For whole arrays of draws, see simd/draw.h.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace assay::inline v0_2 {

// Returns the four random words of 32 bits at one address.
std::array<std::uint32_t, 4> philox(std::uint64_t seed, std::uint64_t stream, std::uint64_t index);

// Returns a stream number for a name (FNV-1a).
std::uint64_t stream_of(std::string_view name);

// Returns a stream that belongs to another one: its part 1, 2, ..., for elements that need several
// draws. The numbers are mixed (the finaliser of SplitMix64, Steele, Lea, Flood, OOPSLA 2014), so
// that parts of neighbouring streams do not coincide.
std::uint64_t substream(std::uint64_t stream, std::uint64_t part);

// Two standard normal numbers from two uniform numbers in [0, 1), by the method of Box and Muller.
struct NormalPair {
  double first, second;
};
// Returns the pair for a number that gives its radius and a number that gives its angle.
NormalPair normal_pair(double radius_draw, double angle_draw);

// Returns a number with Student's t distribution with nu (at least 0.5) degrees of freedom, from
// two uniform numbers U and V in [0, 1): sqrt(nu (U^(-2/nu) - 1)) cos(2 pi V) (Bailey, Mathematics
// of Computation 62(206), 1994).
double student_t(double nu, double radius_draw, double angle_draw);

// The stream of draws at one (seed, stream), with indices from 0 on.
class Random {
 public:
  Random(std::uint64_t seed, std::uint64_t stream) : seed_(seed), stream_(stream) {}

  std::uint64_t next64();
  // Returns a uniform number in [0, n), without bias (Lemire's multiply and reject). n must be
  // positive. index_below() has the signed type of sizes and positions.
  std::uint64_t below(std::uint64_t n);
  std::int64_t index_below(std::int64_t n);
  // Returns a uniform number in [0, 1), a multiple of 2^-53.
  double uniform();
  // Returns a standard normal number. They are computed in pairs.
  double normal();

 private:
  std::uint64_t seed_, stream_, index_ = 0;
  std::uint64_t spare_word_ = 0;  // the second half of a Philox block, which the next draw uses
  double spare_normal_ = 0;
  bool has_word_ = false, has_normal_ = false;
};

}  // namespace assay
