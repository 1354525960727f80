// The frame of every page: head, colours for light and dark, type, footer. A page is one
// self-contained file that needs no network. A policy in its head forbids loading anything and
// running any script except its own.
#pragma once

#include <string>
#include <string_view>

namespace assay::inline v0_2::report {

struct Page {
  std::string title;       // title of the window, which may be any text
  std::string style = {};  // CSS that follows that of the frame
  std::string body = {};   // HTML
  // JSON for the script, which reads it as document.getElementById("data").textContent.
  std::string data = {};
  std::string script = {};  // JavaScript that runs after `body` and `data` are loaded
  std::string footer = {};  // the program that made the page, and the time, as any text
};

// The frame's CSS provides
// - colours as variables: --paper, --panel, --ink, --soft, --line, --grid (of charts), --link,
//   --pass, --fail, --warn, --heat (of maps), --series-1 to --series-7
// - classes: .soft (secondary text), .pass, .fail, .warn (coloured words), .cards with .card,
//   .charts (a grid of pictures), .num (a cell that holds a number), .scroll (around elements
//   wider than the page), table, pre, code, button, input, select
std::string page_html(const Page& page);

// Returns a number of a summary with its word below it: `<div class=card>`. `kind` is the CSS class
// of the number, which is grey if it is 0.
std::string page_card(std::string_view kind, std::string_view number, std::string_view word);

// Returns JSON that can be placed in a <script>: characters that could end it, or begin a comment,
// are written as JSON escapes. The value is the same.
std::string script_json(std::string_view json);

}  // namespace assay::report
