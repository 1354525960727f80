#include "assay/datasets/layouts/csv.h"

#include <algorithm>
#include <iterator>
#include <string_view>

#include "assay/base/text.h"
#include "assay/datasets/arrays/plain_array.h"
#include "assay/datasets/checks/file_error.h"

namespace assay::inline v0_2 {
namespace {

// the byte order mark that spreadsheets write
constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kArchive = "PK";  // the beginning of spreadsheets' own files
constexpr std::int64_t kMostTableBytes = std::int64_t{256} << 20;

class Parser {
 public:
  Parser(const std::string& path, const std::string& text) : path_(path), text_(text) {
    if (text_.starts_with(kByteOrderMark)) at_ = kByteOrderMark.size();
  }

  bool done() const { return at_ >= text_.size(); }

  CsvRow row() {
    CsvRow row{line_, {}};
    for (;;) {
      row.cells.push_back(text_.compare(at_, 1, "\"") == 0 ? quoted() : plain());
      if (done()) return row;
      const char c = text_[at_++];
      if (c == '\r' && !done() && text_[at_] == '\n') ++at_;
      if (c != ',') {
        ++line_;
        return row;
      }
    }
  }

  [[noreturn]] void refuse(std::size_t line, const std::string& why) const {
    throw FileError(path_, formatted("line {}", line), why);
  }

 private:
  std::string plain() {
    const std::size_t end = std::min(text_.find_first_of(",\r\n", at_), text_.size());
    std::string cell = text_.substr(at_, end - at_);
    if (cell.find('"') != std::string::npos) {
      refuse(line_, "has a quote within a cell that does not begin with one; quote the whole cell");
    }
    at_ = end;
    return cell;
  }

  std::string quoted() {
    const std::size_t begin = line_;
    std::string cell;
    for (++at_; !done(); ++at_) {
      if (text_[at_] == '"') {
        ++at_;
        if (done() || text_[at_] != '"') {
          if (!done() && std::string_view(",\r\n").find(text_[at_]) == std::string_view::npos) {
            refuse(line_, "has text behind a quoted cell; put it inside of the quotes");
          }
          return cell;
        }
      } else if (text_[at_] == '\n') {
        ++line_;
      }
      cell += text_[at_];
    }
    refuse(begin, "has a quoted cell that does not end; add the closing quote");
  }

  std::string path_;
  const std::string& text_;
  std::size_t at_ = 0, line_ = 1;
};

}  // namespace

int CsvTable::column(const std::string& name) const {
  const auto at = std::ranges::find(header, name);
  return at == header.end() ? -1 : static_cast<int>(at - header.begin());
}

CsvTable read_csv(const std::string& path) {
  const std::string text = text_of(*open_plain(path), kMostTableBytes, path, "");
  if (text.starts_with(kArchive)) {
    throw FileError(path, "", "is an Excel workbook or another archive; save the sheet as CSV");
  }
  Parser parser(path, text);
  CsvTable table;
  table.path = path;
  while (!parser.done()) {
    CsvRow row = parser.row();
    if (row.cells.size() == 1 && row.cells[0].empty()) continue;
    if (table.header.empty()) {
      table.header = std::move(row.cells);
      continue;
    }
    if (row.cells.size() != table.header.size()) {
      parser.refuse(row.line,
                    formatted("has {}, and the header {}", counted(std::ssize(row.cells), "cell"),
                              table.header.size()));
    }
    table.rows.push_back(std::move(row));
  }
  if (table.header.empty()) throw FileError(path, "", "is empty");
  return table;
}

std::string csv_line(const std::vector<std::string>& cells) {
  std::string line;
  for (const std::string& cell : cells) {
    if (&cell != &cells.front()) line += ',';
    // A cell that begins like a spreadsheet's file or with a byte order mark is quoted. Otherwise,
    // at the beginning of the file, it would be taken for the mark of another kind of file.
    const bool speaks = cell.starts_with(kByteOrderMark) || cell.starts_with(kArchive);
    const std::string text = csv_cell(cell);
    line += speaks && text == cell ? formatted("\"{}\"", text) : text;
  }
  return line + "\n";
}

}  // namespace assay
