// Wrong outputs: the one table of what an audit tries. It contains every mutation and a list of
// faults; fault/mutation.h says what the three are.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/audit/subject.h"

namespace assay::audit {

// Corruptions of one kind, which one sort of check sees: a score is a mean over these.
struct CorruptionClass {
  std::string_view name;
  std::string_view meaning;
};
std::span<const CorruptionClass> corruption_classes();

// What happens to the files that a target reads, where that is the corruption.
enum class FileChange : std::uint8_t {
  kNone,
  kMissing,        // there is no file of the output
  kEmpty,          // it has no byte
  kTruncated,      // its second half is missing
  kGolden,         // it is a copy of the golden file
  kMissingGolden,  // there is no golden file; to find out why a target passes everything
};

struct Corruption {
  std::string name;     // of a fault: its text, as `assay inject --fault` takes it
  std::string_view of;  // the class
  std::string meaning;
  bool is_drawn = false;  // another draw gives another output
  FileChange file = FileChange::kNone;
  // The wrong output; empty where the subject does not allow it. Null where a file is changed.
  std::function<std::optional<Tensor>(const Subject& subject, std::uint64_t draw)> apply = {};
};

// In the order of reports.
const std::vector<Corruption>& corruptions();

// An output in which nothing is right, but no element is NaN or infinite where the right one is
// not: what every check must refuse.
Tensor obviously_wrong(const Tensor& clean);

// How many elements have another value than in `clean`, of the same dtype and shape.
std::int64_t changed_elements(const Tensor& clean, const Tensor& output);

}  // namespace assay::audit
