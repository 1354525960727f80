// The inputs that a trial draws: dtype, sizes, attributes, values and memory layout. The first
// draws are a list of the most revealing inputs. Then random draws follow. A draw depends only on
// the operator, the kernel, the options and its number, so it is the same on every host and for
// every number of threads.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "assay/base/random.h"
#include "assay/op/generate.h"
#include "assay/op/operator.h"
#include "assay/trial/kernel.h"
#include "assay/trial/value_class.h"

namespace assay::inline v0_2::trial {

// The order and the gaps of elements in memory.
enum class Layout : std::uint8_t {
  kContiguous,  // row-major, at an address that is a multiple of 64 bytes
  kOffset,      // row-major, at an address that is only a multiple of the element's size
  kPadded,      // rows with a gap between them
  kTransposed,  // the last two dimensions are exchanged in memory
};
// Returns "contiguous", "offset", "padded" or "transposed".
std::string_view layout_word(Layout layout);
// Returns the layout of this word. Throws Refusal that lists the words.
Layout layout_named(std::string_view word);

// One input of a trial.
struct Draw {
  std::int64_t number = 0;
  bool is_listed = false;  // one of the fixed list
  Recipe recipe = {};
  Layout inputs = Layout::kContiguous, output = Layout::kContiguous;
  // The classes that the report counts, such as {"sizes", "one more than a power of two"}.
  std::vector<std::pair<std::string, std::string>> classes = {};

  // Returns what describes the draw: dtype, sizes, attributes, distributions and layout.
  std::string text() const;
};

// The limits of drawn inputs.
struct DrawLimits {
  std::int64_t elements = 1 << 16;  // of the largest input
  // Products of all sizes, for operators that multiply matrices.
  std::int64_t products = 1 << 20;
  bool subnormals = true;  // subnormal numbers are drawn
  // The only sizes that are drawn, in the operator's order, such as {64, 1024}. Empty means all.
  std::vector<std::vector<std::int64_t>> sizes = {};
};

// The draws for one operator and one kernel.
class Drawing {
 public:
  // `dtypes` are those of inputs. An empty list stands for those of the kernel, or for one that the
  // operator takes. Throws Refusal if the operator cannot make inputs, or if a dtype is unknown or
  // is one that the operator does not take.
  // `fixed` are values of parameters that every draw has.
  Drawing(const Operator& op, const TrialKernel& kernel, std::vector<std::string> dtypes,
          std::map<std::string, Attribute> fixed, DrawLimits limits, std::uint64_t seed);

  // Returns the number of draws of the fixed list.
  std::int64_t listed() const { return static_cast<std::int64_t>(list_.size()); }
  // A draw and its case.
  struct Made {
    Draw draw;
    Case test_case;
  };
  // Returns draw `number`, which is listed if the number is below listed(), with its case. If the
  // operator refuses a draw, for example because blocks of scales need a matrix, another one is
  // drawn in its place. Throws Refusal if it refuses all.
  Made made(std::int64_t number) const;
  // Returns the draw without its case. Throws as made() does.
  Draw at(std::int64_t number) const { return made(number).draw; }
  // Returns the case of a draw. `seed_step` other than 0 gives other values in the same shapes.
  Case make(const Draw& draw, std::uint64_t seed_step = 0) const;

  const std::vector<std::string>& dtypes() const { return dtypes_; }
  // Returns what is never drawn, and why.
  std::vector<std::string> left_out() const;

 private:
  struct Sizes {
    std::vector<std::int64_t> sizes;
    std::string classes;
  };
  void set_values(Draw& draw, const ValueClass& values) const;
  void set_optional(Draw& draw, bool sometimes) const;
  // Draws an optional input, unless the draw lacks the flag that the input needs.
  void add_optional(Draw& draw, const std::string& name) const;
  // Returns the operator's input, or one without a name, which the operator cannot make.
  const OperatorInput& input_of(const std::string& name) const;
  void set_attributes(Draw& draw) const;
  Draw base(const std::string& dtype) const;
  std::vector<std::vector<std::int64_t>> listed_sizes() const;
  // Returns random sizes, for limits that no listed sizes fit. Throws Refusal if none fit.
  std::vector<std::int64_t> drawn_sizes() const;
  bool fits(const std::vector<std::int64_t>& sizes) const;
  void add_classes(Draw& draw) const;
  Draw random(std::int64_t number, std::uint64_t attempt) const;
  bool varies(const Parameter& parameter) const;  // draws have different values of it
  std::vector<std::int64_t> random_sizes(Random& random) const;
  bool can_make(const Draw& draw) const;
  // Returns why the operator takes no inputs of a dtype, or an empty string if it takes some.
  std::string why_not_dtype(const std::string& dtype) const;
  // Throws Refusal, which lists the dtypes that the operator takes, if it does not take this one.
  void check_dtype(const std::string& dtype) const;

  const Operator& op_;
  const TrialKernel& kernel_;
  std::vector<std::string> dtypes_;
  std::map<std::string, Attribute> fixed_;
  DrawLimits limits_;
  std::uint64_t seed_;
  std::vector<std::string> names_;  // of sizes, without "..."
  bool has_batch_ = false;          // the sizes begin with "..."
  // Optional inputs that some draws have, and those that the operator cannot make.
  std::vector<std::string> sometimes_, cannot_make_;
  std::vector<Draw> list_;
};

}  // namespace assay::trial
