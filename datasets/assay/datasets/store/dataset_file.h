// Golden files: HDF5, schemas 1 and 2 (docs/dataset.md). A file from outside is not trusted:
// whatever the page does not allow is refused with the file, the object in it and the reason.
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

namespace assay {

namespace h5 {
class ChecksumTable;
class CopySource;
struct FileLook;
}  // namespace h5

// A DatasetFile is used by one thread at a time.
class DatasetFile : public CaseSource {
 public:
  // Opens for reading. Throws FileError on a missing or unreadable file, a directory, a file that
  // is not HDF5, and another schema number. Datasets larger than max_dataset_bytes (0: the
  // environment's ASSAY_MAX_DATASET_GIB, else 8 GiB) are refused when they are met.
  explicit DatasetFile(const std::string& path, std::int64_t max_dataset_bytes = 0);
  ~DatasetFile() override;
  DatasetFile(DatasetFile&&) noexcept;
  DatasetFile& operator=(DatasetFile&&) noexcept;

  const std::string& path() const override;
  // The root's attributes: assay_schema, description, source, license, and whatever else is there
  // that is one string, number or bool. A bool is given as 0 or 1, an integer of 2^63 and more as a
  // float64.
  std::map<std::string, Attribute> attributes() const;

  // Refuses also anything in /cases that is no case.
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
  std::map<std::string, Attribute> attributes_of(const std::string& name) const override;

 private:
  friend class DatasetWriter;
  const h5::ChecksumTable& checksums() const;
  // Of a case, once all of it has been checked.
  std::unique_ptr<h5::CopySource> copy_source(const std::string& name) const;

  friend struct h5::FileLook;
  struct Impl;
  explicit DatasetFile(std::unique_ptr<Impl> impl);
  const Impl& looked_at(const std::string& name) const;
  std::unique_ptr<Impl> impl_;
};

// "1.10.8": the HDF5 library in use, and whether several threads may use it, each its own files.
std::string hdf5_version();
bool hdf5_is_threadsafe();

// For main() of a program whose HDF5 nobody else uses, before its first use, until the program
// ends. HDF5 then leaves the end of the process alone, where it would otherwise close once more
// what errors left half closed, and crash. Where it ends the process itself, as 1.10 does when it
// gets no memory, an error is printed and the exit status is 2.
class Hdf5Program {
 public:
  Hdf5Program();
  ~Hdf5Program();
  Hdf5Program(const Hdf5Program&) = delete;
  Hdf5Program& operator=(const Hdf5Program&) = delete;
};

}  // namespace assay

#include "assay/datasets/store/writer.h"
