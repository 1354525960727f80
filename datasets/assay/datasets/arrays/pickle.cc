#include "assay/datasets/arrays/pickle.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "assay/base/text.h"

namespace assay::pickle {
namespace {

// A tensor needs some twenty values, but hostile data can create a value with each byte.
constexpr std::size_t kMostValues = std::size_t{1} << 21;

constexpr std::string_view kOrderedDict = "collections OrderedDict";

// The opcodes of Python's module pickletools.
enum Opcode : std::uint8_t {
  kProto = 0x80,
  kFrame = 0x95,
  kStop = '.',
  kMark = '(',
  kPop = '0',
  kPopMark = '1',
  kNoneValue = 'N',
  kTrue = 0x88,
  kFalse = 0x89,
  kInt4 = 'J',
  kInt1 = 'K',
  kInt2 = 'M',
  kLong1 = 0x8A,
  kFloat = 'G',
  kShortUnicode = 0x8C,
  kUnicode = 'X',
  kUnicode8 = 0x8D,
  kShortString = 'U',
  kString = 'T',
  kShortBytes = 'C',
  kBytes = 'B',
  kBytes8 = 0x8E,
  kEmptyTuple = ')',
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kMarkedTuple = 't',
  kEmptyList = ']',
  kAppend = 'a',
  kAppends = 'e',
  kEmptyDict = '}',
  kSetItem = 's',
  kSetItems = 'u',
  kPut1 = 'q',
  kPut4 = 'r',
  kMemoize = 0x94,
  kGet1 = 'h',
  kGet4 = 'j',
  kGlobalLine = 'c',
  kStackGlobal = 0x93,
  kPersistentId = 'Q',
  kReduce = 'R',
  kBuild = 'b',
};

[[noreturn]] void damaged(const char* how) { refuse("its pickle is damaged: {}", how); }

class Machine {
 public:
  Machine(std::string_view bytes, const std::function<bool(std::string_view)>& allowed)
      : bytes_(bytes), allowed_(allowed) {}

  Pickle run() {
    while (true) {
      const std::size_t at = at_;
      const auto opcode = static_cast<std::uint8_t>(take(1)[0]);
      if (opcode == kStop) break;
      if (!step(opcode)) {
        refuse(
            "its pickle has the opcode 0x{:02x} at byte {}, which tensors do not need; it is "
            "not executed",
            opcode, at);
      }
    }
    out_.result = pop();
    return std::move(out_);
  }

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
  std::string_view line() {
    const std::size_t end = bytes_.find('\n', at_);
    if (end == std::string_view::npos) damaged("it ends too early");
    const std::string_view taken = take(end - at_);
    ++at_;
    return taken;
  }

  void push(Value value) {
    if (out_.values.size() >= kMostValues) {
      refuse("its pickle makes more than {} values, which is more than is read", kMostValues);
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
          "its pickle names {}.{}, which is no part of a tensor; it is not executed, and the "
          "file is not read",
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

  void stack_global() {
    const Ref name = pop(), module = pop();
    if (out_[name].kind != Kind::kText || out_[module].kind != Kind::kText) {
      damaged("a name is no text");
    }
    global(std::string(out_[module].text), std::string(out_[name].text));
  }

  void long_integer() {
    const std::size_t width = number(1);
    if (width > 8) {
      take(width);
      push(Kind::kOther);
      return;
    }
    const std::uint64_t bits = number(width);
    const bool negative = width > 0 && (bits >> (8 * width - 1) & 1) != 0;
    const std::uint64_t high = negative && width < 8 ? ~std::uint64_t{0} << 8 * width : 0;
    push(Kind::kInt, static_cast<std::int64_t>(bits | high));
  }

  // Runs an opcode that pushes a value from the bytes. Returns false for any other opcode.
  bool literal(std::uint8_t opcode) {
    switch (opcode) {
      case kNoneValue:
        push(Kind::kNone);
        return true;
      case kTrue:
        push(Kind::kBool, 1);
        return true;
      case kFalse:
        push(Kind::kBool, 0);
        return true;
      case kInt1:
        push(Kind::kInt, static_cast<std::int64_t>(number(1)));
        return true;
      case kInt2:
        push(Kind::kInt, static_cast<std::int64_t>(number(2)));
        return true;
      case kInt4:
        push(Kind::kInt, static_cast<std::int32_t>(number(4)));
        return true;
      case kLong1:
        long_integer();
        return true;
      case kFloat:
        take(8);
        push(Kind::kOther);
        return true;
      case kShortUnicode:
      case kShortString:
        push(Kind::kText, take(number(1)));
        return true;
      case kUnicode:
      case kString:
        push(Kind::kText, take(number(4)));
        return true;
      case kUnicode8:
        push(Kind::kText, take(number(8)));
        return true;
      case kShortBytes:
        take(number(1));
        push(Kind::kOther);
        return true;
      case kBytes:
        take(number(4));
        push(Kind::kOther);
        return true;
      case kBytes8:
        take(number(8));
        push(Kind::kOther);
        return true;
      case kEmptyTuple:
        push(Kind::kTuple);
        return true;
      case kEmptyList:
        push(Kind::kList);
        return true;
      case kEmptyDict:
        push(Kind::kDict);
        return true;
      default:
        return false;
    }
  }

  bool step(std::uint8_t opcode) {
    if (literal(opcode)) return true;
    switch (opcode) {
      case kProto:
        if (const std::uint64_t protocol = number(1); protocol < 2 || protocol > 5) {
          refuse("its pickle has protocol {}; 2 to 5 are read", protocol);
        }
        return true;
      case kFrame:
        take(8);
        return true;
      case kMark:
        marks_.push_back(stack_.size());
        return true;
      case kPop:
        (void)pop();
        return true;
      case kPopMark:
        (void)pop_to_mark();
        return true;
      case kTuple1:
        push(Kind::kTuple, pop(1));
        return true;
      case kTuple2:
        push(Kind::kTuple, pop(2));
        return true;
      case kTuple3:
        push(Kind::kTuple, pop(3));
        return true;
      case kMarkedTuple:
        push(Kind::kTuple, pop_to_mark());
        return true;
      case kAppend:
        add_to(Kind::kList, pop(1));
        return true;
      case kAppends:
        add_to(Kind::kList, pop_to_mark());
        return true;
      case kSetItem:
        add_to(Kind::kDict, pop(2));
        return true;
      case kSetItems:
        add_to(Kind::kDict, pop_to_mark());
        return true;
      case kPut1:
        memo_[number(1)] = top();
        return true;
      case kPut4:
        memo_[number(4)] = top();
        return true;
      case kMemoize:
        memo_[memo_.size()] = top();
        return true;
      case kGet1:
        get(number(1));
        return true;
      case kGet4:
        get(number(4));
        return true;
      case kGlobalLine: {
        const std::string_view module = line();
        global(module, line());
        return true;
      }
      case kStackGlobal:
        stack_global();
        return true;
      case kPersistentId:
        push(Kind::kPersistent, pop(1));
        return true;
      case kReduce:
        reduce();
        return true;
      case kBuild:
        build();
        return true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  const std::function<bool(std::string_view)>& allowed_;
  std::size_t at_ = 0;
  Pickle out_;
  std::vector<Ref> stack_;
  std::vector<std::size_t> marks_;
  std::unordered_map<std::uint64_t, Ref> memo_;
};

}  // namespace

Pickle read_pickle(std::string_view bytes,
                   const std::function<bool(std::string_view global)>& allowed) {
  return Machine(bytes, allowed).run();
}

}  // namespace assay::pickle
