#include "assay/datasets/layouts/array_cases.h"

#include <algorithm>
#include <filesystem>
#include <utility>

#include "assay/base/error.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/file_error_text.h"

namespace assay::inline v0_2 {
namespace {

bool is_raw(const std::string& path) {
  return std::ranges::any_of(array_format_named("bin").endings,
                             [&](std::string_view ending) { return path.ends_with(ending); });
}

const Format& known_format(const ArrayRequest& array) {
  return *in_file(array.path, [&] { return &format_named(array.dtype); });
}

// Returns the number of elements of this dtype in a raw file. Throws FileError if the file does not
// hold a whole number of them.
std::int64_t elements_in(const ArrayRequest& array) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(array.path, error);
  if (error) throw FileError(array.path, "", error.message());
  const Format& f = known_format(array);
  const auto width = static_cast<std::uintmax_t>(f.storage_bytes);
  if (bytes % width != 0) {
    throw file_error(array.path, "", "has {} bytes, which is no whole number of {} elements", bytes,
                     f.name);
  }
  return static_cast<std::int64_t>(bytes / width);
}

// Counts the arrays for which one property was inferred in one way, for the note about them.
struct Inferred {
  const char* note;
  int count = 0;
  std::string first = {};

  void add(const std::string& path) {
    if (count++ == 0) first = path;
  }
};
struct AllInferred {
  Inferred dtype_of_other = {"the dtype is that of the other side"};
  Inferred output_dtype = {
      "the output dtype is that of the outputs, because the golden results have more precision"};
  Inferred shape_of_other = {"the shape is that of the other side, because the sizes agree"};
  Inferred shape_of_size = {
      "the shape is not known, so that one dimension of all elements is taken"};
};

// Sets dtype and shape to those that the raw file itself says, by its name or by a file beside it.
// Returns false if the file does not say both.
bool says_itself(ArrayRequest& array) {
  if (!array.dtype.empty() && array.shape) return true;
  try {
    const std::unique_ptr<ArraySource> source = open_array(array);
    array.dtype = source->format().name;
    array.shape = source->shape();
    return true;
  } catch (const FileError&) {
    return false;
  }
}

// Returns the size of an array's file in bytes. For an array in an archive this is the size of the
// whole archive, because looking into it takes longer.
std::int64_t bytes_of_file(const ArrayRequest& array) {
  std::error_code error;
  const std::uintmax_t bytes = std::filesystem::file_size(array_file(array.path), error);
  return error ? 0 : static_cast<std::int64_t>(bytes);
}

ArrayInfo info_of(const ArrayRequest& array) {
  const std::unique_ptr<ArraySource> source = open_array(array);
  return {std::string(source->format().name), source->shape()};
}

// The user's dtype and shape for those raw bytes of one side that nothing else describes.
struct RawDefaults {
  const std::string& dtype;
  const std::optional<Shape>& shape;
};

using FindOther = std::function<std::optional<ArrayInfo>()>;

std::optional<ArrayInfo> info_if_known(ArrayRequest array) {
  if (is_raw(array.path) && !says_itself(array)) return std::nullopt;
  return info_of(array);
}

// Settles dtype and shape of an array. `find_other` returns the array of the other side. If nothing
// else says them, dtype and shape are taken from that array.
void settle(ArrayRequest& array, const RawDefaults& defaults, const FindOther& find_other,
            AllInferred& inferred) {
  // A file's own description takes precedence over the defaults, which are for all files.
  if (!is_raw(array.path)) {
    if (array.dtype.empty()) array.dtype = defaults.dtype;
    if (!array.dtype.empty()) (void)known_format(array);
    return;
  }
  if (array.dtype.empty() && !array.shape && says_itself(array)) return;
  if (array.dtype.empty()) array.dtype = defaults.dtype;
  if (!array.shape && defaults.shape) array.shape = defaults.shape;
  std::optional<ArrayInfo> pair;
  const auto of_pair = [&]() -> const std::optional<ArrayInfo>& {
    if (!pair && find_other) {
      try {
        pair = find_other();
      } catch (const FileError&) {
        // The error is reported when the other array is read.
      }
    }
    return pair;
  };
  if (array.dtype.empty()) {
    if (!of_pair()) {
      throw FileError(array.path, "",
                      "holds raw bytes, and nothing says their dtype: neither its name (as in "
                      "x_bfloat16.bin) nor the other side; give --dtype and --golden-dtype");
    }
    array.dtype = pair->dtype;
    inferred.dtype_of_other.add(array.path);
  }
  (void)known_format(array);
  if (array.shape) return;
  const std::int64_t count = elements_in(array);
  if (of_pair() && element_count(pair->shape) == count) {
    array.shape = pair->shape;
    inferred.shape_of_other.add(array.path);
  } else {
    array.shape = Shape{count};
    inferred.shape_of_size.add(array.path);
  }
}

// Returns the array of a producer's result, or of the golden result if `producer` is empty. Returns
// null if there is no such array.
const ArrayRequest* array_in(const OutputRecord& result, const std::string& producer) {
  if (!producer.empty()) return result.recorded_by(producer);
  return result.golden ? &*result.golden : nullptr;
}

ArrayRequest* first_recorded(OutputRecord& result) {
  for (auto& [producer, recorded] : result.recorded) {
    if (!recorded.tensor.empty()) return &recorded.tensor;
  }
  return nullptr;
}

// If the golden result has more precision than the outputs, it does not tell the output dtype. Then
// the dtype of the outputs is used, including outputs in another place, which settle it when they
// are read.
void settle_output_dtype(const CaseRecord& record, OutputRecord& result, AllInferred& inferred) {
  constexpr const char* kName = "output_dtype";
  if (!result.golden || result.attributes.count(kName) > 0 || record.attributes.count(kName) > 0) {
    return;
  }
  result.output_dtype_is_open = true;
  const Format* const common = common_format(converted<ArrayInfo>(result, info_of));
  if (common == nullptr) return;
  const Format& golden = format_named(info_of(*result.golden).dtype);
  if (!has_more_precision(golden, *common)) return;
  result.attributes[kName] = std::string(common->name);
  result.output_dtype_is_open = false;
  inferred.output_dtype.add(first_recorded(result)->path);
}

}  // namespace

