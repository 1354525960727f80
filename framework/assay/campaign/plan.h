// What a campaign does, as data: cells, each one operator on one machine with one kind of inputs,
// the gates that look at its results, and the faults that are put in. report/plan_file.h reads
// plans from JSON; docs/campaigns.md is their schema.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/abft/threshold.h"
#include "assay/fault/fault.h"
#include "assay/judge/bound.h"
#include "assay/machine/machine.h"
#include "assay/tensor/case.h"
#include "assay/tensor/distribution.h"

namespace assay {

// What looks at a result: a checksum threshold, or an elementwise standard against golden.
struct GateSpec {
  std::string text;  // "v_abft,arithmetic=output", "standard:atb"
  std::optional<ThresholdSpec> threshold;
  std::optional<Bound> bound;
};

// Faults of one kind.
struct FaultPlan {
  // Flips of every bit (or `bits`) of every element of the output, in both directions (or one).
  bool census = false;
  std::vector<int> bits;  // of a census; empty: all of the format's
  std::optional<Direction> direction;
  FaultSpec fault;              // of drawn trials
  std::int64_t trials = 0;      // drawn trials; of a census: matrices
  std::int64_t per_matrix = 0;  // drawn trials a matrix
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
  const Format* dtype = nullptr;    // of the operands
  const Format* output = nullptr;   // of the result
  std::vector<std::int64_t> shape;  // M, K, N
  std::int64_t rows = 0;            // of the M, so many are computed; 0: all
  DistributionSpec a, b;
  // Instead of the four above: the operands of a dataset's case.
  std::string dataset, case_name;
  std::string recorded;  // of this producer are the results then; empty: emulated
  std::map<std::string, Attribute> attributes;  // of the operator
  std::vector<GateSpec> gates;
  std::vector<FaultPlan> faults;
  std::int64_t clean_rows = 0;
  std::optional<Precision> precision;
  // What a published table calls this cell; empty where there is none.
  std::string published_dtype, published_distribution;

  std::int64_t rows_a_matrix() const { return rows > 0 ? rows : shape[0]; }
  std::int64_t clean_matrices() const;
  // Matrices that the clean rows and the faults need.
  std::int64_t matrices() const;
};

struct Plan {
  std::string name, about;
  std::uint64_t seed = 0;
  std::string published;  // file of published rates; empty: none
  std::vector<Cell> cells;
  std::string canonical;    // the plan in words that do not depend on how its file was written
  std::string fingerprint;  // of these
};

// Sets canonical words and fingerprint; `digests`: of the datasets that the plan reads.
void set_fingerprint(Plan& plan, const std::vector<std::string>& digests);

// The bits of a census in a format: all that carry a value where the plan names none.
std::vector<int> census_bits(const FaultPlan& plan, const Format& format);

}  // namespace assay
