// The checksums that record the content of a dataset file when assay wrote it. A table has the XXH3
// checksum of each dataset (its dtype, shape and elements) and of each attribute except those of a
// team (x_...). The table is the dataset /checksums, and its own checksum is the root's attribute
// assay_checksums.
//
// Objects that another program adds have no line in the table. Datasets and attributes that another
// program changes are refused, and missing cases, inputs, golden results and attributes, too,
// because nobody can tell such a change from damage.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "assay/cases/case.h"

namespace assay::inline v0_2::h5 {

inline constexpr char kChecksums[] = "/checksums";
inline constexpr char kChecksumsAttribute[] = "assay_checksums";

// Computes the XXH3 checksum of a tensor whose bytes arrive in pieces, in order.
class TensorSum {
 public:
  TensorSum(std::string_view dtype, const Shape& shape);
  ~TensorSum();
  TensorSum(const TensorSum&) = delete;
  TensorSum& operator=(const TensorSum&) = delete;
  void add(const std::byte* bytes, std::size_t size);
  std::uint64_t sum() const;

 private:
  void* state_;
};

std::uint64_t sum_of(const TensorView& contiguous);
std::uint64_t sum_of(const Attribute& value);

// The table of checksums of a file that is being written. The name of a line is the path of a
// dataset, or "path@name" for an attribute.
class Checksums {
 public:
  void set(const std::string& object, std::uint64_t sum) { lines_[object] = sum; }
  void set(const std::string& object, const std::string& attribute, const Attribute& value);
  void erase(const std::string& object, const std::string& attribute);
  // Erases the lines of the object, of its attributes, and of everything in it.
  void erase_all(const std::string& object);

  // Returns lines such as "0123456789abcdef /cases/x/golden\n", sorted by name.
  std::string text() const;

 private:
  std::map<std::string, std::uint64_t> lines_;
};

// The table of checksums of a file that is being read. Copies of this object share the lines. Each
// copy is used by one thread at a time.
class ChecksumTable {
 public:
  struct Line {
    std::string_view name;
    std::uint64_t sum;
  };

  ChecksumTable() = default;  // without lines
  // Parses a text that is not copied. `owner` keeps it in memory. Returns nothing if the text is
  // not a valid table.
  static std::optional<ChecksumTable> of(std::shared_ptr<const void> owner, std::string_view text);
  // share() lets threads that read the same file share one table, which may have many lines. `file`
  // identifies the file and its table's checksum. shared() finds a table under that key, as long as
  // somebody still has it.
  void share(const std::string& file) const;
  static std::optional<ChecksumTable> shared(const std::string& file);

  // The lines in the order of their names, each name once.
  std::span<const Line> lines() const;
  std::optional<std::uint64_t> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  // Returns true if the checksum in the line with that name is `sum`, or if there is no such line.
  bool agrees(std::string_view name, std::uint64_t sum) const;
  std::span<const Line> beginning_with(std::string_view prefix) const;

  // needed_in() returns the paths of a case's inputs and golden results, including absent ones.
  // cases() returns the paths of all cases.
  std::vector<std::string> needed_in(const std::string& case_path) const;
  std::vector<std::string> cases() const;

 private:
  struct Text;
  struct Known;
  static Known& known();
  // Returns the index of the first line whose name is not less than `name`.
  std::size_t place_of(std::string_view name) const;

  std::shared_ptr<const Text> text_;
  // The index that place_of() returned last. It is kept because the next one is often near.
  mutable std::size_t last_ = 0;
};

// Returns the checksum of a table's text, as assay_checksums has it.
std::string table_sum(std::string_view text);

}  // namespace assay::h5
