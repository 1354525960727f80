// The table of TTK's operators that are also operators of assay, with names, operands and
// attributes.
#pragma once

#include "assay/datasets/layouts/array_cases.h"
#include "assay/datasets/layouts/ttk_table.h"

namespace assay::inline v0_2 {

// Returns assay's name of a TTK dtype: float8_e8m0 is float8_e8m0fnu. Other names are returned
// unchanged.
std::string ttk_dtype(const std::string& name);
// Returns TTK's name of a dtype.
std::string ttk_dtype_of(const Format& format);

// Gives the record the operator, operands and attributes of its row. If TTK's operator has a twin
// among ours, the record gets the twin's names. Any other operator becomes `external`: its inputs
// are input_0, input_1 and so on (input_0/0 in lists of tensors), and its attributes are kept as
// literals with x_ before their names. In both cases the attribute x_op_name is the row's own name.
// x_no_twin says why a known operator has no twin in this row (an attribute that ours does not
// have, operands of two shapes).
void name_operator(CaseRecord& record, const TtkCase& row);

// TTK's names for one of our operators. `op` is empty if TTK does not have the operator.
struct TtkNames {
  std::string op;
  std::vector<std::string> operands;  // our names of the operands, in TTK's order
  Literal::Dict attributes;           // TTK's attributes that correspond to ours
};
TtkNames ttk_names(const std::string& op, const std::map<std::string, Attribute>& attributes);

}  // namespace assay
