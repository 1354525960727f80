// Test cases, wherever they lie: a dataset file of assay, a folder of another tool's dump, pairs of
// files. Whoever reads cases to judge, show or convert them reads them through this.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/store/array_source.h"
#include "assay/datasets/store/stored_place.h"

namespace assay {

struct ReadOptions {
  bool inputs = true;
  bool golden = true;
  bool outputs = true;  // and what their kernels gave beside them
};

// What is known of an array without reading its data.
struct ArrayInfo {
  std::string dtype = {};
  Shape shape = {};

  bool empty() const { return dtype.empty(); }
};
// A case without its data.
using StoredCase = BasicCase<ArrayInfo>;
using StoredOutput = BasicOutput<ArrayInfo>;

// A source is used by one thread at a time. Everything throws FileError that names the file, the
// object in it and the reason where something cannot be read or is refused.
class CaseSource {
 public:
  virtual ~CaseSource() = default;

  // The file or folder, as messages name it.
  virtual const std::string& path() const = 0;

  // All cases in the order of their names. Throws NoCaseError where there is none at all.
  virtual std::vector<std::string> case_names() const = 0;
  // The same, found by up to so many threads (0: default_threads()) where the source has a way.
  virtual std::vector<std::string> case_names_by(int threads) const;
  // Those whose name matches a glob ('*', '?'; empty: all). Throws NoCaseError where none does.
  std::vector<std::string> case_names(const std::string& glob) const;

  virtual bool has_case(const std::string& name) const = 0;
  // Returns the name of the case with this source name (source_names.h), or nullopt if there is no
  // such case. If rows are cases, it finds the array with this source name.
  virtual std::optional<std::string> find(const std::string& source_name) const;
  virtual Case read(const std::string& name, const ReadOptions& what = {}) const = 0;
  virtual StoredCase info(const std::string& name) const = 0;
  // The golden result of a case; `output` names it where the case has several. None where there is
  // no such case, or it has none. Where rows are cases it is that of the array with this name.
  virtual std::optional<ArrayInfo> golden_info(const std::string& name,
                                               const std::string& output) const;
  // The attributes of a case alone, `op` among them.
  virtual std::map<std::string, Attribute> attributes_of(const std::string& name) const = 0;
  // Whose outputs are recorded, whatever else is wrong with the case.
  virtual std::vector<std::string> producers_of(const std::string& name) const = 0;

  // One recorded output; `output` names it where the case has several.
  virtual Tensor read_output(const std::string& name, const std::string& producer,
                             const std::string& output = "") const = 0;
  // What the kernel gave beside it: empty where there is nothing of the kind.
  virtual Epilogue read_epilogue(const std::string& name, const std::string& producer,
                                 const std::string& output = "") const;

  // An input; the golden result, of a case that has several outputs the one of `output`; and a
  // recorded output: as arrays that are read piece by piece. Null where there is none, or where
  // this kind of source gives whole tensors alone. The source must outlive them.
  virtual std::unique_ptr<ArraySource> open_input(const std::string& name,
                                                  const std::string& operand) const;
  virtual std::unique_ptr<ArraySource> open_golden(const std::string& name,
                                                   const std::string& output = "") const;
  virtual std::unique_ptr<ArraySource> open_output(const std::string& name,
                                                   const std::string& producer,
                                                   const std::string& output = "") const;
  // How many bytes the golden results of a case take in memory, and how many the outputs of a
  // producer; 0 where it takes more than a look at a header to know.
  virtual std::int64_t golden_bytes(const std::string& name) const;
  virtual std::int64_t output_bytes(const std::string& name, const std::string& producer) const;

  // Where the golden result and a recorded output lie; none where there is no such thing.
  virtual std::optional<StoredPlace> golden_place(const std::string& name,
                                                  const std::string& output = "") const = 0;
  virtual std::optional<StoredPlace> output_place(const std::string& name,
                                                  const std::string& producer,
                                                  const std::string& output = "") const = 0;
};

// The first of the sources that has a case with this source name, and the case's name there.
struct FoundCase {
  const CaseSource* source = nullptr;
  std::optional<std::string> name = {};
};
FoundCase find_in(const std::vector<const CaseSource*>& sources, const std::string& source_name);

// Throws FileError, which shows both source names, if those of a golden result and of an output
// with the same case name differ.
void check_same_source(const std::string& golden_path,
                       const std::map<std::string, Attribute>& golden_attributes,
                       const std::string& outputs_path,
                       const std::map<std::string, Attribute>& output_attributes,
                       const std::string& case_name);

// The dtype that all recorded results of an output have; null if there are none, or they differ.
const Format* common_format(const StoredOutput& output);

}  // namespace assay
