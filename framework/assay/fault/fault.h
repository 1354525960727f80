// What can break, where, and how it is put in.
//
//   FaultSpec spec = parse_fault("flip,bit=14,direction=0to1,seed=7");
//   Injection done = inject(output, spec, case_name);
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/base/random.h"  // stream_of
#include "assay/tensor/tensor.h"

namespace assay {

enum class Direction : std::uint8_t { kEither, kZeroToOne, kOneToZero };

struct FaultSpec {
  int bit = 0;  // 0 is the lowest bit of the stored element
  Direction direction = Direction::kEither;
  std::optional<std::vector<std::int64_t>> at;  // a multi-index, or one row-major position
  std::uint64_t seed = 0;                       // picks the elements where `at` is not given
  std::int64_t count = 1;                       // different elements, each flipped once

  std::string text() const;  // what parse_fault reads
};

// "flip,bit=N[,direction=0to1|1to0|either][,at=I[:J...]][,seed=N][,count=N]".
// Throws std::invalid_argument that names the part which is wrong.
FaultSpec parse_fault(std::string_view text);
// What a spec may say, one line each, for `assay list faults`.
std::vector<std::string> fault_help();

struct Flip {
  std::int64_t linear;
  std::uint64_t before, after;
};

struct Injection {
  std::vector<Flip> flips;
  std::int64_t not_injectable = 0;  // faults asked for that no element could take
};

// Flips the bit in place. Random elements are drawn among those that can take the flip, addressed
// by (seed, stream): the same elements whatever else is injected elsewhere. Throws
// std::invalid_argument where the format lacks the bit or `at` is outside the shape.
Injection inject(Tensor& output, const FaultSpec& spec, std::uint64_t stream);

}  // namespace assay
