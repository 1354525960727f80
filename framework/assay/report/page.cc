#include "assay/report/page.h"

#include <algorithm>
#include <array>
#include <cstddef>

#include "assay/base/sha256.h"
#include "assay/base/text.h"
#include "assay/report/escape.h"

namespace assay::inline v0_2::report {
namespace {

// Every text colour has a contrast of at least 4.5 to 1 on --paper and on --panel. The series have
// Okabe and Ito's colours, which most readers can tell apart, and lighter ones on dark paper.
constexpr const char* kStyle = R"(
:root { color-scheme:light dark;
  --paper:#ffffff; --panel:#f6f8fa; --ink:#1f2328; --soft:#57606a; --line:#d0d7de; --grid:#dfe3e8;
  --link:#0550ae; --pass:#1a7f37; --fail:#cf222e; --warn:#8a5a00; --heat:#cf222e;
  --series-1:#0072b2; --series-2:#d55e00; --series-3:#009e73; --series-4:#cc79a7;
  --series-5:#e69f00; --series-6:#56b4e9; --series-7:#000000; }
@media (prefers-color-scheme:dark) { :root {
  --paper:#0d1117; --panel:#161b22; --ink:#e6edf3; --soft:#9aa4af; --line:#30363d; --grid:#2b3138;
  --link:#79b8ff; --pass:#4cc261; --fail:#ff7b72; --warn:#e3b341; --heat:#ff7b72;
  --series-1:#56b4e9; --series-2:#ff8c42; --series-3:#2fc79a; --series-4:#e4a3c6;
  --series-5:#f0b429; --series-6:#9ad4f5; --series-7:#e6edf3; } }
* { box-sizing:border-box; }
body { font:15px/1.5 system-ui,sans-serif; color:var(--ink); background:var(--paper);
  margin:0 auto; max-width:90rem; padding:1.5rem 1.25rem; }
h1 { font-size:1.5rem; margin:0 0 .3rem; } h2 { font-size:1.15rem; margin:2rem 0 .5rem; }
h3 { font-size:1rem; margin:1.4rem 0 .4rem; }
a { color:var(--link); } p { margin:.4rem 0; }
.soft { color:var(--soft); } code,pre { font:13px/1.45 ui-monospace,monospace; }
code { overflow-wrap:anywhere; unicode-bidi:isolate; }
.pass { color:var(--pass); } .fail { color:var(--fail); } .warn { color:var(--warn); }
.cards { display:flex; gap:.8rem; flex-wrap:wrap; margin:1.1rem 0; }
.card { border:1px solid var(--line); border-radius:8px; padding:.5rem 1.1rem; min-width:7rem; }
.card b { display:block; font-size:1.7rem; line-height:1.2; font-variant-numeric:tabular-nums; }
.scroll { overflow-x:auto; }
table { border-collapse:collapse; width:100%; }
th { text-align:left; border-bottom:2px solid var(--line); vertical-align:bottom; }
td,th { padding:.3rem .9rem .3rem 0; }
td { border-bottom:1px solid var(--line); vertical-align:top; }
td:last-child,th:last-child { padding-right:0; }
.num { text-align:right; font-variant-numeric:tabular-nums; white-space:nowrap; }
pre { background:var(--panel); border-radius:6px; padding:.7rem .8rem; margin:.4rem 0;
  overflow-x:auto; white-space:pre-wrap; overflow-wrap:anywhere; unicode-bidi:plaintext; }
button,input,select { font:inherit; color:var(--ink); background:var(--paper);
  border:1px solid var(--line); border-radius:6px; padding:.2rem .6rem; max-width:100%; }
button { background:var(--panel); cursor:pointer; }
:focus-visible { outline:2px solid var(--link); outline-offset:1px; }
.charts { display:grid; gap:1.5rem;
  grid-template-columns:repeat(auto-fit,minmax(min(32rem,100%),1fr)); }
footer { margin:2.5rem 0 0; padding-top:.6rem; border-top:1px solid var(--line); color:var(--soft);
  font-size:13px; overflow-wrap:anywhere; }
@media print { button,input,select { display:none; } body { max-width:none; } }
)";

int digit_of(char hex) { return hex <= '9' ? hex - '0' : hex - 'a' + 10; }

// Converts an even number of hexadecimal digits to bytes in base 64 (RFC 4648).
std::string base64_of_hex(const std::string& hex) {
  constexpr std::string_view kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (std::size_t i = 0; i < hex.size(); i += 6) {
    std::array<int, 6> half{};  // of three bytes
    for (std::size_t k = 0; k < half.size() && i + k < hex.size(); ++k) {
      half[k] = digit_of(hex[i + k]);
    }
    int bits = 0;
    for (const int h : half) bits = bits * 16 + h;
    const std::size_t bytes = (std::min(hex.size() - i, half.size())) / 2;
    for (std::size_t k = 0; k < 4; ++k) {
      out += k <= bytes
                 ? kDigits[static_cast<std::size_t>((bits >> (18 - 6 * static_cast<int>(k))) & 63)]
                 : '=';
    }
  }
  return out;
}

}  // namespace

std::string script_json(std::string_view json) {
  std::string out;
  out.reserve(json.size() + json.size() / 16);
  for (const char c : json) {
    // In JSON, these characters occur only in strings. An escape there means the same, and cannot
    // end the <script>.
    if (c == '<')
      out += "\\u003c";
    else if (c == '>')
      out += "\\u003e";
    else if (c == '&')
      out += "\\u0026";
    else
      out += c;
  }
  return out;
}

std::string page_card(std::string_view kind, std::string_view number, std::string_view word) {
  const std::string_view shown = number == "0" ? "soft" : kind;
  return formatted("<div class=card><b{}>{}</b>{}</div>\n",
                   shown.empty() ? "" : formatted(" class={}", shown), xml_escaped(number),
                   xml_escaped(word));
}

std::string page_html(const Page& page) {
  // The page's policy (Content Security Policy, level 2) allows only the script with this hash.
  const std::string scripts =
      page.script.empty() ? "'none'" : formatted("'sha256-{}'", base64_of_hex(sha256(page.script)));
  std::string out = "<!doctype html>\n<html lang=en><head><meta charset=utf-8>\n";
  out += formatted(
      "<meta http-equiv=Content-Security-Policy content=\"default-src 'none'; base-uri 'none'; "
      "form-action 'none'; style-src 'unsafe-inline'; script-src {}\">\n"
      "<meta name=viewport content=\"width=device-width,initial-scale=1\">\n",
      scripts);
  out += formatted("<title>{}</title>\n<style>{}{}</style></head><body>\n", xml_escaped(page.title),
                   kStyle, page.style);
  out += page.body;
  if (!page.footer.empty()) out += formatted("<footer>{}</footer>\n", xml_escaped(page.footer));
  if (!page.data.empty()) {
    out += "<script type=\"application/json\" id=data>";
    out += script_json(page.data);
    out += "</script>\n";
  }
  if (!page.script.empty()) out += formatted("<script>{}</script>\n", page.script);
  return out + "</body></html>\n";
}

}  // namespace assay::report
