// Cases whose arrays lie in files of their own, as other tools leave them: what the layouts of
// folders (open_cases.h) have in common. A layout lists what it found; this reads it.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "assay/cases/source_names.h"
#include "assay/datasets/arrays/array_file.h"
#include "assay/datasets/checks/file_error.h"
#include "assay/datasets/layouts/open_cases.h"
#include "assay/datasets/store/case_source.h"

namespace assay {

// What a layout found. `dtype` and `shape` of an array say what the layout knows of raw bytes and
// of bit patterns; settle_arrays() settles what they leave open. An only output may have any name.
using OutputRecord = BasicOutput<ArrayRequest>;
struct CaseRecord : BasicCase<ArrayRequest> {
  CaseRecord() { op = "external"; }
  // Why the case cannot be read: thrown when it is, so that the other cases can be.
  std::optional<FileError> error = {};
  // The record is "NAME/*" and stands for every case below NAME: an archive that cannot be read, so
  // that nobody knows which arrays it has. It has an error.
  bool stands_for_all_below = false;
  // The name that the user gave the case (source_names.h).
  std::string source_name() const;
};

// Settles the dtype and the shape of every array: what the file says, what the layout says, what
// the options say for that side (of outputs it is then also what the operator returns), what the
// other side has where the sizes agree, and at last one dimension of all elements that the file
// holds. What was inferred is added to `notes`, a sentence for each kind. No data is read. What is
// wrong with an array becomes its record's `error`.
void settle_arrays(std::vector<CaseRecord>& records, const OpenOptions& options,
                   std::vector<std::string>& notes);

class ArrayCases : public CaseSource {
 public:
  // A record whose golden result lies in one of options.golden_sources() gets the name of that
  // case. Every other record keeps its own name if a case may have it, if no other record claims it
  // and if no case lies below it, because cases do not nest. Otherwise it gets safe_case_name(), or
  // distinct_case_name() if that is claimed too, and has its source name in the attribute x_name.
  // If several records have one source name, or would have one case name, one stays and has an
  // error.
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
  std::unique_ptr<ArraySource> open_golden(const std::string& name,
                                           const std::string& output = "") const override;
  std::unique_ptr<ArraySource> open_output(const std::string& name, const std::string& producer,
                                           const std::string& output = "") const override;
  std::int64_t golden_bytes(const std::string& name) const override;
  std::int64_t output_bytes(const std::string& name, const std::string& producer) const override;
  std::optional<StoredPlace> golden_place(const std::string& name,
                                          const std::string& output = "") const override;
  std::optional<StoredPlace> output_place(const std::string& name, const std::string& producer,
                                          const std::string& output = "") const override;

  // In the order in which the records came.
  const std::vector<std::string>& in_order() const { return order_; }
  // The record of a case. Throws FileError where there is none.
  const CaseRecord& record(const std::string& name) const;

 private:
  const OutputRecord& result(const std::string& name, const std::string& output) const;
  // Null if the producer did not record this output.
  const ArrayRequest* recorded(const std::string& name, const std::string& producer,
                               const std::string& output) const;
  const CaseRecord* find_record(const std::string& name) const;

  std::string path_;
  std::map<std::string, CaseRecord> records_;     // by case name
  std::map<std::string, std::string> by_source_;  // case names by source name
  std::vector<std::string> order_;
  // The records that stand for all cases below a name, by that name with its '/'. One that stands
  // for golden cases is not listed itself.
  std::map<std::string, CaseRecord> all_below_;
};

}  // namespace assay
