// A recorded product as sums to be explained: each element is a sum of products by itself.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "assay/cases/case.h"
#include "assay/identify/quick_sum.h"
#include "assay/op/k_split.h"
#include "assay/op/scales.h"

namespace assay::identify {

// What may have computed the elements: a dot model, and what a case says beside it.
struct Candidate {
  // `input` (and `other_input`) are the formats that the unit takes, after a conversion.
  // promotion_interval is 0: `interval` has it.
  DotModel model;
  // How K is divided. Parts of one size that are added in float32 in ascending order are those of
  // split_k, or of promotion_interval.
  KSplit split;
  // Each part is promoted by itself after so many terms; 0: never. Below `split.terms`.
  std::int64_t inner_interval = 0;
  bool bias_first = false;         // of a product with a bias
  bool round_before_bias = false;  // of one whose bias is added last
  bool fused = true;               // of scaled sums: sum + partial * scale is rounded once
  ScaleOrder scale_order = ScaleOrder::kTogether;
  const Format* compute = nullptr;  // what operands are rounded to first; nullptr: nothing
  Rounding compute_rounding = Rounding::kNearestEven;
  bool in_two_terms = false;  // what that leaves is multiplied, too (compute_terms)
  Rounding output_rounding = Rounding::kNearestEven;
};

// The elements of one recorded output.
struct Sums {
  std::string case_name, output_name, producer;
  std::string op;
  const Format *a_format = nullptr, *b_format = nullptr, *output = nullptr;
  std::int64_t k = 0, count = 0;
  // Element i is the sum over k of a[a_row[i] * K + k] b[b_row[i] * K + k].
  std::vector<double> a, b;
  std::vector<std::int64_t> a_row, b_row;
  std::vector<double> start;            // c of dot, the bias of a product; empty: none
  std::vector<std::uint64_t> recorded;  // stored elements
  // Elements in the order in which they are tried: those that tell most come first.
  std::vector<std::int64_t> order;

  bool is_dot() const { return op == "dot"; }
  // Of dot alone, whose accumulator is c's then (docs/operators).
  bool sums_in_float16 = false;

  // Of scaled_matmul: stretches of K with one scale, [cuts[i], cuts[i + 1]), and for each the
  // scales of the rows of a and of b.
  bool is_scaled() const { return !cuts.empty(); }
  bool scales_change() const { return cuts.size() > 2; }
  std::vector<std::int64_t> cuts;
  std::vector<float> a_scales, b_scales;  // rows x stretches

  // What the data exercise: where it is false, the parameter changes nothing.
  bool has_subnormal_inputs = false;
  bool has_specials = false;   // NaN or infinity among operands and starts
  int smallest_exponent = 0;   // of a product or start that is not 0; large if all are 0
  double smallest_result = 0;  // of recorded elements that are not 0; infinite where all are
};

// Of a case and one of its recorded outputs. Throws std::invalid_argument that names the case where
// the operator is none of matmul, dot and scaled_matmul, or the output is not of the case's dtype
// and shape.
Sums sums_of(const Case& test_case, const std::string& producer);

// The operands as candidates of one conversion read them, and what is left of them.
struct Operands {
  std::vector<double> a, b;
  std::vector<double> a_rest, b_rest;  // of operands in two terms
};
Operands converted(const Sums& sums, const Candidate& candidate);

// A sum of terms like an element's: a row of a with a row of b whose terms are turned by so many
// places, and the start of an element.
struct Pairing {
  std::int64_t a_row, b_row, turn, element;
};

// What a candidate begins an element's sum with: 0, c of dot or a bias. The element with what it
// adds behind the sum. And whether that, rounded to the output's format, is what was recorded. Not
// of scaled sums, whose scales come between.
double first_term(const Sums& sums, const Candidate& candidate, std::int64_t element);
double with_last_term(const Sums& sums, const Candidate& candidate, std::int64_t element,
                      double sum);
bool is_recorded(const Sums& sums, const Candidate& candidate, std::int64_t element, double sum);

// A candidate with the operands that it reads. What it is made of must outlive it.
class Trial {
 public:
  // `operands`: converted as the candidate says.
  Trial(const Sums& sums, const Operands& operands, const Candidate& candidate);

  // The element before it is rounded to the output's format.
  double sum(std::int64_t element) const;
  // The sum of other terms, with the scales of the pairing's element: what the same kernel would do
  // on more data of the same kind.
  double other_sum(const Pairing& pairing) const;
  std::uint64_t bits(std::int64_t element) const;
  bool agrees(std::int64_t element) const;
  const Candidate& candidate() const { return candidate_; }
  const Sums& sums() const { return sums_; }
  const Operands& operands() const { return operands_; }

 private:
  // A row of a and one of b, and their rests where operands have two terms.
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
  DotModel model_;  // as the operator takes it
  QuickSum quick_;
  const Operands& operands_;
  bool finite_;
  // Of a product whose K is not simply gone through in parts of one size.
  std::optional<KOrder> order_;
};

}  // namespace assay::identify
