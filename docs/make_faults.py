#!/usr/bin/env python3
"""Makes the table "fault by gate" of docs/trust.md, before and after.

    docs/make_faults.py build/release/bin/assay          writes it
    docs/make_faults.py build/release/bin/assay --check  exit code 1 where it differs

Plants the faults of tests/proof/planted_faults.py and asks `assay gate` about each of them. "Before" is what the
gate of version 0.2.0 of 2026-11-27 said of the same faults (tests/proof/before_faults.csv)."""
import collections
import csv
import pathlib
import re
import subprocess
import sys
import tempfile

from generated import ROOT, write_or_check

PAGE, FIGURES = ROOT / "docs/trust.md", ROOT / "docs/evidence/faults.csv"
PROOF = ROOT / "tests/proof"
GATES = ["default", "golden only", "`expected_error`", "`--abft` alone"]


def rows_of(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def cells(rows, gates):
    """{operator or (operator, fault): {gate: (caught, judged)}} over faults, and over right results."""
    found = collections.defaultdict(lambda: {gate: [0, 0] for gate in gates})
    for row in rows:
        kind = "right" if row["fault"] == "right" else "fault"
        for key in [(kind, row["operator"]), (kind, "all")]:
            for gate in gates:
                if row[gate]:
                    found[key][gate][0] += row[gate] in ("fail", "untrusted")
                    found[key][gate][1] += 1
    return found


def table(before, after):
    names = list(dict.fromkeys(operator for kind, operator in after if kind == "fault" and operator != "all")) + ["all"]
    lines = ["| operator | " + " | ".join(GATES) + " | right results that do not pass |",
             "| --- |" + " ---: |" * (len(GATES) + 1)]
    for name in names:
        line = []
        for gate in GATES:
            was, now = before["fault", name][gate], after["fault", name][gate]
            line.append(f"{was[0]} -> {now[0]} of {now[1]}" if now[1] else "-")
        was, now = before["right", name]["default"], after["right", name]["default"]
        lines.append(f"| {name} | " + " | ".join(line) + f" | {was[0]} -> {now[0]} of {now[1]} |")
    return "\n".join(lines) + "\n"


def main():
    tool, check = pathlib.Path(sys.argv[1]).resolve(), "--check" in sys.argv[2:]
    with tempfile.TemporaryDirectory() as folder:
        figures = pathlib.Path(folder) / "faults.csv"
        subprocess.run([sys.executable, "-B", PROOF / "faults_by_gate.py", "--assay", tool, "--csv", figures],
                       check=True, stdout=subprocess.DEVNULL)
        after, text = rows_of(figures), figures.read_text()
    content = table(cells(rows_of(PROOF / "before_faults.csv"), GATES), cells(after, GATES))
    page = re.sub(r"(<!-- faults -->\n).*(<!-- end of faults -->)",
                  lambda marks: marks.group(1) + content + marks.group(2), PAGE.read_text(), flags=re.S)
    return write_or_check("make_faults.py", {PAGE: page, FIGURES: text}, check)


if __name__ == "__main__":
    sys.exit(main())
