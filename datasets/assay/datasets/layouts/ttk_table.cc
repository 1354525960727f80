#include "assay/datasets/layouts/ttk_table.h"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <set>

#include "assay/base/call_text.h"
#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/checks/file_error_text.h"

namespace assay::inline v0_2 {
namespace {

constexpr std::string_view kInputEndings[] = {".bin", ".npy", ".pt"};

class RowReader {
 public:
  RowReader(const CsvTable& csv, const CsvRow& row) : csv_(csv), row_(row) {}

  [[noreturn]] void refuse(const std::string& column, const std::string& why) const {
    throw FileError(csv_.path, formatted("line {}, {}", row_.line, column), why);
  }

  std::string text(const std::string& column) const {
    const int at = csv_.column(column);
    return at < 0 ? "" : row_.cells[static_cast<std::size_t>(at)];
  }

  // Returns the literal in a cell, or None if the column is missing or the cell is empty.
  Literal literal(const std::string& column) const {
    const std::string cell = text(column);
    if (cell.find_first_not_of(" \t") == std::string::npos) return {};
    try {
      return parse_literal(cell);
    } catch (const Refusal& e) {
      refuse(column, e.what());
    }
  }

  // Returns a shape from a tuple of integers. Returns nothing if one of them is negative, because
  // the shape is then not known before the run.
  std::optional<Shape> shape(const std::string& column, const Literal& literal) const {
    Shape shape;
    bool known = true;
    for (const Literal& extent : *literal.list()) {
      known = known && *extent.integer() >= 0;
      shape.push_back(*extent.integer());
    }
    if (!known) return std::nullopt;
    try {
      (void)element_count(shape);
    } catch (const Refusal& e) {
      refuse(column, e.what());
    }
    return shape;
  }

  std::vector<TtkTensor> tensors(const std::string& side) const {
    const std::string column = side + "_shapes";
    std::vector<TtkTensor> tensors;
    const Literal shapes = literal(column);
    if (shapes.is_none()) return tensors;
    if (shapes.list() == nullptr) refuse(column, "a tuple of shapes is expected");
    const auto is_integer = [](const Literal& item) { return item.integer() != nullptr; };
    const auto is_shape = [&](const Literal& l) {
      return l.list() != nullptr && std::ranges::all_of(*l.list(), is_integer);
    };
    // To Python, ((128, 1024)) is (128, 1024). So integers in the outer tuple are the shape of one
    // tensor.
    Literal::List places = *shapes.list();
    if (!places.empty() && is_shape(shapes)) places = {shapes};
    int place = 0;
    for (const Literal& at : places) {
      if (at.is_none()) {
        tensors.push_back({.place = place, .absent = true, .dtype = "", .shape = {}});
      } else if (is_shape(at)) {
        tensors.push_back({.place = place, .dtype = "", .shape = shape(column, at)});
      } else if (at.list() != nullptr) {
        int item = 0;
        for (const Literal& of_list : *at.list()) {
          if (!is_shape(of_list)) {
            refuse(column, formatted("{} is no shape", literal_text(of_list)));
          }
          tensors.push_back(
              {.place = place, .item = item++, .dtype = "", .shape = shape(column, of_list)});
        }
      } else {
        refuse(column, formatted("{} is no shape", literal_text(at)));
      }
      ++place;
    }
    add_dtypes(side + "_dtypes", tensors);
    return tensors;
  }

  // Returns the numbers of a cell, one for each output. A cell with a single number applies to all
  // outputs.
  std::vector<double> numbers(const std::string& column, std::size_t outputs) const {
    const Literal cell = literal(column);
    if (cell.is_none()) return {};
    const Literal::List items = cell.list() != nullptr ? *cell.list() : Literal::List{cell};
    std::vector<double> numbers;
    for (const Literal& item : items) numbers.push_back(number(column, item));
    if (cell.list() == nullptr) numbers.resize(outputs, numbers[0]);
    return numbers;
  }

  std::vector<std::optional<std::pair<double, double>>> pairs(const std::string& column) const {
    const Literal cell = literal(column);
    if (cell.is_none()) return {};
    if (cell.list() == nullptr) refuse(column, "a tuple of pairs is expected");
    std::vector<std::optional<std::pair<double, double>>> pairs;
    for (const Literal& item : *cell.list()) {
      if (item.is_none()) {
        pairs.emplace_back();
        continue;
      }
      if (item.list() == nullptr || item.list()->size() != 2) {
        refuse(column,
               formatted("{} is no pair of rtol and the share of elements that may be mismatches",
                         literal_text(item)));
      }
      pairs.emplace_back(
          std::pair(number(column, (*item.list())[0]), number(column, (*item.list())[1])));
    }
    return pairs;
  }

  // Returns a file name for each tensor. The tensors in lists count one by one. A cell with a
  // single text names one file.
  std::vector<std::string> files(const std::string& column,
                                 const std::vector<TtkTensor>& tensors) const {
    std::vector<std::string> files;
    add_files(column, literal(column), files);
    if (files.empty() || files.size() == tensors.size()) return files;
    refuse(column,
           formatted("names {}, but the row has {} here; name one file for each tensor",
                     counted(std::ssize(files), "file"), counted(std::ssize(tensors), "tensor")));
  }

