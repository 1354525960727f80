// A campaign as data. It consists of cells. A cell is one operator on one machine with one kind of
// inputs. It also has detectors that judge its results (its "gates"), and faults to inject.
// wire/plan_file.h reads plans from JSON. docs/campaigns.md is their schema.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/abft/threshold.h"
#include "assay/cases/case.h"
#include "assay/fault/fault.h"
#include "assay/machine/machine.h"
#include "assay/tensor/distribution.h"

namespace assay::inline v0_2::campaign {

// A detector: a checksum threshold, or a standard's elementwise bound relative to the golden
// result. If neither is given, the detector is the rtol and atol of the case. For drawn inputs,
// this tolerance is derived.
struct GateSpec {
  // The detector as the plan writes it: "v_abft,arithmetic=output", "standard:atb" or "tolerance"
  std::string text;
  std::optional<ThresholdSpec> threshold;
  std::string standard;
};

// Faults of one kind.
struct FaultPlan {
  // If true, the fault is a census: it flips every bit, or those in `bits`, of every element of the
  // output. It flips them in both directions, or only in `direction` if that is set.
  bool census = false;
  std::vector<int> bits;  // the bits that a census flips, or empty for all bits of the format
  std::optional<fault::Direction> direction;
  FaultSpec fault;              // for drawn trials
  std::int64_t trials = 0;      // number of drawn trials, or of the matrices of a census
  std::int64_t per_matrix = 0;  // drawn trials per matrix
  // Faults of the same class are also counted together. Empty if the fault has no class.
  std::string class_name;
  std::string text() const;
  // Returns the text of the drawn fault without parts that have their default values: a seed of 0,
  // a count of 1, either direction.
  std::string short_text() const;
};

// A cell ends early if all of its detection rates are known to +-half_width.
struct Precision {
  double half_width = 0, confidence = 0.95;
  std::int64_t looks = 5;
};

struct Cell {
  std::string name;
  std::string op = "matmul";
  const Machine* machine = nullptr;
  const Format* dtype = nullptr;   // of the inputs
  const Format* output = nullptr;  // of the result
  // The sizes as the operator counts them (op/generate.h). For a product they are M, K, N.
  std::vector<std::int64_t> shape;
  // Rows of the result of one matrix: all elements divided by the last dimension. For a product,
  // the number of its M rows that are computed, or 0 for all rows.
  std::int64_t rows = 0;
  // The distribution of the inputs, unless `distributions` names one for an input. Optional inputs
  // are made only if they are named there.
  DistributionSpec distribution;
  std::map<std::string, DistributionSpec> distributions;
  // If set, the inputs are those of cases of this dataset, one case for each matrix. Then dtype,
  // output and shape are those of the cases, and rows, distributions and attributes are not used.
  std::string dataset;
  std::vector<std::string> cases;  // their names
  std::string case_name;           // the name of a single case, or the pattern of several
  // The producer of the recorded results to use. If empty, the results are emulated.
  std::string recorded;
  // If true, the plan states that the recorded results are from `machine`. If false, the case's
  // file decides which machine computed them.
  bool recorded_on_machine = false;
  std::map<std::string, Attribute> attributes;  // of the operator
  std::vector<GateSpec> gates;
  std::vector<FaultPlan> faults;
  std::int64_t clean_rows = 0;
  std::optional<Precision> precision;
  // The names that published tables have for the cell's distribution. Empty if there are no such
  // tables.
  std::vector<std::string> published_distributions;

  // True if the operator's result is one product, drawn as M, K, N, that checksums can check.
  bool is_product() const;
  std::int64_t rows_a_matrix() const { return rows > 0 ? rows : shape[0]; }
  const DistributionSpec& distribution_of(const std::string& input) const;
  std::string sizes_text() const;  // "64x512x128"
  // Returns "normal", or for example "x: normal, weight: uniform" if inputs have their own
  // distributions.
  std::string inputs_text() const;
  std::int64_t clean_matrices() const;
  // Returns the number of matrices that the clean rows and the faults need.
  std::int64_t matrices() const;
};

// The known reason why published rates differ from ours. It applies to cells that have all of these
// properties.
struct PublishedRemark {
  std::string algorithm, dtype, distribution, direction;  // empty means any
  std::vector<std::int64_t> shape, bits;                  // empty means any
  std::string remark;
};

// The published names for the threshold of a detector. Publications may have several thresholds for
// one algorithm.
struct PublishedVariant {
  std::string gate;                // the GateSpec::text of the detector
  std::vector<std::string> names;  // "" stands for a published table whose threshold has no name
};

struct Plan {
  std::string name, about;
  std::uint64_t seed = 0;
  std::string published;  // path of the file of published rates, or empty
  std::vector<PublishedRemark> remarks;
  std::vector<PublishedVariant> variants;
  std::vector<Cell> cells;
  // The plan in words that do not depend on the layout of its file. The fingerprint is computed
  // from them.
  std::string canonical;
  std::string fingerprint;  // digest of the canonical words
};

// Returns the names of the operators whose results are products, such as "matmul".
std::string products_text();

// Checks that the cell's operator supports its detectors and faults. Throws Refusal,
// which names the detector or fault and an alternative.
void check_cell(const Cell& cell);

// Sets the plan's canonical words and their fingerprint. `digests` are those of the datasets that
// the plan reads, so that changed data also change the fingerprint.
void set_fingerprint(Plan& plan, const std::vector<std::string>& digests);

}  // namespace assay::campaign
