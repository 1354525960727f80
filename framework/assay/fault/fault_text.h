// A fault as a text: what breaks, where, and what is drawn.
//
//   parse_fault("flip,bit=14,direction=0to1,site=tile,seed=7").text()
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/fault/change.h"
#include "assay/fault/site.h"

namespace assay::fault {

struct FaultSpec {
  Change change;
  Site site = Site::kElement;
  std::int64_t every = 0;            // periodic: how far apart
  std::optional<std::int64_t> step;  // accumulator: the chunk after which; drawn where not given
  std::string input;                 // input: which
  std::string output;                // which one, of a case that has several; empty: not said
  bool before_encoding = false;      // input: the checksum was encoded of the fault
  // An element of the row, column, tile or period, or the element itself: a multi-index, or one
  // row-major position. Drawn where it is not given.
  std::optional<std::vector<std::int64_t>> at;
  std::uint64_t seed = 0;  // picks what is drawn
  std::int64_t count = 1;  // different places, each broken once

  std::string text() const;  // what parse_fault reads
  const SiteRow& site_row() const { return row_of(site, input); }
};

// "CHANGE[,part=value...][,site=SITE][,output=NAME][,at=I[:J...]][,seed=N][,count=N]"; fault_help()
// has the words. Throws std::invalid_argument that names the part which is wrong.
FaultSpec parse_fault(std::string_view text);
// What a spec may say, one line each, for `assay list faults`.
std::vector<std::string> fault_help();

}  // namespace assay::fault

namespace assay {
using fault::FaultSpec;
using fault::parse_fault;
}  // namespace assay
