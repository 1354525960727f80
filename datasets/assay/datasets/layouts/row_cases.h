// Many small cases as the rows of large arrays. The rows i of all tensors of a case become a case
// of their own, NAME/i, with the attributes of the case. All row numbers have as many digits as
// that of the last row, so that names are in the order of rows. A dataset file says by its root
// attribute `rows_are_cases` that its rows are cases (docs/dataset.md). For other sources the user
// says so.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "assay/datasets/layouts/open_cases.h"

namespace assay::inline v0_2 {

inline constexpr char kRowsAreCases[] = "rows_are_cases";

// Returns the name of a row: "gemm/007" for 101 to 1000 rows.
std::string row_name(const std::string& name, std::int64_t row, std::int64_t rows);

// Returns the number of rows that each tensor of a case has. Throws FileError, which names the
// file, the case and the tensor, if the numbers differ or if a tensor is a scalar.
std::int64_t rows_of(const std::string& path, const StoredCase& info);

// Returns true if the attributes of a file say that its rows are cases. Throws FileError if the
// attribute is neither 0 nor 1.
bool rows_are_cases(const std::string& path, const std::map<std::string, Attribute>& attributes);

// Replaces all cases by their rows. Arrays are read through blocks of rows, so that memory does not
// grow with their size if the source reads in pieces. The first use of an array reads all of it
// once, to verify its checksum. If a case cannot be described or rows_of() refuses it, it becomes a
// single row, and reading that row throws the FileError.
void take_rows_as_cases(OpenedCases& opened);

// rows_like() returns a tensor that has room for `rows` rows with the dtype and shape of `row`.
// put_row() copies `value` to one row of such a tensor. It throws std::logic_error if dtype or
// shape of `value` are not those of a row.
Tensor rows_like(const Tensor& row, std::int64_t rows);
void put_row(Tensor& rows, std::int64_t row, const Tensor& value);

// Returns the results of `compute` for each row of the inputs of a case, as the rows of one tensor.
// Several threads compute rows (0 means default_threads()). The result does not depend on them.
Tensor computed_by_rows(const Case& c, std::int64_t rows, int threads,
                        const std::function<Tensor(const Case& row)>& compute);

}  // namespace assay
