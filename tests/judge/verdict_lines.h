// Verdicts as recorded lines, and outputs to judge. The outputs are drawn the same way every time,
// with roundings, larger errors, NaN, infinities and zeros among them.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "assay/base/constants.h"
#include "assay/base/text.h"
#include "assay/report/report.h"
#include "oracle.h"
#include "recorded.h"

namespace assay::lines {

// FNV-1a, folded to 32 bits.
inline std::string digest(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return formatted("{:08x}", (hash ^ hash >> 32) & 0xffffffff);
}

// Returns the verdict's JSON on one line, with numbers of ten digits and histogram bins as a
// digest.
inline std::string json_line(const Verdict& verdict) {
  const std::string json = verdict_json(verdict);
  std::string line;
  bool blank = false;
  for (const char c : json) {
    const bool is_blank = c == ' ' || c == '\n';
    if (!(is_blank && blank) && c != '\n') line += c;
    blank = is_blank;
  }
  const std::string key = "\"bins\": \"";
  for (std::size_t at = 0; (at = line.find(key, at)) != std::string::npos;) {
    at += key.size();
    const std::size_t end = line.find('"', at);
    line.replace(at, end - at, digest(line.substr(at, end - at)));
  }
  return with_digits(line, 10);
}

// Returns the fields that decide, and a digest of all others.
inline std::string short_line(const Verdict& v) {
  return formatted("{} {} {} blind {} of {}, {}", outcome_word(v.outcome), v.mismatches,
                   with_digits(formatted("{}", v.worst_ratio), 10), v.blind.value_or(-1), v.nonzero,
                   digest(json_line(v)));
}

// Returns a size that the format holds well.
inline double size_in(const Format& f, oracle::Dice& dice) {
  const double u = dice.uniform();
  if (!f.is_float()) {
    const double most = std::min(f.kind == Kind::kBool ? 1.0 : max_finite(f), 1e6);
    return std::nearbyint(u * most);
  }
  // Only exact functions are used here. The last bit of others may differ on another host.
  const int most = std::ilogb(max_finite(f)), least = std::ilogb(min_subnormal(f));
  const int exponent = static_cast<int>(dice.below(16)) - 12;
  return std::ldexp(1 + u, std::clamp(exponent, least, most - 1));
}

// Returns values that a float64 golden result may hold if the output has the format `f`.
inline std::vector<double> golden_values(const Format& f, std::int64_t n, std::uint64_t seed,
                                         bool specials) {
  oracle::Dice dice(seed);
  std::vector<double> values(static_cast<std::size_t>(n));
  for (double& v : values) {
    v = size_in(f, dice);
    if (f.is_signed() && dice.below(2) == 1) v = -v;
    const std::uint64_t kind = dice.below(100);
    if (kind < 4) v = 0;
    if (!f.is_float() || !specials) continue;
    if (kind == 4) v = kNan;
    if (kind == 5) v = kInfinity;
    if (kind == 6) v = -kInfinity;
  }
  return values;
}

// Returns an output for a golden result: most elements are rounded, some are a little off, and a
// few are far off or special.
inline std::vector<double> output_values(const Format& f, const std::vector<double>& golden,
                                         std::uint64_t seed, bool specials, double off = 0x1p-9) {
  oracle::Dice dice(seed);
  std::vector<double> values = golden;
  for (double& v : values) {
    const std::uint64_t kind = dice.below(100);
    const double u = 2 * dice.uniform() - 1;
    if (f.is_float()) {
      if (kind < 40) v *= 1 + off * u;
      if (kind == 40) v *= 1 + 64 * off * u;
      if (kind == 41) v += off * off * u;
    } else if (kind < 10) {
      v += std::nearbyint(3 * u);
    }
    if (kind == 42) v = 0;
    if (!f.is_float() || !specials) continue;
    if (kind == 43) v = kNan;
    if (kind == 44) v = kInfinity;
    if (kind == 45) v = max_finite(f);
  }
  return values;
}

}  // namespace assay::lines
