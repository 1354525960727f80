// Writes golden files: HDF5 (docs/dataset.md). The file has schema 1 unless a case needs schema 2:
// several outputs, a list of inputs or an absent input.
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

namespace assay::inline v0_2 {

class DatasetFile;

// Writes a new file beside its destination. commit() syncs it and moves it into place. Without
// commit(), for example after an exception, a full disk or a killed process, the destination stays
// as it was.
class DatasetWriter {
 public:
  explicit DatasetWriter(const std::string& path, bool compress = false);
  ~DatasetWriter();  // without commit(): removes the temporary file
  DatasetWriter(const DatasetWriter&) = delete;
  DatasetWriter& operator=(const DatasetWriter&) = delete;

  void write_attributes(const std::map<std::string, Attribute>& attributes);
  // Throws FileError if the case name is not valid or a tensor cannot be stored.
  void write(const Case& test_case);
  // Copies a case as it is stored, including content that assay does not know. The case's
  // attributes are copied now. The rest is copied when the file is committed, except for objects
  // that were replaced until then. Strings of attributes that the schema defines get a variable
  // length, and all others stay as they are. Objects that refer to other objects or files are left
  // out (notes()).
  void copy(const DatasetFile& from, const std::string& name);
  // Adds an output to a case that was written or copied, or replaces it. `output` names the output
  // if the case has several. Either all outputs that are put to a case have a name, or none has.
  void put_output(const std::string& name, const std::string& producer, const TensorView& tensor,
                  const std::map<std::string, std::string>& attributes = {},
                  const std::string& output = "");
  // Stores the arrays that a kernel's epilogue returned with an output that is there, or will be
  // copied. Earlier ones are replaced. An empty epilogue removes them.
  void put_epilogue(const std::string& name, const std::string& producer, const Epilogue& epilogue,
                    const std::string& output = "");
  // Adds or replaces a recorded output, with the arrays of its epilogue.
  void put_recorded(const std::string& name, const std::string& producer,
                    const RecordedResult& recorded, const std::string& output = "");
  // Adds or replaces a golden result. In a case of several outputs, it keeps its attributes.
  void put_golden(const std::string& name, const TensorView& tensor,
                  const std::string& output = "");
  // Sets an attribute of the case, or, if `output` is given, of one of several outputs. The golden
  // result of that output must be there, or have been put.
  void put_attribute(const std::string& name, const std::string& attribute, const Attribute& value,
                     const std::string& output = "");

  void commit();

  // After commit(): the objects that were left out of copied cases, in one line for each reason.
  std::vector<std::string> notes() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace assay
