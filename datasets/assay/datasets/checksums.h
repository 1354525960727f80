// What a dataset file's content was when assay wrote it: a table of XXH3 checksums, of each dataset
// (its dtype, shape and elements) and of each attribute but those of a team (x_...). It lies in the
// dataset /checksums, and its own checksum in the root's attribute assay_checksums.
//
// What another program adds has no line in the table; what it changes or takes away, inputs, golden
// results and attributes that is, is refused, for nobody can tell it from damage.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "assay/tensor/case.h"

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

class Checksums {
 public:
  // Whether an attribute of this name has a line.
  static bool has_line(std::string_view attribute);

  void set(const std::string& object, std::uint64_t sum) { lines_[object] = sum; }
  void set(const std::string& object, const std::string& attribute, const Attribute& value);
  void erase(const std::string& object, const std::string& attribute);
  // The object's line and those of its attributes, and of all that lies in it.
  void erase_all(const std::string& object);
  Checksums all_of(const std::string& object) const;

  // By the path of a dataset, or "path@name" of an attribute.
  const std::map<std::string, std::uint64_t>& lines() const { return lines_; }
  bool has(const std::string& line) const { return lines_.count(line) != 0; }
  // Whether there is no line of that name, or it has this sum.
  bool agrees(const std::string& line, std::uint64_t sum) const;

  // The paths of a case's inputs and golden results, and those of all cases.
  std::vector<std::string> needed_in(const std::string& case_path) const;
  std::vector<std::string> cases() const;

  // "0123456789abcdef /cases/x/golden\n", by name.
  std::string text() const;
  // False where it is no such text.
  bool read(std::string_view text);

 private:
  using Lines = std::map<std::string, std::uint64_t>;
  using Range = std::pair<Lines::const_iterator, Lines::const_iterator>;
  // Where all of an object stands. A file of many cases has a long table, of which this is a few
  // lines.
  std::array<Range, 3> ranges_of(const std::string& object) const;

  Lines lines_;
};

// Of a table's text, as assay_checksums has it.
std::string table_sum(std::string_view text);

// The table of a text, or null where it is none. Who reads the same text while another still has
// its table gets that one: threads that share a file have one table of its many lines.
std::shared_ptr<const Checksums> shared_table(std::string_view text);

}  // namespace assay::h5
