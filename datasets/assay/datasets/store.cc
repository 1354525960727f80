#include "assay/datasets/store.h"

#include <algorithm>
#include <cstdlib>
#include <set>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/reader.h"
#include "assay/op/attributes.h"

namespace assay {
namespace {

constexpr std::int64_t kSchema = 1;
constexpr std::int64_t kDefaultMaxGib = 8;

// Hostile files: paths without end, and a few groups with hard links that make 2^40 ways of them.
constexpr std::size_t kMaxDepth = 64;
constexpr std::size_t kMaxSecondWays = 1000;

bool is_part(const std::string& link) {
  return link == "inputs" || link == "outputs" || link == "golden";
}

std::string case_path(const std::string& name) { return "/cases/" + name; }

std::int64_t default_max_bytes() {
  std::int64_t gib = kDefaultMaxGib;
  if (const char* text = std::getenv("ASSAY_MAX_DATASET_GIB")) {
    if (const long asked = std::atol(text); asked > 0) gib = std::min(asked, 1L << 30);
  }
  return gib << 30;
}

}  // namespace

struct DatasetFile::Impl {
  std::string path;
  h5::Handle file;
  h5::Reader reader;

  Impl(std::string p, h5::Handle f, std::int64_t max_bytes)
      : path(std::move(p)), file(std::move(f)), reader(path, file.get(), max_bytes) {}

  // What is known of the case that was asked for last: a file that is read does not change.
  struct LastCase {
    std::string name;
    std::optional<std::map<std::string, Attribute>> attributes = {};
    std::map<std::string, std::vector<std::string>> parts = {};  // the datasets of each
  };
  mutable LastCase last_case;

  LastCase& last(const std::string& name) const {
    if (last_case.name != name) last_case = {name};
    return last_case;
  }

  // The attributes of a case, checked against the schema. Refuses a group without `op`.
  std::map<std::string, Attribute> case_attributes(const std::string& name) const {
    auto& known = last(name).attributes;
    if (!known) known = read_attributes(name);
    return *known;
  }
  std::map<std::string, Attribute> read_attributes(const std::string& name) const {
    const std::string at = case_path(name);
    std::vector<std::string> names;
    for (const KnownAttribute& known : known_attributes()) names.emplace_back(known.name);
    std::vector<std::string> all;
    auto attributes = reader.attributes(at, names, &all);
    const auto op = attributes.find("op");
    if (op == attributes.end()) reader.refuse(at, "is a case without the attribute 'op'");
    if (const auto* word = std::get_if<std::string>(&op->second)) {
      // Also of those that are no single value.
      for (const std::string& given : all) {
        const std::string why = name_problem(*word, given);
        if (!why.empty()) reader.refuse(at, why);
      }
    }
    if (const std::string why = value_problem(attributes); !why.empty()) reader.refuse(at, why);
    // By its own name, whatever the file calls it.
    if (const auto dtype = attributes.find("output_dtype"); dtype != attributes.end()) {
      dtype->second = std::string(format_named(std::get<std::string>(dtype->second)).name);
    }
    return attributes;
  }

  bool is_group(const std::string& at) const {
    return reader.kind_of(at) == h5::Reader::ObjectKind::kGroup;
  }
  bool has_op(const std::string& at) const {
    return H5Aexists_by_name(file.get(), at.c_str(), "op", H5P_DEFAULT) > 0;
  }
  // Whether a group with these links is meant as a case. One without `op` is refused when it is
  // read, so that the others of its file are not lost.
  bool is_case(const std::string& at, const std::vector<std::string>& links) const {
    return has_op(at) || links.empty() || std::any_of(links.begin(), links.end(), is_part);
  }

  // The way down from /cases, against cycles and hostile files.
  struct Walk {
    std::vector<std::uint64_t> above;  // addresses of the groups on the way
    std::set<std::uint64_t> seen;
    std::size_t second_ways = 0;  // to groups seen before
    std::vector<std::string> cases;
  };

