#include "assay/report/gate_text.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <map>

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/judge/complex.h"
#include "assay/judge/metric_table.h"
#include "assay/judge/rule_table.h"

namespace assay::inline v0_2::report {
namespace {

std::string special_counts(const Metrics& m, const Tally& tally) {
  std::vector<std::string> parts;
  const auto add = [&](std::int64_t count, const char* word) {
    if (count > 0) parts.push_back(formatted("{} {}", grouped(count), word));
  };
  add(tally.nan, "NaN");
  add(tally.positive_inf, m.is_complex ? "infinite" : "+inf");
  add(tally.negative_inf, "-inf");
  return parts.empty() ? "none" : joined(parts);
}

bool has_specials(const Tally& tally) {
  return tally.nan + tally.positive_inf + tally.negative_inf > 0;
}

std::string mismatch_line(const Verdict& v, const Mismatch& mismatch) {
  const MismatchWords words = mismatch_words(v, mismatch);
  return formatted("  {}: actual {}, expected {}, error {}{}{}", words.index, words.actual,
                   words.expected, words.error, words.bound.empty() ? "" : ", bound " + words.bound,
                   words.ulps.empty() ? "" : formatted(", {} ulp", words.ulps));
}

// Returns a suggested tolerance as text with three digits. It is rounded up, because the output
// must pass with the printed number.
std::string offered(double value) {
  std::string text = short_number(value);
  for (double step = value; std::strtod(text.c_str(), nullptr) < value;) {
    step *= 1 + 0x1p-11;
    text = short_number(step);
  }
  return text;
}

// The tolerances that would let the output pass: an rtol to use with the bound's atol, which is
// empty if no rtol is enough, and an atol to use with the bound's rtol.
struct Offer {
  std::string rtol, atol;
};
Offer offer_of(const Verdict& v) {
  const Metrics& m = *v.metrics;
  const bool rtol = std::isfinite(m.required_rtol) && std::isfinite(v.bound.atol);
  return {rtol ? offered(m.required_rtol) : "", offered(m.required_atol)};
}

// Returns the visible width: the number of bytes without the continuation bytes of UTF-8.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::ranges::count_if(
      text, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

// Up to this number of cases, a table also lists those that passed.
constexpr std::size_t kFewCases = 50;

// True if the case needs no row. A known failure has one, although the gate passes with it.
bool has_nothing_to_say(const CaseReport& c) { return c.passes() && c.remark == Remark::kNone; }
// Returns the name of a case for explanations, with the user's name for it if that differs.
std::string place_of(const CaseReport& c) {
  const std::string title = printable_name(c.title());
  const std::string place = c.file.empty() ? title : formatted("{}: {}", printable(c.file), title);
  return c.source_name.empty() ? place
                               : formatted("{} ('{}')", place, printable_name(c.source_name));
}

std::string_view color_of(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return kPassColor;
    case Outcome::kFail:
      return kFailColor;
    default:
      return kWarnColor;
  }
}

// Returns the notes of the cases that passed, including those of checksums. Each text appears once,
// with the number of its cases, and there are at most kNoted texts. (Notes of cases that did not
// pass are in their explanations, and blind elements have a column.)
std::string noted(const GateReport& report) {
  constexpr std::size_t kNoted = 8;
  std::vector<std::pair<std::string, std::int64_t>> texts;
  const auto add = [&](const std::string& note) {
    const auto known =
        std::ranges::find_if(texts, [&](const auto& text) { return text.first == note; });
    if (known == texts.end())
      texts.emplace_back(note, 1);
    else
      ++known->second;
  };
  for (const CaseReport& c : report.cases) {
    for (const Verdict& v : c.verdicts) {
      if (v.outcome == Outcome::kPass) std::ranges::for_each(v.notes, add);
    }
    if (c.abft && c.abft->outcome == Outcome::kPass) {
      for (const std::string& note : c.abft->notes) add("checksums: " + note);
    }
  }
  std::string out;
  for (std::size_t i = 0; i < std::min(kNoted, texts.size()); ++i) {
    const auto& [text, count] = texts[i];
    out += formatted("note{}: {}\n", count > 1 ? formatted(" ({} times)", count) : "",
                     printable_sentence(text));
  }
  if (texts.size() > kNoted) {
    out += formatted("... and {} more notes; the JSON and the page have them all\n",
                     texts.size() - kNoted);
  }
  return out;
}

}  // namespace

