#include "assay/datasets/layouts/row_cases.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "assay/base/call_text.h"
#include "assay/base/parallel.h"
#include "assay/base/text.h"
#include "assay/cases/source_names.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/store/case_path.h"

namespace assay::inline v0_2 {
namespace {

// Returns row i of an array that begins at `rows`.
Tensor row_at(const Format& format, const Shape& shape, const std::byte* rows, std::int64_t i) {
  Tensor row(format, shape);
  const std::size_t bytes = row.byte_count();
  if (bytes > 0) std::memcpy(row.bytes(), rows + static_cast<std::size_t>(i) * bytes, bytes);
  return row;
}

Shape shape_of_row(const Shape& shape) { return Shape(shape.begin() + 1, shape.end()); }

// The rows of one array, read in blocks of a fixed number of bytes.
class RowsOfArray {
 public:
  // Reads from `source`. If it is null, the rows are those of `whole`, which is in memory.
  RowsOfArray(std::unique_ptr<ArraySource> source, Tensor whole)
      : source_(std::move(source)), whole_(std::move(whole)) {
    const Shape& shape = source_ ? source_->shape() : whole_.shape();
    format_ = source_ ? &source_->format() : &whole_.format();
    rows_ = shape.front();
    shape_ = shape_of_row(shape);
    elements_ = element_count(shape_);
    if (source_ == nullptr) return;
    constexpr std::int64_t kBlockBytes = std::int64_t{1} << 20;
    const std::int64_t row_bytes = elements_ * format_->storage_bytes;
    block_rows_ = std::clamp<std::int64_t>(kBlockBytes / std::max<std::int64_t>(row_bytes, 1), 1,
                                           std::max<std::int64_t>(rows_, 1));
    // Reads the array once from beginning to end, to verify its checksum.
    for (std::int64_t row = 0; row < rows_; row += block_rows_) read_block(row);
  }

  Tensor row(std::int64_t i) {
    if (source_ == nullptr) return row_at(*format_, shape_, whole_.bytes(), i);
    if (i < first_ || i >= first_ + held_) read_block(i / block_rows_ * block_rows_);
    return row_at(*format_, shape_, block_.data(), i - first_);
  }

 private:
  void read_block(std::int64_t first) {
    held_ = 0;
    const std::int64_t rows = std::min(block_rows_, rows_ - first);
    block_.resize(static_cast<std::size_t>(rows * elements_ * format_->storage_bytes));
    source_->read(first * elements_, rows * elements_, block_.data());
    first_ = first;
    held_ = rows;
  }

  std::unique_ptr<ArraySource> source_;
  Tensor whole_;
  const Format* format_;
  Shape shape_;  // of a row
  std::int64_t rows_, elements_, block_rows_ = 0;
  std::vector<std::byte> block_;  // holds the rows [first_, first_ + held_) of the array
  std::int64_t first_ = 0, held_ = 0;
};

ArrayInfo row_of(ArrayInfo info) {
  info.shape.erase(info.shape.begin());
  return info;
}

class RowCases : public CaseSource {
 public:
  explicit RowCases(std::unique_ptr<CaseSource> cases) : cases_(std::move(cases)) {
    for (const std::string& name : cases_->case_names()) {
      try {
        StoredCase info = cases_->info(name);
        const std::int64_t rows = rows_of(path(), info);
        for (auto& [operand, input] : info.inputs) input = row_of(std::move(input));
        for (auto& [output, of] : info.outputs) of = converted<ArrayInfo>(of, row_of);
        packs_.emplace(name, Pack{name, rows, std::move(info)});
      } catch (const FileError& e) {
        packs_.emplace(name, Pack{name, 1, {}, e});
      }
    }
  }

  const std::string& path() const override { return cases_->path(); }

  std::vector<std::string> case_names() const override {
    std::vector<std::string> names;
    for (const auto& [name, pack] : packs_) {
      for (std::string& row : names_of(name)) names.push_back(std::move(row));
    }
    if (names.empty())
      throw NoCaseError(
          path(), "",
          "its arrays have 0 rows, and each row is a case; give arrays with at least 1 row");
    return names;
  }
  using CaseSource::case_names;

