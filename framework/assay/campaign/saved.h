// A campaign's results as its results.json keeps them: what a page or a comparison needs, without
// the plan. wire/campaign_results_file.h reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/campaign/results.h"

namespace assay::campaign {

// What a series' faults are, without the plan: Series::fault counts these.
struct SavedFault {
  std::string text;        // "flip,bit=9"; empty: flips of a census
  std::string class_name;  // empty: of none
};

// A published rate beside the one of this gate.
struct SavedPublished {
  std::string variant;  // which threshold of the algorithm; empty: the only one
  int bit = -1;         // -1: runs with an alarm
  fault::Direction direction = fault::Direction::kEither;
  std::optional<double> rate;  // from 0 to 1
  std::string word;            // where there is no rate: "not_injectable", "void"
  std::int64_t trials = 0;
  std::string remark;          // why it is held to be a defect of the publication
  std::optional<bool> agrees;  // empty: not judged, for there are too few matrices
  std::string why;             // where it does not: what is known of the reason
};

struct SavedCell {
  std::string name, op, machine, dtype, output_dtype;
  std::vector<std::int64_t> shape;
  // "a" and "normal,mean=1", in the order of the file; of a dataset "case" and its name.
  std::vector<std::pair<std::string, std::string>> inputs;
  std::vector<SavedFault> faults;
  CellResult result;  // all gates have the same series and classes, in the same order
  std::vector<std::vector<SavedPublished>> published;  // a gate
};

struct SavedCampaign {
  std::string source;  // the file
  std::string name, about, fingerprint, seed;
  double confidence = kConfidence;
  std::vector<SavedCell> cells;
};

}  // namespace assay::campaign
