// The results of a campaign as results.json stores them: the data of a page or a comparison,
// without the plan. wire/campaign_results_file.h reads it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "assay/campaign/results.h"

namespace assay::inline v0_2::campaign {

// A fault of a campaign, without the plan. Series::fault is an index into these faults.
struct SavedFault {
  std::string text;        // "flip,bit=9", or empty for the flips of a census
  std::string class_name;  // empty if the fault is in no class
};

// A published rate that belongs to a rate of this detector.
struct SavedPublished {
  // The name of the threshold if the algorithm has several, or empty.
  std::string variant;
  int bit = -1;  // the flipped bit, or -1 for the share of runs with an alarm
  fault::Direction direction = fault::Direction::kEither;
  std::optional<double> rate;  // from 0 to 1
  std::string word;            // "not_injectable" or "void" if there is no rate
  std::int64_t trials = 0;
  std::string remark;          // the reason why the rate is considered a defect of the publication
  std::optional<bool> agrees;  // empty if not judged, because there are too few matrices
  std::string why;             // the known reason if the rates do not agree
};

struct SavedCell {
  std::string name, op, machine, dtype, output_dtype;
  std::vector<std::int64_t> shape;
  // Pairs of an input and its distribution, such as "a" and "normal,mean=1", in the order of the
  // file. For a dataset the pair is "case" and the name of the case.
  std::vector<std::pair<std::string, std::string>> inputs;
  std::vector<SavedFault> faults;
  CellResult result;  // all detectors have the same series and classes, in the same order
  std::vector<std::vector<SavedPublished>> published;  // for each detector
};

struct SavedCampaign {
  std::string source;  // the name of the file of results
  std::string name, about, fingerprint, seed;
  double confidence = kConfidence;
  std::vector<SavedCell> cells;
};

}  // namespace assay::campaign
