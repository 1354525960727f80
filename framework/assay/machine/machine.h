// Machines as data: how the matrix units that assay emulates add. A row of the table is a machine;
// a row of a machine is a dot model for one input format.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "assay/format/format.h"

namespace assay {

// How a parameter is known (docs/machines.md).
enum class Provenance : std::uint8_t {
  kDocumented,  // the vendor's or standard's text
  kMeasured,    // recorded hardware results agree
  kInferred,    // fits published figures
  kAssumed,     // a choice
};
std::string_view provenance_word(Provenance provenance);

template <typename T>
struct Known {
  T value;
  Provenance how;
};

template <typename T>
constexpr Known<T> assumed(T value) {
  return {value, Provenance::kAssumed};
}

// How the products of a chunk meet.
enum class ChunkOrder : std::uint8_t {
  kFused,       // one exact sum with the accumulator
  kSequential,  // added one by one, rounded each time; the sum is then added to the accumulator
  kPairwise,    // by a tree of adjacent pairs, rounded each time; the same
};
std::string_view order_word(ChunkOrder order);

// D = C + sum over k of a_k b_k, in ascending k, in chunks of `chunk` products. The products are
// exact; a chunk is summed with the accumulator in `order`, each sum is rounded to the
// accumulator's format, and that is C of the next chunk.
//
// With `kept_bits` F, the terms of a fused sum are aligned first, as tensor cores do: with emax the
// largest exponent of a nonzero term, the accumulator included (of a product the sum of its
// factors' exponents, those of subnormals being their format's smallest; never below emax_floor),
// each term is rounded by `alignment` to a multiple of 2^(emax - F). (Fasi, Higham, Mikaitis and
// Pranesh, PeerJ Computer Science 7:e330, 2021; Li et al., FTTN, arXiv 2403.00232.)
struct DotModel {
  static constexpr int kNoFloor = -10000;
  std::string_view input;  // format of a, and of b where other_input is empty
  Known<int> chunk;
  Known<std::string_view> accumulator;  // a format
  Known<Rounding> rounding;             // of the accumulator, once a sum
  Known<ChunkOrder> order = assumed(ChunkOrder::kFused);
  Known<int> kept_bits = assumed(0);  // 0: terms are not aligned
  Known<Rounding> alignment = assumed(Rounding::kTowardZero);
  Known<int> emax_floor = assumed(int{kNoFloor});
  Known<int> mantissa_bits = assumed(0);  // of the accumulator, where fewer than its format has
  Known<bool> round_products = assumed(false);  // to the accumulator's format, before any sum
  Known<bool> flush_inputs = assumed(false);    // subnormal a and b count as 0
  Known<bool> flush_sums = assumed(false);      // subnormal accumulators become 0
  // Every so many terms the partial sum is added to a float32 in nearest_even and starts again
  // from 0; 0: never. (Of K split over thread blocks, the same: the parts are added in order.)
  Known<int> promotion_interval = assumed(0);
  std::string_view other_input = {};  // format of b

  std::string_view b_input() const { return other_input.empty() ? input : other_input; }
};

// The name that asks for an operator's reference where a machine is asked for (`--machine exact`).
inline constexpr std::string_view kReferenceMachine = "exact";

struct Machine {
  std::string_view name;
  std::string_view summary;
  std::span<const DotModel> dots;  // a matrix unit's, one for each format; empty: it has no unit
  std::string_view source;
  // Of a product with a bias: the accumulator starts there; else it is added last, in float32.
  Known<bool> bias_first = {true, Provenance::kAssumed};

  bool has_matrix_unit() const { return !dots.empty(); }
  // The row of the table that a variant comes from.
  std::string_view family() const { return name.substr(0, name.find(',')); }
};

std::span<const Machine> machines();
// A row, or a row with other parameters of its matrix unit: "ascend910b,chunk=8,order=pairwise".
// Throws std::invalid_argument that names the word and the nearest known one.
const Machine& machine_named(std::string_view name);
const Machine& machine_variant(std::string_view text);

// The accumulator's format, narrowed to the model's mantissa.
Format accumulator_format(const DotModel& model);

// Throws std::invalid_argument, with the formats that the machine's matrix unit takes.
const DotModel& dot_model(const Machine& machine, const Format& input);

}  // namespace assay
