// The walk over the groups below /cases of a dataset file, which finds out which of them are cases.
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

namespace assay::inline v0_2::h5 {

// Returns true if a link of a case leads to a part of a case: inputs, outputs or golden.
bool is_part(std::string_view link);
bool is_group(const Reader& reader, const std::string& object);
bool has_op(const Reader& reader, const std::string& group);
// Returns true if a group with these links is intended to be a case. A case without `op` is refused
// only when it is read, so that the other cases of its file are not lost.
bool is_case(const Reader& reader, const std::string& group, const std::vector<std::string>& links);
[[noreturn]] void refuse_case_name(const Reader& reader, const std::string& object);

// The addresses of the groups that several walks have entered, so that no group is entered twice.
class SeenGroups {
 public:
  // Throws NeedsHdf5 if a walk has entered the group before.
  void step_into(std::uint64_t address);

 private:
  std::mutex mutex_;
  std::unordered_set<std::uint64_t> seen_;
};

// Enters and leaves groups. Remembers the groups that it saw, to protect against cycles and hostile
// files.
class CaseWalk {
 public:
  // Each thread's walk gets the same `shared`. Such a walk does not refuse a maze of links. It
  // throws NeedsHdf5, and a single walk without `shared` decides.
  explicit CaseWalk(const Reader& reader, SeenGroups* shared = nullptr)
      : reader_(reader), shared_(shared) {}

  // Enters a group, which leave() leaves again, and returns its links. Refuses groups that never
  // end.
  std::vector<std::string> enter(const std::string& group);
  void leave() { above_.pop_back(); }
  // Enters a group that another walk has already checked, on the way to groups below it.
  void pass(const std::string& group);

  // Collects the cases below a group: "" for /cases, or the first parts of a case name. Refuses
  // objects that are not cases.
  void collect(const std::string& name);
  // Collects the cases below one link of a group, which is named as in collect().
  void collect_at(const std::string& name, const std::string& link);

  const std::vector<std::string>& cases() const { return cases_; }

 private:
  void refuse_cases_below(const std::string& at);

  const Reader& reader_;
  SeenGroups* shared_;
  std::vector<std::uint64_t> above_;  // addresses of the groups on the current path
  std::set<std::uint64_t> seen_;
  std::size_t second_ways_ = 0;  // number of links to groups that were seen before
  std::vector<std::string> cases_;
};

// Returns the result of CaseWalk::collect(""), sorted, found by up to `threads` threads. Returns
// nothing if there is only one thread, if HDF5 is needed, if something must be refused, or if two
// paths lead to one group. The caller then uses CaseWalk itself.
std::optional<std::vector<std::string>> cases_by_threads(const std::string& path,
                                                         const OpenedFile& opened, int threads);

}  // namespace assay::h5
