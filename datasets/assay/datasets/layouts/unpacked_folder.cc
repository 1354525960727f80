#include "assay/datasets/layouts/unpacked_folder.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "assay/base/error.h"
#include "assay/base/file.h"
#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/datasets/arrays/array_writer.h"
#include "assay/datasets/arrays/folder.h"
#include "assay/datasets/arrays/plain_array.h"
#include "assay/datasets/checks/file_error_text.h"
#include "assay/datasets/layouts/array_cases.h"
#include "assay/datasets/layouts/csv.h"
#include "assay/datasets/layouts/ttk_folder.h"
#include "assay/datasets/layouts/ttk_operators.h"
#include "assay/datasets/store/case_path.h"
#include "assay/wire/manifest_file.h"

namespace assay::inline v0_2 {
namespace fs = std::filesystem;
namespace {

constexpr std::int64_t kMostManifest = std::int64_t{512} << 20;

// Returns true if a path from the list stays in the list's folder. Lists come from outside and may
// not name other files.
bool stays_inside(const std::string& file) {
  const fs::path path = array_file(file);
  return path.is_relative() &&
         std::ranges::none_of(path, [](const fs::path& part) { return part == ".."; });
}

// The parts of an array's name in the list, such as "outputs/h200/y". For "inputs/x", `output` is
// "x".
struct ArrayName {
  std::string kind, producer, output;
};
ArrayName parse_name(const std::string& name, bool several) {
  const std::vector<std::string> parts = split(name, '/');
  ArrayName parsed{parts.empty() ? "" : parts[0], "", ""};
  const bool golden = parsed.kind == "golden";
  if (parsed.kind == "inputs") {
    parsed.output = name.substr(std::min<std::size_t>(7, name.size()));
    return parsed;
  }
  const std::size_t expected = 1 + (golden ? 0 : 1) + (several ? 1 : 0);
  const bool known = golden || parsed.kind == "outputs" || parsed.kind == "accumulators" ||
                     parsed.kind == "residuals";
  if (!known || parts.size() != expected) return {};
  if (!golden) parsed.producer = parts[1];
  if (several) parsed.output = parts.back();
  return parsed;
}

CaseRecord record_of(const std::string& folder, const wire::ManifestCase& listed) {
  CaseRecord record;
  record.name = listed.name;
  record.op = listed.op;
  record.attributes = listed.attributes;
  record.absent_inputs.insert(listed.absent_inputs.begin(), listed.absent_inputs.end());
  const bool several = !listed.outputs.empty();
  for (const auto& [output, attributes] : listed.outputs) {
    record.outputs[output].attributes = attributes;
    record.outputs[output].golden = BasicGolden<ArrayRequest>::absent();
  }
  try {
    for (const auto& [name, array] : listed.arrays) {
      const std::string where = formatted("case {}: {}", listed.name, name);
      const ArrayName parsed = parse_name(name, several);
      if (parsed.kind.empty() || (parsed.kind == "inputs" && parsed.output.empty()) ||
          (several && parsed.kind != "inputs" && listed.outputs.count(parsed.output) == 0)) {
        throw FileError(in_folder(folder, wire::kManifestName), where,
                        "is no array of a case: inputs/NAME, golden, outputs/PRODUCER, with "
                        "/OUTPUT of a case that lists several in 'results'");
      }
      if (!stays_inside(array.file)) {
        throw file_error(in_folder(folder, wire::kManifestName), where,
                         "the file {} is not in the folder", array.file);
      }
      const ArrayRequest request{in_folder(folder, array.file), array.dtype, array.shape};
      if (parsed.kind == "inputs") {
        record.inputs.emplace(parsed.output, request);
        continue;
      }
      OutputRecord& result = record.outputs[parsed.output];
      if (parsed.kind == "golden") {
        result.golden = request;
      } else if (parsed.kind == "outputs") {
        result.recorded[parsed.producer].tensor = request;
      } else if (parsed.kind == "accumulators") {
        result.recorded[parsed.producer].epilogue.accumulator = request;
      } else {
        result.recorded[parsed.producer].epilogue.residual = request;
      }
    }
    for (const auto& [name, machine] : listed.machines) {
      if (!name.starts_with("outputs/") || listed.arrays.count(name) == 0) {
        throw file_error(in_folder(folder, wire::kManifestName), "case " + listed.name,
                         "the machine of {}: the case has no such output", name);
      }
      const ArrayName parsed = parse_name(name, several);
      record.outputs[parsed.output].recorded[parsed.producer].machine = machine;
    }
  } catch (const FileError& e) {
    record.error = e;
  }
  return record;
}

using Arrays = std::map<std::string, TensorView>;

// Adds the tensors of an output to `arrays`, by their names in the list.
void add_output(Arrays& arrays, wire::ManifestCase& listed, const std::string& name,
                const CaseOutput& output) {
  const std::string behind = name.empty() ? "" : "/" + name;
  if (output.golden) arrays.emplace("golden" + behind, output.golden->view());
  for (const auto& [producer, recorded] : output.recorded) {
    const std::string of = producer + behind;
    for (const auto& [part, tensor] : {std::pair("outputs/", &recorded.tensor),
                                       {"accumulators/", &recorded.epilogue.accumulator},
                                       {"residuals/", &recorded.epilogue.residual}}) {
      if (!tensor->empty()) arrays.emplace(part + of, tensor->view());
    }
    if (!recorded.machine.empty()) listed.machines["outputs/" + of] = recorded.machine;
  }
}

std::string with_dots(std::string name) {
  std::ranges::replace(name, '/', '.');
  return name;
}

}  // namespace

bool is_unpacked(const std::string& path) {
  return is_folder(path) && is_file(in_folder(path, wire::kManifestName));
}

OpenedCases open_unpacked(const std::string& path, const OpenOptions& options) {
  const std::string list = in_folder(path, wire::kManifestName);
  const std::string text = text_of(*open_plain(list), kMostManifest, list, "");
  wire::Manifest manifest =
      in_file(path, [&] { return wire::parse_manifest(text, wire::kManifestName); });
  std::vector<CaseRecord> records;
  for (const wire::ManifestCase& listed : manifest.cases) {
    records.push_back(record_of(path, listed));
  }
  OpenedCases opened;
  opened.attributes = std::move(manifest.attributes);
  opened.cases = std::make_unique<ArrayCases>(path, std::move(records), options);
  return opened;
}

void write_unpacked(const OpenedCases& from, const std::vector<std::string>& cases,
                    const ArrayFormat& kind, const std::string& path) {
  NewFolder made(path);
  const std::string& folder = made.path();
  wire::Manifest manifest;
  manifest.attributes = from.attributes;
  const std::string ending(kind.endings.front());
  for (const std::string& name : cases) {
    const Case c = from.cases->read(name);
    wire::ManifestCase listed{
        c.name, c.op, c.attributes, {c.absent_inputs.begin(), c.absent_inputs.end()}, {}, {}, {}};
    Arrays arrays;
    for (const auto& [operand, tensor] : c.inputs) {
      arrays.emplace("inputs/" + operand, tensor.view());
    }
    for (const auto& [output, of] : c.outputs) {
      if (!output.empty()) listed.outputs[output] = of.attributes;
      add_output(arrays, listed, output, of);
    }
    made.make(name);
    for (const auto& [array, view] : arrays) {
      if (!is_utf8(array)) {
        throw FileError(from.cases->path(), case_path(name) + "/" + array,
                        "its name is not UTF-8, which the list of the arrays is");
      }
      wire::ManifestArray at{"", std::string(view.format->name), view.shape};
      if (kind.is_archive) {
        at.file = name + "/case" + ending + ":/" + array;
      } else {
        at.file = name + "/" +
                  (ending == ".bin" ? raw_file_name(with_dots(array), *view.format, view.shape)
                                    : with_dots(array) + ending);
        write_array_file(kind, in_folder(folder, at.file), {{"", view}});
      }
      listed.arrays.emplace(array, std::move(at));
    }
    if (kind.is_archive && !arrays.empty()) {
      write_array_file(kind, in_folder(folder, name + "/case" + ending), arrays);
    }
    manifest.cases.push_back(std::move(listed));
  }
  write_file(in_folder(folder, wire::kManifestName), wire::manifest_text(manifest));
  made.commit(wire::kManifestName);
}

namespace {

Literal shape_literal(const Shape& shape) {
  Literal::List extents;
  for (const std::int64_t extent : shape) extents.push_back({extent});
  return {std::move(extents)};
}

// Writes only the bytes of a tensor. There is no file beside it that says dtype and shape.
void write_raw(const std::string& path, const Tensor& tensor) {
  write_file(path, {reinterpret_cast<const char*>(tensor.bytes()), tensor.byte_count()});
}

constexpr const char* kTable = "cases.csv";

// Attributes that are not lost in TTK's layout, because the row of the table has them or because
// reading the layout sets them.
const std::set<std::string> kSaid = {"x_name",    "x_op_name", "output_dtype",
                                     "rtol",      "atol",      "max_mismatch_fraction",
                                     "equal_nan", "standard",  "round_expected"};

// Writes one case in TTK's form: its row and its files.
class TtkWriter {
 public:
  TtkWriter(const Case& c, const NewFolder& folder) : case_(c), folder_(folder) {
    testcase_ = c.text("x_name").value_or(c.name);
    op_ = c.text("x_op_name").value_or(c.op);
  }

