// Machines as data: how the matrix units that assay emulates add. A row of the table is a machine.
// It has a dot model for each input format that its matrix unit takes.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <variant>

#include "assay/format/format.h"

namespace assay::inline v0_2 {

// The kind of evidence for a parameter (docs/machines.md).
enum class Provenance : std::uint8_t {
  kDocumented,  // the vendor or a standard documents the value
  kMeasured,    // recorded results of the hardware agree with the value
  kInferred,    // fits published figures
  kAssumed,     // a choice
};
// Returns "documented", "measured", "inferred" or "assumed".
std::string_view provenance_word(Provenance provenance);

// A value and its provenance.
template <typename T>
struct Known {
  T value;
  Provenance how;
};

// Returns a value whose provenance is kAssumed.
template <typename T>
constexpr Known<T> assumed(T value) {
  return {value, Provenance::kAssumed};
}

// The order in which the products of a chunk are added.
enum class ChunkOrder : std::uint8_t {
  kFused,  // products and accumulator have one exact sum, which is rounded once
  // The products are added to each other, with a rounding each time, and their sum is then added to
  // the accumulator.
  kSequential,  // The products are added one after the other.
  kPairwise,    // The products are added by a tree of adjacent pairs.
};
// Returns "fused", "sequential" or "pairwise".
std::string_view order_word(ChunkOrder order);

// The result of an integer accumulator for a sum beyond its range.
enum class IntegerOverflow : std::uint8_t {
  kSaturate,  // the sum becomes the nearest limit of the range
  kWrap,      // wraps around
};
// Returns "saturate" or "wrap".
std::string_view overflow_word(IntegerOverflow overflow);

// A matrix unit that computes D = C + sum over k of a_k b_k. It goes through k in ascending order,
// in chunks of `chunk` products, which are exact. A chunk is summed with the accumulator C in
// `order`, each sum is rounded to the accumulator's format, and the result is the C of the next
// chunk.
//
// With `kept_bits` F, the terms of a fused sum are aligned first, as tensor cores do it: each term
// is rounded by `alignment` to a multiple of 2^(emax - F). emax is the largest exponent of a term
// that is not 0, the accumulator included, and at least emax_floor. The exponent of a product is
// the sum of its factors' exponents, where a subnormal factor has the smallest exponent of its
// format. (Fasi, Higham, Mikaitis and Pranesh, PeerJ Computer Science 7:e330, 2021; Li et al.,
// FTTN, arXiv 2403.00232.)
//
// With `sum_bits` S, the accumulator is not a term of the aligned sum but is added to it
// afterwards. E is the larger of the products' emax and the accumulator's exponent. The sum of the
// products is rounded down to a multiple of 2^(E-S), and the accumulator to a multiple of 2^(E-F).
// Their sum is rounded to the accumulator's format. (Xie, Wang, Yang and Yang, MMA-Sim, arXiv
// 2511.10909.)
struct DotModel {
  static constexpr int kNoFloor = -10000;
  std::string_view input;  // format of a, and of b if other_input is empty
  Known<int> chunk;
  Known<std::string_view> accumulator;  // a format
  Known<Rounding> rounding;             // rounding of each sum to the accumulator's format
  Known<ChunkOrder> order = assumed(ChunkOrder::kFused);
  // The number F of bits that aligned terms keep. 0 means that terms are not aligned.
  Known<int> kept_bits = assumed(0);
  Known<Rounding> alignment = assumed(Rounding::kTowardZero);
  Known<int> emax_floor = assumed(int{kNoFloor});
  // Number of mantissa bits of the accumulator, if it has fewer than its format. 0 means those of
  // the format.
  Known<int> mantissa_bits = assumed(0);
  // True if each product is rounded to the accumulator's format before it is added
  // (rounds_products()).
  Known<bool> round_products = assumed(false);
  Known<bool> flush_inputs = assumed(false);  // subnormal a and b count as 0
  Known<bool> flush_sums = assumed(false);    // subnormal accumulators become 0
  // After this number of terms the partial sum is added to a float32 total, which is rounded to
  // nearest even, and a new partial sum starts from 0. 0 means that partial sums are never
  // promoted.
  Known<int> promotion_interval = assumed(0);
  // The number S of bits that the sum of the products keeps. 0 means that the accumulator is one of
  // the aligned terms.
  Known<int> sum_bits = assumed(0);
  // Only with sum_bits. Products whose k are equal modulo this number are aligned and summed
  // separately. Each such sum is rounded down to a multiple of 2^(emax - F), where emax is that of
  // all products.
  Known<int> interleave = assumed(1);
  // Only with sum_bits. An accumulator counts as 0 if its exponent is below E by more than this. 0
  // means that no accumulator does.
  Known<int> reach = assumed(0);
  Known<IntegerOverflow> overflow = assumed(IntegerOverflow::kSaturate);  // only for integers
  std::string_view other_input = {};  // format of b, if it is not that of a

