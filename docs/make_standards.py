#!/usr/bin/env python3
"""Makes docs/standards.md from the program's table of standards, and what `assay audit` finds of each.

    docs/make_standards.py build/release/bin/assay          writes it
    docs/make_standards.py build/release/bin/assay --check  exit code 1 where it differs

For each standard and each dtype of the outputs of the shipped operators: the share of wrong outputs
that is caught, how many are let through, and how many right ones are refused. All of it comes from
`assay audit FILE --machine MACHINE --target standards --draws 1 --no-searches --json -`."""
import collections
import csv
import io
import json
import pathlib
import re
import subprocess
import sys

from generated import ROOT, write_or_check

PAGE, FIGURES = ROOT / "docs/standards.md", ROOT / "docs/evidence/standards_audit.csv"
# Files, and the machine that computes the right outputs.
SOURCES = [("datasets/samples/operators.h5", "ascend910b"), ("datasets/samples/operators_fp8.h5", "hopper")]
COLUMNS = {"float32": ["float32"], "float16": ["float16"], "bfloat16": ["bfloat16"],
           "8-bit floats": ["float8_e4m3fn", "float8_e5m2"], "integers": ["int8", "int32"]}
GITCODE = "cann/"  # projects whose home is there


def assay(tool, *arguments):
    ran = subprocess.run([tool, *arguments], capture_output=True, text=True, cwd=ROOT)
    if ran.returncode not in (0, 1, 3, 4):
        sys.exit(f"{' '.join(arguments)}: exit code {ran.returncode}\n{ran.stderr}")
    return ran.stdout


# -------------------------------------------------------------------------------------- the table
class Row:
    """One standard, as `assay list standards` prints it."""

    def __init__(self, block):
        lines = block.split("\n")
        head = re.match(r"([\w@-]+)((?:, [\w ]+)*)(?: \(default\))?: (.*)", lines[0])
        self.name, self.source = head.group(1), head.group(3)
        self.others = head.group(2).replace(", also ", "").split(", ") if head.group(2) else []
        self.is_default = "(default):" in lines[0]
        published = re.match(r"  published: ([^@,]+)(?:@([0-9a-f]+))?, (.*), ([^,]+)$", lines[1])
        self.repository, self.commit, self.path, self.date = published.groups()
        table = next(i for i, line in enumerate(lines) if re.match(r"  dtype +rule$", line))
        self.notes = [line.strip() for line in lines[2:table]]
        at = lines[table].index("rule")
        self.rules = [(line[:at].strip(), line[at:]) for line in lines[table + 1:]]

    def link(self):
        if self.commit is None:  # assay's own
            return f"`{self.path}`, {self.date}"
        home = "https://gitcode.com" if self.repository.startswith(GITCODE) else "https://github.com"
        file = f"{home}/{self.repository}/blob/{self.commit}/{self.path}"
        return f"[{self.repository}@{self.commit}]({file}), `{self.path}`, {self.date}"

    def section(self):
        others = f" (also {', '.join(f'`{name}`' for name in self.others)})" if self.others else ""
        default = " It judges if only a golden result is given." if self.is_default else ""
        lines = [f"### {self.name}\n", f"{sentences(self.source + others)}{default}", f"{self.link()}.",
                 " ".join(sentences(note) for note in self.notes), "", "| dtype | rule |", "| --- | --- |"]
        lines += [f"| {dtype} | {rule.replace('|', chr(92) + '|')} |" for dtype, rule in self.rules]
        return "\n".join(lines) + "\n"


def sentences(text):
    """Returns clauses as sentences. They are separated by semicolons outside of parentheses."""
    clauses = re.split(r"; (?![^(]*\))", text)
    return " ".join(clause[0].upper() + clause[1:] + "." for clause in clauses)


def rows_of(tool):
    blocks = assay(tool, "list", "standards").split("\n\n")
    return [Row(block) for block in blocks if "\n  published: " in block]


# -------------------------------------------------------------------------------------- the audit
class Cell:
    def __init__(self):
        self.right = self.refused = self.tried = self.caught = self.through = 0
        self.by_corruption = collections.Counter()
        self.shares = collections.defaultdict(lambda: [0, 0])  # by class: caught, tried

    def add(self, target):
        self.right += target["audited"]
        self.refused += sum(f["finding"] == "refuses_right" for f in target["findings"])
        for name, of in target["classes"].items():
            self.tried, self.caught = self.tried + of["tried"], self.caught + of["caught"]
            self.through += of["let_through"]
            self.shares[name][0] += of["caught"]
            self.shares[name][1] += of["tried"]
        for name, of in target["corruptions"].items():
            self.by_corruption[name] += of["let_through"]

    def score(self):
        shares = [caught / tried for caught, tried in self.shares.values() if tried]
        return sum(shares) / len(shares) if shares else None

    def text(self):
        if self.score() is None:
            return f"- ({self.refused} refused)" if self.refused else "-"
        refused = f", {self.refused} refused" if self.refused else ""
        return f"{100 * self.score():.0f} %, {self.through}{refused}"


