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
#include "assay/fault/change.h"
#include "assay/fault/site.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct FaultSpec {
  Change change;
  Site site = Site::kElement;
  std::int64_t every = 0;            // periodic: how far apart
  std::optional<std::int64_t> step;  // accumulator: the chunk after which; drawn where not given
  std::string input;                 // input: which
  bool before_encoding = false;      // input: the checksum was encoded of the fault
  // An element of the row, column, tile or period, or the element itself: a multi-index, or one
  // row-major position. Drawn where it is not given.
  std::optional<std::vector<std::int64_t>> at;
  std::uint64_t seed = 0;  // picks what is drawn
  std::int64_t count = 1;  // different places, each broken once

  std::string text() const;  // what parse_fault reads
  const SiteRow& site_row() const { return row_of(site, input); }
};

// "CHANGE[,part=value...][,site=SITE][,at=I[:J...]][,seed=N][,count=N]"; fault_help() has the
// words. Throws std::invalid_argument that names the part which is wrong.
FaultSpec parse_fault(std::string_view text);
// What a spec may say, one line each, for `assay list faults`.
std::vector<std::string> fault_help();

// The row-major position of an element: a multi-index, or that position itself. Throws
// std::invalid_argument where it is outside the shape, of what `whose` is ("an output").
std::int64_t position_in(const Shape& shape, const std::vector<std::int64_t>& at,
                         std::string_view whose);

// The row-major positions that a fault covers in an output of this shape, ascending: those of `at`,
// else of a place drawn. None in an empty one. Rows, columns and tiles are those of the matrices of
// the last two dimensions; a vector is one row. Throws std::invalid_argument where `at` is outside
// the shape, and where the site does not lie in the output.
std::vector<std::int64_t> positions_of(const FaultSpec& spec, const Shape& shape, Random& random);

struct Flip {
  std::int64_t linear;
  std::uint64_t before, after;
};

struct Injection {
  std::vector<Flip> flips;          // one an element that was changed
  std::int64_t not_injectable = 0;  // places asked for that no output could give
};

// Changes the output in place. Random places are drawn among those with an element that can take
// the change, addressed by (seed, stream): the same ones whatever else is injected elsewhere.
// Elements of a row, column, tile or period that cannot take it stay as they are. Throws
// std::invalid_argument where the format lacks what the change names, and as positions_of().
Injection inject(Tensor& output, const FaultSpec& spec, std::uint64_t stream);

}  // namespace assay
