#include "assay/cases/attention_shape.h"

#include <cmath>
#include <span>

#include "assay/base/text.h"

namespace assay::inline v0_2 {
namespace {

// Reads the input `positions`. Returns one position for each query of each batch, or an empty list
// if the case has no such input.
std::vector<std::int64_t> positions_of(const Case& c, const AttentionShape& a) {
  const auto input = c.inputs.find("positions");
  if (input == c.inputs.end()) return {};
  const Tensor& given = input->second;
  Shape of_all(a.output.begin(), a.output.end() - 1);
  const bool shared = given.shape() == Shape{a.queries};
  if (given.format().kind != Kind::kSigned || !(shared || given.shape() == of_all)) {
    refuse_case(c.name,
                "positions are {} {}, but they must be signed integers of the shape [{}] or {}",
                given.format().name, shape_text(given.shape()), a.queries, shape_text(of_all));
  }
  if (!a.causal)
    refuse_case(c.name,
                "positions are given, but the parameter causal is not 1; set causal = 1, or leave "
                "out positions");
  std::vector<std::int64_t> positions;
  for (std::int64_t i = 0; i < a.batch * a.queries; ++i) {
    const double position = given.view().value_at(shared ? i % a.queries : i);
    if (position < 0) {
      refuse_case(c.name,
                  "the position {} of a query is below 0, so that it would see no key; positions "
                  "must be at least 0",
                  number_text(position));
    }
    positions.push_back(static_cast<std::int64_t>(std::min(position, static_cast<double>(a.keys))));
  }
  return positions;
}

}  // namespace

AttentionShape attention_shape(const Case& c) {
  AttentionShape a;
  const Shape &q = c.input("q").shape(), &k = c.input("k").shape(), &v = c.input("v").shape();
  const std::size_t rank = q.size();
  const auto same_batch = [&](const Shape& other) {
    return other.size() == rank && std::equal(q.begin(), q.end() - 2, other.begin());
  };
  if (rank < 2 || !same_batch(k) || !same_batch(v) || q[rank - 1] != k[rank - 1] ||
      k[rank - 2] != v[rank - 2]) {
    refuse_case(
        c.name,
        "q {}, k {} and v {} do not fit; attention takes [..., L, D], [..., S, D] and [..., S, E]",
        shape_text(q), shape_text(k), shape_text(v));
  }
  a.queries = q[rank - 2], a.depth = q[rank - 1], a.keys = k[rank - 2], a.width = v[rank - 1];
  a.batch = element_count(std::span(q).first(rank - 2));
  a.output = q;
  a.output.back() = a.width;
  if (a.batch * a.queries * a.keys * a.depth * a.width == 0) {
    refuse_case(c.name, "attention needs at least one element, but q has the shape {} and v has {}",
                shape_text(q), shape_text(v));
  }
  a.causal = c.flag("causal").value_or(false);
  a.scale = c.real("scale").value_or(1 / std::sqrt(static_cast<double>(a.depth)));
  a.positions = positions_of(c, a);
  return a;
}

}  // namespace assay
