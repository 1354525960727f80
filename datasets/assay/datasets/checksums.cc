#include "assay/datasets/checksums.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <charconv>
#include <memory>
#include <mutex>
#include <new>
#include <variant>

#include "assay/base/text.h"

namespace assay::h5 {
namespace {

XXH3_state_t* state_of(void* state) { return static_cast<XXH3_state_t*>(state); }

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

bool Checksums::has_line(std::string_view attribute) {
  return !attribute.starts_with("x_") && attribute.find('\n') == std::string_view::npos;
}

void Checksums::set(const std::string& object, const std::string& attribute,
                    const Attribute& value) {
  if (has_line(attribute)) lines_[object + "@" + attribute] = sum_of(value);
}

void Checksums::erase(const std::string& object, const std::string& attribute) {
  lines_.erase(object + "@" + attribute);
}

std::array<Checksums::Range, 3> Checksums::ranges_of(const std::string& object) const {
  const auto beginning = [&](char mark) {
    return Range{lines_.lower_bound(object + mark),
                 lines_.lower_bound(object + static_cast<char>(mark + 1))};
  };
  // In their order, so that what ends a range is not erased before it.
  return {lines_.equal_range(object), beginning('/'), beginning('@')};
}

void Checksums::erase_all(const std::string& object) {
  for (const auto& [begin, end] : ranges_of(object)) lines_.erase(begin, end);
}

Checksums Checksums::all_of(const std::string& object) const {
  Checksums some;
  for (const auto& [begin, end] : ranges_of(object)) some.lines_.insert(begin, end);
  return some;
}

bool Checksums::agrees(const std::string& line, std::uint64_t sum) const {
  const auto found = lines_.find(line);
  return found == lines_.end() || found->second == sum;
}

std::vector<std::string> Checksums::needed_in(const std::string& case_path) const {
  const std::string prefix = case_path + "/";
  std::vector<std::string> needed;
  for (auto line = lines_.lower_bound(prefix);
       line != lines_.end() && line->first.starts_with(prefix); ++line) {
    const std::string part = line->first.substr(prefix.size());
    const bool is_needed = part.starts_with("inputs/") || part.starts_with("golden");
    if (is_needed && part.find('@') == std::string::npos) needed.push_back(line->first);
  }
  return needed;
}

std::vector<std::string> Checksums::cases() const {
  constexpr std::string_view kSuffix = "@op";
  std::vector<std::string> paths;
  for (const auto& [line, sum] : lines_) {
    if (line.ends_with(kSuffix)) paths.push_back(line.substr(0, line.size() - kSuffix.size()));
  }
  return paths;
}

std::string Checksums::text() const {
  std::string text;
  for (const auto& [name, sum] : lines_) text += formatted("{:016x} {}\n", sum, name);
  return text;
}

bool Checksums::read(std::string_view text) {
  constexpr std::size_t kDigits = 16;
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos || end < kDigits + 2 || text[kDigits] != ' ') return false;
    std::uint64_t sum = 0;
    const auto [last, error] = std::from_chars(text.data(), text.data() + kDigits, sum, 16);
    if (error != std::errc() || last != text.data() + kDigits) return false;
    // Tables are in order, in which the next line belongs to the end.
    lines_.insert_or_assign(lines_.end(), std::string(text.substr(kDigits + 1, end - kDigits - 1)),
                            sum);
    text.remove_prefix(end + 1);
  }
  return true;
}

std::string table_sum(std::string_view text) {
  return formatted("xxh3 {:016x}", XXH3_64bits(text.data(), text.size()));
}

std::shared_ptr<const Checksums> shared_table(std::string_view text) {
  struct Shared {
    std::string text;
    Checksums table;
  };
  static std::mutex mutex;
  static std::weak_ptr<const Shared> last;
  const std::lock_guard lock(mutex);
  if (auto held = last.lock(); held && held->text == text) return {held, &held->table};
  auto made = std::make_shared<Shared>();
  made->text = text;
  if (!made->table.read(text)) return nullptr;
  last = made;
  return {made, &made->table};
}

}  // namespace assay::h5