  // Returns the names of the rows of one case.
  std::vector<std::string> names_of(const std::string& name) const {
    std::vector<std::string> names;
    const std::int64_t rows = packs_.at(name).rows;
    for (std::int64_t row = 0; row < rows; ++row) names.push_back(row_name(name, row, rows));
    return names;
  }

  bool has_case(const std::string& name) const override { return place_of(name).pack != nullptr; }

  StoredCase info(const std::string& name) const override {
    const Pack& pack = *at(name).pack;
    StoredCase info = pack.info;
    info.name = name;
    name_source_of_row(pack, name, info.attributes);
    return info;
  }

  std::optional<std::string> find(const std::string& source_name) const override {
    return cases_->find(source_name);
  }

  std::optional<ArrayInfo> golden_info(const std::string& name,
                                       const std::string& output) const override {
    return cases_->golden_info(name, output);
  }

  std::map<std::string, Attribute> attributes_of(const std::string& name) const override {
    const Pack& pack = *at(name).pack;
    std::map<std::string, Attribute> attributes = pack.info.attributes;
    attributes.emplace("op", pack.info.op);
    name_source_of_row(pack, name, attributes);
    return attributes;
  }

  std::vector<std::string> producers_of(const std::string& name) const override {
    const Place place = place_of(name);
    return cases_->producers_of(place.pack != nullptr ? place.pack->name : name);
  }

  Case read(const std::string& name, const ReadOptions& what) const override {
    const Place place = at(name);
    const StoredCase& info = place.pack->info;
    Case c{{name, info.op, info.attributes, {}, info.absent_inputs}};
    name_source_of_row(*place.pack, name, c.attributes);
    for (const auto& [operand, tensor] : info.inputs) {
      if (what.inputs) {
        c.inputs.emplace(operand, input(*place.pack, operand, place.row));
      } else {
        c.unread_inputs.emplace(operand, &format_named(tensor.dtype));
      }
    }
    for (const auto& [output, of] : info.outputs) {
      CaseOutput& to = c.outputs[output];
      to.attributes = of.attributes;
      to.output_dtype_is_open = of.output_dtype_is_open;
      if (of.golden.is_absent()) to.golden = Golden::absent();
      if (of.golden && what.golden) to.golden = golden(*place.pack, output, place.row);
      if (!what.recorded) continue;
      for (const auto& [producer, recorded] : of.recorded) {
        auto& row = to.recorded[producer];
        row.machine = recorded.machine;
        if (!recorded.tensor.empty()) row.tensor = read_output(name, producer, output);
        row.epilogue = read_epilogue(name, producer, output);
      }
    }
    return c;
  }

  Tensor read_output(const std::string& name, const std::string& producer,
                     const std::string& output) const override {
    const Place place = at(name);
    return rows(
               "outputs", *place.pack, producer, output,
               [&] { return cases_->open_result(place.pack->name, producer, output); },
               [&] { return cases_->read_output(place.pack->name, producer, output); })
        .row(place.row);
  }

  Epilogue read_epilogue(const std::string& name, const std::string& producer,
                         const std::string& output) const override {
    const Place place = at(name);
    const auto& all = place.pack->info.outputs.at(output).recorded;
    const auto known = all.find(producer);
    if (known == all.end()) return {};
    const auto part = [&](const char* what, auto member) {
      if ((known->second.epilogue.*member.first).empty()) return Tensor();
      return rows(
                 what, *place.pack, producer, output, [] { return nullptr; },
                 [&] {
                   Epilogue all_rows = cases_->read_epilogue(place.pack->name, producer, output);
                   return std::move(all_rows.*member.second);
                 })
          .row(place.row);
    };
    using Stored = BasicEpilogue<ArrayInfo>;
    return {part("accumulators", std::pair(&Stored::accumulator, &Epilogue::accumulator)),
            part("residuals", std::pair(&Stored::residual, &Epilogue::residual))};
  }

  // Returns the place of a row's bytes if the array lies in one stretch of a file, and otherwise
  // the place of the whole array.
  std::optional<StoredPlace> result_place(const std::string& name, const std::string& producer,
                                          const std::string& output) const override {
    const Place place = at(name);
    const std::int64_t rows = place.pack->rows;
    std::optional<StoredPlace> found = cases_->result_place(place.pack->name, producer, output);
    if (found && found->begin >= 0 && found->size % rows == 0) {
      found->size /= rows;
      found->begin += place.row * found->size;
    }
    return found;
  }

