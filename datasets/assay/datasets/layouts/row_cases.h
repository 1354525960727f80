// Many small cases as the rows of large arrays: row i of every tensor of a case is a case of its
// own, NAME/i, with as many digits as the last one has, so that names are in the order of rows. Its
// attributes are those of the case. A dataset file says so by its root attribute `rows_are_cases`
// (docs/dataset.md); of other sources their user does.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>

#include "assay/datasets/layouts/open_cases.h"

namespace assay {

inline constexpr char kRowsAreCases[] = "rows_are_cases";

// "gemm/007", of 100 to 1000 rows.
std::string row_name(const std::string& name, std::int64_t row, std::int64_t rows);

// How many rows each tensor of a case has. Throws FileError that names file, case and tensor where
// they differ, and where a tensor is a scalar.
std::int64_t rows_of(const std::string& path, const StoredCase& info);

// Whether the attributes of a file say that its rows are cases. Throws FileError where they say
// neither 0 nor 1.
bool rows_are_cases(const std::string& path, const std::map<std::string, Attribute>& attributes);

// Makes the rows of all cases the cases. Arrays are read through blocks of rows, so that memory
// does not grow with them where the source reads in pieces; the first use of an array reads all of
// it once, which holds it to its checksum. Throws FileError as rows_of().
void take_rows_as_cases(OpenedCases& opened);

// A tensor of so many rows like this one, and how one of them gets its value. put_row() throws
// std::logic_error where dtype or shape are not those of a row.
Tensor rows_like(const Tensor& row, std::int64_t rows);
void put_row(Tensor& rows, std::int64_t row, const Tensor& value);

// What `compute` gives for each row of the inputs of a case, as the rows of one tensor. Rows are
// computed by several threads (0: default_threads()); the result does not depend on them.
Tensor computed_by_rows(const Case& c, std::int64_t rows, int threads,
                        const std::function<Tensor(const Case& row)>& compute);

}  // namespace assay
