#include "assay/datasets/store/dataset_file.h"

#include <algorithm>
#include <set>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/checks/size_cap.h"
#include "assay/datasets/store/case_path.h"
#include "assay/datasets/store/case_walk.h"
#include "assay/datasets/store/copy_source.h"
#include "assay/datasets/store/file_look.h"
#include "assay/datasets/store/opened_file.h"
#include "assay/datasets/store/reader.h"
#include "assay/op/attributes.h"

namespace assay::inline v0_2 {
namespace {

// Returns the part of a case that holds the results of a producer.
std::string part_of(const std::string& producer) {
  return producer.empty() ? "golden" : "outputs/" + producer;
}

}  // namespace

struct DatasetFile::Impl {
  std::string path;
  h5::OpenedFile opened;
  h5::Reader reader;
  std::int64_t schema = 1;

  Impl(const std::string& p, std::int64_t max_bytes)
      : path(p), opened(p), reader(path, opened, max_bytes) {
    check_schema();
  }
  // By HDF5 alone.
  explicit Impl(int fd) : opened("", fd), reader("", opened.hdf5(), std::int64_t{1} << 62) {
    check_schema();
  }

  void check_schema() {
    const auto root = reader.attributes("/", {"assay_schema"});
    const auto found = root.find("assay_schema");
    if (found == root.end()) {
      reader.refuse("/", "has no attribute 'assay_schema'; it is no dataset file of assay");
    }
    if (!std::holds_alternative<std::int64_t>(found->second)) {
      reader.refuse("/", "its attribute 'assay_schema' must be an integer");
    }
    schema = std::get<std::int64_t>(found->second);
    if (schema != 1 && schema != 2) {
      reader.refuse("/", formatted("has assay_schema {}; this version reads schemas 1 and 2",
                                   attribute_text(found->second)));
    }
    const auto sums = root.find(h5::kChecksumsAttribute);
    const auto* sum = sums == root.end() ? nullptr : std::get_if<std::string>(&sums->second);
    if (!trust_files()) reader.read_checksums(sum != nullptr ? *sum : "");
  }

  // Refuses the case if an input or a golden result that was written is missing.
  void check_all_are_there(const std::string& name) const {
    for (const std::string& at : reader.checksums().needed_in(case_path(name))) {
      if (!reader.check_path(at)) reader.refuse_changed(at, "is not there");
    }
  }
  // Asks HDF5 for everything below a group that reading the group would ask for. An object that is
  // refused but not damaged is no error here, because it may never be read.
  void look(const std::string& at, h5::CaseWalk& walk) const {
    for (const std::string& link : walk.enter(at)) {
      const std::string object = at + "/" + link;
      try {
        (void)reader.attributes(object, {});
        if (is_group(object)) {
          look(object, walk);
        } else {
          reader.look_at_tensor(object);
        }
      } catch (const FileError&) {
        if (h5::damage_was_seen()) throw;
      }
    }
    walk.leave();
  }

  // The known properties of the case that was asked for last. They stay valid because a file does
  // not change while it is read.
  struct LastCase {
    std::string name;
    std::optional<std::map<std::string, Attribute>> attributes = {};
    // The names of the datasets in each part of the case.
    std::map<std::string, std::vector<std::string>> parts = {};
  };
  mutable LastCase last_case;

  LastCase& last(const std::string& name) const {
    if (last_case.name != name) last_case = {name};
    return last_case;
  }

  // Returns the attributes of a case, checked against the schema. Refuses a group without `op`.
  std::map<std::string, Attribute> case_attributes(const std::string& name) const {
    auto& known = last(name).attributes;
    if (!known) known = read_attributes(name);
    return *known;
  }
  std::map<std::string, Attribute> read_attributes(const std::string& name) const {
    const std::string at = case_path(name);
    std::vector<std::string> all;
    auto attributes = reader.attributes(at, names_of(known_attributes()), &all);
    const auto op = attributes.find("op");
    if (op == attributes.end()) reader.refuse(at, "is a case without the attribute 'op'");
    if (const auto* word = std::get_if<std::string>(&op->second)) {
      // The names of all attributes are checked, even of those that are not a single value.
      for (const std::string& given : all) {
        const std::string why = name_problem(*word, given);
        if (!why.empty()) reader.refuse(at, why);
      }
    }
    check_values(at, attributes);
    check_all_are_there(name);
    return attributes;
  }