void settle_arrays(std::vector<CaseRecord>& records, const OpenOptions& options,
                   std::vector<std::string>& notes) {
  const RawDefaults outputs{options.dtype, options.shape};
  const RawDefaults golden{options.golden_dtype, options.golden_shape};
  AllInferred inferred;
  const auto settle_record = [&](CaseRecord& record) {
    for (auto& [name, input] : record.inputs) settle(input, golden, {}, inferred);
    for (auto& [name, result] : record.outputs) {
      if (!outputs.dtype.empty() && result.golden) {
        result.attributes.emplace("output_dtype", std::string(format_named(outputs.dtype).name));
      }
      FindOther of_output, of_golden;
      if (const ArrayRequest* const first = first_recorded(result)) {
        of_output = [first] { return info_if_known(*first); };
      }
      if (result.golden) settle(*result.golden, golden, of_output, inferred);
      if (result.golden) {
        of_golden = [&there = *result.golden] { return info_if_known(there); };
      } else if (options.golden_sources) {
        const std::string output = record.outputs.size() == 1 ? "" : name;
        of_golden = [&options, output, source_name = record.source_name()] {
          const FoundCase known = find_in(options.golden_sources(), source_name);
          return known.name ? known.source->golden_info(*known.name, output) : std::nullopt;
        };
      }
      for (auto& [producer, recorded] : result.recorded) {
        if (!recorded.tensor.empty()) settle(recorded.tensor, outputs, of_golden, inferred);
      }
      settle_output_dtype(record, result, inferred);
    }
  };
  for (CaseRecord& record : records) {
    try {
      if (!record.error) settle_record(record);
    } catch (const FileError& e) {
      record.error = e;
    }
  }
  for (const Inferred* of : {&inferred.dtype_of_other, &inferred.output_dtype,
                             &inferred.shape_of_other, &inferred.shape_of_size}) {
    if (of->count == 0) continue;
    notes.push_back(formatted("{}: {}{}", of->note,
                              of->count == 1 ? "" : formatted("{} arrays, the first ", of->count),
                              of->first));
  }
}

std::string CaseRecord::source_name() const { return source_name_of(name, attributes); }