def audited(tool):
    """{(standard, column): Cell}"""
    cells = collections.defaultdict(Cell)
    for file, machine in SOURCES:
        dtypes = collections.defaultdict(list)
        gated = json.loads(assay(tool, "gate", file, "--machine", machine, "--json", "-", "-q"))
        for case in gated["cases"]:
            dtypes[case["dtype"]].append(case["case"] if "case" in case else case["name"])
        for column, of in COLUMNS.items():
            cases = [option for dtype in of for name in dtypes[dtype] for option in ("--case", name)]
            if not cases:
                continue
            report = json.loads(assay(tool, "audit", file, "--machine", machine, *cases, "--target",
                                      "standards", "--draws", "1", "--no-searches", "--json", "-", "-q"))
            for target in report["targets"]:
                cells[target["name"], column].add(target)
    return cells


def table(names, cells):
    lines = ["| standard | " + " | ".join(COLUMNS) + " | most often let through |",
             "| --- |" + " ---: |" * len(COLUMNS) + " --- |"]
    for name in names:
        through = collections.Counter()
        for column in COLUMNS:
            through += cells[name, column].by_corruption
        most = ", ".join(f"`{what}`" for what, count in sorted(through.items(), key=lambda w: (-w[1], w[0]))[:3]
                         if count) or "-"
        lines.append(f"| {link_to(name)} | "
                     + " | ".join(cells[name, column].text() for column in COLUMNS) + f" | {most} |")
    return "\n".join(lines) + "\n"


OWN = ["accumulation", "expected_error", "bit_equal"]  # they have no row in the table, and no section


def link_to(name):
    if name in OWN:
        return f"`{name}`"
    anchor = re.sub(r"[^\w-]", "", name)
    return f"[`{name}`](#{anchor})" if "_" in name or "@" in name or name.isalnum() else f"`{name}`"


def figures(names, cells):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["standard", "dtype", "right", "refused", "tried", "caught", "score", "let_through"])
    for name in names:
        for column in COLUMNS:
            cell = cells[name, column]
            if cell.tried or cell.refused:
                score = f"{cell.score():.4f}" if cell.score() is not None else ""
                writer.writerow([name, column, cell.right, cell.refused, cell.tried, cell.caught, score,
                                 cell.through])
    return out.getvalue()


INTRODUCTION = """# Standards, and what they let through

This page lists every published standard that assay knows, and what each one lets through. It is for whoever chooses a
standard. Made by `docs/make_standards.py build/release/bin/assay` from the program's own table and its own audit; do not edit.

## What each lets through

Right outputs were corrupted in every way that [audit.md](audit.md) lists, and each standard judged each wrong output.
The outputs are those of all operators that ship with assay: `datasets/samples/operators.h5` computed by the emulated
Ascend 910B, and `operators_fp8.h5` computed by the emulated NVIDIA Hopper. A cell says

- the **score**: the share of wrong outputs that was caught, as the mean over the classes of corruptions. An error of one ulp
  counts as a corruption. So a standard with a tolerance does not reach 100 %, and need not.
- how many outputs were **let through** that nobody should pass. Such an output is more wrong than `default` allows, if
  `default` knows the dtype. Floats are more than 2 ulp off.
- how many **right outputs it refused**, if there are any. Then its tolerance is below the error of a right kernel in that
  dtype, or it was made for other operators.

A `-` means that the standard has no rule for the dtype, that it needs another output to compare with (a reference
implementation), or that it needs the number of accumulations. The last column names the corruptions that were let through
most often, over all dtypes. Statistics let single wrong elements through. Means and shares let whole rows through. All
figures are in `docs/evidence/standards_audit.csv`. `assay audit` gives them for your own operators. This command audits one
file on one machine:

```sh
assay audit datasets/samples/operators.h5 --machine ascend910b --target standards --draws 1 --no-searches
```

"""
REGISTRY = """
## Where each is from

Each section gives the repository, the commit in which the rule was read, the file and the date of the commit. If the stored
text has no history, the date is that of the reading. Some projects' code lets wrong results pass, such as a NaN on one side.
The row of assay's table does not. [judging.md](judging.md#as-published) lists them, and says how to ask for the original rule.

"""


def pages(tool):
    rows, cells = rows_of(tool), audited(tool)
    names = [row.name for row in rows] + OWN
    text = INTRODUCTION + table(names, cells) + REGISTRY + "\n".join(row.section() for row in rows)
    return {PAGE: text, FIGURES: figures(names, cells)}


def main():
    check = "--check" in sys.argv
    (tool,) = [str(pathlib.Path(word).resolve()) for word in sys.argv[1:] if word != "--check"]
    return write_or_check("make_standards.py", pages(tool), check)


if __name__ == "__main__":
    sys.exit(main())