  const std::string& testcase() const { return testcase_; }

  std::vector<std::string> write(std::set<std::string>& lost) {
    const TtkNames names = ttk_names(case_.op, case_.attributes);
    if (!names.op.empty() && !case_.text("x_op_name")) op_ = names.op;
    const std::string manual = made("manual/" + ttk_folder_name(testcase_));
    for (const std::string& operand : operands(names)) {
      const auto at = case_.inputs.find(operand);
      const std::string stem = formatted("{}/input_{}_", manual, input_shapes_.size());
      if (at == case_.inputs.end()) {
        write_file(stem + "none.bin", "");
        input_shapes_.emplace_back();
        input_dtypes_.emplace_back();
        continue;
      }
      const Tensor& tensor = at->second;
      const std::string dtype = ttk_dtype_of(tensor.format());
      write_raw(stem + dtype + ".bin", tensor);
      input_shapes_.push_back(shape_literal(tensor.shape()));
      input_dtypes_.push_back({dtype});
    }
    if (case_.outputs.empty()) write_output(manual, {}, lost);
    for (const auto& [output, of] : case_.outputs) write_output(manual, of, lost);
    note_lost(lost);
    return row(names);
  }

 private:
  // Returns the operands in TTK's order if TTK has the operator, and otherwise by name. The
  // operands of operators that only TTK has are input_0, ...
  std::vector<std::string> operands(const TtkNames& names) const {
    std::vector<std::string> order;
    const auto is_there = [&](const std::string& name) { return case_.inputs.count(name) > 0; };
    for (const std::string& operand : names.operands) order.push_back(operand);
    // Removes operands at the end that the case does not mention, so that TTK's row does not have
    // them either.
    while (!order.empty() && !is_there(order.back()) &&
           case_.absent_inputs.count(order.back()) == 0) {
      order.pop_back();
    }
    for (const auto& [operand, tensor] : case_.inputs) {
      if (!contains(order, operand)) order.push_back(operand);
    }
    return order;
  }

