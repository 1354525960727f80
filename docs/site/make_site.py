#!/usr/bin/env python3
"""Makes the site with Doxygen: the pages of the documentation, and the reference of the promised headers.

    make_site.py FOLDER [VERSION]

FOLDER/index.html is the first page. The reference has what the promised headers (cmake/PublicHeaders.cmake) declare, and
what those headers declare that they include themselves. Each of these classes, enumerations, types and functions must
have a comment; a member of a class needs none. Exits with 1 if Doxygen warns of anything or a link of a page leads
nowhere, and with 77 if there is no Doxygen."""

import pathlib
import re
import shutil
import subprocess
import sys

import pages

HERE = pathlib.Path(__file__).resolve().parent
SOURCE = HERE.parents[1]
ROOTS = ("framework", "cuda", "datasets", "matchers", "tools")
SETTINGS = """
PROJECT_NAME = assay
PROJECT_BRIEF = "tells how good an operator's output is"
GENERATE_LATEX = NO
GENERATE_TREEVIEW = YES
QUIET = YES
JAVADOC_AUTOBRIEF = YES
DISTRIBUTE_GROUP_DOC = YES
HIDE_UNDOC_MEMBERS = NO
EXTRACT_LOCAL_CLASSES = NO
WARN_NO_PARAMDOC = NO
MACRO_EXPANSION = YES
HAVE_DOT = NO
VERBATIM_HEADERS = NO
SHOW_USED_FILES = NO
EXCLUDE_SYMBOLS = *detail*
IMAGE_PATH = %(source)s/docs
USE_MDFILE_AS_MAINPAGE = %(source)s/README.md
STRIP_FROM_PATH = %(source)s %(roots)s
STRIP_FROM_INC_PATH = %(roots)s
FILTER_PATTERNS = *.h="%(python)s -B %(here)s/comments.py" *.md="%(python)s -B %(here)s/pages.py"
PROJECT_NUMBER = "%(version)s"
OUTPUT_DIRECTORY = "%(folder)s"
HTML_OUTPUT = .
INPUT = %(inputs)s
"""
# What Doxygen says of a member of a class that has no comment, and of a template's special case.
NEEDS_NONE = re.compile(r"warning: (Member .* of (struct|class) .*|(Compound|Member) \S+ ?<.*) is not documented\.$")


def found(header):
    """Returns the path of an installed header in the tree, or nothing if it is not assay's."""
    return next((path for root in ROOTS if (path := SOURCE / root / header).exists()), None)


def headers():
    """Returns the headers whose declarations the reference has."""
    text = (SOURCE / "cmake/PublicHeaders.cmake").read_text()
    promised = [h for names in re.findall(r"^set\(assay_\w+_headers\s+([^)]*)\)", text, re.M) for h in names.split()]
    all_headers = []
    for header in map(found, promised):
        own = re.findall(r'#include "(assay/[^"]+)"', header.read_text())
        all_headers += [h for h in [header, *map(found, own)] if h is not None and h not in all_headers]
    return all_headers


def dead_links(folder):
    """Returns the links of the documentation's pages that lead nowhere."""
    names = {page.name: set(re.findall(r'(?:id|name)="([^"]+)"', page.read_text(encoding="utf-8")))
             for page in folder.glob("*.html")}
    dead = []
    for page in [folder / "index.html", *folder.glob("docs-*.html"), *folder.glob("examples-*.html")]:
        for file, name in re.findall(r'href="([^"#:]*)(?:#([^"]*))?"', page.read_text(encoding="utf-8")):
            target = file or page.name
            if not (folder / target).exists() or name and name not in names.get(target, {name}):
                dead.append(f"{page.name}: a link leads nowhere: {file}#{name}")
    return dead


def make(folder, version):
    """Makes the site, and returns what is wrong with it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    settings = SETTINGS % {
        "source": SOURCE, "here": HERE, "python": sys.executable, "version": version, "folder": folder,
        "roots": " ".join(f'"{SOURCE / root}"' for root in ROOTS),
        "inputs": " ".join(f'"{path}"' for path in pages.pages() + headers())}
    done = subprocess.run(["doxygen", "-"], input=settings, capture_output=True, text=True, check=False)
    wrong = [line for line in done.stderr.splitlines() if line.strip() and not NEEDS_NONE.search(line)]
    if done.returncode and not wrong:
        wrong = [f"doxygen: exit {done.returncode}"]
    return wrong + dead_links(folder)


def main():
    if shutil.which("doxygen") is None:
        print("there is no doxygen here: apt install doxygen")
        return 77
    folder = pathlib.Path(sys.argv[1]).resolve()
    wrong = make(folder, sys.argv[2] if len(sys.argv) > 2 else "")
    print("\n".join(wrong) if wrong else f"the site is in {folder / 'index.html'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
