// Rows of the output of a product or of attention, drawn at random: golden results that are too
// much to compute as a whole are computed of these alone.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "assay/cases/case.h"

namespace assay {

// "rows=64,seed=1".
struct RowSample {
  std::int64_t rows = 64;  // of the output, over all its matrices; at least 1
  std::uint64_t seed = 1;

  std::string text() const;  // what parse_row_sample() reads
};
// Each of the two may be left out. Throws std::invalid_argument that names what is wrong.
RowSample parse_row_sample(std::string_view text);

// The share p of wrong rows of which a sample of n rows holds one with a probability of 95 percent
// or more: 1 - 0.05^(1/n), from (1 - p)^n = 0.05. How rows are drawn here, without replacement and
// evenly from the matrices, only makes it likelier.
double seen_share(std::int64_t rows);

struct SampledRows {
  // The case of these rows: its operator, attributes and inputs, of which the first has them alone.
  // Where the output has several matrices, there are those from which a row was drawn. Without
  // golden result and outputs.
  Case test_case;
  // Which they are, among all rows of the output counted over its matrices, ascending.
  std::vector<std::int64_t> rows;
  Shape output;         // of the whole
  std::int64_t of = 0;  // rows of the whole

  // These rows of an output of the whole's shape, in the shape of the case's output.
  Tensor of_output(const TensorView& whole) const;
  // Where an element of the case's output lies in the whole, both counted in row-major order.
  std::int64_t whole_position(std::int64_t element) const;
};

// Why rows of a case cannot be drawn: its operator is neither; empty where they can.
std::string why_no_rows(const Case& test_case);

// Draws rows: of as many matrices as may be, and of each the same number, which may make them a few
// more than asked for; all rows where there are no more. The same seed and name of a case draw the
// same ones. Each row is as likely as any other.
//
// Throws std::invalid_argument where rows cannot be drawn, or where the inputs do not fit.
SampledRows sample_rows(const Case& test_case, const RowSample& sample);

}  // namespace assay