  // Steps into a group and returns its links.
  std::vector<std::string> enter(const std::string& at, Walk& walk) const {
    const std::uint64_t address = reader.address_of(at);
    if (std::find(walk.above.begin(), walk.above.end(), address) != walk.above.end()) {
      reader.refuse(at, "contains itself");
    }
    if (walk.above.size() > kMaxDepth) {
      reader.refuse(at, format("lies more than {} groups deep", kMaxDepth));
    }
    if (!walk.seen.insert(address).second && ++walk.second_ways > kMaxSecondWays) {
      reader.refuse(at, format("lies in a maze: more than {} links lead to groups that others lead "
                               "to",
                               kMaxSecondWays));
    }
    walk.above.push_back(address);
    return reader.links_in(at);
  }

  // Collects the cases below a group: "" for /cases, else the first parts of a case name.
  void collect(const std::string& name, Walk& walk) const {
    const std::string at = name.empty() ? "/cases" : case_path(name);
    const std::vector<std::string> links = enter(at, walk);
    if (!name.empty() && is_case(at, links)) {
      for (const std::string& link : links) {
        if (!is_part(link)) refuse_cases_below(at + "/" + link, walk);
      }
      walk.cases.push_back(name);
    } else {
      for (const std::string& link : links) {
        const std::string inner = name.empty() ? link : name + "/" + link;
        if (!is_case_name(link)) refuse_name(case_path(inner));
        if (!is_group(case_path(inner))) {
          reader.refuse(case_path(inner), "is no group; only cases lie under /cases");
        }
        collect(inner, walk);
      }
    }
    walk.above.pop_back();
  }

  // What a case holds beside its parts is ignored, as long as no case hides in it.
  void refuse_cases_below(const std::string& at, Walk& walk) const {
    if (!is_group(at)) return;
    if (has_op(at)) reader.refuse(at, "is a case inside a case; cases do not nest");
    for (const std::string& link : enter(at, walk)) refuse_cases_below(at + "/" + link, walk);
    walk.above.pop_back();
  }

  [[noreturn]] void refuse_name(const std::string& object) const {
    reader.refuse(object,
                  "is no case name: parts of letters, digits, '_', '.' and '=', none of "
                  "them inputs, outputs, golden, '.' or '..'");
  }

  // The datasets of a case's sub-group, by name; empty where there is none.
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

  // The attribute `machine` of a recorded output; empty where it has none.
  std::string machine_of(const std::string& output) const {
    const auto attributes = reader.attributes(output, {"machine"});
    const auto machine = attributes.find("machine");
    if (machine == attributes.end()) return "";
    if (const auto* name = std::get_if<std::string>(&machine->second)) return *name;
    reader.refuse(output, format("its attribute 'machine' must be a string, but it is '{}'",
                                 attribute_text(machine->second)));
  }

  // What lies beside recorded outputs in a sub-group of the case, "accumulators" or "residuals", by
  // producer. Refuses what belongs to no output, or cannot belong to its output.
  std::map<std::string, TensorInfo> beside_outputs(const std::string& name,
                                                   const std::string& part) const {
    std::map<std::string, TensorInfo> found;
    const std::vector<std::string> producers = tensors_in(name, part);
    const std::vector<std::string> outputs =
        producers.empty() ? producers : tensors_in(name, "outputs");
    for (const std::string& producer : producers) {
      const std::string at = case_path(name) + "/" + part + "/" + producer;
      if (std::find(outputs.begin(), outputs.end(), producer) == outputs.end()) {
        reader.refuse(at, format("belongs to no recorded output; the case has those of {}",
                                 outputs.empty() ? "nobody" : joined(outputs)));
      }
      const TensorInfo info = reader.tensor_info(at);
      const TensorInfo output = reader.tensor_info(case_path(name) + "/outputs/" + producer);
      const auto why_not =
          part == "accumulators" ? &Epilogue::why_no_accumulator : &Epilogue::why_no_residual;
      const std::string why =
          why_not(format_named(info.dtype), info.shape, format_named(output.dtype), output.shape);
      if (!why.empty()) reader.refuse(at, why);
      found.emplace(producer, info);
    }
    return found;
  }

