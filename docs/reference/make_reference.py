#!/usr/bin/env python3
"""Makes the reference of the promised headers with Doxygen, as pages of HTML.

    make_reference.py FOLDER [VERSION]

FOLDER/index.html is the first page. The reference has what the promised headers (cmake/PublicHeaders.cmake) declare, and
what those headers declare that they include themselves. Each of these classes, enumerations, types and functions must
have a comment; a member of a class needs none. Exits with 1 if Doxygen warns of anything, and with 77 if there is no
Doxygen."""

import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
ROOTS = ("framework", "datasets", "matchers", "tools")
SETTINGS = """
PROJECT_NAME = assay
PROJECT_BRIEF = "The precision gate for operators"
GENERATE_LATEX = NO
GENERATE_TREEVIEW = YES
QUIET = YES
JAVADOC_AUTOBRIEF = YES
DISTRIBUTE_GROUP_DOC = YES
EXTRACT_ALL = NO
HIDE_UNDOC_MEMBERS = NO
EXTRACT_LOCAL_CLASSES = NO
WARN_NO_PARAMDOC = NO
MACRO_EXPANSION = YES
HAVE_DOT = NO
VERBATIM_HEADERS = NO
TOC_INCLUDE_HEADINGS = 0
USE_MDFILE_AS_MAINPAGE = main.md
EXCLUDE_SYMBOLS = *detail*
"""
# What Doxygen says of a member of a class that has no comment.
OF_A_MEMBER = re.compile(r"warning: Member .* of (struct|class) .* is not documented\.$")


def found(header):
    """Returns the path of an installed header in the tree, or nothing if it is not assay's."""
    return next((path for root in ROOTS if (path := SOURCE / root / header).exists()), None)


def promised():
    text = (SOURCE / "cmake/PublicHeaders.cmake").read_text()
    return [h for headers in re.findall(r"^set\(assay_\w+_headers\s+([^)]*)\)", text, re.M) for h in headers.split()]


def first_page():
    """Returns the first page: the promised headers, each with the first sentences of its comment."""
    lines = ["# Reference", "", "The headers that assay promises to programs in C++.", ""]
    for header in promised():
        comment = re.match(r"((?://.*\n)*)", found(header).read_text())[1]
        text = " ".join(line[2:].strip() for line in comment.split("\n") if not line.startswith("//   "))
        sentence = re.match(r".*?[.:](?= |$)", text)
        lines.append(f"- `<{header}>`: {(sentence[0] if sentence else text).rstrip('.:')}.")
    return "\n".join(lines) + "\n"


def inputs():
    """Returns the headers whose declarations the reference has."""
    headers = []
    for header in map(found, promised()):
        own = re.findall(r'#include "(assay/[^"]+)"', header.read_text())
        headers += [h for h in [header, *map(found, own)] if h is not None and h not in headers]
    return headers


def make(folder, version):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "main.md").write_text(first_page())
    settings = SETTINGS + "\n".join(
        [f'PROJECT_NUMBER = "{version}"', f'OUTPUT_DIRECTORY = "{folder}"', "HTML_OUTPUT = .",
         f'FILTER_PATTERNS = *.h="{sys.executable} -B {HERE / "comments.py"}"',
         "STRIP_FROM_PATH = " + " ".join(f'"{SOURCE / root}"' for root in ROOTS),
         "STRIP_FROM_INC_PATH = " + " ".join(f'"{SOURCE / root}"' for root in ROOTS),
         "INPUT = " + " ".join(f'"{path}"' for path in [folder / "main.md", *inputs()])])
    done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, check=False)
    lines = [line for line in done.stderr.splitlines() if not OF_A_MEMBER.search(line)]
    if done.returncode and not lines:
        lines = [f"doxygen: exit {done.returncode}"]
    return lines


def main():
    if shutil.which("doxygen") is None:
        print("there is no doxygen here: apt install doxygen")
        return 77
    folder = pathlib.Path(sys.argv[1]).resolve()
    warnings = make(folder, sys.argv[2] if len(sys.argv) > 2 else "")
    print("\n".join(warnings) if warnings else f"the reference is in {folder / 'index.html'}")
    return 1 if warnings else 0


if __name__ == "__main__":
    sys.exit(main())