  void write_output(const std::string& manual, const CaseOutput& output,
                    std::set<std::string>& lost) {
    const auto index = output_shapes_.size();
    const Tensor* shown = nullptr;  // the array whose shape and dtype the row of the table has
    if (output.golden) {
      shown = &*output.golden;
      write_raw(formatted("{}/golden_{}_{}__shape_{}.bin", manual, index,
                          ttk_dtype_of(shown->format()), shape_word(shown->shape())),
                *shown);
    } else {
      write_file(formatted("{}/golden_{}_none.bin", manual, index), "");
    }
    for (const auto& [producer, recorded] : output.recorded) {
      if (!recorded.epilogue.empty()) lost.insert("accumulators and residuals");
      const Tensor& tensor = recorded.tensor;
      if (tensor.empty()) continue;
      const std::string dump = made("dump_" + producer);
      write_raw(formatted("{}/{}_output_{}.bin", dump, ttk_dump_name(testcase_), index), tensor);
      shown = &tensor;
    }
    output_shapes_.push_back(shown == nullptr ? Literal{} : shape_literal(shown->shape()));
    output_dtypes_.push_back(shown == nullptr ? Literal{} : Literal{ttk_dtype_of(shown->format())});
    add_bound(output.attributes, lost);
  }

  // Makes a folder and returns its path.
  std::string made(const std::string& name) const {
    folder_.make(name);
    return in_folder(folder_.path(), name);
  }

