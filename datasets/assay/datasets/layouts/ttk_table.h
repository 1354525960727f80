// The case table of TTK, the Ascend operators' test kit: a row a case, cells as Python literals
// (hicann/ops-test-kit@157e09c16f3e, docs/Operator_Test_Guides/Kernel_Case_Writing.md).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/datasets/arrays/python_literal.h"
#include "assay/datasets/layouts/csv.h"
#include "assay/tensor/tensor.h"

namespace assay {

struct TtkTensor {
  int place;      // in the row's list, from 0
  int item = -1;  // within a list of tensors that stands there; -1: no list
  bool absent = false;
  std::string dtype;           // as TTK calls it; "" where the table does not say it
  std::optional<Shape> shape;  // none where it is not known before the run
};
struct TtkCase {
  std::string name, op;
  std::size_t line = 0;
  std::vector<TtkTensor> inputs, outputs;  // lists of tensors laid out flat, as dumps number them
  Literal::Dict attributes;
  // By output, where the table says it: rtol and the share that may miss, and atol.
  std::vector<std::optional<std::pair<double, double>>> tolerances;
  std::vector<double> atol;
  // Files that the row names (manual_input_binaries and so on), laid out as inputs and outputs are;
  // "" where there is none.
  std::vector<std::string> input_files, golden_files, xpu_files;
};
struct TtkTable {
  CsvTable csv;
  bool given = false;          // by the user; else it was found beside the data
  std::vector<TtkCase> cases;  // one a row of csv
  const TtkCase* find(const std::string& name) const;
};

// Whether a CSV file is such a table, by its header.
bool is_ttk_table(const std::string& path);
// Throws FileError that names file, line and column.
TtkTable read_ttk_table(const std::string& path);

}  // namespace assay
