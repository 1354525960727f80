#include "assay/datasets/arrays/pickle.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "assay/base/text.h"

namespace assay::inline v0_2::pickle {
namespace {

// The most values of a pickle. A tensor needs about 20 values, but hostile data can create a value
// with each byte.
constexpr std::size_t kMostValues = std::size_t{1} << 21;

constexpr std::string_view kOrderedDict = "collections OrderedDict";

[[noreturn]] void damaged(const char* how) { refuse("its pickle is damaged: {}", how); }

class Machine {
 public:
  Machine(std::string_view bytes, const std::function<bool(std::string_view)>& allowed)
      : bytes_(bytes), allowed_(allowed) {}

  Pickle run();

 private:
  std::string_view take(std::size_t count) {
    if (count > bytes_.size() - at_) damaged("it ends too early");
    const std::string_view taken = bytes_.substr(at_, count);
    at_ += count;
    return taken;
  }
  std::uint64_t number(std::size_t width) {
    const std::string_view taken = take(width);
    std::uint64_t value = 0;
    for (std::size_t i = width; i-- > 0;) value = value << 8 | static_cast<std::uint8_t>(taken[i]);
    return value;
  }
  std::int64_t signed_number(std::size_t width) { return static_cast<std::int64_t>(number(width)); }
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) damaged("it ends too early");
    const std::string_view taken = take(end - at_);
    ++at_;
    return taken;
  }

  void push(Value value) {
    if (out_.values.size() >= kMostValues) {
      refuse("its pickle makes more than {} values, the most that assay reads", kMostValues);
    }
    out_.values.push_back(std::move(value));
    stack_.push_back(static_cast<Ref>(out_.values.size() - 1));
  }
  void push(Kind kind, std::int64_t integer = 0) { push(Value{kind, integer}); }
  void push(Kind kind, std::string_view text) { push(Value{kind, 0, std::string(text)}); }
  void push(Kind kind, std::vector<Ref> items) { push(Value{kind, 0, "", std::move(items)}); }

  std::size_t bottom() const { return marks_.empty() ? 0 : marks_.back(); }
  Ref top() const {
    if (stack_.size() <= bottom()) damaged("its stack is empty");
    return stack_.back();
  }
  Ref pop() {
    const Ref ref = top();
    stack_.pop_back();
    return ref;
  }
  std::vector<Ref> pop(std::size_t count) {
    std::vector<Ref> items(count);
    for (std::size_t i = count; i-- > 0;) items[i] = pop();
    return items;
  }
  std::vector<Ref> pop_to_mark() {
    if (marks_.empty()) damaged("it has no mark");
    std::vector<Ref> items = pop(stack_.size() - marks_.back());
    marks_.pop_back();
    return items;
  }

  void add_to(Kind kind, const std::vector<Ref>& items) {
    Value& value = out_.values[top()];
    if (value.kind != kind || (kind == Kind::kDict && items.size() % 2 != 0)) {
      damaged("it adds to what is no list or dict");
    }
    value.items.insert(value.items.end(), items.begin(), items.end());
  }

  void global(std::string_view module, std::string_view name) {
    const std::string text = formatted("{} {}", module, name);
    if (text != kOrderedDict && !allowed_(text)) {
      refuse(
          "its pickle names {}.{}, which is no part of a tensor; it is not executed, and the file "
          "is not read",
          module, name);
    }
    push(Kind::kGlobal, text);
  }

  void reduce() {
    const Ref arguments = pop(), function = pop();
    if (out_[function].kind != Kind::kGlobal || out_[arguments].kind != Kind::kTuple) {
      damaged("it calls what is no function");
    }
    if (out_[function].text != kOrderedDict) {
      push(Kind::kCall, std::vector<Ref>{function, arguments});
      return;
    }
    if (!out_[arguments].items.empty()) damaged("its ordered dict does not begin empty");
    push(Kind::kDict);
  }

  // The attributes of an ordered dict (`_metadata` of a module's state) are left out.
  void build() {
    (void)pop();
    if (out_[top()].kind != Kind::kDict) damaged("it sets the state of what has none");
  }

  void get(std::uint64_t place) {
    const auto known = memo_.find(place);
    if (known == memo_.end()) damaged("it takes what it has not put");
    stack_.push_back(known->second);
  }

  void line_global() {
    const std::string_view module = line();
    global(module, line());
  }
  void stack_global() {
    const Ref name = pop(), module = pop();
    if (out_[name].kind != Kind::kText || out_[module].kind != Kind::kText) {
      damaged("a name is no text");
    }
    global(std::string(out_[module].text), std::string(out_[name].text));
  }

  void long_integer() {
    const std::size_t width = number(1);
    if (width > 8) return other(width);
    const std::uint64_t bits = number(width);
    const bool negative = width > 0 && (bits >> (8 * width - 1) & 1) != 0;
    const std::uint64_t high = negative && width < 8 ? ~std::uint64_t{0} << 8 * width : 0;
    push(Kind::kInt, static_cast<std::int64_t>(bits | high));
  }

  void other(std::size_t bytes) {
    take(bytes);
    push(Kind::kOther);
  }
  void put(std::uint64_t place) { memo_[place] = top(); }
  void protocol(std::uint64_t number) const {
    if (number >= 2 && number <= 5) return;
    refuse(
        "its pickle has protocol {}, but assay reads only protocols 2 to 5; save the tensor with "
        "one of these",
        number);
  }

  struct Row {
    std::uint8_t opcode;
    void (*run)(Machine& m);
  };
  static const Row kOpcodes[];

