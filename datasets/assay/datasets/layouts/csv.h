// Comma-separated tables (RFC 4180).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace assay {

struct CsvRow {
  std::size_t line;  // of the file, from 1
  std::vector<std::string> cells;
};
struct CsvTable {
  std::string path;
  std::vector<std::string> header;
  std::vector<CsvRow> rows;  // as many cells each as the header has; empty lines are left out

  // The column of a name; -1 where there is none.
  int column(const std::string& name) const;
};

// Reads a table of at most 256 MiB. Throws FileError that names the file and the line.
CsvTable read_csv(const std::string& path);
// A row as it is written: quoted where it needs it, with its end of line.
std::string csv_line(const std::vector<std::string>& cells);

}  // namespace assay
