// Cases whose arrays lie in files of their own, as other tools leave them. This is the common part
// of the folder layouts (open_cases.h): a layout lists what it found, and this code reads it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "assay/cases/source_names.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/datasets/store/case_source.h"

namespace assay::inline v0_2 {

// A case that a layout found. `dtype` and `shape` of an array hold what the layout knows about raw
// bytes and bit patterns; settle_arrays() fills in the rest. If a case has only one output, that
// may have any name.
using OutputRecord = BasicOutput<ArrayRequest>;
struct CaseRecord : BasicCase<ArrayRequest> {
  CaseRecord() { op = "external"; }
  // The reason why the case cannot be read. It is thrown when the case is read, so that the other
  // cases can still be read.
  std::optional<FileError> error = {};
  // The record is "NAME/*" and stands for every case below NAME. It is an archive that cannot be
  // read, so its arrays are unknown. It has an error.
  bool stands_for_all_below = false;
  // The name that the user gave the case (source_names.h).
  std::string source_name() const;
};

// Settles the dtype and the shape of every array. The first of these sources that says something
// wins: the file, the layout, the options for that side, and the other side (its shape only if the
// sizes agree). If none of them says the shape, it is one dimension with all elements of the file.
// A dtype from the options for outputs is also the dtype that the operator returns. One sentence
// for each kind of inference is added to `notes`. No data is read. An error in an array becomes its
// record's `error`.
void settle_arrays(std::vector<CaseRecord>& records, const OpenOptions& options,
                   std::vector<std::string>& notes);

class ArrayCases : public CaseSource {
 public:
  // A record whose golden result lies in one of options.golden_sources() gets the name of that
  // case. Every other record keeps its own name if a case may have it, if no golden case of another
  // record has it and if no case lies below it, because cases do not nest. Otherwise it gets
  // safe_case_name(), or distinct_case_name() if another record claims that, and has its source
  // name in the attribute x_name. If several records have one source name, or would have one case
  // name, one stays and has an error.
  ArrayCases(std::string path, std::vector<CaseRecord> records, const OpenOptions& options = {});

  const std::string& path() const override { return path_; }
  std::vector<std::string> case_names() const override;
  using CaseSource::case_names;
  bool has_case(const std::string& name) const override;
  std::optional<std::string> find(const std::string& source_name) const override;
  Case read(const std::string& name, const ReadOptions& what = {}) const override;
  StoredCase info(const std::string& name) const override;
  std::map<std::string, Attribute> attributes_of(const std::string& name) const override;
  std::vector<std::string> producers_of(const std::string& name) const override;
  Tensor read_output(const std::string& name, const std::string& producer,
                     const std::string& output = "") const override;
  Epilogue read_epilogue(const std::string& name, const std::string& producer,
                         const std::string& output = "") const override;
  std::unique_ptr<ArraySource> open_input(const std::string& name,
                                          const std::string& operand) const override;
  std::unique_ptr<ArraySource> open_result(const std::string& name, const std::string& producer,
                                           const std::string& output = "") const override;
  std::int64_t result_bytes(const std::string& name, const std::string& producer) const override;
  std::optional<StoredPlace> result_place(const std::string& name, const std::string& producer,
                                          const std::string& output = "") const override;

  // Returns the names of the cases in the order of the records.
  const std::vector<std::string>& in_order() const { return order_; }
  // Returns the record of a case. Throws FileError if there is no such case.
  const CaseRecord& record(const std::string& name) const;

 private:
  const OutputRecord& result(const std::string& name, const std::string& output) const;
  // Returns null if the producer has no result for this output.
  const ArrayRequest* find_array(const std::string& name, const std::string& producer,
                                 const std::string& output) const;
  const CaseRecord* find_record(const std::string& name) const;

  std::string path_;
  std::map<std::string, CaseRecord> records_;     // by case name
  std::map<std::string, std::string> by_source_;  // the case name for each source name
  std::vector<std::string> order_;
  // The records that stand for all cases below a name. The key is that name with its '/'. A record
  // that stands for golden cases is not listed itself.
  std::map<std::string, CaseRecord> all_below_;
};

}  // namespace assay
