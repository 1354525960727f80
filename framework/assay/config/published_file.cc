#include "assay/config/published_file.h"

#include <cstdlib>
#include <sstream>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/config/json_input.h"

namespace assay::config {
namespace {

constexpr const char* kHead =
    "algorithm,dtype,distribution,direction,bit,rate_percent,trials,remark";

}  // namespace

std::vector<campaign::PublishedRate> read_published(const std::string& path) {
  std::istringstream in(read_file(path));
  std::vector<campaign::PublishedRate> rates;
  std::string line;
  bool head = false;
  for (int number = 1; std::getline(in, line); ++number) {
    if (line.empty() || line[0] == '#') continue;
    const std::string where = format("{}: line {}", path, number);
    if (!head) {
      if (line != kHead) wrong(where, format("the head '{}' is expected", kHead));
      head = true;
      continue;
    }
    std::vector<std::string> fields;
    std::size_t begin = 0;
    for (int f = 0; f < 7; ++f) {
      const std::size_t comma = line.find(',', begin);
      if (comma == std::string::npos) wrong(where, "eight fields are expected");
      fields.push_back(line.substr(begin, comma - begin));
      begin = comma + 1;
    }
    campaign::PublishedRate r{fields[0], fields[1], fields[2], fields[3],         -1,
                              {},        "",        0,         line.substr(begin)};
    if (!fields[4].empty()) r.bit = std::atoi(fields[4].c_str());
    char* end = nullptr;
    const double rate = std::strtod(fields[5].c_str(), &end);
    if (end != fields[5].c_str() && *end == '\0') {
      if (!(rate >= 0 && rate <= 100)) wrong(where, format("{} is no percentage", fields[5]));
      r.rate = rate / 100;
    } else if (fields[5] == "not_injectable" || fields[5] == "void") {
      r.word = fields[5];
    } else {
      wrong(where, format("'{}' is no rate", fields[5]));
    }
    r.trials = std::atoll(fields[6].c_str());
    rates.push_back(std::move(r));
  }
  return rates;
}

}  // namespace assay::config