  // Adds the tolerances of an output. Its own attributes override those of the case.
  void add_bound(const std::map<std::string, Attribute>& own, std::set<std::string>& lost) {
    Case of;
    of.name = case_.name;
    of.attributes = own;
    of.attributes.insert(case_.attributes.begin(), case_.attributes.end());
    const auto rtol = of.real("rtol");
    Literal pair, absolute;
    if (rtol) {
      const double share = of.real("max_mismatch_fraction").value_or(0);
      pair.value = Literal::List{Literal{*rtol}, Literal{share}};
    }
    absolute.value = of.real("atol").value_or(1e-8);  // TTK uses 1e-8 if its table has no atol
    tolerances_.push_back(std::move(pair));
    atols_.push_back(std::move(absolute));
    // An attribute is not lost if reading sets the same value.
    const auto lose = [&](const char* name, const std::string& read) {
      const auto at = of.attributes.find(name);
      if (at == of.attributes.end() || (attribute_text(at->second) == read)) return;
      lost.insert(formatted("the attribute {}", name));
    };
    lose("standard", rtol ? "" : "ttk_mixed");
    lose("equal_nan", "1");
    lose("round_expected", "0");
    for (const auto& [name, value] : own) {
      if (kSaid.count(name) == 0) lost.insert(formatted("the attribute {}", name));
    }
  }

  void note_lost(std::set<std::string>& lost) const {
    for (const auto& [name, value] : case_.attributes) {
      const bool has_twin = !ttk_names(case_.op, {{name, value}}).attributes.empty();
      if (!has_twin && kSaid.count(name) == 0 && !name.starts_with("x_")) {
        lost.insert(formatted("the attribute {}", name));
      }
    }
  }

  std::vector<std::string> row(const TtkNames& names) const {
    Literal::Dict attributes = names.attributes;
    for (const auto& [name, value] : case_.attributes) {
      if (!name.starts_with("x_") || name == "x_name" || name == "x_op_name" ||
          name == "x_no_twin") {
        continue;
      }
      Literal literal;
      std::visit([&literal](const auto& v) { literal.value = v; }, value);
      attributes.emplace_back(Literal{name.substr(2)}, std::move(literal));
    }
    const bool bound =
        std::ranges::any_of(tolerances_, [](const Literal& pair) { return !pair.is_none(); });
    return {testcase_,
            op_,
            literal_text({input_shapes_}),
            literal_text({input_dtypes_}),
            literal_text({output_shapes_}),
            literal_text({output_dtypes_}),
            literal_text({std::move(attributes)}),
            bound ? literal_text({tolerances_}) : "",
            bound ? literal_text({atols_}) : ""};
  }

  const Case& case_;
  const NewFolder& folder_;
  std::string testcase_, op_;
  Literal::List input_shapes_, input_dtypes_;
  Literal::List output_shapes_, output_dtypes_, tolerances_, atols_;  // by output
};

}  // namespace

std::vector<std::string> write_ttk(const CaseSource& from, const std::vector<std::string>& cases,
                                   const std::string& path) {
  NewFolder folder(path);
  std::string table =
      csv_line({"testcase_name", "op_name", "input_shapes", "input_dtypes", "output_shapes",
                "output_dtypes", "attributes", "precision_tolerances", "absolute_precision"});
  std::set<std::string> lost, testcases;
  for (const std::string& name : cases) {
    const Case c = from.read(name);
    TtkWriter writer(c, folder);
    if (!testcases.insert(writer.testcase()).second) {
      throw file_error(from.path(), case_path(name),
                       "is the second case whose name would be '{}' in TTK; unpack the two into "
                       "separate folders with --case",
                       writer.testcase());
    }
    table += csv_line(writer.write(lost));
  }
  write_file(in_folder(folder.path(), kTable), table);
  folder.commit(kTable);
  return {lost.begin(), lost.end()};
}

}  // namespace assay
