// Writing golden files: HDF5 (docs/dataset.md), of schema 1 where no case needs more: several
// outputs, a list of inputs or an absent one.
//
//   DatasetWriter writer("gemms.h5");
//   writer.write(test_case);
//   writer.commit();
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "assay/cases/case.h"

namespace assay {

class DatasetFile;

// Writes a new file beside its destination; commit() syncs it and moves it into place. Without
// commit() -- an exception, a full disk, a killed process -- the destination stays as it was.
class DatasetWriter {
 public:
  explicit DatasetWriter(const std::string& path, bool compress = false);
  ~DatasetWriter();  // without commit(): removes the temporary file
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;

  void write_attributes(const std::map<std::string, Attribute>& attributes);
  // Throws FileError on a bad case name or a tensor that cannot be stored.
  void write(const Case& test_case);
  // Copies a case as it is stored, what assay does not know included: attributes now, the rest when
  // the file is committed, but for what was put in its place until then. Strings that are no notes
  // (x_...) get a variable length. What refers to other objects or files is left out (notes()).
  void copy(const DatasetFile& from, const std::string& name);
  // Adds to a case that was written or copied; what is there is replaced. `output`: which one, of a
  // case that has several; all that a case gets has a name, or nothing has.
  void put_output(const std::string& name, const std::string& producer, const TensorView& tensor,
                  const std::map<std::string, std::string>& attributes = {},
                  const std::string& output = "");
  // What the kernel gave beside an output that is there, or will be copied: goes where the file had
  // such a thing before; of an empty one nothing is left.
  void put_epilogue(const std::string& name, const std::string& producer, const Epilogue& epilogue,
                    const std::string& output = "");
  // Both, as a case has them.
  void put_recorded(const std::string& name, const std::string& producer,
                    const RecordedResult& recorded, const std::string& output = "");
  // The attributes that a golden result of several has stay on it.
  void put_golden(const std::string& name, const TensorView& tensor,
                  const std::string& output = "");
  // Of the case; with `output` of one of several, whose golden result is there or put.
  void put_attribute(const std::string& name, const std::string& attribute, const Attribute& value,
                     const std::string& output = "");

  void commit();

  // After commit(): what was left out of copied cases, in one line for each reason.
  std::vector<std::string> notes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