 private:
  struct Pack {
    std::string name;
    std::int64_t rows;
    StoredCase info;  // describes each row, because all rows are alike; its name is not set
    // Set if the arrays cannot be read. Their number of rows is then unknown, so every row has this
    // error.
    std::optional<FileError> error = {};
  };
  struct Place {
    const Pack* pack = nullptr;  // the case that has the row, or null if there is no such case
    std::int64_t row = 0;
  };

  // Gives a row its source name: that of the case, followed by the number of the row.
  static void name_source_of_row(const Pack& pack, const std::string& name,
                                 std::map<std::string, Attribute>& attributes) {
    const std::string source_name = source_name_of(pack.name, attributes);
    if (source_name == pack.name) return;
    attributes[kSourceNameAttribute] = source_name + name.substr(pack.name.size());
  }

  Place place_of(const std::string& name) const {
    const std::size_t slash = name.rfind('/');
    if (slash == std::string::npos) return {};
    const Pack* const pack = pack_named(name.substr(0, slash));
    const auto row = read_number<std::int64_t>(name.substr(slash + 1));
    if (pack == nullptr || !row || *row < 0) return {};
    if (pack->error) return {pack, 0};
    if (*row >= pack->rows || row_name(pack->name, *row, pack->rows) != name) return {};
    return {pack, *row};
  }

  // Returns the case whose rows are cases, or null if no case has this name. A case that exists but
  // is not listed is in an archive that cannot be read, so it is returned with that error.
  const Pack* pack_named(const std::string& name) const {
    const auto listed = packs_.find(name);
    if (listed != packs_.end()) return &listed->second;
    if (!cases_->has_case(name)) return nullptr;
    try {
      (void)cases_->info(name);
    } catch (const FileError& e) {
      return &unlisted_.emplace(name, Pack{name, 1, {}, e}).first->second;
    }
    return nullptr;
  }

  Place at(const std::string& name) const {
    const Place found = place_of(name);
    if (found.pack == nullptr) {
      throw FileError(path(), name, "is no case: no array has such a row, or no case such a name");
    }
    if (found.pack->error) throw FileError(*found.pack->error);
    return found;
  }

  // Returns an array of a case, which is opened once. An array that cannot be opened in pieces is
  // read whole.
  template <typename Open, typename Read>
  RowsOfArray& rows(const char* part, const Pack& pack, const std::string& name,
                    const std::string& output, const Open& open, const Read& read) const {
    const std::array<std::string, 4> key{pack.name, part, name, output};
    const auto found = arrays_.find(key);
    if (found != arrays_.end()) return found->second;
    std::unique_ptr<ArraySource> source = open();
    Tensor whole = source ? Tensor() : read();
    return arrays_.emplace(key, RowsOfArray(std::move(source), std::move(whole))).first->second;
  }

  Tensor input(const Pack& pack, const std::string& operand, std::int64_t row) const {
    return rows(
               "inputs", pack, operand, "", [&] { return cases_->open_input(pack.name, operand); },
               [&] {
                 Case whole =
                     cases_->read(pack.name, {.inputs = true, .golden = false, .recorded = false});
                 return std::move(whole.inputs.at(operand));
               })
        .row(row);
  }

  Tensor golden(const Pack& pack, const std::string& output, std::int64_t row) const {
    return rows(
               "golden", pack, "", output,
               [&] { return cases_->open_result(pack.name, "", output); },
               [&] {
                 Case whole =
                     cases_->read(pack.name, {.inputs = false, .golden = true, .recorded = false});
                 return std::move(*whole.outputs.at(output).golden);
               })
        .row(row);
  }