namespace {

// Returns the names of the golden cases to which records belong, by source name.
std::map<std::string, std::string> golden_names(const std::vector<CaseRecord>& records,
                                                const OpenOptions& options) {
  std::map<std::string, std::string> names;
  if (!options.golden_sources) return names;
  const std::vector<const CaseSource*> sources = options.golden_sources();
  for (const CaseRecord& record : records) {
    const std::string source_name = record.source_name();
    if (std::optional<std::string> name = find_in(sources, source_name).name) {
      names.emplace(source_name, std::move(*name));
    }
  }
  return names;
}

bool any_golden_below(const std::string& above, const OpenOptions& options) {
  if (!options.golden_sources) return false;
  for (const CaseSource* source : options.golden_sources()) {
    for (const std::string& name : source->case_names()) {
      if (name.starts_with(above)) return true;
    }
  }
  return false;
}

// If several records have one source name, only the first is left, with an error.
void mark_repeated(const std::string& path, std::vector<CaseRecord>& records) {
  std::map<std::string, CaseRecord*> first;
  std::set<const CaseRecord*> repeated;
  for (CaseRecord& record : records) {
    const auto [at, is_new] = first.emplace(record.source_name(), &record);
    if (is_new) continue;
    repeated.insert(&record);
    if (!at->second->error) at->second->error = FileError(path, record.name, "is there twice");
  }
  std::vector<CaseRecord> kept;
  for (CaseRecord& record : records) {
    if (repeated.count(&record) == 0) kept.push_back(std::move(record));
  }
  records = std::move(kept);
}

// If a case has only one output, the layout's name for it is dropped, and its attributes become the
// case's.
void unname_only_output(CaseRecord& record) {
  if (record.outputs.size() != 1) return;
  auto only = record.outputs.extract(record.outputs.begin());
  for (auto& [name, value] : only.mapped().attributes) record.attributes[name] = std::move(value);
  only.mapped().attributes.clear();
  only.key() = "";
  record.outputs.insert(std::move(only));
}

}  // namespace

ArrayCases::ArrayCases(std::string path, std::vector<CaseRecord> records,
                       const OpenOptions& options)
    : path_(std::move(path)) {
  mark_repeated(path_, records);
  for (CaseRecord& record : records) unname_only_output(record);
  const std::map<std::string, std::string> golden = golden_names(records, options);
  std::map<std::string, int> claims;  // on case names
  std::set<std::string> groups;       // the groups that have cases below them
  std::vector<std::string> names;     // the case names of the records, in the records' order
  for (const CaseRecord& record : records) {
    const auto known = golden.find(record.source_name());
    std::string name = known != golden.end() ? known->second : safe_case_name(record.name);
    ++claims[name];
    for (std::size_t at = name.find('/'); at != std::string::npos; at = name.find('/', at + 1)) {
      groups.insert(name.substr(0, at));
    }
    names.push_back(std::move(name));
  }
  std::set<std::string> of_golden;
  for (const auto& [source_name, name] : golden) of_golden.insert(name);
  for (std::size_t i = 0; i < records.size(); ++i) {
    CaseRecord& record = records[i];
    const std::string source_name = record.source_name();
    std::string& name = names[i];
    if (golden.count(source_name) == 0) {
      // A record whose own name is a valid case name keeps it, even if the safe name of another
      // record is the same. Only a golden case with that name takes the name away.
      const bool is_own = name == source_name;
      const bool is_taken = claims[name] > 1 && (!is_own || of_golden.count(name) > 0);
      if (is_taken || groups.count(name) > 0) name = distinct_case_name(source_name);
    }
    if (name != source_name) record.attributes[kSourceNameAttribute] = source_name;
    if (record.stands_for_all_below) {
      const std::string above = name.substr(0, name.rfind('/') + 1);
      all_below_.emplace(above, record);
      if (any_golden_below(above, options)) continue;
    }
    order_.push_back(name);
    by_source_.emplace(source_name, name);
    const auto [at, is_new] = records_.emplace(name, std::move(record));
    if (is_new) continue;
    order_.pop_back();
    at->second.error =
        file_error(path_, source_name, "and '{}' would both be the case {}; rename one of them",
                   at->second.source_name(), name);
  }
}

std::vector<std::string> ArrayCases::case_names() const {
  if (records_.empty() && all_below_.empty()) throw NoCaseError(path_, "", "holds no case");
  return keys_of(records_);
}

const CaseRecord* ArrayCases::find_record(const std::string& name) const {
  if (const auto at = records_.find(name); at != records_.end()) return &at->second;
  for (const auto& [above, record] : all_below_) {
    if (name.starts_with(above)) return &record;
  }
  return nullptr;
}

bool ArrayCases::has_case(const std::string& name) const { return find_record(name) != nullptr; }

