// Machines as data: how the matrix units that assay emulates add. A row of the table is a machine;
// a row of a machine is a dot model for one input format.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "assay/format/format.h"

namespace assay {

// How a parameter is known (spec: formats and machines).
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

// D = C + sum over k of a_k b_k, in ascending k, in chunks of `chunk` products. The products and
// the sum of a chunk with the accumulator are exact; the sum is rounded once to the accumulator's
// format, and that is C of the next chunk.
struct DotModel {
  std::string_view input;  // format of a and b
  Known<int> chunk;
  Known<std::string_view> accumulator;  // a format
  Known<Rounding> rounding;             // of the accumulator, once a chunk
};

struct Machine {
  std::string_view name;
  std::string_view summary;
  std::span<const DotModel> dots;  // empty for `exact`, the reference
  std::string_view source;

  bool is_exact() const { return dots.empty(); }
};

std::span<const Machine> machines();
// Throws std::invalid_argument that names the word and the nearest known machine.
const Machine& machine_named(std::string_view name);

// Throws std::invalid_argument, with the formats that the machine's matrix unit takes.
const DotModel& dot_model(const Machine& machine, const Format& input);

}  // namespace assay
