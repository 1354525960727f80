#include "assay/datasets/store/checksums.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <charconv>
#include <functional>
#include <mutex>
#include <new>
#include <variant>

#include "assay/base/text.h"
#include "assay/datasets/store/case_path.h"

namespace assay::inline v0_2::h5 {
namespace {

XXH3_state_t* state_of(void* state) { return static_cast<XXH3_state_t*>(state); }

// Returns true if the table of checksums has lines for attributes of this name. Notes of a team
// (x_...) and names with a line break have no line.
bool has_line(std::string_view attribute) {
  return !attribute.starts_with("x_") && attribute.find('\n') == std::string_view::npos;
}

}  // namespace

TensorSum::TensorSum(std::string_view dtype, const Shape& shape) : state_(XXH3_createState()) {
  if (state_ == nullptr) throw std::bad_alloc();
  XXH3_64bits_reset(state_of(state_));
  const std::string head = formatted("{} {}\n", dtype, shape_text(shape));
  XXH3_64bits_update(state_of(state_), head.data(), head.size());
}
TensorSum::~TensorSum() { XXH3_freeState(state_of(state_)); }
void TensorSum::add(const std::byte* bytes, std::size_t size) {
  XXH3_64bits_update(state_of(state_), bytes, size);
}
std::uint64_t TensorSum::sum() const { return XXH3_64bits_digest(state_of(state_)); }

std::uint64_t sum_of(const TensorView& view) {
  TensorSum sum(view.format->name, view.shape);
  sum.add(view.data, static_cast<std::size_t>(view.size() * view.format->storage_bytes));
  return sum.sum();
}

std::uint64_t sum_of(const Attribute& value) {
  if (const auto* text = std::get_if<std::string>(&value)) {
    return XXH3_64bits_withSeed(text->data(), text->size(), 1);
  }
  if (const auto* integer = std::get_if<std::int64_t>(&value)) {
    return XXH3_64bits_withSeed(integer, sizeof *integer, 2);
  }
  return XXH3_64bits_withSeed(&std::get<double>(value), sizeof(double), 3);
}

void Checksums::set(const std::string& object, const std::string& attribute,
                    const Attribute& value) {
  if (has_line(attribute)) lines_[object + "@" + attribute] = sum_of(value);
}

void Checksums::erase(const std::string& object, const std::string& attribute) {
  lines_.erase(object + "@" + attribute);
}

// The lines to erase are found by search, because the table of a file with many cases is long, and
// only a few of its lines are erased.
void Checksums::erase_all(const std::string& object) {
  lines_.erase(object);
  for (const char mark : {'/', '@'}) {
    lines_.erase(lines_.lower_bound(object + mark),
                 lines_.lower_bound(object + static_cast<char>(mark + 1)));
  }
}

std::string Checksums::text() const {
  std::string text;
  for (const auto& [name, sum] : lines_) text += formatted("{:016x} {}\n", sum, name);
  return text;
}

struct ChecksumTable::Text {
  std::shared_ptr<const void> owner;
  std::string_view text;    // owned by `owner`
  std::vector<Line> lines;  // the names of the lines point into `text`

  // Returns false if the text is not a valid table.
  bool read();
};

bool ChecksumTable::Text::read() {
  constexpr std::size_t kDigits = 16;
  lines.reserve(static_cast<std::size_t>(std::ranges::count(text, '\n')));
  for (std::string_view rest = text; !rest.empty();) {
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos || end < kDigits + 2 || rest[kDigits] != ' ') return false;
    std::uint64_t sum = 0;
    const auto [last, error] = std::from_chars(rest.data(), rest.data() + kDigits, sum, 16);
    if (error != std::errc() || last != rest.data() + kDigits) return false;
    lines.push_back({rest.substr(kDigits + 1, end - kDigits - 1), sum});
    rest.remove_prefix(end + 1);
  }
  // The lines are sorted if assay wrote them. If a name occurs twice, the last line counts.
  const auto misplaced = std::ranges::adjacent_find(lines, std::greater_equal(), &Line::name);
  if (misplaced == lines.end()) return true;
  std::ranges::stable_sort(lines, {}, &Line::name);
  const auto first = std::unique(lines.rbegin(), lines.rend(), [](const Line& a, const Line& b) {
                       return a.name == b.name;
                     }).base();
  lines.erase(lines.begin(), first);
  return true;
}