std::string explain(const CaseReport& c) {
  if (!c.error.empty()) return explain_error(c);
  if (c.remark != Remark::kNone) return explain_remark(c);
  if (const Verdict* decides = c.deciding_verdict()) return explain(*decides, c.reproduce);
  return c.abft ? explain(*c.abft, c.reproduce) : c.because();
}

std::string standard_text(const Bound& bound) {
  if (bound.origin == "case" && bound.standard == "custom") return "case's own";
  const bool unasked = bound.origin == "case" || bound.origin == "operator" ||
                       (bound.origin == "default" && bound.standard != kDefaultStandard);
  return unasked ? formatted("{} ({})", bound.standard, bound.origin) : bound.standard;
}

std::string blind_cell(const Verdict& v) {
  if (!v.blind || v.nonzero == 0) return "-";
  return *v.blind == 0 ? "0" : percent_text(*v.blind, v.nonzero);
}

MismatchWords mismatch_words(const Verdict& v, const Mismatch& mismatch) {
  const Format& f = *v.format;
  // If the standard does not round golden values, the output was compared with the value as stored.
  // So this value is shown if it differs from the rounded one.
  const auto as_stored = [&](double expected, std::uint64_t bits) {
    return !row_of(v.bound.rule).by_codes && !v.bound.round_expected && std::isfinite(expected) &&
           expected != decode(part_format(f), bits);
  };
  const bool stored = as_stored(mismatch.expected, mismatch.expected_bits);
  MismatchWords words;
  words.index = shape_text(mismatch.index);
  words.error = std::isnan(mismatch.error) ? "NaN" : short_number(mismatch.error, 4);
  if (mismatch.imaginary) {
    const Mismatch::Part& other = *mismatch.imaginary;
    words.actual = complex_text(f, mismatch.actual_bits, other.actual_bits);
    words.expected = stored || as_stored(other.expected, other.expected_bits)
                         ? complex_number(mismatch.expected, other.expected, 9)
                         : complex_text(f, mismatch.expected_bits, other.expected_bits);
  } else {
    words.actual = element_text(f, mismatch.actual_bits);
    words.expected = mismatch.expected_is_beyond ? formatted("{:.0f}", mismatch.expected)
                     : stored                    ? short_number(mismatch.expected, 9)
                                                 : element_text(f, mismatch.expected_bits);
  }
  if (!row_of(v.bound.rule).by_codes && std::isfinite(mismatch.error)) {
    words.bound = short_number(mismatch.bound, 4);
  }
  if (mismatch.ulps) words.ulps = grouped(std::to_string(*mismatch.ulps));
  return words;
}

std::string why_text(const Verdict& v) {
  std::string text = printable_sentence(v.because);
  for (const char* owner : {"case", "operator"}) {
    if (v.outcome == Outcome::kPass || v.bound.origin != owner) continue;
    if (v.outcome == Outcome::kNotComparable && v.bound.origin == "operator") continue;
    text += formatted(" (the {}'s own bound)", owner);
  }
  return text;
}

// Explains why no tolerance can help a verdict that has metrics and mismatches by NaN or infinity.
std::string special_difference(const Verdict& v) {
  const bool only_policy = !v.bound.nan_equal && v.metrics->both_nan == v.special_mismatches;
  return only_policy ? "NaN is where NaN is expected, which equal_nan accepts"
                     : "NaN or infinity differ";
}

