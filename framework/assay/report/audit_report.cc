#include "assay/report/audit_report.h"

#include "assay/base/printable.h"
#include "assay/base/text.h"
#include "assay/report/audit_tables.h"
#include "assay/report/escape.h"
#include "assay/report/page.h"

namespace assay::inline v0_2::report {
namespace {

std::string table_html(const AuditTable& table) {
  std::string out =
      formatted("<h2>{}</h2>\n<div class=scroll><table>\n<tr>", xml_escaped(table.title));
  for (const std::string& column : table.columns) out += "<th>" + xml_escaped(column);
  out += "\n";
  for (const auto& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string text = xml_escaped(row[i]);
      out += i == 0 ? formatted("<td><code>{}</code>", text) : "<td>" + text;
    }
    out += "\n";
  }
  out += "</table></div>\n";
  if (!table.note.empty()) out += formatted("<p class=soft>{}</p>\n", xml_escaped(table.note));
  return out;
}

std::string totals(const audit::AuditResult& result) {
  return formatted("{} right output{}, {} verdicts, in {} s", result.subjects,
                   result.subjects == 1 ? "" : "s", grouped(result.trials),
                   short_number(result.seconds));
}

}  // namespace

std::string audit_text(const audit::AuditResult& result, int listed) {
  std::string out;
  for (const AuditTable& table : audit_tables(result, listed)) {
    std::vector<std::vector<std::string>> lines = {table.columns};
    lines.insert(lines.end(), table.rows.begin(), table.rows.end());
    out += formatted("{}{}\n{}", out.empty() ? "" : "\n", table.title, columns_text(lines));
    if (!table.note.empty()) out += printable_lines(table.note) + "\n";
  }
  std::string first;  // the first command line that repeats an escaped corruption
  for (const audit::Escape& e : result.escapes) {
    if (first.empty() && !e.repeat.empty()) first = e.repeat;
  }
  if (!first.empty()) out += formatted("\nreproduce the first: {}\n", first);
  return out + formatted("\n{}\n", totals(result));
}

std::string audit_html(const audit::AuditResult& result, const wire::AuditHead& head) {
  std::string out = formatted(
      "<h1>What do these checks let through?</h1>\n"
      "<p class=soft>{}<br><code>{}</code><br>assay {}; {}</p>\n",
      xml_escaped(head.golden), xml_escaped(head.command), xml_escaped(head.version),
      xml_escaped(totals(result)));
  for (const AuditTable& table : audit_tables(result, -1)) out += table_html(table);
  AuditTable repeats{"how each is repeated", {"command", "target", "case", "corruption"}, {}};
  for (const audit::Escape& e : result.escapes) {
    if (e.repeat.empty()) continue;
    repeats.rows.push_back(
        {e.repeat, result.targets[e.target].name, e.subject,
         e.corruption + (e.is_drawn ? formatted(", draw {}", e.draw) : std::string())});
  }
  if (!repeats.rows.empty()) out += table_html(repeats);
  AuditTable classes{"classes", {"class", "what is wrong in it"}, {}};
  for (const audit::CorruptionClass& c : audit::corruption_classes()) {
    classes.rows.push_back({std::string(c.name), std::string(c.meaning)});
  }
  return page_html({.title = "assay audit: " + head.golden, .body = out + table_html(classes)});
}

}  // namespace assay::report
