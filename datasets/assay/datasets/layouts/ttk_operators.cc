#include "assay/datasets/layouts/ttk_operators.h"

#include <algorithm>
#include <cmath>

#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/op/operator.h"

namespace assay::inline v0_2 {
namespace {

using Attributes = std::map<std::string, Attribute>;

// Converts an attribute of TTK to one of ours. Returns false if our attribute cannot express the
// value.
using Convert = bool (*)(const Literal& value, std::string_view ours, Attributes& to);

double number_of(const Literal& value, double fallback) {
  if (const std::int64_t* whole = value.integer()) return static_cast<double>(*whole);
  if (const double* real = std::get_if<double>(&value.value)) return *real;
  return fallback;
}

bool flag(const Literal& value, std::string_view ours, Attributes& to) {
  const bool* set = value.flag();
  if (set != nullptr) to[std::string(ours)] = std::int64_t{*set};
  return set != nullptr;
}
bool number(const Literal& value, std::string_view ours, Attributes& to) {
  const double real = number_of(value, NAN);
  to[std::string(ours)] = real;
  return real == real;
}
// Converts an attribute that is one dimension, given as a number or as a tuple with one number.
bool axis(const Literal& value, std::string_view ours, Attributes& to) {
  const Literal* one = &value;
  if (value.list() != nullptr) {
    if (value.list()->size() != 1) return false;
    one = &value.list()->front();
  }
  if (one->integer() == nullptr) return false;
  to[std::string(ours)] = *one->integer();
  return true;
}
bool word(const Literal& value, std::string_view ours, Attributes& to) {
  if (value.text() == nullptr) return false;
  to[std::string(ours)] = *value.text();
  return true;
}
// is_zero(), is_one() and so on are for attributes that our operator does not have. They return
// true if TTK's attribute has the value with which it has no effect.
bool is_zero(const Literal& value, std::string_view, Attributes&) {
  const bool* set = value.flag();
  return set != nullptr ? !*set : number_of(value, 1) == 0;
}
bool is_one(const Literal& value, std::string_view, Attributes&) {
  return number_of(value, 0) == 1;
}
bool is_minus_one(const Literal& value, std::string_view, Attributes&) {
  return number_of(value, 0) == -1;
}
bool any(const Literal&, std::string_view, Attributes&) { return true; }

struct AttributeTwin {
  std::string_view theirs, ours;
  Convert convert;
};
struct OperatorTwin {
  std::string_view theirs, ours;
  std::vector<std::string_view> operands;  // our names of the operands, in TTK's order
  std::vector<AttributeTwin> attributes;
  // Attributes of our operator that give it the behaviour that TTK's operator always has.
  std::vector<std::pair<std::string_view, Attribute>> fixed = {};
};

const std::vector<std::string_view> kX = {"x"}, kAb = {"a", "b"}, kProduct = {"a", "b", "bias"};
const std::vector<AttributeTwin> kTransposes = {{"transpose_x1", "transpose_a", flag},
                                                {"transpose_x2", "transpose_b", flag},
                                                {"offset_x", "", is_zero}};
const std::vector<AttributeTwin> kAdjoints = {{"adj_x1", "transpose_a", flag},
                                              {"adj_x2", "transpose_b", flag},
                                              {"transpose_x1", "transpose_a", flag},
                                              {"transpose_x2", "transpose_b", flag},
                                              {"offset_x", "", is_zero}};
const std::vector<AttributeTwin> kPower = {
    {"base", "", is_minus_one}, {"scale", "", is_one}, {"shift", "", is_zero}};
const std::vector<AttributeTwin> kReduced = {{"axes", "axis", axis}, {"keep_dims", "", is_zero}};

const std::vector<OperatorTwin>& twins() {
  static const std::vector<OperatorTwin> rows = {
      {"mat_mul_v3", "matmul", kProduct, kTransposes},
      {"mat_mul_v2", "matmul", kProduct, kTransposes},
      {"mat_mul", "matmul", kProduct, kTransposes},
      {"batch_mat_mul_v3", "matmul", kProduct, kAdjoints},
      {"batch_mat_mul_v2", "matmul", kProduct, kAdjoints},
      {"batch_mat_mul", "matmul", kProduct, kAdjoints},
      {"add", "add", kAb, {}},
      {"sub", "sub", kAb, {}},
      {"mul", "mul", kAb, {}},
      {"real_div", "div", kAb, {}},
      {"div", "div", kAb, {}},
      {"exp", "exp", kX, kPower},
      {"log", "log", kX, kPower},
      {"sqrt", "sqrt", kX, {}},
      {"rsqrt", "rsqrt", kX, {}},
      {"tanh", "tanh", kX, {}},
      {"sigmoid", "sigmoid", kX, {}},
      {"swish", "silu", kX, {{"scale", "", is_one}}},
      {"gelu", "gelu", kX, {}, {{"approximate", std::string("tanh")}}},
      {"gelu_v2", "gelu", kX, {{"approximate", "approximate", word}}},
      {"softmax_v2", "softmax", kX, {{"axes", "axis", axis}, {"half_to_float", "", is_zero}}},
      {"softmax", "softmax", kX, {{"axes", "axis", axis}, {"axis", "axis", axis}}},
      {"layer_norm",
       "layernorm",
       {"x", "weight", "bias"},
       {{"begin_norm_axis", "", is_minus_one},
        {"begin_params_axis", "", is_minus_one},
        {"epsilon", "eps", number}}},
      {"rms_norm", "rmsnorm", {"x", "weight"}, {{"epsilon", "eps", number}}},
      {"reduce_sum", "reduce_sum", kX, kReduced},
      {"reduce_mean", "reduce_mean", kX, kReduced},
      {"reduce_max", "reduce_max", kX, kReduced},
      {"cast", "cast", kX, {{"dst_type", "", any}}},
  };
  return rows;
}

using DtypeTwin = std::pair<std::string_view, std::string_view>;  // theirs and ours
constexpr DtypeTwin kDtypes[] = {
    {"float8_e8m0", "float8_e8m0fnu"},
    {"float4_e2m1", "float4_e2m1fn"},
    {"float4_e1m2", "float4_e1m2fn"},
    {"hifloat32", "hfloat32"},
};

// Returns true if an attribute is a hint for TTK's tiling. These begin with '#' and do not change
// the result.
bool is_hint(const std::string& key) { return key.starts_with("#"); }

// Returns why the row's operator has no counterpart among ours. Returns an empty string if it has
// one, and then `to` has its attributes.
std::string why_no_twin(const OperatorTwin& twin, const TtkCase& row, Attributes& to) {
  std::size_t present = 0;
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    const TtkTensor& input = row.inputs[i];
    if (input.absent) continue;
    if (i >= twin.operands.size() || input.item >= 0) {
      return formatted("input {} has no operand of {}", i, twin.ours);
    }
    ++present;
  }
  if (twin.operands == kAb && (present != 2 || row.inputs[0].shape != row.inputs[1].shape)) {
    return formatted("{} takes operands of one shape", twin.ours);
  }
  // There is no twin for a bias with a dtype of its own: our operators need that of the result.
  if (twin.operands == kProduct && row.inputs.size() > 2 && !row.inputs[2].absent &&
      !row.outputs.empty() && row.inputs[2].dtype != row.outputs[0].dtype) {
    return formatted(
        "the bias of {} must have the dtype of the result, and here it has another one", twin.ours);
  }
  for (const auto& [name, value] : twin.fixed) to[std::string(name)] = value;
  for (const auto& [key, value] : row.attributes) {
    const std::string& name = *key.text();
    if (is_hint(name)) continue;
    const auto at = std::ranges::find(twin.attributes, name, &AttributeTwin::theirs);
    if (at == twin.attributes.end() || !at->convert(value, at->ours, to)) {
      return formatted("{} has no attribute that is {} = {}", twin.ours, name, literal_text(value));
    }
  }
  return "";
}

// Returns the name with x_ before it, and without characters that attribute names may not have.
std::string kept_name(const std::string& name) { return "x_" + safe_word(name); }

}  // namespace