std::vector<ExplanationLine> lines_of(const Verdict& v) {
  std::vector<ExplanationLine> lines;
  if (v.metrics && (has_specials(v.metrics->actual) || has_specials(v.metrics->expected))) {
    lines.push_back(
        {"special values: ",
         formatted("actual {}; expected {}", special_counts(*v.metrics, v.metrics->actual),
                   special_counts(*v.metrics, v.metrics->expected))});
  }
  if (!v.where.empty()) lines.push_back({"where: ", printable_sentence(v.where)});
  for (const std::string& note : notes_of(v)) {
    lines.push_back({"note: ", printable_sentence(note)});
  }
  if (v.mismatches > 0 && v.metrics) {
    // If special values are mismatches, no tolerance would help, so the line says that instead.
    if (v.special_mismatches > 0 && v.bound.rule != Rule::kBits) {
      lines.push_back({"no tolerance would pass: ", special_difference(v)});
    } else if (v.bound.is_plain()) {
      const Offer offer = offer_of(v);
      lines.push_back(
          {"would pass with ",
           formatted("{}atol {} (at this rtol)",
                     offer.rtol.empty() ? "" : formatted("rtol {} (at this atol) or ", offer.rtol),
                     offer.atol)});
    } else if (v.bound.rule == Rule::kUlps) {
      lines.push_back({"would pass with ", formatted("ulp({})", v.metrics->max_ulps)});
    }
  }
  return lines;
}

std::string worst_heading(const Verdict& v) {
  return v.mismatches > std::ssize(v.worst) ? formatted("worst {}", v.worst.size())
                                            : std::string("which are");
}

std::string explain(const Verdict& v, const std::string& reproduce) {
  std::string text = why_text(v);
  if (!v.worst.empty()) {
    text += formatted("\n{}:", worst_heading(v));
    for (const Mismatch& mismatch : v.worst) text += formatted("\n{}", mismatch_line(v, mismatch));
  }
  for (const ExplanationLine& line : lines_of(v))
    text += formatted("\n{}{}", line.label, line.text);
  if (!reproduce.empty()) text += formatted("\nreproduce: {}", reproduce);
  return text;
}

std::string explain(const AbftVerdict& v, const std::string& reproduce) {
  std::string text = printable_sentence(v.because);
  for (const std::string& note : v.notes) text += "; " + printable_sentence(note);
  for (const AbftFlag& flag : v.flags) {
    const std::string batch = flag.batch > 0 ? formatted("matrix {}, ", flag.batch) : "";
    const std::string_view source = v.from_golden ? "golden says" : "the operands say";
    text += formatted("\n  {}{} {}, {} {} to {}: ", batch, flag.is_column ? "column" : "row",
                      flag.index, flag.is_column ? "rows" : "columns", flag.first, flag.last);
    // The difference of a group with an infinite or NaN element means nothing, so it is not
    // printed.
    const bool special = flag.element && !std::isfinite(flag.element->actual);
    if (!special) {
      text += formatted("difference {}, threshold {}, difference / threshold {}",
                        short_number(flag.reading.difference, 4),
                        short_number(flag.reading.threshold, 4),
                        short_number(flag.reading.difference / flag.reading.threshold, 4));
      if (std::isfinite(flag.reading.z()))
        text += formatted(", {} standard deviations", short_number(flag.reading.z(), 4));
    }
    if (!flag.element) continue;
    const AbftFlag::Element& e = *flag.element;
    if (special) {
      text += formatted("{} in the output at [{}, {}], {} {}",
                        std::isnan(e.actual) ? "NaN"
                        : e.actual > 0       ? "infinity"
                                             : "-infinity",
                        e.row, e.column, source, short_number(e.reference, 8));
    } else {
      text += formatted("\n    element [{}, {}]: actual {}, {} {}", e.row, e.column,
                        element_text(*v.format, e.bits), source, short_number(e.reference, 8));
    }
    if (e.flipped_bit) {
      text += formatted("; a flip of bit {} explains it: {}", *e.flipped_bit,
                        element_text(*v.format, e.repaired_bits));
    }
  }
  if (v.flagged > std::ssize(v.flags) && !v.flags.empty()) {
    text += formatted("\n  ... and {} more", grouped(v.flagged - std::ssize(v.flags)));
  }
  if (!reproduce.empty()) text += "\nreproduce: " + reproduce;
  return text;
}

