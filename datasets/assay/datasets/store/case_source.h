// Test cases from any kind of storage: a dataset file of assay, a folder of another tool's dump, or
// pairs of files. All code that judges, shows or converts cases reads them through this class.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/store/array_source.h"
#include "assay/datasets/store/stored_place.h"

namespace assay::inline v0_2 {

// The parts of a case that CaseSource::read() reads. It leaves out those that are false.
struct ReadOptions {
  bool inputs = true;
  bool golden = true;
  bool recorded = true;  // recorded outputs, with the arrays that the kernels' epilogues returned
};

// The properties of an array that are known without reading its data.
struct ArrayInfo {
  std::string dtype = {};
  Shape shape = {};

  bool empty() const { return dtype.empty(); }
};
// A case without its data.
using StoredCase = BasicCase<ArrayInfo>;
using StoredOutput = BasicOutput<ArrayInfo>;

// A source is used by one thread at a time. All functions throw FileError, which names the file,
// the object in it and the reason, if something cannot be read or is refused.
class CaseSource {
 public:
  virtual ~CaseSource() = default;

  // Returns the file or folder, as messages name it.
  virtual const std::string& path() const = 0;

  // Returns all cases in the order of their names. Throws NoCaseError if there are no cases at all.
  virtual std::vector<std::string> case_names() const = 0;
  // As case_names(), but up to `threads` threads (0 means default_threads()) search, if the source
  // supports that.
  virtual std::vector<std::string> case_names_by(int /*threads*/) const { return case_names(); }
  // Returns the cases whose name matches a glob ('*', '?'). An empty glob matches all. Throws
  // NoCaseError if nothing matches.
  std::vector<std::string> case_names(const std::string& glob) const;

  virtual bool has_case(const std::string& name) const = 0;
  // Returns the name of the case with this source name (source_names.h), or nullopt if there is no
  // such case. If rows are cases, this function finds the case whose rows they are.
  virtual std::optional<std::string> find(const std::string& source_name) const;
  virtual Case read(const std::string& name, const ReadOptions& what = {}) const = 0;
  virtual StoredCase info(const std::string& name) const = 0;
  // Returns dtype and shape of the golden result of a case. `output` names it if the case has
  // several outputs. Returns nothing if there is no such case or no golden result. If rows are
  // cases, `name` is the name of the case whose rows they are.
  virtual std::optional<ArrayInfo> golden_info(const std::string& name,
                                               const std::string& output) const;
  // Returns only the attributes of a case, with `op`.
  virtual std::map<std::string, Attribute> attributes_of(const std::string& name) const = 0;
  // Returns the producers of recorded outputs, even if something else is wrong with the case.
  virtual std::vector<std::string> producers_of(const std::string& name) const = 0;

  // Reads one recorded output. `output` names it if the case has several.
  virtual Tensor read_output(const std::string& name, const std::string& producer,
                             const std::string& output = "") const = 0;
  // Returns the accumulator and the residual that the kernel's epilogue gave beside the recorded
  // output (cases/epilogue.h). A part that was not recorded is empty.
  virtual Epilogue read_epilogue(const std::string& /*name*/, const std::string& /*producer*/,
                                 const std::string& /*output*/ = "") const {
    return {};
  }

  // The functions below are about the result of a producer. The producer "" stands for the golden
  // result. `output` names the output if the case has several.

  // Open an input or a result as an array that is read piece by piece. They return null if there is
  // no such array, or if this kind of source has only whole tensors. The source must outlive the
  // arrays.
  virtual std::unique_ptr<ArraySource> open_input(const std::string& /*name*/,
                                                  const std::string& /*operand*/) const {
    return nullptr;
  }
  virtual std::unique_ptr<ArraySource> open_result(const std::string& /*name*/,
                                                   const std::string& /*producer*/,
                                                   const std::string& /*output*/ = "") const {
    return nullptr;
  }
  // Returns the bytes in memory of all results of a producer for a case, or the size of their
  // files. Returns 0 if finding out needs more than reading a header.
  virtual std::int64_t result_bytes(const std::string& /*name*/,
                                    const std::string& /*producer*/) const {
    return 0;
  }
  // Returns the place where a result is stored, or nothing if there is no such tensor.
  virtual std::optional<StoredPlace> result_place(const std::string& name,
                                                  const std::string& producer,
                                                  const std::string& output = "") const = 0;
};

// Returns the producers that recorded outputs of these cases, sorted by name.
std::vector<std::string> producers_of(const CaseSource& source,
                                      const std::vector<std::string>& cases);

// A source, and the name of one of its cases. Both are empty if no case was found.
struct FoundCase {
  const CaseSource* source = nullptr;
  std::optional<std::string> name = {};
};
// Returns the first source that has a case with this source name, and the case's name there.
FoundCase find_in(const std::vector<const CaseSource*>& sources, const std::string& source_name);

// Throws FileError, which shows both source names, if a golden result and an output with the same
// case name have different source names.
void check_same_source(const std::string& golden_path,
                       const std::map<std::string, Attribute>& golden_attributes,
                       const std::string& outputs_path,
                       const std::map<std::string, Attribute>& output_attributes,
                       const std::string& case_name);

// Returns the dtype that all recorded results of an output have. Returns null if there are no
// results, or if their dtypes differ.
const Format* common_format(const StoredOutput& output);

}  // namespace assay