  // Refuses values of the wrong kind. Replaces the output's dtype by its standard name.
  void check_values(const std::string& at, std::map<std::string, Attribute>& attributes) const {
    if (const std::string why = value_problem(attributes); !why.empty()) reader.refuse(at, why);
    if (const auto dtype = attributes.find("output_dtype"); dtype != attributes.end()) {
      dtype->second = std::string(format_named(std::get<std::string>(dtype->second)).name);
    }
  }

  bool is_group(const std::string& at) const { return h5::is_group(reader, at); }

  // Returns the names of the datasets in a case's sub-group, or an empty list if there is no such
  // group.
  std::vector<std::string> tensors_in(const std::string& name, const std::string& part) const {
    const auto known = last(name).parts.find(part);
    if (known != last_case.parts.end()) return known->second;
    const std::string at = case_path(name) + "/" + part;
    std::vector<std::string> links;
    if (reader.check_path(at)) {
      if (!is_group(at)) reader.refuse(at, "must be a group of datasets");
      links = reader.links_in(at);
    }
    return last(name).parts[part] = std::move(links);
  }

  // Returns the attribute `machine` of a recorded output, or an empty string if it has none.
  std::string machine_of(const std::string& output) const {
    const auto attributes = reader.attributes(output, {"machine"});
    const auto machine = attributes.find("machine");
    if (machine == attributes.end()) return "";
    if (const auto* name = std::get_if<std::string>(&machine->second)) return *name;
    reader.refuse(output, formatted("its attribute 'machine' must be a string, but it is '{}'",
                                    attribute_text(machine->second)));
  }

  // -------------------------------------------------------------------- one or several outputs
  //
  // `output` is the name of one of several outputs. It is "" if the case's only output has no name.

  // Returns true if the case has several outputs. Its golden results and outputs then lie in
  // groups, under the names of the outputs.
  bool has_several(const std::string& name) const {
    if (schema == 1) return false;
    const std::string golden = path_of(name, "golden", "");
    if (reader.check_path(golden) && is_group(golden)) return true;
    const std::vector<std::string> producers = tensors_in(name, "outputs");
    return std::ranges::any_of(producers, [&](const std::string& producer) {
      return is_group(path_of(name, "outputs", producer));
    });
  }

  // Returns the names in a group of several outputs, "golden" or "outputs/npu", or an empty list if
  // there is no such group.
  std::vector<std::string> names_in(const std::string& name, const std::string& part) const {
    const std::string at = case_path(name) + "/" + part;
    if (!reader.check_path(at)) return {};
    if (!is_group(at)) {
      reader.refuse(
          at,
          "must be a group with one dataset for each output, because the case has several outputs");
    }
    const std::vector<std::string> names = reader.links_in(at);
    if (names.empty())
      reader.refuse(at, "is an empty group; it must hold one dataset for each output");
    for (const std::string& output : names) {
      if (!is_case_name(output)) {
        reader.refuse(at + "/" + output,
                      "is no name of an output; use letters, digits, '_', '.' and '='");
      }
    }
    return names;
  }

  // Returns the names of all outputs of a case. The only output of a case that does not have
  // several has the name "".
  std::vector<std::string> outputs_of(const std::string& name) const {
    if (!has_several(name)) return {""};
    std::set<std::string> outputs;
    for (const std::string& output : names_in(name, "golden")) outputs.insert(output);
    for (const std::string& producer : tensors_in(name, "outputs")) {
      for (const std::string& output : names_in(name, "outputs/" + producer)) {
        outputs.insert(output);
      }
    }
    return {outputs.begin(), outputs.end()};
  }

  // Refuses `output` if the case has no such output. That is a name that the case does not have, a
  // name if the case has only one output, or no name if it has several.
  void check_output(const std::string& name, const std::string& output) const {
    if (!has_several(name)) {
      if (output.empty()) return;
      reader.refuse(
          case_path(name),
          formatted("has no output '{}'; it has only one output, without a name", output));
    }
    const std::vector<std::string> names = outputs_of(name);
    if (contains(names, output)) return;
    reader.refuse(case_path(name),
                  output.empty()
                      ? formatted("has several outputs; name one of them: {}", joined(names))
                      : formatted("has no output '{}'; its outputs are {}", output, joined(names)));
  }

