// Comma-separated tables (RFC 4180).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay::inline v0_2 {

struct CsvRow {
  std::size_t line;  // the number of the row's line in the file, from 1
  std::vector<std::string> cells;
};
struct CsvTable {
  std::string path;
  std::vector<std::string> header;
  std::vector<CsvRow> rows;  // Each row has as many cells as the header. Empty lines are left out.

  // Returns the column of a name, or -1 if there is no such column.
  int column(const std::string& name) const;
};

// Reads a table of at most 256 MiB. Throws FileError, which names the file and the line.
CsvTable read_csv(const std::string& path);
// Returns a row as text, quoted if necessary, with its end of line.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace assay
