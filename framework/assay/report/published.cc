#include "assay/report/published.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <sstream>

#include "assay/base/file.h"
#include "assay/base/text.h"
#include "assay/report/campaign.h"
#include "assay/report/json_input.h"

namespace assay {
namespace {

constexpr const char* kHead =
    "algorithm,dtype,distribution,direction,bit,rate_percent,trials,remark";

constexpr double kRare = 1e-3;

// The publication's word for a dtype.
std::string_view short_name(const Format& f) {
  if (f.name == "bfloat16") return "bf16";
  if (f.name == "float16") return "fp16";
  if (f.name == "float32") return "fp32";
  return f.name;
}

std::string_view algorithm_of(std::string_view gate) {
  const std::string_view name = gate.substr(0, gate.find(','));
  if (name == "v_abft") return "V-ABFT";
  if (name == "a_abft") return "A-ABFT";
  return "";
}

bool agrees(const PublishedRate& p, const MeasuredRate& ours) {
  if (!p.rate) return p.word == "not_injectable" && ours.rate.trials == 0;
  if (ours.rate.trials == 0) return false;
  const double rate = static_cast<double>(ours.rate.events) / static_cast<double>(ours.rate.trials);
  const double our_deviation = (ours.interval.high - ours.interval.low) / (2 * 1.96);
  // Where the publication saw none or all, its sample says only so much: our rate's deviation.
  const double spread = std::max(*p.rate * (1 - *p.rate), rate * (1 - rate));
  const double their_variance = spread / static_cast<double>(std::max<std::int64_t>(p.trials, 1));
  const double deviation = std::sqrt(our_deviation * our_deviation + their_variance);
  return std::abs(rate - *p.rate) <= 3 * deviation + 0.0005;
}

}  // namespace

std::vector<PublishedRate> read_published(const std::string& path) {
  std::istringstream in(read_file(path));
  std::vector<PublishedRate> rates;
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
    PublishedRate r{fields[0], fields[1], fields[2], fields[3], -1, {}, "", 0, line.substr(begin)};
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

std::vector<Comparison> compare_published(const Plan& plan, const std::vector<CellResult>& results,
                                          const std::vector<PublishedRate>& published) {
  std::vector<Comparison> all;
  for (const CellResult& result : results) {
    const Cell& cell = plan.cells[result.cell];
    if (cell.published_distribution.empty()) continue;
    for (const GateResult& gate : result.gates) {
      for (const PublishedRate& p : published) {
        if (p.algorithm != algorithm_of(gate.gate) || p.dtype != short_name(*cell.output) ||
            p.distribution != cell.published_distribution) {
          continue;
        }
        Comparison c{&p, cell.name, gate.gate, {}, false, false};
        if (p.bit < 0) {
          // The publication counts runs, each a matrix.
          c.ours.rate = {gate.alarmed_matrices, gate.clean_matrices};
          if (gate.clean_matrices > 0) c.ours.interval = wilson(c.ours.rate, kConfidence);
        } else {
          const auto found =
              std::find_if(gate.series.begin(), gate.series.end(), [&](const SeriesResult& s) {
                return s.series.bit == p.bit &&
                       (s.series.direction == Direction::kZeroToOne) == (p.direction == "0to1");
              });
          if (found == gate.series.end()) continue;
          c.ours = found->detected;
          const FaultCounts& f = found->faults;
          const auto all_elements = static_cast<double>(f.injected + f.masked + f.not_injectable);
          c.rare = static_cast<double>(f.injected) < kRare * all_elements;
        }
        c.agrees = agrees(p, c.ours) || (p.word == "not_injectable" && c.rare);
        all.push_back(std::move(c));
      }
    }
  }
  return all;
}

std::string published_text(const std::vector<Comparison>& comparisons) {
  if (comparisons.empty()) return "";
  std::string out = "\npublished and reproduced, in %\n";
  std::string cell;
  std::int64_t agree = 0, defects = 0, differ = 0;
  for (const Comparison& c : comparisons) {
    if (c.cell + c.gate != cell) {
      cell = c.cell + c.gate;
      out += format("  {}, {}\n", c.cell, c.gate);
    }
    const PublishedRate& p = *c.published;
    const std::string what =
        p.bit < 0 ? "runs with an alarm"
                  : format("bit {}, {}", p.bit, p.direction == "0to1" ? "0 to 1" : "1 to 0");
    const std::string theirs = p.rate             ? short_number(100 * *p.rate, 6)
                               : p.word == "void" ? "void"
                                                  : "not injectable";
    const std::string ours = c.ours.rate.trials == 0 ? "not injectable" : rate_text(c.ours);
    std::string verdict = "agrees";
    // A cell that is void says nothing that could be compared.
    if (p.word == "void") {
      verdict = "";
    } else if (!p.remark.empty()) {
      verdict = format("defect: {}", p.remark);
      ++defects;
    } else if (c.agrees) {
      ++agree;
    } else {
      verdict = "differs";
      ++differ;
    }
    out += format("    {:<18} {:>15}   {:<26} {}\n", what, theirs, ours, verdict);
    while (out[out.size() - 2] == ' ') out.erase(out.size() - 2, 1);
  }
  out += format("  {} cells agree, {} differ, {} are held to be defects of the publication\n",
                grouped(agree), grouped(differ), grouped(defects));
  return out;
}

}  // namespace assay