  // Returns the producers of one output.
  std::vector<std::string> producers_of(const std::string& name, const std::string& output) const {
    std::vector<std::string> producers = tensors_in(name, "outputs");
    if (output.empty()) return producers;
    std::erase_if(producers, [&](const std::string& producer) {
      return !reader.check_path(path_of(name, "outputs/" + producer, output));
    });
    return producers;
  }

  // Returns the attributes of one of several outputs, which are stored on its golden result.
  std::map<std::string, Attribute> output_attributes(const std::string& name, const std::string& op,
                                                     const std::string& output) const {
    const std::string at = path_of(name, "golden", output);
    if (!reader.check_path(at)) return {};
    auto attributes = reader.attributes(at, names_of(known_attributes()));
    for (const char* own : {"dtype", "absent", "pending"}) attributes.erase(own);
    for (const std::string& given : reader.attribute_names(at)) {
      // An output of indices has an axis even if its operator has no such parameter.
      if (given == "dtype" || given == "absent" || given == "pending" || given == "axis") continue;
      if (given == "op")
        reader.refuse(
            at,
            "has the attribute 'op', which belongs to the case; move it to the group of the case");
      if (const std::string why = name_problem(op, given); !why.empty()) reader.refuse(at, why);
    }
    check_values(at, attributes);
    check_all_are_there(name);
    return attributes;
  }

  // Returns the tensors of one output that lie beside recorded outputs in a sub-group of the case,
  // "accumulators" or "residuals", by producer. Refuses tensors that do not belong to an output, or
  // cannot belong to theirs.
  std::map<std::string, ArrayInfo> beside_outputs(const std::string& name, const std::string& part,
                                                  const std::string& output) const {
    std::map<std::string, ArrayInfo> found;
    const std::vector<std::string> producers = tensors_in(name, part);
    const std::vector<std::string> outputs =
        producers.empty() ? producers : tensors_in(name, "outputs");
    for (const std::string& producer : producers) {
      std::string at = path_of(name, part, producer);
      if (!contains(outputs, producer)) {
        reader.refuse(
            at, formatted("belongs to no recorded output; the case has recorded outputs of {}",
                          outputs.empty() ? "nobody" : joined(outputs)));
      }
      if (!output.empty()) {
        const std::vector<std::string> recorded = names_in(name, "outputs/" + producer);
        bool has = false;
        for (const std::string& beside : names_in(name, part + "/" + producer)) {
          has |= beside == output;
          if (contains(recorded, beside)) continue;
          reader.refuse(at + "/" + beside, formatted("belongs to no recorded output; '{}' has {}",
                                                     producer, joined(recorded)));
        }
        if (!has) continue;
        at += "/" + output;
      }
      const ArrayInfo info = reader.tensor_info(at);
      const ArrayInfo of = reader.tensor_info(path_of(name, "outputs/" + producer, output));
      const auto why_not = part == "accumulators" ? &why_no_accumulator : &why_no_residual;
      const std::string why =
          why_not(format_named(info.dtype), info.shape, format_named(of.dtype), of.shape);
      if (!why.empty()) reader.refuse(at, why);
      found.emplace(producer, info);
    }
    return found;
  }

  // Returns one output. `read` returns the array at a path, or its description.
  template <typename Array, typename Read>
  BasicOutput<Array> output_of(const std::string& name, const std::string& op,
                               const std::string& output, const ReadOptions& what,
                               const Read& read) const {
    BasicOutput<Array> of;
    if (!output.empty()) of.attributes = output_attributes(name, op, output);
    const std::string golden = path_of(name, "golden", output);
    const bool is_there = reader.check_path(golden);
    const bool given = is_there && !is_absent(golden);
    const bool pending = is_there && (!given || !output.empty()) && is_pending(golden);
    if (given) {
      if (what.golden) of.golden = read(golden);
    } else if (is_there && !pending) {
      of.golden = BasicGolden<Array>::absent();
    }
    if (!what.recorded) return of;
    for (const std::string& producer : producers_of(name, output)) {
      const std::string at = path_of(name, "outputs/" + producer, output);
      auto& recorded = of.recorded[producer];
      recorded.tensor = read(at);
      recorded.machine = machine_of(at);
    }
    const auto read_beside = [&](const std::string& part, Array BasicEpilogue<Array>::*member) {
      for (const auto& [producer, info] : beside_outputs(name, part, output)) {
        of.recorded.at(producer).epilogue.*member =
            read(path_of(name, part + "/" + producer, output));
      }
    };
    read_beside("accumulators", &BasicEpilogue<Array>::accumulator);
    read_beside("residuals", &BasicEpilogue<Array>::residual);
    return of;
  }
  // Returns all outputs by name.
  template <typename Array, typename Read>
  std::map<std::string, BasicOutput<Array>> read_outputs(const std::string& name,
                                                         const std::string& op,
                                                         const ReadOptions& what,
                                                         const Read& read) const {
    std::map<std::string, BasicOutput<Array>> outputs;
    for (const std::string& output : outputs_of(name)) {
      outputs.emplace(output, output_of<Array>(name, op, output, what, read));
    }
    return outputs;
  }