  std::string_view bytes_;
  const std::function<bool(std::string_view)>& allowed_;
  std::size_t at_ = 0;
  Pickle out_;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Ref> memo_;
};

// The opcodes of Python's module pickletools, with their names there.
const Machine::Row Machine::kOpcodes[] = {
    // values
    {'N', [](Machine& m) { m.push(Kind::kNone); }},                     // NONE
    {0x88, [](Machine& m) { m.push(Kind::kBool, 1); }},                 // NEWTRUE
    {0x89, [](Machine& m) { m.push(Kind::kBool, 0); }},                 // NEWFALSE
    {'K', [](Machine& m) { m.push(Kind::kInt, m.signed_number(1)); }},  // BININT1
    {'M', [](Machine& m) { m.push(Kind::kInt, m.signed_number(2)); }},  // BININT2
    {'J',
     [](Machine& m) { m.push(Kind::kInt, static_cast<std::int32_t>(m.number(4))); }},  // BININT
    {0x8A, [](Machine& m) { m.long_integer(); }},                                      // LONG1
    {'G', [](Machine& m) { m.other(8); }},                                             // BINFLOAT
    {0x8C, [](Machine& m) { m.push(Kind::kText, m.take(m.number(1))); }},  // SHORT_BINUNICODE
    {'X', [](Machine& m) { m.push(Kind::kText, m.take(m.number(4))); }},   // BINUNICODE
    {0x8D, [](Machine& m) { m.push(Kind::kText, m.take(m.number(8))); }},  // BINUNICODE8
    {'U', [](Machine& m) { m.push(Kind::kText, m.take(m.number(1))); }},   // SHORT_BINSTRING
    {'T', [](Machine& m) { m.push(Kind::kText, m.take(m.number(4))); }},   // BINSTRING
    {'C', [](Machine& m) { m.other(m.number(1)); }},                       // SHORT_BINBYTES
    {'B', [](Machine& m) { m.other(m.number(4)); }},                       // BINBYTES
    {0x8E, [](Machine& m) { m.other(m.number(8)); }},                      // BINBYTES8
    // Opcodes that build tuples, lists and dicts.
    {')', [](Machine& m) { m.push(Kind::kTuple); }},                    // EMPTY_TUPLE
    {0x85, [](Machine& m) { m.push(Kind::kTuple, m.pop(1)); }},         // TUPLE1
    {0x86, [](Machine& m) { m.push(Kind::kTuple, m.pop(2)); }},         // TUPLE2
    {0x87, [](Machine& m) { m.push(Kind::kTuple, m.pop(3)); }},         // TUPLE3
    {'t', [](Machine& m) { m.push(Kind::kTuple, m.pop_to_mark()); }},   // TUPLE
    {']', [](Machine& m) { m.push(Kind::kList); }},                     // EMPTY_LIST
    {'a', [](Machine& m) { m.add_to(Kind::kList, m.pop(1)); }},         // APPEND
    {'e', [](Machine& m) { m.add_to(Kind::kList, m.pop_to_mark()); }},  // APPENDS
    {'}', [](Machine& m) { m.push(Kind::kDict); }},                     // EMPTY_DICT
    {'s', [](Machine& m) { m.add_to(Kind::kDict, m.pop(2)); }},         // SETITEM
    {'u', [](Machine& m) { m.add_to(Kind::kDict, m.pop_to_mark()); }},  // SETITEMS
    // Opcodes for the stack and the memo.
    {0x80, [](Machine& m) { m.protocol(m.number(1)); }},             // PROTO
    {0x95, [](Machine& m) { m.take(8); }},                           // FRAME
    {'(', [](Machine& m) { m.marks_.push_back(m.stack_.size()); }},  // MARK
    {'0', [](Machine& m) { m.pop(); }},                              // POP
    {'1', [](Machine& m) { m.pop_to_mark(); }},                      // POP_MARK
    {'q', [](Machine& m) { m.put(m.number(1)); }},                   // BINPUT
    {'r', [](Machine& m) { m.put(m.number(4)); }},                   // LONG_BINPUT
    {0x94, [](Machine& m) { m.put(m.memo_.size()); }},               // MEMOIZE
    {'h', [](Machine& m) { m.get(m.number(1)); }},                   // BINGET
    {'j', [](Machine& m) { m.get(m.number(4)); }},                   // LONG_BINGET
    // Opcodes for calls, which are recorded and not executed.
    {'c', [](Machine& m) { m.line_global(); }},                      // GLOBAL
    {0x93, [](Machine& m) { m.stack_global(); }},                    // STACK_GLOBAL
    {'Q', [](Machine& m) { m.push(Kind::kPersistent, m.pop(1)); }},  // BINPERSID
    {'R', [](Machine& m) { m.reduce(); }},                           // REDUCE
    {'b', [](Machine& m) { m.build(); }},                            // BUILD
};

Pickle Machine::run() {
  while (true) {
    const std::size_t at = at_;
    const auto opcode = static_cast<std::uint8_t>(take(1)[0]);
    if (opcode == '.') break;  // STOP
    const auto* const row = std::ranges::find(kOpcodes, opcode, &Row::opcode);
    if (row == std::end(kOpcodes)) {
      refuse(
          "its pickle has the opcode 0x{:02x} at byte {}, which tensors do not need; it is not "
          "executed",
          opcode, at);
    }
    row->run(*this);
  }
  out_.result = pop();
  return std::move(out_);
}

}  // namespace

Pickle read_pickle(std::string_view bytes,
                   const std::function<bool(std::string_view global)>& allowed) {
  return Machine(bytes, allowed).run();
}

}  // namespace assay::pickle