std::string explain_error(const CaseReport& c) {
  const std::string error = printable_sentence(c.error);
  return c.reproduce.empty() ? error : formatted("{}\nreproduce: {}", error, c.reproduce);
}

std::string explain_remark(const CaseReport& c) {
  std::string text = printable_sentence(c.remark_text);
  if (const Verdict* v = c.deciding_verdict(); v != nullptr && v->outcome == Outcome::kFail) {
    text += '\n';
    text += explain(*v);
  }
  if (!c.reproduce.empty()) text += "\nreproduce: " + c.reproduce;
  return text;
}

std::string metrics_text(const Verdict& v) {
  if (!v.metrics) return "";
  const Metrics& m = *v.metrics;
  const auto place = [&](std::int64_t linear) {
    if (linear < 0) return std::string();
    TensorView shape_only{nullptr, v.format, v.shape, contiguous_strides(v.shape)};
    return " at " + shape_text(shape_only.multi_index(linear));
  };
  const auto quantiles = [](double median, double p99) {
    return formatted(" (median {}, p99 {})", short_number(median), short_number(p99));
  };
  std::string out;
  const auto line = [&](std::string_view name, const std::string& value) {
    out += formatted("  {:<20}{}\n", name, value);
  };
  // Adds the row of a metric to the table. `more` follows the number.
  const auto row = [&](const char* name, const std::string& more = "") {
    line(find_metric(name)->words, find_metric(name)->text(m) + more);
  };
  const auto pair = [&](const char* first, const char* second) {
    const Metric &one = *find_metric(first), &other = *find_metric(second);
    line(formatted("{}, {}", one.words, other.words), one.text(m) + ", " + other.text(m));
  };
  line("elements",
       formatted("{} ({} with both sides finite)", grouped(v.sites), grouped(m.compared)));
  line("mismatches", v.mismatches == 0 ? "0"
                                       : formatted("{} ({})", grouped(v.mismatches),
                                                   percent_text(v.mismatches, v.sites)));
  line("blind", v.blind ? formatted("{} of the {} elements that are not zero{}", grouped(*v.blind),
                                    grouped(v.nonzero),
                                    *v.blind > 0 ? formatted(" ({})", blind_cell(v)) : "")
                        : "not known");
  // The errors are those of the expected values as they are. So they are not 0 where rounding moved
  // an expected value, even if the output is the rounded value. The bits of complex numbers are
  // compared without rounding.
  const std::string rounded =
      m.expected_rounds && !m.is_complex
          ? formatted(" (with the expected values rounded to {})", v.format->name)
          : "";
  line("bit-identical", (m.bit_identical ? "yes" : "no") + rounded);
  row("max_abs_error", place(m.max_abs_index));
  row("mean_abs_error", quantiles(m.median_abs_error, m.p99_abs_error));
  row("max_rel_error", place(m.max_rel_index));
  row("mean_rel_error", quantiles(m.median_rel_error, m.p99_rel_error));
  pair("mere", "mare");
  row("rmse");
  row("bias");
  row("error_balance");
  row("max_ulp", rounded);
  row("mean_ulp", m.is_complex ? ""
                               : formatted(" (p99 {}; over 1 ulp {}, over 32 ulp {})",
                                           short_number(m.p99_ulps, 6), grouped(m.over_1_ulp),
                                           grouped(m.over_32_ulps)));
  row("snr_db");
  row("psnr_db");
  line(find_metric("cosine")->words, formatted("{:.9f}", m.cosine));
  row("relative_l2");
  pair("diff1", "diff2");
  row("deepgemm_diff");
  if (v.bound.is_plain()) {
    const Offer offer = offer_of(v);
    const std::string rtol = offer.rtol.empty() ? ""
                                                : formatted("rtol {} at atol {}, or ", offer.rtol,
                                                            short_number(v.bound.atol));
    line("would pass with",
         v.special_mismatches > 0
             ? "no tolerance: " + special_difference(v)
             : formatted("{}atol {} at rtol {}", rtol, offer.atol, short_number(v.bound.rtol)));
  }
  line("special values", formatted("actual {}; expected {}", special_counts(m, m.actual),
                                   special_counts(m, m.expected)));
  line("zeros, subnormals", formatted("actual {}, {}; expected {}, {}", grouped(m.actual.zero),
                                      grouped(m.actual.subnormal), grouped(m.expected.zero),
                                      grouped(m.expected.subnormal)));
  return out;
}

