// Wrong outputs: the table of the corruptions that an audit tries. It contains every mutation and a
// list of faults. fault/mutation.h explains faults, mutations and corruptions.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/audit/subject.h"

namespace assay::inline v0_2::audit {

// A class of corruptions that the same sort of check detects. The score of a target is a mean over
// classes.
struct CorruptionClass {
  std::string_view name;
  std::string_view meaning;
};
std::span<const CorruptionClass> corruption_classes();

// The way in which a corruption changes the files that a target reads. A target is a check that is
// audited (audit/target.h), such as a user's script. Most corruptions change only the values of the
// output (kNone).
enum class FileChange : std::uint8_t {
  kNone,
  kMissing,    // the output's file does not exist
  kEmpty,      // the output's file is empty
  kTruncated,  // the second half of the output's file is missing
  kGolden,     // the output's file is a copy of the golden file
  // The golden file does not exist. This is used to find out why a target passes everything.
  kMissingGolden,
};

struct Corruption {
  // The name of the corruption. For a fault, it is its text as `assay inject --fault` reads it.
  std::string name;
  std::string_view of;  // the name of the corruption's class
  std::string meaning;
  bool is_drawn = false;  // true if different draws give different outputs
  FileChange file = FileChange::kNone;
  // Returns the wrong output. Returns nothing if the corruption does not apply to the subject. The
  // function is null if the corruption changes a file instead.
  std::function<std::optional<Tensor>(const Subject& subject, std::uint64_t draw)> apply = {};
};

// Returns all corruptions in the order of reports.
const std::vector<Corruption>& corruptions();

// Returns an output in which every value is wrong. Its elements are NaN or infinite only if the
// right ones are. Every check must refuse such an output.
Tensor obviously_wrong(const Tensor& clean);

// Returns the number of elements whose value differs from `clean`. Both have the same dtype and
// shape.
std::int64_t changed_elements(const Tensor& clean, const Tensor& output);

}  // namespace assay::audit