  // Refuses where the case is not one.
  void check_case(const std::string& name) const {
    const std::string at = case_path(name);
    if (!is_case_name(name)) refuse_name(at);
    if (!reader.check_path(at)) reader.refuse(at, "does not exist");
    if (!is_group(at)) reader.refuse(at, "is no group");
  }
};

DatasetFile::DatasetFile(const std::string& path, std::int64_t max_dataset_bytes) {
  h5::Handle file = h5::open_file(path);
  impl_ = std::make_unique<Impl>(path, std::move(file),
                                 max_dataset_bytes > 0 ? max_dataset_bytes : default_max_bytes());
  const auto root = impl_->reader.attributes("/", {"assay_schema"});
  const auto schema = root.find("assay_schema");
  if (schema == root.end()) {
    throw FileError(path, "/", "has no attribute 'assay_schema'; it is no dataset file of assay");
  }
  if (!std::holds_alternative<std::int64_t>(schema->second)) {
    throw FileError(path, "/", "its attribute 'assay_schema' must be an integer");
  }
  if (std::get<std::int64_t>(schema->second) != kSchema) {
    throw FileError(path, "/",
                    format("has assay_schema {}; this version reads schema {}",
                           attribute_text(schema->second), kSchema));
  }
}

DatasetFile::~DatasetFile() = default;
DatasetFile::DatasetFile(DatasetFile&&) noexcept = default;
DatasetFile& DatasetFile::operator=(DatasetFile&&) noexcept = default;

const std::string& DatasetFile::path() const { return impl_->path; }

std::map<std::string, Attribute> DatasetFile::attributes() const {
  return impl_->reader.attributes("/", {});
}

std::vector<std::string> DatasetFile::case_names() const {
  if (!impl_->reader.check_path("/cases")) {
    throw NoCaseError(path(), "/cases", "does not exist; the file holds no cases");
  }
  if (!impl_->is_group("/cases")) impl_->reader.refuse("/cases", "is no group");
  Impl::Walk walk;
  impl_->collect("", walk);
  if (walk.cases.empty()) throw NoCaseError(path(), "/cases", "holds no case");
  std::sort(walk.cases.begin(), walk.cases.end());
  return walk.cases;
}

bool DatasetFile::has_case(const std::string& name) const {
  const std::string at = case_path(name);
  return is_case_name(name) && impl_->reader.check_path(at) && impl_->is_group(at) &&
         (impl_->has_op(at) || impl_->is_case(at, impl_->reader.links_in(at)));
}

Case DatasetFile::read(const std::string& name, const ReadOptions& what) const {
  impl_->check_case(name);
  Case c;
  c.name = name;
  c.file = path();
  c.attributes = impl_->case_attributes(name);
  c.op = std::get<std::string>(c.attributes.at("op"));
  c.attributes.erase("op");
  const std::string at = case_path(name);
  if (what.inputs) {
    for (const std::string& operand : impl_->tensors_in(name, "inputs")) {
      c.inputs.emplace(operand, impl_->reader.read_tensor(at + "/inputs/" + operand));
    }
  }
  if (!what.inputs) {
    for (const std::string& operand : impl_->tensors_in(name, "inputs")) {
      const TensorInfo info = impl_->reader.tensor_info(at + "/inputs/" + operand);
      c.unread_inputs.emplace(operand, &format_named(info.dtype));
    }
  }
  if (what.golden && impl_->reader.check_path(at + "/golden")) {
    c.golden = impl_->reader.read_tensor(at + "/golden");
  }
  if (what.outputs) {
    for (const std::string& producer : impl_->tensors_in(name, "outputs")) {
      const std::string output = at + "/outputs/" + producer;
      c.outputs.emplace(producer, impl_->reader.read_tensor(output));
      std::string machine = impl_->machine_of(output);
      if (!machine.empty()) c.output_machines.emplace(producer, std::move(machine));
    }
    for (const char* part : {"accumulators", "residuals"}) {
      for (const auto& [producer, info] : impl_->beside_outputs(name, part)) {
        if (c.epilogues.count(producer) == 0) {
          c.epilogues.emplace(producer, read_epilogue(name, producer));
        }
      }
    }
  }
  return c;
}

Epilogue DatasetFile::read_epilogue(const std::string& name, const std::string& producer,
                                    const std::string& /*output*/) const {
  impl_->check_case(name);
  const std::string at = case_path(name);
  Epilogue epilogue;
  if (impl_->beside_outputs(name, "accumulators").count(producer) != 0) {
    epilogue.accumulator = impl_->reader.read_tensor(at + "/accumulators/" + producer);
  }
  if (impl_->beside_outputs(name, "residuals").count(producer) != 0) {
    epilogue.residual = impl_->reader.read_tensor(at + "/residuals/" + producer);
  }
  return epilogue;
}

Tensor DatasetFile::read_output(const std::string& name, const std::string& producer,
                                const std::string& /*output*/) const {
  impl_->check_case(name);
  const std::vector<std::string> producers = impl_->tensors_in(name, "outputs");
  if (std::find(producers.begin(), producers.end(), producer) == producers.end()) {
    impl_->reader.refuse(case_path(name), format("has no recorded output of '{}'; it has {}",
                                                 producer, joined(producers)));
  }
  return impl_->reader.read_tensor(case_path(name) + "/outputs/" + producer);
}

std::vector<std::string> DatasetFile::producers_of(const std::string& name) const {
  impl_->check_case(name);
  return impl_->tensors_in(name, "outputs");
}

std::optional<StoredPlace> DatasetFile::golden_place(const std::string& name,
                                                     const std::string& /*output*/) const {
  const std::string golden = case_path(name) + "/golden";
  if (!impl_->reader.check_path(golden)) return {};
  return impl_->reader.place_of(golden);
}

std::optional<StoredPlace> DatasetFile::output_place(const std::string& name,
                                                     const std::string& producer,
                                                     const std::string& /*output*/) const {
  const std::string output = case_path(name) + "/outputs/" + producer;
  if (!impl_->reader.check_path(output)) return {};
  return impl_->reader.place_of(output);
}

std::map<std::string, Attribute> DatasetFile::attributes_of(const std::string& name) const {
  impl_->check_case(name);
  return impl_->case_attributes(name);
}

CaseInfo DatasetFile::info(const std::string& name) const {
  impl_->check_case(name);
  CaseInfo info;
  info.name = name;
  info.attributes = impl_->case_attributes(name);
  info.op = std::get<std::string>(info.attributes.at("op"));
  info.attributes.erase("op");
  const std::string at = case_path(name);
  for (const std::string& operand : impl_->tensors_in(name, "inputs")) {
    info.inputs.emplace(operand, impl_->reader.tensor_info(at + "/inputs/" + operand));
  }
  for (const std::string& producer : impl_->tensors_in(name, "outputs")) {
    const std::string output = at + "/outputs/" + producer;
    TensorInfo& tensor = info.outputs[producer] = impl_->reader.tensor_info(output);
    tensor.machine = impl_->machine_of(output);
  }
  info.accumulators = impl_->beside_outputs(name, "accumulators");
  info.residuals = impl_->beside_outputs(name, "residuals");
  if (impl_->reader.check_path(at + "/golden")) {
    info.golden = impl_->reader.tensor_info(at + "/golden");
  }
  return info;
}

std::int64_t DatasetFile::file_for_copy(const std::string& name) const {
  (void)info(name);
  Impl::Walk walk;
  impl_->collect(name, walk);
  return impl_->file.get();
}

}  // namespace assay
