// The frame of every page: head, colours for light and dark, type, footer. One self-contained file
// that needs no network: a policy in its head lets nothing be loaded, and no script run but its
// own.
#pragma once

#include <string>
#include <string_view>

namespace assay::report {

struct Page {
  std::string title;        // of the window; any text
  std::string style = {};   // CSS behind the frame's own
  std::string body = {};    // HTML
  std::string data = {};    // JSON, for the script: document.getElementById("data").textContent
  std::string script = {};  // JavaScript; runs when body and data are there
  std::string footer = {};  // any text: what made the page, and when
};

// The frame's CSS gives
// - colours as variables: --paper, --panel, --ink, --soft, --line, --grid (of charts), --link,
//   --pass, --fail, --warn, --heat (of maps), --series-1 to --series-7;
// - classes: .soft (secondary text), .pass, .fail, .warn (coloured words), .cards with .card,
//   .charts (a grid of pictures), .num (a cell that holds a number), .scroll (around what is wider
//   than the page), table, pre, code, button, input, select.
std::string page_html(const Page& page);

// A number of a summary with its word below: `<div class=card>`. `kind` is the class of the number,
// which is grey where it is 0.
std::string page_card(std::string_view kind, std::string_view number, std::string_view word);

// JSON such that it can stand in a <script>: what could end it, or begin a comment, is written as
// an escape of JSON. The value is the same.
std::string script_json(std::string_view json);

}  // namespace assay::report