  std::string_view b_input() const { return other_input.empty() ? input : other_input; }
  // True if each product is rounded before it is added. Products that are aligned are never
  // rounded, and the products of a tree always are.
  constexpr bool rounds_products() const {
    return kept_bits.value == 0 && (round_products.value || order.value == ChunkOrder::kPairwise);
  }
};

// A parameter of a matrix unit that the text of a machine or a machine's file may set.
struct UnitParameter {
  std::string_view name;
  std::variant<Known<int> DotModel::*, Known<bool> DotModel::*, Known<Rounding> DotModel::*,
               Known<ChunkOrder> DotModel::*, Known<IntegerOverflow> DotModel::*,
               Known<std::string_view> DotModel::*>
      field;
  int low = 0, high = 0;  // limits of a whole number

  // True for integer accumulators, false for floats.
  bool is_of_integers() const {
    return std::holds_alternative<Known<IntegerOverflow> DotModel::*>(field);
  }
};
// Returns all of these parameters.
std::span<const UnitParameter> unit_parameters();

// The name that selects an operator's reference instead of a machine (`--machine exact`).
inline constexpr std::string_view kReferenceMachine = "exact";

// A machine: its name, the dot models of its matrix unit, and the vector unit that it has.
struct Machine {
  std::string_view name;
  std::string_view summary;
  // One dot model for each input format. Empty if the machine has no matrix unit.
  std::span<const DotModel> dots;
  std::string_view source;  // the source of the parameters
  // True if the accumulator of a product with a bias starts at the bias. If not, the bias is added
  // last, in float32.
  Known<bool> bias_first = {true, Provenance::kAssumed};
  // The name of the row whose vector unit the machine has. Empty if it is the row's own.
  std::string_view vector_unit = {};

  bool has_matrix_unit() const { return !dots.empty(); }
  // Returns the name of the table's row. For a variant, this is the row that it is made from.
  std::string_view family() const { return name.substr(0, name.find(',')); }
};

// Returns the rows of the table.
std::span<const Machine> machines();

// Returns a row of the table, the machine of a file ("own.json"), a machine in the user's folders
// by its name (docs/machines.md), or a variant of one of these. Throws Refusal, which names the
// unknown word and the nearest known one, or what is wrong in the file. Throws std::runtime_error
// if the file cannot be read. May be called by several threads.
const Machine& machine_named(std::string_view name);
// Returns a machine with other parameters of its matrix unit, such as
// "ascend910b,chunk=8,order=pairwise". It lives as long as the program, and the same text returns
// the same machine. Throws Refusal, which names the unknown word and the nearest known one.
const Machine& machine_variant(std::string_view text);

// Explains why the parameters of a model contradict each other. Empty if they do not.
std::string why_no_model(const DotModel& model);

// Returns the accumulator's format, with the number of mantissa bits that the model gives it.
Format accumulator_format(const DotModel& model);

// Returns the dot model of an input format. Throws Refusal that names the formats
// that the machine's matrix unit takes.
const DotModel& dot_model(const Machine& machine, const Format& input);

}  // namespace assay
