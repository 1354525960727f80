// Golden files: HDF5, schema 1 (docs/dataset.md). A file from outside is not trusted: whatever the
// page does not allow is refused with the file, the object in it and the reason.
//
//   DatasetFile file("gemms.h5");
//   for (const std::string& name : file.case_names()) {
//     Case c = file.read(name);
//     ...
//   }
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "assay/tensor/case.h"

namespace assay {

// A file that cannot be read or written; the message names file, object and reason.
class FileError : public std::runtime_error {
 public:
  FileError(const std::string& file, const std::string& object, const std::string& reason);
};

// The file is fine, but it holds no case, or none that was asked for.
class NoCaseError : public FileError {
 public:
  using FileError::FileError;
};

struct ReadOptions {
  bool inputs = true;
  bool golden = true;
  bool outputs = true;  // and what their kernels gave beside them
};

// What a case holds, without its data.
struct TensorInfo {
  std::string dtype;
  Shape shape;
  std::string machine = {};  // of an output: which one computed it, where the file says so
};
struct CaseInfo {
  std::string name, op;
  std::map<std::string, Attribute> attributes;
  std::map<std::string, TensorInfo> inputs, outputs;
  std::map<std::string, TensorInfo> accumulators, residuals;  // of outputs, by producer
  std::optional<TensorInfo> golden;
};

// A DatasetFile is used by one thread at a time.
class DatasetFile {
 public:
  // Opens for reading. Throws FileError on a missing or unreadable file, a directory, a file that
  // is not HDF5, and another schema number. Datasets larger than max_dataset_bytes (0: the
  // environment's ASSAY_MAX_DATASET_GIB, else 8 GiB) are refused when they are met.
  explicit DatasetFile(const std::string& path, std::int64_t max_dataset_bytes = 0);
  ~DatasetFile();
  DatasetFile(DatasetFile&&) noexcept;
  DatasetFile& operator=(DatasetFile&&) noexcept;

  const std::string& path() const;
  // The root's attributes: assay_schema, description, source, license, and whatever else is there
  // that is one string, number or bool. A bool is given as 0 or 1, an integer of 2^63 and more as a
  // float64.
  std::map<std::string, Attribute> attributes() const;

  // All cases in the order of their names. Throws FileError on anything in /cases that is no case,
  // and NoCaseError where there is none at all.
  std::vector<std::string> case_names() const;
  // Those whose name matches a glob ('*', '?'; empty: all). Throws NoCaseError where none does.
  std::vector<std::string> case_names(const std::string& glob) const;

  bool has_case(const std::string& name) const;
  // Throws FileError where the case, a dataset or an attribute of it is refused.
  Case read(const std::string& name, const ReadOptions& what = {}) const;
  // One recorded output; throws FileError where the case has none of that producer.
  Tensor read_output(const std::string& name, const std::string& producer) const;
  // What the kernel gave beside it: empty where the file has nothing of the kind.
  Epilogue read_epilogue(const std::string& name, const std::string& producer) const;
  CaseInfo info(const std::string& name) const;
  // Whose outputs are recorded, whatever else is wrong with the case.
  std::vector<std::string> producers_of(const std::string& name) const;
  // Whether the golden result and a recorded output, of this file or another, are the same bytes.
  bool golden_is_output(const std::string& name, const DatasetFile& outputs,
                        const std::string& producer) const;
  // The attributes of a case alone, `op` among them.
  std::map<std::string, Attribute> attributes_of(const std::string& name) const;

 private:
  friend class DatasetWriter;
  // HDF5's number of the file, once all of a case has been checked.
  std::int64_t file_for_copy(const std::string& name) const;

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// "1.10.8": the HDF5 library in use.
std::string hdf5_version();

}  // namespace assay

#include "assay/datasets/writer.h"