std::string ttk_dtype(const std::string& name) {
  const DtypeTwin* const twin = find_row(kDtypes, name, &DtypeTwin::first);
  return twin != nullptr ? std::string(twin->second) : name;
}

std::string ttk_dtype_of(const Format& f) {
  const DtypeTwin* const twin = find_row(kDtypes, f.name, &DtypeTwin::second);
  return std::string(twin != nullptr ? twin->first : f.name);
}

void name_operator(CaseRecord& record, const TtkCase& row) {
  const OperatorTwin* const twin = find_row(twins(), row.op, &OperatorTwin::theirs);
  record.attributes["x_op_name"] = row.op;
  Attributes ours;
  const std::string why_not = twin == nullptr ? "" : why_no_twin(*twin, row, ours);
  if (twin != nullptr && why_not.empty()) {
    record.op = twin->ours;
    record.attributes.insert(ours.begin(), ours.end());
    std::erase_if(record.absent_inputs,
                  [](const std::string& name) { return name.starts_with("input_"); });
    for (std::size_t i = 0; i < row.inputs.size() && i < twin->operands.size(); ++i) {
      const std::string operand(twin->operands[i]);
      if (row.inputs[i].absent) {
        record.absent_inputs.insert(operand);
        continue;
      }
      auto input = record.inputs.extract(formatted("input_{}", i));
      if (input.empty()) continue;
      input.key() = operand;
      record.inputs.insert(std::move(input));
    }
    // The first output is the operator's own result. It has that name only if there are other
    // outputs.
    auto first = record.outputs.extract("output_0");
    if (!first.empty()) {
      if (!record.outputs.empty()) first.key() = find_operator(record.op)->output;
      record.outputs.insert(std::move(first));
    }
    return;
  }
  if (!why_not.empty()) record.attributes["x_no_twin"] = why_not;
  for (const auto& [key, value] : row.attributes) {
    const std::string name = kept_name(*key.text());
    if (const std::int64_t* whole = value.integer())
      record.attributes[name] = *whole;
    else if (const double* real = std::get_if<double>(&value.value))
      record.attributes[name] = *real;
    else if (const std::string* text = value.text())
      record.attributes[name] = *text;
    else
      record.attributes[name] = literal_text(value);
  }
  // The files number all tensors consecutively, including those in lists, so `i` is a file's
  // number.
  std::map<std::string, ArrayRequest> inputs;
  for (std::size_t i = 0; i < row.inputs.size(); ++i) {
    const TtkTensor& tensor = row.inputs[i];
    const std::string name = tensor.item < 0 ? formatted("input_{}", tensor.place)
                                             : formatted("input_{}/{}", tensor.place, tensor.item);
    if (tensor.absent) record.absent_inputs.insert(name);
    const auto at = record.inputs.find(formatted("input_{}", i));
    if (at == record.inputs.end()) continue;
    inputs.emplace(name, std::move(at->second));
    record.inputs.erase(at);
  }
  inputs.merge(record.inputs);
  record.inputs = std::move(inputs);
}

TtkNames ttk_names(const std::string& op, const Attributes& attributes) {
  const OperatorTwin* const twin = find_row(twins(), op, &OperatorTwin::ours);
  if (twin == nullptr) return {};
  TtkNames names{std::string(twin->theirs), {twin->operands.begin(), twin->operands.end()}, {}};
  for (const AttributeTwin& a : twin->attributes) {
    const auto at = attributes.find(std::string(a.ours));
    if (a.ours.empty() || at == attributes.end()) continue;
    Literal value;
    std::visit([&value](const auto& v) { value.value = v; }, at->second);
    if (a.convert == flag && value.integer() != nullptr) value.value = *value.integer() != 0;
    names.attributes.emplace_back(Literal{std::string(a.theirs)}, std::move(value));
  }
  return names;
}

}  // namespace assay
