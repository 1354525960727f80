// Reads a recorded product as sums to explain: each element is a separate sum of products.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/identify/quick_sum.h"
#include "assay/op/k_split.h"
#include "assay/op/scales.h"

namespace assay::inline v0_2::identify {

// A model that may have computed the elements: a dot model, and the parameters of a case.
struct Candidate {
  // The unit's model. `input` (and `other_input`) are the formats that the unit takes, after a
  // conversion. promotion_interval is 0, because `split` has the interval.
  DotModel model;
  // The division of K. Parts of one length that are added in float32 in ascending order stand for
  // split_k and for promotion_interval.
  KSplit split = {};
  // Inside each part, partial sums are promoted after this number of terms, which is less than
  // `split.terms`. 0 means never.
  std::int64_t inner_interval = 0;
  bool bias_first = false;         // true if the sum begins with the bias
  bool round_before_bias = false;  // the sum is rounded before the bias is added last
  bool fused = true;               // sum + partial * scale is rounded once, for scaled sums
  ScaleOrder scale_order = ScaleOrder::kTogether;
  const Format* compute = nullptr;  // the format to which operands are converted first, or nullptr
  Rounding compute_rounding = Rounding::kNearestEven;
  // True if operands have two terms: the remainders are multiplied, too (compute_terms).
  bool in_two_terms = false;
  Rounding output_rounding = Rounding::kNearestEven;
};

// The elements of one recorded output, as sums of products.
struct Sums {
  std::string case_name, output_name, producer;
  std::string op;
  const Format *a_format = nullptr, *b_format = nullptr, *output = nullptr;
  std::int64_t k = 0, count = 0;
  // Element i is the sum over k of a[a_row[i] * K + k] b[b_row[i] * K + k].
  std::vector<double> a, b;
  std::vector<std::int64_t> a_row, b_row;
  std::vector<double> start;            // start values: c of dot, the bias of a product, or empty
  std::vector<std::uint64_t> recorded;  // stored elements
  // Elements in the order in which they are tried, the most informative ones first.
  std::vector<std::int64_t> order;

  bool is_dot() const { return op == "dot"; }
  // True only for a dot that sums in float16. Its accumulator has the format of c (docs/operators).
  bool sums_in_float16 = false;

  // For scaled_matmul, the stretches of K with one scale, [cuts[i], cuts[i + 1]). For each stretch,
  // the scales of the rows of a and of b.
  bool is_scaled() const { return !cuts.empty(); }
  bool scales_change() const { return cuts.size() > 2; }
  std::vector<std::int64_t> cuts;
  std::vector<float> a_scales, b_scales;  // rows x stretches

  // Features of the data. If the data do not have a feature, the parameters that handle it change
  // nothing.
  bool has_subnormal_inputs = false;
  bool has_specials = false;  // true if operands or start values hold NaN or infinity
  // Smallest exponent of the products and start values that are not 0. A large number if all are 0.
  int smallest_exponent = 0;
  // Smallest size of the recorded elements that are not 0. Infinity if all are 0.
  double smallest_result = 0;
};

// Returns the sums of one recorded output of a case. Throws Refusal, which names the
// case, if the operator is not matmul, dot or scaled_matmul, or if the output does not have the
// case's dtype and shape.
Sums sums_of(const Case& test_case, const std::string& producer);

// The operands after the conversion of a candidate and, if it has two terms, the remainders.
struct Operands {
  std::vector<double> a, b;
  std::vector<double> a_rest, b_rest;  // remainders, only for operands in two terms
};
Operands converted(const Sums& sums, const Candidate& candidate);

// New data of the same kind: the sum of products of a row of a and a row of b whose terms are
// rotated by `turn` places. The start value is that of an element.
struct Pairing {
  std::int64_t a_row, b_row, turn, element;
};

// The steps of an element outside its sum, for sums that are not scaled. (Scaled sums apply scales
// in between.)
// - first_term() returns the start value of a candidate's sum: 0, c of dot, or a bias.
// - with_last_term() returns the element after the addition of what follows the sum.
// - is_recorded() is true if that value, rounded to the output's format, is the recorded one.
double first_term(const Sums& sums, const Candidate& candidate, std::int64_t element);
double with_last_term(const Sums& sums, const Candidate& candidate, std::int64_t element,
                      double sum);
bool is_recorded(const Sums& sums, const Candidate& candidate, std::int64_t element, double sum);

// Computes the elements by a candidate. The constructor's arguments must outlive the object, except
// the candidate.
class Trial {
 public:
  // `operands` must be converted as the candidate requires.
  Trial(const Sums& sums, const Operands& operands, const Candidate& candidate);

  // Returns the element before it is rounded to the output's format.
  double sum(std::int64_t element) const;
  // Returns the sum of a pairing's terms, with the scales of the pairing's element. This is what
  // the same kernel would compute for more data of the same kind.
  double other_sum(const Pairing& pairing) const;
  std::uint64_t bits(std::int64_t element) const;
  bool agrees(std::int64_t element) const;
  const Candidate& candidate() const { return candidate_; }
  const Sums& sums() const { return sums_; }
  const Operands& operands() const { return operands_; }

 private:
  // A row of a, a row of b, and their remainders if operands have two terms.
  struct Rows {
    const double *a, *b, *a_rest, *b_rest;
  };
  double sum_of(const Rows& rows, std::int64_t element) const;
  double sum_of_rows(std::int64_t a_row, std::int64_t b_row, std::int64_t element) const;
  double divided(std::int64_t n, const double* a, const double* b, double c) const;
  double ordered(const Rows& rows, double c) const;
  double promoted(std::int64_t interval, std::int64_t n, const double* a, const double* b,
                  double c) const;
  double part(std::int64_t n, const double* a, const double* b, double c) const;

  const Sums& sums_;
  Candidate candidate_;
  DotModel model_;  // the candidate's model with the operator's changes
  QuickSum quick_;
  const Operands& operands_;
  bool finite_;
  // The order of summation along K. Empty if a sum simply takes K in parts of one length.
  std::optional<KOrder> order_;
};

}  // namespace assay::identify