  // ------------------------------------------------------------------------------------- inputs

  struct Inputs {
    std::vector<std::string> tensors;  // names: "x" for a tensor, "x/0", "x/1" and so on for a list
    std::set<std::string> absent;
  };

  // Returns true if the dataset stands for an absent tensor. This is refused in schema 1, because
  // readers that know only schema 1 would take it for an empty tensor.
  bool is_absent(const std::string& at) const {
    if (!reader.is_absent(at)) return false;
    if (schema == 1) {
      reader.refuse(at,
                    "has the attribute 'absent', which needs assay_schema 2, but the file has "
                    "assay_schema 1; write the file with assay_schema 2");
    }
    return true;
  }

  // Returns true if a golden result is yet to be computed. Such an object has only its attributes.
  bool is_pending(const std::string& at) const {
    const std::vector<std::string> names = reader.attribute_names(at);
    if (!contains(names, "pending")) return false;
    if (!is_absent(at))
      reader.refuse(at,
                    "has the attribute 'pending' without 'absent'; set absent = 1 if the golden "
                    "result is yet to be computed, or remove 'pending'");
    return true;
  }

  Inputs inputs_of(const std::string& name) const {
    Inputs inputs;
    const auto add = [&](const std::string& operand) {
      const bool absent = is_absent(path_of(name, "inputs", operand));
      if (absent) {
        inputs.absent.insert(operand);
      } else {
        inputs.tensors.push_back(operand);
      }
    };
    for (const std::string& operand : tensors_in(name, "inputs")) {
      const std::string at = path_of(name, "inputs", operand);
      if (schema == 1 || !is_group(at)) {
        add(operand);
        continue;
      }
      const std::vector<std::string> members = reader.links_in(at);
      if (members.empty()) reader.refuse(at, "is a list without tensors");
      for (std::size_t i = 0; i < members.size(); ++i) {
        const std::string index = formatted("{}", i);
        if (!contains(members, index)) {
          reader.refuse(
              at,
              formatted("is a list of {}, whose datasets must be named 0 to {}; there is no '{}'",
                        members.size(), members.size() - 1, index));
        }
        add(operand + "/" + index);
      }
    }
    return inputs;
  }

  // Returns the place of a dataset, or nothing if there is no such object or if it is a group of
  // several.
  std::optional<StoredPlace> place_of(const std::string& at) const {
    if (!reader.check_path(at) || is_group(at)) return {};
    return reader.place_of(at);
  }

  bool is_tensor(const std::string& at) const {
    return reader.check_path(at) && !is_absent(at) && !is_group(at);
  }
  std::unique_ptr<ArraySource> pieces_of(const std::string& at) const {
    return is_tensor(at) ? reader.open_pieces(at) : nullptr;
  }
  // Returns the size of the dataset in memory, or 0 if there is no such dataset.
  std::int64_t bytes_of(const std::string& at) const {
    if (!is_tensor(at)) return 0;
    const ArrayInfo info = reader.tensor_info(at);
    return element_count(info.shape) * format_named(info.dtype).storage_bytes;
  }
  // Returns the size in memory of all golden results of a case, or of all outputs of a producer.
  std::int64_t bytes_of_outputs(const std::string& name, const std::string& part) const {
    std::int64_t bytes = 0;
    for (const std::string& output : outputs_of(name)) {
      bytes += bytes_of(path_of(name, part, output));
    }
    return bytes;
  }

