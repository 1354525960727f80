#include "assay/wire/published_file.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "assay/base/call_text.h"
#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/base/words.h"
#include "assay/wire/json.h"

namespace assay::inline v0_2::wire {
namespace {

// The number of trials of tables that do not give it. The design specification of V-ABFT says "more
// than 10k".
constexpr std::int64_t kTrialsUnknown = 10000;
constexpr const char* kNeeded[] = {"distribution", "direction", "bit", "rate_percent"};

// One line of the table, read by the names of its columns.
class Line {
 public:
  Line(const std::vector<std::string>& head, const std::string& text, const std::string& where)
      : head_(head), fields_(split_fields(text, head.size())), where_(where) {
    if (fields_.size() != head.size()) {
      wrong(where, "{} fields are expected, as in the head", head.size());
    }
  }
  // Splits a line at its commas into at most `most` fields. So the last field may contain commas.
  static std::vector<std::string> split_fields(const std::string& text, std::size_t most) {
    std::vector<std::string> fields;
    std::size_t begin = 0;
    for (std::size_t comma;
         fields.size() + 1 < most && (comma = text.find(',', begin)) != std::string::npos;
         begin = comma + 1) {
      fields.push_back(text.substr(begin, comma - begin));
    }
    fields.push_back(text.substr(begin));
    return fields;
  }
  // Returns the field of a column, or an empty text if the table has no such column.
  std::string field(std::string_view name) const {
    const auto found = std::ranges::find(head_, name);
    return found == head_.end() ? "" : fields_[static_cast<std::size_t>(found - head_.begin())];
  }
  std::optional<std::int64_t> whole(std::string_view name) const {
    const std::string text = field(name);
    if (text.empty()) return std::nullopt;
    const auto value = read_number<std::int64_t>(text);
    if (!value || *value < 0) wrong(where_, "'{}' is no {}", text, name);
    return value;
  }

 private:
  const std::vector<std::string>& head_;
  std::vector<std::string> fields_;
  const std::string& where_;
};

std::vector<std::string> read_head(const std::string& line, const std::string& where) {
  const auto head = Line::split_fields(line, std::string::npos);
  const auto has = [&](std::string_view name) { return contains(head, name); };
  for (const char* name : kNeeded) {
    if (!has(name)) {
      wrong(
          where,
          "the head has no column '{}'; needed are {}, and algorithm or method (docs/campaigns.md)",
          name, joined(std::vector<std::string>(std::begin(kNeeded), std::end(kNeeded))));
    }
  }
  if (!has("algorithm") && !has("method")) {
    wrong(where, "the head has neither 'algorithm' nor 'method' (docs/campaigns.md)");
  }
  return head;
}

// Reads the rate of a line. Returns nothing if the line does not belong to a single cell, such as a
// line over all shapes, or if it has no rate.
std::optional<campaign::PublishedRate> read_rate(const Line& line, const std::string& where) {
  campaign::PublishedRate r;
  r.algorithm = line.field("algorithm") + line.field("method");
  r.dtype = line.field("dtype");
  r.distribution = line.field("distribution");
  r.direction = line.field("direction");
  r.variant = line.field("threshold_variant");
  r.remark = line.field("remark");
  const std::string rate = line.field("rate_percent");
  bool is_cell = !rate.empty();
  for (const char* size : {"M", "K", "N"}) {
    const std::string text = line.field(size);
    is_cell = is_cell && text != "all";
    if (!text.empty() && text != "all") r.shape.push_back(*line.whole(size));
  }
  const std::string bit = line.field("bit");
  is_cell = is_cell && bit != "all";
  if (!is_cell) return std::nullopt;
  if (!r.shape.empty() && r.shape.size() != 3) wrong(where, "give all of M, K, N, or none");
  if (!bit.empty() && bit != "none") r.bit = static_cast<int>(*line.whole("bit"));
  if (const auto value = read_number<double>(rate)) {
    if (!(*value >= 0 && *value <= 100)) wrong(where, "{} is no percentage", rate);
    r.rate = *value / 100;
  } else if (rate == "not_injectable" || rate == "void") {
    r.word = rate;
  } else {
    wrong(where, "'{}' is no rate", rate);
  }
  const auto trials = line.whole("trials");
  r.trials = trials ? *trials : line.whole("n_injected").value_or(kTrialsUnknown);
  return r;
}

}  // namespace

std::vector<campaign::PublishedRate> read_published(const std::string& path) {
  std::istringstream in(read_file(path));
  std::vector<campaign::PublishedRate> rates;
  std::vector<std::string> head;
  std::string text;
  for (int number = 1; std::getline(in, text); ++number) {
    if (!text.empty() && text.back() == '\r') text.pop_back();
    if (text.empty() || text[0] == '#') continue;
    const std::string where = formatted("{}: line {}", path, number);
    if (head.empty()) {
      head = read_head(text, where);
      continue;
    }
    // Rates of other directions (a flip of a bit of any value, a factor) are read too, although
    // they are not flips of a census.
    auto rate = read_rate(Line(head, text, where), where);
    if (rate) rates.push_back(std::move(*rate));
  }
  return rates;
}

}  // namespace assay::wire
