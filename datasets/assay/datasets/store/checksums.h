// What a dataset file's content was when assay wrote it: a table of XXH3 checksums, of each dataset
// (its dtype, shape and elements) and of each attribute but those of a team (x_...). It lies in the
// dataset /checksums, and its own checksum in the root's attribute assay_checksums.
//
// What another program adds has no line in the table; what it changes or takes away, inputs, golden
// results and attributes that is, is refused, for nobody can tell it from damage.
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

namespace assay::h5 {

inline constexpr char kChecksums[] = "/checksums";
inline constexpr char kChecksumsAttribute[] = "assay_checksums";

// XXH3 of a tensor that comes in pieces, in order.
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

// The table of a file that is written. A line has the path of a dataset, or "path@name" of an
// attribute.
class Checksums {
 public:
  void set(const std::string& object, std::uint64_t sum) { lines_[object] = sum; }
  void set(const std::string& object, const std::string& attribute, const Attribute& value);
  void erase(const std::string& object, const std::string& attribute);
  // The object's line and those of its attributes, and of all that lies in it.
  void erase_all(const std::string& object);

  // "0123456789abcdef /cases/x/golden\n", by name.
  std::string text() const;

 private:
  std::map<std::string, std::uint64_t> lines_;
};

// The table of a file that is read. Copies share its lines; each is for one thread at a time.
class ChecksumTable {
 public:
  struct Line {
    std::string_view name;
    std::uint64_t sum;
  };

  ChecksumTable() = default;  // without lines
  // None where it is no text of a table.
  static std::optional<ChecksumTable> of(std::string text);
  // The same of a text that lasts as long as its owner does.
  static std::optional<ChecksumTable> of(std::shared_ptr<const void> owner, std::string_view text);
  // Threads that read the same file have its many lines once: under words that say which file it
  // is, and what its table's sum is, others find a table as long as somebody has it.
  void share(const std::string& file) const;
  static std::optional<ChecksumTable> shared(const std::string& file);

  // By name, each once.
  std::span<const Line> lines() const;
  std::optional<std::uint64_t> find(std::string_view name) const;
  bool has(std::string_view name) const { return find(name).has_value(); }
  // Whether there is no line of that name, or it has this sum.
  bool agrees(std::string_view name, std::uint64_t sum) const;
  std::span<const Line> beginning_with(std::string_view prefix) const;

  // The paths of a case's inputs and golden results, also of absent ones, and those of all cases.
  std::vector<std::string> needed_in(const std::string& case_path) const;
  std::vector<std::string> cases() const;

 private:
  struct Text;
  struct Known;
  static Known& known();
  // Of the first line that is not before the name.
  std::size_t place_of(std::string_view name) const;

  std::shared_ptr<const Text> text_;
  mutable std::size_t last_ = 0;  // the place that was asked for last; the next one lies near
};

// Of a table's text, as assay_checksums has it.
std::string table_sum(std::string_view text);

}  // namespace assay::h5