std::optional<std::string> ArrayCases::find(const std::string& source_name) const {
  const auto at = by_source_.find(source_name);
  return at == by_source_.end() ? std::nullopt : std::optional(at->second);
}

const CaseRecord& ArrayCases::record(const std::string& name) const {
  const CaseRecord* const found = find_record(name);
  if (found == nullptr) throw FileError(path_, name, "there is no such case");
  return *found;
}

const OutputRecord& ArrayCases::result(const std::string& name, const std::string& output) const {
  const OutputRecord* const found = record(name).find_output(output);
  if (found == nullptr) {
    throw file_error(path_, name, "there is no output '{}'", output);
  }
  return *found;
}

const ArrayRequest* ArrayCases::find_array(const std::string& name, const std::string& producer,
                                           const std::string& output) const {
  return array_in(result(name, output), producer);
}

Case ArrayCases::read(const std::string& name, const ReadOptions& what) const {
  const CaseRecord& r = record(name);
  if (r.error) throw FileError(*r.error);
  Case c{{name, r.op, r.attributes, {}, r.absent_inputs}};
  for (const auto& [operand, array] : r.inputs) {
    if (what.inputs) {
      c.inputs.emplace(operand, read_array(array));
    } else {
      c.unread_inputs.emplace(operand, &format_named(info_of(array).dtype));
    }
  }
  for (const auto& [output, of] : r.outputs) {
    OutputRecord asked = of;
    if (!what.golden && asked.golden) asked.golden = {};
    if (!what.recorded) asked.recorded.clear();
    c.outputs.emplace(
        output, converted<Tensor>(asked, [](const ArrayRequest& a) { return read_array(a); }));
  }
  return c;
}

StoredCase ArrayCases::info(const std::string& name) const {
  const CaseRecord& r = record(name);
  if (r.error) throw FileError(*r.error);
  StoredCase info{name, r.op, r.attributes, {}, r.absent_inputs, {}};
  for (const auto& [operand, array] : r.inputs) info.inputs.emplace(operand, info_of(array));
  for (const auto& [output, of] : r.outputs) {
    info.outputs.emplace(output, converted<ArrayInfo>(of, info_of));
  }
  return info;
}

std::map<std::string, Attribute> ArrayCases::attributes_of(const std::string& name) const {
  const CaseRecord& r = record(name);
  std::map<std::string, Attribute> attributes = r.attributes;
  attributes["op"] = r.op;
  return attributes;
}

std::vector<std::string> ArrayCases::producers_of(const std::string& name) const {
  return assay::producers_of(record(name));
}

Tensor ArrayCases::read_output(const std::string& name, const std::string& producer,
                               const std::string& output) const {
  const ArrayRequest* const array = find_array(name, producer, output);
  if (array == nullptr) {
    throw file_error(path_, name, "there is no output of '{}'", producer);
  }
  return read_array(*array);
}

Epilogue ArrayCases::read_epilogue(const std::string& name, const std::string& producer,
                                   const std::string& output) const {
  const auto read_part = [](const ArrayRequest& array) {
    return array.empty() ? Tensor() : read_array(array);
  };
  const auto& all = result(name, output).recorded;
  const auto found = all.find(producer);
  if (found == all.end()) return {};
  const auto& [accumulator, residual] = found->second.epilogue;
  return {read_part(accumulator), read_part(residual)};
}

std::unique_ptr<ArraySource> ArrayCases::open_input(const std::string& name,
                                                    const std::string& operand) const {
  return open_array(record(name).inputs.at(operand));
}

std::unique_ptr<ArraySource> ArrayCases::open_result(const std::string& name,
                                                     const std::string& producer,
                                                     const std::string& output) const {
  const ArrayRequest* const array = find_array(name, producer, output);
  return array == nullptr ? nullptr : open_array(*array);
}

std::int64_t ArrayCases::result_bytes(const std::string& name, const std::string& producer) const {
  std::int64_t bytes = 0;
  for (const auto& [output, of] : record(name).outputs) {
    if (const ArrayRequest* const array = array_in(of, producer)) bytes += bytes_of_file(*array);
  }
  return bytes;
}

std::optional<StoredPlace> ArrayCases::result_place(const std::string& name,
                                                    const std::string& producer,
                                                    const std::string& output) const {
  if (!has_case(name)) return std::nullopt;
  const std::unique_ptr<ArraySource> array = open_result(name, producer, output);
  return array != nullptr ? std::optional(array->place()) : std::nullopt;
}

}  // namespace assay