  std::unique_ptr<CaseSource> cases_;
  std::map<std::string, Pack> packs_;
  mutable std::map<std::string, Pack> unlisted_;
  mutable std::map<std::array<std::string, 4>, RowsOfArray> arrays_;
};

}  // namespace

std::string row_name(const std::string& name, std::int64_t row, std::int64_t rows) {
  const std::size_t digits = formatted("{}", std::max<std::int64_t>(rows - 1, 0)).size();
  return formatted("{}/{:0{}}", name, row, digits);
}

std::int64_t rows_of(const std::string& path, const StoredCase& info) {
  std::optional<std::int64_t> rows;
  std::string first;
  const auto look = [&](const std::string& what, const ArrayInfo& tensor) {
    const std::string object = path_of(info.name, what, "");
    if (tensor.shape.empty()) {
      throw FileError(path, object, "is a scalar: it has no rows that could be cases");
    }
    if (!rows) {
      rows = tensor.shape.front();
      first = what;
    } else if (*rows != tensor.shape.front()) {
      throw file_error(path, object,
                       "has {} rows, but {} has {} rows; if rows are cases, all tensors of a case "
                       "need the same number of rows",
                       tensor.shape.front(), first, *rows);
    }
  };
  for (const auto& [operand, tensor] : info.inputs) look("inputs/" + operand, tensor);
  for (const auto& [output, of] : info.outputs) {
    const std::string behind = output.empty() ? "" : "/" + output;
    if (of.golden) look("golden" + behind, *of.golden);
    for (const auto& [producer, recorded] : of.recorded) {
      for (const auto& [part, array] : {std::pair("outputs/", &recorded.tensor),
                                        {"accumulators/", &recorded.epilogue.accumulator},
                                        {"residuals/", &recorded.epilogue.residual}}) {
        if (!array->empty()) look(part + producer + behind, *array);
      }
    }
  }
  return rows.value_or(0);
}

bool rows_are_cases(const std::string& path, const std::map<std::string, Attribute>& attributes) {
  const auto said = attributes.find(kRowsAreCases);
  if (said == attributes.end()) return false;
  const auto* number = std::get_if<std::int64_t>(&said->second);
  if (number == nullptr || (*number != 0 && *number != 1)) {
    throw file_error(path, "/", "its attribute '{}' is {}; it must be 0 or 1", kRowsAreCases,
                     attribute_text(said->second));
  }
  return *number == 1;
}

Tensor rows_like(const Tensor& row, std::int64_t rows) {
  Shape shape = row.shape();
  shape.insert(shape.begin(), rows);
  return Tensor(row.format(), shape);
}

void put_row(Tensor& rows, std::int64_t row, const Tensor& value) {
  Shape shape = value.shape();
  shape.insert(shape.begin(), rows.shape().front());
  if (&rows.format() != &value.format() || rows.shape() != shape) {
    throw std::logic_error(
        formatted("row {} has dtype {} and shape {}, but the other rows have dtype {} and shape "
                  "{}; give all rows the same dtype and shape",
                  row, value.format().name, shape_text(value.shape()), rows.format().name,
                  shape_text(shape_of_row(rows.shape()))));
  }
  if (value.byte_count() == 0) return;
  std::memcpy(rows.bytes() + static_cast<std::size_t>(row) * value.byte_count(), value.bytes(),
              value.byte_count());
}

Tensor computed_by_rows(const Case& c, std::int64_t rows, int threads,
                        const std::function<Tensor(const Case& row)>& compute) {
  if (rows == 0)
    refuse_case(c.name,
                "its arrays have 0 rows, and each row is a case; give arrays with at least 1 row");
  const Case header = c.without_tensors();
  const auto row_case = [&](std::int64_t row) {
    Case of_row = header;
    of_row.name = row_name(c.name, row, rows);
    for (const auto& [operand, tensor] : c.inputs) {
      of_row.inputs.emplace(
          operand, row_at(tensor.format(), shape_of_row(tensor.shape()), tensor.bytes(), row));
    }
    return of_row;
  };
  const Tensor first = compute(row_case(0));
  Tensor all = rows_like(first, rows);
  put_row(all, 0, first);
  parallel_for(rows - 1, threads,
               [&](std::int64_t i) { put_row(all, i + 1, compute(row_case(i + 1))); });
  return all;
}

void take_rows_as_cases(OpenedCases& opened) {
  auto rows = std::make_unique<RowCases>(std::move(opened.cases));
  if (!opened.order.empty()) {
    std::vector<std::string> order;
    for (const std::string& name : opened.order) {
      for (std::string& row : rows->names_of(name)) order.push_back(std::move(row));
    }
    opened.order = std::move(order);
  }
  opened.cases = std::move(rows);
  // The attribute is removed, because the rows of the new cases are not cases.
  opened.attributes.erase(kRowsAreCases);
}

}  // namespace assay