std::string without_golden_text(const GateReport& report, const std::string& strict) {
  constexpr std::size_t kNamed = 10;
  const std::vector<std::string>& names = report.without_golden;
  std::vector<std::string> named;
  for (const std::string& name : names) {
    if (named.size() < kNamed) named.push_back(printable_name(name));
  }
  const bool is_one = names.size() == 1;
  return formatted(
      "{} without a golden result {} not judged: {}{}{}", counted(std::ssize(names), "output"),
      is_one ? "was" : "were", joined(named),
      named.size() < names.size() ? formatted(" and {} more", names.size() - named.size()) : "",
      strict.empty() ? ""
                     : formatted("; {} makes {} not comparable", strict, is_one ? "it" : "them"));
}

std::string gate_line(const GateReport& report) {
  constexpr std::string_view kWords[] = {
      "pass",          "fail",      "worse",          "disappeared", "expired", "unexpected_pass",
      "known_failure", "untrusted", "not_comparable", "error"};
  std::map<std::string_view, std::int64_t> counts = outcome_counts(report);
  std::int64_t cases = 0;
  std::string totals;
  for (const std::string_view word : kWords) {
    if (counts[word] == 0) continue;
    cases += counts[word];
    totals += formatted("{}{} {}", totals.empty() ? "" : ", ", counts[word], word);
  }
  const bool several = cases < std::ssize(report.cases);
  return formatted("{} {}{}{}{}\n", cases, cases == 1 ? "case" : "cases",
                   several ? formatted(" of {} outputs", report.cases.size()) : "",
                   totals.empty() ? "" : ": ", totals);
}

