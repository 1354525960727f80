// Random rows of the output of a product or of attention. If golden results are too expensive to
// compute as a whole, they are computed for these rows only.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/cases/case.h"

namespace assay::inline v0_2 {

// "rows=64,seed=1".
struct RowSample {
  // Number of rows to draw from all matrices of the output together, at least 1.
  std::int64_t rows = 64;
  std::uint64_t seed = 1;

  std::string text() const;  // Returns the text that parse_row_sample() reads.
};
// Reads the number of rows and the seed, each of which may be left out. Throws Refusal, which says
// what is wrong.
RowSample parse_row_sample(std::string_view text);

// Returns the share p of wrong rows for which a sample of n rows holds a wrong row with a
// probability of at least 95 percent: 1 - 0.05^(1/n), from (1 - p)^n = 0.05. Rows are drawn here
// without replacement and evenly from the matrices, which only raises the probability.
double seen_share(std::int64_t rows);

// The rows that sample_rows() drew, as a case that can be computed and judged like any other.
struct SampledRows {
  // The case of the drawn rows, with the operator, attributes and inputs of the original. The first
  // input has only the drawn rows. If the output has several matrices, the inputs keep only those
  // matrices from which a row was drawn. The case has no golden result and no outputs.
  Case test_case = {};
  // The positions of the drawn rows among all rows of the output, counted through its matrices, in
  // ascending order.
  std::vector<std::int64_t> rows = {};
  Shape output = {};    // shape of the whole output
  std::int64_t of = 0;  // number of rows of the whole output

  // Returns the drawn rows of an output that has the whole shape, in the shape of the case's
  // output.
  Tensor of_output(const TensorView& whole) const;
  // Returns where an element of the case's output lies in the whole output. Both positions are
  // row-major.
  std::int64_t whole_position(std::int64_t element) const;
};

// Returns the reason why rows of a case cannot be drawn: its operator is neither a product nor
// attention. Empty if they can be drawn.
std::string why_no_rows(const Case& test_case);

// Draws rows, the same number from each of as many matrices as possible. This may be a few rows
// more than `sample` requests, and is all rows if there are no more than that. The same seed and
// case name give the same rows. Each row is equally likely.
//
// Throws Refusal if rows cannot be drawn, or if the inputs do not fit.
SampledRows sample_rows(const Case& test_case, const RowSample& sample);

}  // namespace assay