  Literal::Dict attributes() const {
    const Literal cell = literal("attributes");
    if (cell.is_none()) return {};
    if (cell.dict() == nullptr) refuse("attributes", "a dict is expected");
    for (const auto& [key, value] : *cell.dict()) {
      if (key.text() == nullptr) {
        refuse("attributes", formatted("the key {} is no string", literal_text(key)));
      }
    }
    return *cell.dict();
  }

 private:
  void add_files(const std::string& column, const Literal& literal,
                 std::vector<std::string>& files) const {
    if (literal.list() != nullptr) {
      for (const Literal& item : *literal.list()) {
        if (item.is_none()) {
          files.emplace_back();
        } else {
          add_files(column, item, files);
        }
      }
      return;
    }
    if (literal.is_none()) return;
    const std::string* const file = literal.text();
    if (file == nullptr) refuse(column, formatted("{} is no file name", literal_text(literal)));
    const bool known = std::ranges::any_of(
        kInputEndings, [&](std::string_view ending) { return file->ends_with(ending); });
    if (!file->empty() && !known) {
      refuse(column, formatted("{} is no .bin, .npy or .pt file; name a file of one of these kinds",
                               *file));
    }
    files.push_back(*file);
  }

  double number(const std::string& column, const Literal& literal) const {
    double value = -1;
    if (literal.integer() != nullptr) value = static_cast<double>(*literal.integer());
    if (const double* real = std::get_if<double>(&literal.value)) value = *real;
    if (value < 0) {
      refuse(column, formatted("{} is no number of at least 0", literal_text(literal)));
    }
    return value;
  }

  // Sets the tensors' dtypes from a cell. A single entry applies to all tensors. Within a list of
  // tensors, a single entry applies to the whole list.
  void add_dtypes(const std::string& column, std::vector<TtkTensor>& tensors) const {
    Literal dtypes = literal(column);
    if (dtypes.is_none() || tensors.empty()) return;
    if (dtypes.text() != nullptr) dtypes = {Literal::List{dtypes}};
    if (dtypes.list() == nullptr || dtypes.list()->empty()) {
      refuse(column, "a tuple of dtypes is expected");
    }
    const Literal::List& places = *dtypes.list();
    for (TtkTensor& tensor : tensors) {
      const auto place = static_cast<std::size_t>(tensor.place);
      if (places.size() > 1 && place >= places.size()) {
        refuse(column, formatted("there are {} dtypes, but more shapes; give one dtype for each "
                                 "shape, or one for all",
                                 places.size()));
      }
      const Literal* of = &places[places.size() == 1 ? 0 : place];
      if (of->list() != nullptr) {
        const Literal::List& items = *of->list();
        const auto item = static_cast<std::size_t>(std::max(tensor.item, 0));
        if (items.empty() || (items.size() > 1 && item >= items.size())) {
          refuse(column,
                 "a list of tensors has fewer dtypes than shapes; give one dtype for each shape, "
                 "or one for all");
        }
        of = &items[items.size() == 1 ? 0 : item];
      }
      if (of->is_none()) continue;
      if (of->text() == nullptr) {
        refuse(column, formatted("{} is no dtype", literal_text(*of)));
      }
      tensor.dtype = *of->text();
    }
  }

  const CsvTable& csv_;
  const CsvRow& row_;
};

}  // namespace

bool is_ttk_table(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::string start(4096, '\0');
  in.read(start.data(), static_cast<std::streamsize>(start.size()));
  start.resize(static_cast<std::size_t>(in.gcount()));
  start = start.substr(0, start.find_first_of("\r\n"));
  return start.find("testcase_name") != std::string::npos &&
         start.find("op_name") != std::string::npos;
}

TtkTable read_ttk_table(const std::string& path) {
  if (path.ends_with(".xlsx") || path.ends_with(".xls")) {
    throw FileError(path, "",
                    "is an Excel workbook, which assay does not read; save its sheet as CSV, in "
                    "UTF-8 with commas (`soffice --headless --convert-to csv FILE`)");
  }
  TtkTable table{.csv = read_csv(path), .cases = {}};
  for (const char* needed : {"testcase_name", "op_name"}) {
    if (table.csv.column(needed) < 0) {
      throw file_error(path, "line 1", "has no column {}", needed);
    }
  }
  std::set<std::string> names;
  for (const CsvRow& row : table.csv.rows) {
    const RowReader reader(table.csv, row);
    TtkCase c;
    c.name = reader.text("testcase_name");
    if (c.name.empty()) reader.refuse("testcase_name", "is empty");
    if (!names.insert(c.name).second) {
      reader.refuse("testcase_name", formatted("'{}' is there twice", c.name));
    }
    c.op = reader.text("op_name");
    c.line = row.line;
    c.inputs = reader.tensors("input");
    c.outputs = reader.tensors("output");
    c.attributes = reader.attributes();
    c.tolerances = reader.pairs("precision_tolerances");
    c.atol = reader.numbers("absolute_precision", c.outputs.size());
    c.input_files = reader.files("manual_input_binaries", c.inputs);
    c.golden_files = reader.files("manual_golden_binaries", c.outputs);
    c.xpu_files = reader.files("manual_xpu_binaries", c.outputs);
    table.cases.push_back(std::move(c));
  }
  return table;
}

}  // namespace assay