std::string gate_table(const GateReport& report, bool color, std::size_t explained, bool all,
                       const OptionNames& options) {
  const Metric &max_ulp = *find_metric("max_ulp"), &snr = *find_metric("snr_db");
  const bool several =
      std::ranges::any_of(report.cases, [](const CaseReport& c) { return !c.file.empty(); });
  std::vector<std::string> header = {
      "case",      "outcome", "dtype",           "shape",       "producer", "mismatches",
      "max/bound", "blind",   max_ulp.heading(), snr.heading(), "standard"};
  if (several) header.insert(header.begin(), "file");
  const std::size_t outcome_column = several ? 2 : 1, first_number = several ? 6 : 5;
  std::vector<std::vector<std::string>> rows = {header};
  std::vector<Outcome> outcomes = {Outcome::kPass};
  const auto add_row = [&](const CaseReport& c, std::string_view word, Outcome outcome,
                           const std::vector<std::string>& cells) {
    std::vector<std::string> row = {c.title(), std::string(word), c.dtype,
                                    c.dtype.empty() ? "" : shape_text(c.shape), c.producer};
    row.insert(row.end(), cells.begin(), cells.end());
    for (std::string& cell : row) cell = printable_name(cell);
    if (several) row.insert(row.begin(), printable(c.file));
    rows.push_back(std::move(row));
    outcomes.push_back(outcome);
  };
  const std::vector<std::string> nothing(6, "-");
  // If there are many cases, only those that did not pass have rows, failures first, so that they
  // are easy to find.
  const std::vector<const CaseReport*> order = worst_first(report);
  const auto passed = std::ranges::count_if(report.cases, has_nothing_to_say);
  const bool lists_all = all || report.cases.size() <= kFewCases;
  for (std::size_t i = 0; i < report.cases.size(); ++i) {
    const CaseReport& c = lists_all ? report.cases[i] : *order[i];
    if (!lists_all && has_nothing_to_say(c)) break;
    const bool bare = c.verdicts.empty() && !c.abft;
    if (!c.error.empty() || bare) add_row(c, c.outcome_text(), Outcome::kFail, nothing);
    // A known failure has the colour of a warning and not that of a failure.
    const auto shown = [&](Outcome outcome) {
      if (c.remark == Remark::kNone || outcome != c.judged()) return outcome;
      return c.remark == Remark::kKnownFailure ? Outcome::kUntrusted : Outcome::kFail;
    };
    for (const Verdict& v : c.verdicts) {
      const bool judged = v.sites > 0;
      add_row(c, c.outcome_text(v.outcome), shown(v.outcome),
              {judged ? grouped(v.mismatches) : "-", judged ? short_number(v.worst_ratio) : "-",
               blind_cell(v), v.metrics ? max_ulp.cell(*v.metrics) : "-",
               v.metrics ? snr.cell(*v.metrics) : "-", standard_text(v.bound)});
    }
    if (c.abft) {
      const bool judged = c.abft->checks > 0;
      add_row(c, c.outcome_text(c.abft->outcome), shown(c.abft->outcome),
              {judged ? grouped(c.abft->flagged) : "-",
               judged ? short_number(c.abft->worst_ratio) : "-", "-", "-", "-",
               "abft " + c.abft->spec});
    }
  }
  std::vector<std::size_t> widths(header.size(), 0);
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string out;
  for (std::size_t r = 0; rows.size() > 1 && r < rows.size(); ++r) {
    std::string line;
    for (std::size_t i = 0; i < rows[r].size(); ++i) {
      const std::string pad(widths[i] - width_of(rows[r][i]), ' ');
      const bool right = i >= first_number && i <= first_number + 4;
      std::string cell = right ? pad + rows[r][i] : rows[r][i] + pad;
      if (color && r > 0 && i == outcome_column) {
        cell = formatted("{}{}{}", color_of(outcomes[r]), cell, kNoColor);
      }
      line += (i > 0 ? "  " : "") + cell;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + "\n";
  }
  if (!lists_all && passed > 0) {
    out += formatted("{}{} {}, not shown{}\n", rows.size() > 1 ? "... and " : "", grouped(passed),
                     passed == 1 ? "that passes" : "that pass",
                     options.all.empty() ? "" : formatted("; {} lists every case", options.all));
  }
  out += '\n';
  out += gate_line(report);
  if (!report.note.empty()) out += printable_sentence(report.note) + "\n";
  if (!report.without_golden.empty()) out += without_golden_text(report, options.strict) + "\n";
  for (const std::string& note : report.notes) {
    out += formatted("note: {}\n", printable_sentence(note));
  }
  out += noted(report);
  std::size_t shown = 0, unshown = 0;
  const auto show = [&](const CaseReport& c, std::string_view word, const auto& text) {
    if (shown == explained) {
      ++unshown;
      return;
    }
    ++shown;
    out += formatted("\n{}: {}: {}\n", place_of(c), word, text());
  };
  for (const CaseReport* c : order) {
    if (!c->error.empty()) {
      show(*c, c->outcome_text(), [&] { return explain_error(*c); });
      continue;
    }
    if (c->remark != Remark::kNone) {
      if (c->remark != Remark::kKnownFailure) {
        show(*c, c->outcome_text(), [&] { return explain_remark(*c); });
      }
      continue;
    }
    for (const Verdict& v : c->verdicts) {
      if (v.outcome == Outcome::kPass) continue;
      show(*c, outcome_word(v.outcome), [&] { return explain(v, c->reproduce); });
    }
    if (c->abft && c->abft->outcome != Outcome::kPass) {
      show(*c, outcome_word(c->abft->outcome),
           [&] { return "abft: " + explain(*c->abft, c->reproduce); });
    }
  }
  if (unshown > 0) {
    out += formatted("\n... and {} more that did not pass; the JSON and the page list them all\n",
                     unshown);
  }
  return out;
}

}  // namespace assay::report
