// The way down from /cases of a dataset file, and which of the groups there are cases.
#pragma once

#include <cstdint>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "assay/datasets/store/opened_file.h"
#include "assay/datasets/store/reader.h"

namespace assay::h5 {

// Whether a link of a case leads to what a case is made of: inputs, outputs or golden.
bool is_part(std::string_view link);
bool is_group(const Reader& reader, const std::string& object);
bool has_op(const Reader& reader, const std::string& group);
// Whether a group with these links is meant as a case. One without `op` is refused when it is
// read, so that the others of its file are not lost.
bool is_case(const Reader& reader, const std::string& group, const std::vector<std::string>& links);
[[noreturn]] void refuse_case_name(const Reader& reader, const std::string& object);

// The groups that several walks have stepped into, by their addresses.
class SeenGroups {
 public:
  // Throws NeedsHdf5 where one of them has stepped into it before.
  void step_into(std::uint64_t address);

 private:
  std::mutex mutex_;
  std::unordered_set<std::uint64_t> seen_;
};

// Steps down and up again; keeps what it saw against cycles and hostile files.
class CaseWalk {
 public:
  // `shared`: of walks that do not refuse a maze of links, but leave it to one walk.
  explicit CaseWalk(const Reader& reader, SeenGroups* shared = nullptr)
      : reader_(reader), shared_(shared) {}

  // Steps into a group, which leave() steps out of, and gives its links. Refuses what has no end.
  std::vector<std::string> enter(const std::string& group);
  void leave() { above_.pop_back(); }
  // Steps into a group that another walk has seen, on the way to what is below.
  void pass(const std::string& group);

  // Collects the cases below a group: "" for /cases, else the first parts of a case name. Refuses
  // what is no case.
  void collect(const std::string& name);
  // The same of one link of that group.
  void collect_at(const std::string& name, const std::string& link);

  const std::vector<std::string>& cases() const { return cases_; }

 private:
  void refuse_cases_below(const std::string& at);

  const Reader& reader_;
  SeenGroups* shared_;
  std::vector<std::uint64_t> above_;  // addresses of the groups on the way
  std::set<std::uint64_t> seen_;
  std::size_t second_ways_ = 0;  // to groups seen before
  std::vector<std::string> cases_;
};

// What CaseWalk::collect("") collects, sorted, by up to `threads` threads. None by one thread, and
// where something has to be asked of HDF5 or refused, or two ways lead to one group: the walk
// itself does that.
std::optional<std::vector<std::string>> cases_by_threads(const std::string& path,
                                                         const OpenedFile& opened, int threads);

}  // namespace assay::h5
