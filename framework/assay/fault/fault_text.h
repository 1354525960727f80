// A fault as text: the change, the site, and the draws.
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

namespace assay::inline v0_2::fault {

// Returns "0to1", "1to0" or "either".
std::string_view word_of(Direction direction);

// A fault: the change, the site, and the draws that select the places and the bits.
struct FaultSpec {
  Change change;
  Site site = Site::kElement;
  std::int64_t every = 0;  // for the site periodic: the distance between two elements
  // For the site accumulator: the accumulator is broken after this chunk. Drawn if not given.
  std::optional<std::int64_t> step;
  std::string input;  // input: its name
  // The name of the output to break if a case has several. Empty if not given.
  std::string output;
  // For the site input: true if the checksum was encoded from the changed input.
  bool before_encoding = false;
  // The element that is broken, or one element of the row, column, tile or period that is. It is a
  // multi-index, or one row-major position. Drawn if it is not given.
  std::optional<std::vector<std::int64_t>> at;
  std::uint64_t seed = 0;  // seed of everything that is drawn
  std::int64_t count = 1;  // number of different places, each broken once

  std::string text() const;  // the text in the form that parse_fault() reads
  const SiteRow& site_row() const { return row_of(site, input); }
};

// Reads "CHANGE[,part=value...][,site=SITE][,output=NAME][,at=I[:J...]][,seed=N][,count=N]".
// fault_help() lists the words. Throws Refusal, which names the wrong part.
FaultSpec parse_fault(std::string_view text);
// Returns the words of a fault's text, one per line, for `assay list faults`.
std::vector<std::string> fault_help();

}  // namespace assay::fault

namespace assay::inline v0_2 {
using fault::FaultSpec;
using fault::parse_fault;
}  // namespace assay
