#!/usr/bin/env python3
"""Makes the tables of docs/arrays.md and docs/interop.md from the program's own tables.

    docs/make_tables.py build/release/bin/assay          writes them
    docs/make_tables.py build/release/bin/assay --check  exit code 1 if one differs

A table is between `<!-- table: NAME -->` and `<!-- end of table -->`."""
import re
import subprocess
import sys

from generated import ROOT, write_or_check


def listed(tool, table):
    """The rows of `assay list TABLE`, each a list of its cells, with links to the pages that they name."""
    ran = subprocess.run([tool, "list", table], check=True, capture_output=True, text=True)
    lines = ran.stdout.split("\n\n")[0].splitlines()[1:]
    return [re.split(r" {2,}", re.sub(r"docs/(\w+\.md)", r"[\1](\1)", line)) for line in lines]


def markdown(head, rows):
    return "".join(f"| {' | '.join(row)} |\n" for row in [head, ["---"] * len(head), *rows])


def array_files(tool):
    rows = [(", ".join(f"`{ending}`" for ending in endings.split(", ")), f"`{example}`", reads)
            for _, endings, example, reads, _ in listed(tool, "array_formats")]
    rows[-1] = ("every other file", *rows[-1][1:])
    return markdown(["file", "named as", "what it says"], rows)


def array_dtypes(tool):
    rows = [(f"`{name}`", written) for name, _, _, _, written in listed(tool, "array_formats") if written != "none"]
    return markdown(["kind", "dtypes"], rows)


def layouts(tool):
    rows = [[f"`{name}`", what, f"`{example}`"] for name, what, example in listed(tool, "layouts")]
    rows.append(["`--pairs`", "any names, which a pair of patterns describes",
                 "`--pairs 'pairs/out/*_output_{i}.bin' 'pairs/gold/*_golden_{i}.bin'`"])
    return markdown(["layout", "what it looks like", "`assay gate`"], rows)


TABLES = {"docs/arrays.md": {"array files": array_files, "array dtypes": array_dtypes},
          "docs/interop.md": {"layouts": layouts}}


def main():
    tool, check = sys.argv[1], "--check" in sys.argv[2:]
    pages = {}
    for name, tables in TABLES.items():
        text = (ROOT / name).read_text()
        for table, make in tables.items():
            text, count = re.subn(rf"(<!-- table: {table} -->\n).*?(<!-- end of table -->)",
                                  lambda marks: marks.group(1) + make(tool) + marks.group(2), text, flags=re.S)
            assert count == 1, (name, table)
        pages[ROOT / name] = text
    return write_or_check("make_tables.py", pages, check)


if __name__ == "__main__":
    sys.exit(main())
