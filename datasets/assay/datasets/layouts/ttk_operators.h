// Which of TTK's operators are operators of assay: the one table of names, operands and attributes.
#pragma once

#include "assay/datasets/layouts/array_cases.h"
#include "assay/datasets/layouts/ttk_table.h"

namespace assay {

// The dtype of TTK's name, by assay's: float8_e8m0 is float8_e8m0fnu. Another name is given back.
std::string ttk_dtype(const std::string& name);
// And back.
std::string ttk_dtype_of(const Format& format);

// Gives the record operator, operands and attributes of its row. A record that has a twin gets its
// names; any other operator is `external`, its inputs are input_0, input_1 and so on (input_0/0 in
// lists of tensors), and its attributes are kept with x_ before their names, as literals. In both,
// x_op_name is the row's own, and x_no_twin why a known operator has none here (an attribute that
// ours has not, operands of two shapes).
void name_operator(CaseRecord& record, const TtkCase& row);

// "x1, x2" of a twin in its order of inputs; what TTK calls our operator, "" where it has none.
struct TtkNames {
  std::string op;
  std::vector<std::string> operands;  // ours, in TTK's order
  Literal::Dict attributes;           // TTK's, of ours
};
TtkNames ttk_names(const std::string& op, const std::map<std::string, Attribute>& attributes);

}  // namespace assay
