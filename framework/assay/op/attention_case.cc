#include "assay/op/attention_case.h"

#include "assay/op/along_axis.h"
#include "assay/op/operator.h"
#include "assay/op/unit.h"

namespace assay::inline v0_2 {

Attention attention_of(const Case& c, const Format& output) {
  Attention a{{}, c, operand_format(c, {"q", "k", "v"}, output)};
  static_cast<AttentionShape&>(a) = attention_shape(c);
  a.tile = integer_of(c, "tile");
  if (a.tile == 0) a.tile = a.keys;
  return a;
}

std::vector<double> matrix_rows(const Tensor& tensor, std::int64_t batch, std::int64_t begin,
                                std::int64_t n) {
  const Shape& shape = tensor.shape();
  const std::int64_t rows = shape[shape.size() - 2], columns = shape.back();
  std::vector<double> values(static_cast<std::size_t>(n * columns));
  read_values(tensor, (batch * rows + begin) * columns, n * columns, values.data());
  return values;
}

std::vector<double> transposed(std::int64_t rows, std::int64_t columns,
                               const std::vector<double>& from) {
  std::vector<double> to(from.size());
  transpose(rows, columns, from.data(), to.data());
  return to;
}

}  // namespace assay
