// The case table of TTK, the Ascend operators' test kit. Each row is a case, and its cells are
// Python literals (hicann/ops-test-kit@157e09c16f3e,
// docs/Operator_Test_Guides/Kernel_Case_Writing.md).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "assay/datasets/arrays/python_literal.h"
#include "assay/datasets/layouts/csv.h"
#include "assay/tensor/tensor.h"

namespace assay::inline v0_2 {

struct TtkTensor {
  int place;      // the tensor's position in the row's inputs or outputs, from 0
  int item = -1;  // The index within a list of tensors at that place, or -1 if there is no list.
  bool absent = false;
  std::string dtype;           // TTK's name of the dtype. Empty if the table does not say it.
  std::optional<Shape> shape;  // Has no value if the shape is not known before the run.
};
struct TtkCase {
  std::string name, op;
  std::size_t line = 0;
  // The tensors in lists are elements here, too, because dumps number them in this way.
  std::vector<TtkTensor> inputs, outputs;
  Literal::Dict attributes;
  // `tolerances` holds for each output, if the table says them, rtol and the share of elements that
  // may be mismatches. `atol` holds the absolute tolerance of each output.
  std::vector<std::optional<std::pair<double, double>>> tolerances;
  std::vector<double> atol;
  // Files that the row names (manual_input_binaries and so on), in the order of inputs and outputs.
  // An entry is empty if there is no file.
  std::vector<std::string> input_files, golden_files, xpu_files;
};
struct TtkTable {
  CsvTable csv;
  bool given = false;  // True if the user gave the table, false if it was found beside the data.
  std::vector<TtkCase> cases;  // the cases, one for each row of `csv`
};

// Returns true if the header of a CSV file is that of such a table.
bool is_ttk_table(const std::string& path);
// Reads a case table. Throws FileError, which names the file, the line and the column.
TtkTable read_ttk_table(const std::string& path);

}  // namespace assay