  // Throws FileError if the file has no case of this name.
  void check_case(const std::string& name) const {
    const std::string at = case_path(name);
    if (!is_case_name(name)) h5::refuse_case_name(reader, at);
    if (!reader.check_path(at)) reader.refuse(at, "does not exist");
    if (!is_group(at)) reader.refuse(at, "is no group");
  }
};

DatasetFile::DatasetFile(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}

DatasetFile::DatasetFile(const std::string& path, std::int64_t most)
    : impl_(std::make_unique<Impl>(path, most > 0 ? most : dataset_size_cap())) {}

// Returns the implementation, for reading a case. Before this process asks HDF5 about the case,
// another process checks it.
const DatasetFile::Impl& DatasetFile::looked_at(const std::string& name) const {
  impl_->reader.before_hdf5([impl = impl_.get(), name] {
    h5::FileCheck* const check = impl->opened.check();
    if (check != nullptr && is_case_name(name)) check->look_at_case(name, case_path(name));
  });
  return *impl_;
}

const h5::ChecksumTable& h5::FileLook::checksums(const DatasetFile& file) {
  return file.checksums();
}

DatasetFile h5::FileLook::open(int fd) {
  return DatasetFile(std::make_unique<DatasetFile::Impl>(fd));
}

void h5::FileLook::look_at_case(const DatasetFile& file, const std::string& name) {
  const DatasetFile::Impl& impl = *file.impl_;
  impl.check_case(name);
  (void)impl.reader.attributes(case_path(name), {});
  h5::CaseWalk walk(impl.reader);
  impl.look(case_path(name), walk);
  (void)file.info(name);
}

DatasetFile::~DatasetFile() = default;
DatasetFile::DatasetFile(DatasetFile&&) noexcept = default;
DatasetFile& DatasetFile::operator=(DatasetFile&&) noexcept = default;

const std::string& DatasetFile::path() const { return impl_->path; }

std::map<std::string, Attribute> DatasetFile::attributes() const {
  auto attributes = impl_->reader.attributes("/", {});
  attributes.erase(h5::kChecksumsAttribute);
  return attributes;
}

std::vector<std::string> DatasetFile::case_names() const { return case_names_by(1); }

std::vector<std::string> DatasetFile::case_names_by(int threads) const {
  impl_->reader.before_hdf5([impl = impl_.get()] {
    if (h5::FileCheck* const check = impl->opened.check()) check->list_cases();
  });
  if (!impl_->reader.check_path("/cases")) {
    throw NoCaseError(path(), "/cases", "does not exist; the file holds no cases");
  }
  if (!impl_->is_group("/cases")) impl_->reader.refuse("/cases", "is no group");
  auto cases = h5::cases_by_threads(path(), impl_->opened, threads);
  if (!cases) {
    h5::CaseWalk walk(impl_->reader);
    walk.collect("");
    cases = walk.cases();
    std::ranges::sort(*cases);
  }
  if (cases->empty()) throw NoCaseError(path(), "/cases", "holds no case");
  auto next = cases->begin();  // nearly always the case of the next name in the table
  for (const std::string& at : checksums().cases()) {
    const std::string name = at.substr(case_path("").size());
    if (next == cases->end() || *next != name) {
      next = std::ranges::lower_bound(*cases, name);
    }
    if (next == cases->end() || *next != name) impl_->reader.refuse_changed(at, "is not there");
    ++next;
  }
  return *std::move(cases);
}

bool DatasetFile::has_case(const std::string& name) const {
  const std::string at = case_path(name);
  return is_case_name(name) && looked_at(name).reader.check_path(at) && impl_->is_group(at) &&
         (h5::has_op(impl_->reader, at) ||
          h5::is_case(impl_->reader, at, impl_->reader.links_in(at)));
}

Case DatasetFile::read(const std::string& name, const ReadOptions& what) const {
  looked_at(name).check_case(name);
  Case c;
  c.name = name;
  c.file = path();
  c.attributes = impl_->case_attributes(name);
  c.op = std::get<std::string>(c.attributes.at("op"));
  c.attributes.erase("op");
  const Impl::Inputs inputs = impl_->inputs_of(name);
  c.absent_inputs = inputs.absent;
  for (const std::string& operand : inputs.tensors) {
    const std::string at = path_of(name, "inputs", operand);
    if (what.inputs) {
      c.inputs.emplace(operand, impl_->reader.read_tensor(at));
    } else {
      c.unread_inputs.emplace(operand, &format_named(impl_->reader.tensor_info(at).dtype));
    }
  }
  c.outputs = impl_->read_outputs<Tensor>(
      name, c.op, what, [&](const std::string& at) { return impl_->reader.read_tensor(at); });
  return c;
}

Epilogue DatasetFile::read_epilogue(const std::string& name, const std::string& producer,
                                    const std::string& output) const {
  looked_at(name).check_case(name);
  impl_->check_output(name, output);
  Epilogue epilogue;
  const auto read_part = [&](const char* part, Tensor& to) {
    if (impl_->beside_outputs(name, part, output).count(producer) == 0) return;
    to = impl_->reader.read_tensor(path_of(name, std::string(part) + "/" + producer, output));
  };
  read_part("accumulators", epilogue.accumulator);
  read_part("residuals", epilogue.residual);
  return epilogue;
}

Tensor DatasetFile::read_output(const std::string& name, const std::string& producer,
                                const std::string& output) const {
  looked_at(name).check_case(name);
  impl_->check_output(name, output);
  const std::vector<std::string> producers = impl_->producers_of(name, output);
  if (!contains(producers, producer)) {
    impl_->reader.refuse(
        case_path(name),
        formatted("has no recorded output {}of '{}'; it has {}",
                  output.empty() ? "" : formatted("'{}' ", output), producer, joined(producers)));
  }
  return impl_->reader.read_tensor(path_of(name, "outputs/" + producer, output));
}

std::vector<std::string> DatasetFile::producers_of(const std::string& name) const {
  looked_at(name).check_case(name);
  return impl_->tensors_in(name, "outputs");
}

std::unique_ptr<ArraySource> DatasetFile::open_input(const std::string& name,
                                                     const std::string& operand) const {
  return looked_at(name).pieces_of(path_of(name, "inputs/" + operand, ""));
}

std::unique_ptr<ArraySource> DatasetFile::open_result(const std::string& name,
                                                      const std::string& producer,
                                                      const std::string& output) const {
  return looked_at(name).pieces_of(path_of(name, part_of(producer), output));
}

std::int64_t DatasetFile::result_bytes(const std::string& name, const std::string& producer) const {
  looked_at(name).check_case(name);
  return impl_->bytes_of_outputs(name, part_of(producer));
}

std::optional<StoredPlace> DatasetFile::result_place(const std::string& name,
                                                     const std::string& producer,
                                                     const std::string& output) const {
  return looked_at(name).place_of(path_of(name, part_of(producer), output));
}

std::map<std::string, Attribute> DatasetFile::attributes_of(const std::string& name) const {
  looked_at(name).check_case(name);
  return impl_->case_attributes(name);
}

StoredCase DatasetFile::info(const std::string& name) const {
  looked_at(name).check_case(name);
  StoredCase info;
  info.name = name;
  info.attributes = impl_->case_attributes(name);
  info.op = std::get<std::string>(info.attributes.extract("op").mapped());
  Impl::Inputs inputs = impl_->inputs_of(name);
  info.absent_inputs = std::move(inputs.absent);
  for (const std::string& operand : inputs.tensors) {
    info.inputs.emplace(operand, impl_->reader.tensor_info(path_of(name, "inputs", operand)));
  }
  info.outputs = impl_->read_outputs<ArrayInfo>(
      name, info.op, {}, [&](const std::string& at) { return impl_->reader.tensor_info(at); });
  return info;
}

const h5::ChecksumTable& DatasetFile::checksums() const { return impl_->reader.checksums(); }

std::unique_ptr<h5::CopySource> DatasetFile::copy_source(const std::string& name) const {
  auto source =
      h5::plain_copy_source(path(), impl_->opened.lasting_plain(), case_path(name), checksums());
  h5::FileCheck* const check = source == nullptr ? impl_->opened.check() : nullptr;
  if (check != nullptr) check->look_at_case(name, case_path(name));
  (void)info(name);
  h5::CaseWalk walk(impl_->reader);
  walk.collect(name);
  return source != nullptr ? std::move(source) : h5::copy_source(path(), impl_->opened.hdf5());
}

}  // namespace assay
