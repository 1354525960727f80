// Pickles, read as data: a machine for the few opcodes that build numbers, texts, lists, tuples and
// dicts. Nothing is imported, called or executed. A call is kept as a record of its function and
// arguments, and only for functions whose names the caller allows.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay::inline v0_2::pickle {

enum class Kind : std::uint8_t {
  kNone,
  kBool,
  kInt,
  kText,
  kTuple,
  kList,
  kDict,
  kGlobal,      // text: "module name"
  kPersistent,  // items: the id
  kCall,        // items: the called function, and the tuple of its arguments
  kOther,       // bytes, a float, or an integer beyond int64, whose value is not kept
};

using Ref = std::uint32_t;  // of a value

struct Value {
  Kind kind = Kind::kNone;
  std::int64_t integer = 0;
  std::string text = {};
  std::vector<Ref> items = {};  // the elements; those of a dict are key, value, key, value, ...
};

struct Pickle {
  std::vector<Value> values;
  Ref result = 0;

  const Value& operator[](Ref ref) const { return values[ref]; }
};

// Reads a pickle of protocol 2 to 5. Values may share others, also in circles. Throws
// Refusal with the reason if the pickle is damaged, too large, or has an opcode or a
// global that is not allowed.
Pickle read_pickle(std::string_view bytes,
                   const std::function<bool(std::string_view global)>& allowed);

}  // namespace assay::pickle