std::optional<ChecksumTable> ChecksumTable::of(std::shared_ptr<const void> owner,
                                               std::string_view text) {
  const auto made = std::make_shared<Text>();
  made->owner = std::move(owner);
  made->text = text;
  if (!made->read()) return std::nullopt;
  ChecksumTable table;
  table.text_ = made;
  return table;
}

// The tables of checksums of all open files, so that threads that read one file share its table.
struct ChecksumTable::Known {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<const Text>> texts;
};

ChecksumTable::Known& ChecksumTable::known() {
  static Known known;
  return known;
}

void ChecksumTable::share(const std::string& file) const {
  const std::lock_guard lock(known().mutex);
  std::erase_if(known().texts, [](const auto& each) { return each.second.expired(); });
  known().texts[file] = text_;
}

std::optional<ChecksumTable> ChecksumTable::shared(const std::string& file) {
  const std::lock_guard lock(known().mutex);
  const auto found = known().texts.find(file);
  ChecksumTable table;
  if (found != known().texts.end()) table.text_ = found->second.lock();
  return table.text_ != nullptr ? std::optional(std::move(table)) : std::nullopt;
}

std::span<const ChecksumTable::Line> ChecksumTable::lines() const {
  if (text_ == nullptr) return {};
  return text_->lines;
}

std::size_t ChecksumTable::place_of(std::string_view name) const {
  // The search begins within 32 lines of the last result, because a case has about 10 lines.
  constexpr std::size_t kNear = 32;
  const std::span<const Line> all = lines();
  const auto is_before = [](const Line& line, std::string_view at) { return line.name < at; };
  std::size_t begin = last_ > kNear ? last_ - kNear : 0, end = std::min(last_ + kNear, all.size());
  if ((begin > 0 && !is_before(all[begin - 1], name)) ||
      (end < all.size() && is_before(all[end], name))) {
    begin = 0;
    end = all.size();
  }
  const auto some = all.subspan(begin, end - begin);
  const auto found = std::ranges::lower_bound(some, name, {}, &Line::name);
  last_ = begin + static_cast<std::size_t>(found - some.begin());
  return last_;
}

std::optional<std::uint64_t> ChecksumTable::find(std::string_view name) const {
  const std::size_t place = place_of(name);
  if (place == lines().size() || lines()[place].name != name) return std::nullopt;
  return lines()[place].sum;
}

bool ChecksumTable::agrees(std::string_view name, std::uint64_t sum) const {
  return find(name).value_or(sum) == sum;
}

std::span<const ChecksumTable::Line> ChecksumTable::beginning_with(std::string_view prefix) const {
  const std::span<const Line> from = lines().subspan(place_of(prefix));
  const auto end = std::ranges::find_if_not(
      from, [&](const Line& line) { return line.name.starts_with(prefix); });
  return from.first(static_cast<std::size_t>(end - from.begin()));
}

std::vector<std::string> ChecksumTable::needed_in(const std::string& case_path) const {
  const std::string prefix = case_path + "/";
  std::vector<std::string> needed;
  for (const Line& line : beginning_with(prefix)) {
    const std::string_view part = line.name.substr(prefix.size());
    const bool is_needed = part.starts_with("inputs/") || part.starts_with("golden");
    if (!is_needed) continue;
    // The only line of an absent tensor is that of its attribute `absent`.
    constexpr std::string_view kAbsent = "@absent";
    if (part.ends_with(kAbsent)) {
      needed.emplace_back(line.name.substr(0, line.name.size() - kAbsent.size()));
    } else if (part.find('@') == std::string_view::npos) {
      needed.emplace_back(line.name);
    }
  }
  return needed;
}

std::vector<std::string> ChecksumTable::cases() const {
  constexpr std::string_view kSuffix = "@op";
  std::vector<std::string> paths;
  for (const auto& [name, sum] : lines()) {
    if (!name.starts_with(case_path(""))) continue;
    if (name.ends_with(kSuffix)) paths.emplace_back(name.substr(0, name.size() - kSuffix.size()));
  }
  return paths;
}

std::string table_sum(std::string_view text) {
  return formatted("xxh3 {:016x}", XXH3_64bits(text.data(), text.size()));
}

}  // namespace assay::h5
