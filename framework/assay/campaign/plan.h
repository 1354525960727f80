// What a campaign does, as data: cells, each one operator on one machine with one kind of inputs,
// the gates that look at its results, and the faults that are put in. wire/plan_file.h reads
// plans from JSON; docs/campaigns.md is their schema.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/abft/threshold.h"
#include "assay/cases/case.h"
#include "assay/fault/fault.h"
#include "assay/machine/machine.h"
#include "assay/tensor/distribution.h"

namespace assay::campaign {

// What looks at a result: a checksum threshold, or a standard's elementwise bound against golden.
// With neither here it is the tolerance of the case itself: its rtol and atol, derived of drawn
// inputs.
struct GateSpec {
  std::string text;  // "v_abft,arithmetic=output", "standard:atb", "tolerance"
  std::optional<ThresholdSpec> threshold;
  std::string standard;
};

// Faults of one kind.
struct FaultPlan {
  // Flips of every bit (or `bits`) of every element of the output, in both directions (or one).
  bool census = false;
  std::vector<int> bits;  // of a census; empty: all of the format's
  std::optional<fault::Direction> direction;
  FaultSpec fault;              // of drawn trials
  std::int64_t trials = 0;      // drawn trials; of a census: matrices
  std::int64_t per_matrix = 0;  // drawn trials a matrix
  std::string class_name;       // faults of one class are counted together, too; empty: of none
  std::string text() const;
  // The drawn fault without what goes without saying: a seed of 0, a count of 1, either direction.
  std::string short_text() const;
};

// A precision that ends a cell early: all detection rates known to +-half_width.
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
  // As the operator counts them (op/generate.h); of a product M, K, N.
  std::vector<std::int64_t> shape;
  // Of the result of one matrix: all elements over the last dimension. Of a product's M rows so
  // many are computed; 0: all.
  std::int64_t rows = 0;
  // Of all inputs; of those named here instead. Optional inputs are made where they are named.
  DistributionSpec distribution;
  std::map<std::string, DistributionSpec> distributions;
  // The inputs of a dataset's case in place of drawn ones: dtype, output and shape are then those
  // of the case, and rows, distributions and attributes are not used.
  std::string dataset, case_name;
  std::string recorded;              // of this producer are the results then; empty: emulated
  bool recorded_on_machine = false;  // by `machine`, as the plan says; else as the case's file says
  std::map<std::string, Attribute> attributes;  // of the operator
  std::vector<GateSpec> gates;
  std::vector<FaultPlan> faults;
  std::int64_t clean_rows = 0;
  std::optional<Precision> precision;
  // What published tables call its distribution; empty where there are none.
  std::vector<std::string> published_distributions;

  // Whether the operator's result is one product, drawn as M, K, N, that checksums can check.
  bool is_product() const;
  std::int64_t rows_a_matrix() const { return rows > 0 ? rows : shape[0]; }
  const DistributionSpec& distribution_of(const std::string& input) const;
  std::string sizes_text() const;   // "64x512x128"
  std::string inputs_text() const;  // "normal"; "x: normal, weight: uniform" where these are named
  std::int64_t clean_matrices() const;
  // Matrices that the clean rows and the faults need.
  std::int64_t matrices() const;
};

// Why a published rate differs from ours: of every cell that has all that is named here.
struct PublishedRemark {
  std::string algorithm, dtype, distribution, direction;  // empty: any
  std::vector<std::int64_t> shape, bits;                  // empty: any
  std::string remark;
};

// What a published table calls the threshold of a gate, where it has several of one algorithm.
struct PublishedVariant {
  std::string gate;                // as GateSpec::text
  std::vector<std::string> names;  // "": a table that names none
};

struct Plan {
  std::string name, about;
  std::uint64_t seed = 0;
  std::string published;  // file of published rates; empty: none
  std::vector<PublishedRemark> remarks;
  std::vector<PublishedVariant> variants;
  std::vector<Cell> cells;
  std::string canonical;    // the plan in words that do not depend on how its file was written
  std::string fingerprint;  // of these
};

// The operators whose results are products: "matmul".
std::string products_text();

// Whether the cell's operator has what its gates and faults need. Throws std::invalid_argument that
// names the gate or fault and says what to take instead.
void check_cell(const Cell& cell);

// Sets canonical words and fingerprint; `digests`: of the datasets that the plan reads.
void set_fingerprint(Plan& plan, const std::vector<std::string>& digests);

}  // namespace assay::campaign
