// Golden files: HDF5, schemas 1 and 2 (docs/dataset.md). A file from outside is not trusted.
// Content that the page does not allow is refused with the file, the object in it and the reason.
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
#include <string>
#include <vector>

#include "assay/datasets/store/case_source.h"

namespace assay::inline v0_2 {

namespace h5 {
class ChecksumTable;
class CopySource;
struct FileLook;
}  // namespace h5

// A DatasetFile is used by one thread at a time.
class DatasetFile : public CaseSource {
 public:
  // Opens the file for reading. Throws FileError if the file is missing, unreadable, a directory or
  // not HDF5, or if it has an unknown schema number. Larger datasets than max_dataset_bytes are
  // refused when they are read. 0 means the environment variable ASSAY_MAX_DATASET_GIB, or 8 GiB if
  // it is not set.
  explicit DatasetFile(const std::string& path, std::int64_t max_dataset_bytes = 0);
  ~DatasetFile() override;
  DatasetFile(DatasetFile&&) noexcept;
  DatasetFile& operator=(DatasetFile&&) noexcept;

  const std::string& path() const override;
  // Returns the root's attributes: assay_schema, description, source, license, and any others that
  // are one string, number or bool. A bool is returned as 0 or 1, an integer of 2^63 and more as a
  // float64.
  std::map<std::string, Attribute> attributes() const;

  // Throws FileError also if something in /cases is not a case.
  std::vector<std::string> case_names() const override;
  std::vector<std::string> case_names_by(int threads) const override;
  using CaseSource::case_names;
  bool has_case(const std::string& name) const override;
  Case read(const std::string& name, const ReadOptions& what = {}) const override;
  Tensor read_output(const std::string& name, const std::string& producer,
                     const std::string& output = "") const override;
  Epilogue read_epilogue(const std::string& name, const std::string& producer,
                         const std::string& output = "") const override;
  StoredCase info(const std::string& name) const override;
  std::vector<std::string> producers_of(const std::string& name) const override;
  std::unique_ptr<ArraySource> open_input(const std::string& name,
                                          const std::string& operand) const override;
  std::unique_ptr<ArraySource> open_result(const std::string& name, const std::string& producer,
                                           const std::string& output = "") const override;
  std::int64_t result_bytes(const std::string& name, const std::string& producer) const override;
  std::optional<StoredPlace> result_place(const std::string& name, const std::string& producer,
                                          const std::string& output = "") const override;
  std::map<std::string, Attribute> attributes_of(const std::string& name) const override;

 private:
  friend class DatasetWriter;
  const h5::ChecksumTable& checksums() const;
  // Checks a case, except its elements. Returns its objects, to be copied.
  std::unique_ptr<h5::CopySource> copy_source(const std::string& name) const;

  friend struct h5::FileLook;
  struct Impl;
  explicit DatasetFile(std::unique_ptr<Impl> impl);
  const Impl& looked_at(const std::string& name) const;
  std::unique_ptr<Impl> impl_;
};

// The version of the HDF5 library in use, such as "1.10.8". hdf5_is_threadsafe() returns true if
// several threads may use it at a time, each for its own files.
std::string hdf5_version();
bool hdf5_is_threadsafe();

// An object of this class is for main() of a program that is the only user of its HDF5. It must
// exist from before the first use of HDF5 until the program ends. HDF5 then does nothing at the end
// of the process. Otherwise it would close objects again that errors had left half closed, and
// crash. If HDF5 ends the process itself, as 1.10 does when it gets no memory, an error is printed
// and the exit status is 2.
class Hdf5Program {
 public:
  Hdf5Program();
  ~Hdf5Program();
  Hdf5Program(const Hdf5Program&) = delete;
  Hdf5Program& operator=(const Hdf5Program&) = delete;
};

}  // namespace assay

#include "assay/datasets/store/writer.h"
