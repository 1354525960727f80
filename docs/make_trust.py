#!/usr/bin/env python3
"""Makes the figures of docs/trust.md: what the gate lets through on the shipped data.

    docs/make_trust.py build/release/bin/assay              writes them
    docs/make_trust.py build/release/bin/assay --check      exit code 1 where they differ
    docs/make_trust.py build/release/bin/assay --check-own  the same of the own bounds alone, in a fraction of the time

For each standard and each operator: of the elements that are not zero the share that is blind, and
of the corruptions of `assay gate --mutate`, put into each output that passed, the share that was
caught. Everything comes from `assay gate ... --mutate --json -`."""
import collections
import csv
import io
import json
import pathlib
import re
import subprocess
import sys
import tempfile

from generated import ROOT, decisive, write_or_check

SAMPLES = ROOT / "datasets/samples"
# Files and where their outputs come from; those without golden results get them first.
SOURCES = [("operators.h5", ["--machine", "ascend910b"]),
           ("operators_fp8.h5", ["--machine", "hopper"]),
           ("transformer_gemms.h5", ["--recorded", "h200"]),
           ("hopper_mma.h5", ["--recorded", "h200"])]
OWN = "own bound"  # no standard asked: the case's own, or its operator's


class Figures:
    def __init__(self):
        self.outcomes = collections.Counter()
        self.blind = self.nonzero = self.applied = self.caught = 0
        self.by_mutation = collections.Counter()

    def add(self, case):
        self.outcomes[case["outcome"]] += 1
        self.blind += decisive(case).get("blind", 0)
        self.nonzero += decisive(case).get("nonzero", 0)
        for mutation in case.get("mutations", []):
            if mutation["applied"]:
                self.applied += 1
                self.caught += mutation["caught"]
                if not mutation["caught"]:
                    self.by_mutation[mutation["mutation"]] += 1

    def cells(self):
        def share(part, whole):
            return f"{100 * part / whole:.1f} %" if whole else "-"
        return [str(sum(self.outcomes.values())),
                *(str(self.outcomes[word]) for word in ("pass", "fail", "untrusted")),
                share(self.blind, self.nonzero), share(self.caught, self.applied),
                str(self.applied)]


HEAD = ["cases", "pass", "fail", "untrusted", "blind", "caught", "corruptions"]


def assay(tool, *arguments):
    ran = subprocess.run([tool, *arguments], capture_output=True, text=True)
    if ran.returncode not in (0, 1, 3, 4):
        sys.exit(f"{' '.join(arguments)}: exit code {ran.returncode}\n{ran.stderr}")
    return ran.stdout


def standards(tool):
    """Those with rows: each has lines of its own below its name."""
    listed = assay(tool, "list", "standards")
    return re.findall(r"^([\w@-]+)(?:, also [\w, ]+)?(?: \(default\))?: .*\n  published: ", listed, re.M)


def table(first, rows):
    lines = ["| " + " | ".join([first, *HEAD]) + " |", "|" + " --- |" + " ---: |" * len(HEAD)]
    lines += ["| " + " | ".join([f"`{name}`" if name != OWN else name, *figures.cells()]) + " |"
              for name, figures in rows]
    return "\n".join(lines) + "\n"


def measure(tool, asked_standards):
    """{(standard, operator): Figures}"""
    figures = collections.defaultdict(Figures)
    with tempfile.TemporaryDirectory() as folder:
        for file, source in SOURCES:
            golden = pathlib.Path(folder) / file
            assay(tool, "golden", str(SAMPLES / file), "--out", str(golden))
            for standard in asked_standards:
                asked = [] if standard == OWN else ["--standard", standard]
                report = json.loads(assay(tool, "gate", str(golden), *source, *asked, "--mutate",
                                          "--json", "-"))
                for case in report["cases"]:
                    # What cannot be compared says nothing of a standard.
                    if case["outcome"] != "not_comparable":
                        figures[standard, case["op"]].add(case)
    return figures


def summed(figures, index):
    rows = {}
    for key, one in figures.items():
        total = rows.setdefault(key[index], Figures())
        total.outcomes += one.outcomes
        total.by_mutation += one.by_mutation
        for field in ("blind", "nonzero", "applied", "caught"):
            setattr(total, field, getattr(total, field) + getattr(one, field))
    return rows


def tables(figures):
    """What stands between the page's marks, by their names."""
    by_standard = summed(figures, 0)
    own = {op: one for (standard, op), one in figures.items() if standard == OWN}
    missed = by_standard[OWN].by_mutation
    let_through = ", ".join(f"`{name}` {count}" for name, count in sorted(missed.items())) or "none"
    return {"standards": table("standard", by_standard.items()),
            "operators": table("operator", sorted(own.items())),
            "missed": f"The operators' own bounds let these numbers of corruptions through, by kind: {let_through}.\n"}


def csv_text(figures):
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["standard", "operator", *HEAD])
    for (standard, op), one in sorted(figures.items()):
        writer.writerow([standard, op, *one.cells()])
    return out.getvalue()


def check_own(figures, page, full):
    """The exit code: 1 where a line of the own bounds does not stand where it did."""
    lines = [line for content in tables(figures).values() for line in content.splitlines()]
    missing = [line for line in lines if line not in page.splitlines()]
    missing += [line for line in csv_text(figures).splitlines() if line not in full.splitlines()]
    for line in missing:
        print(f"not in docs/trust.md or docs/evidence/trust.csv: {line}")
    return 1 if missing else 0


def main():
    options = [word for word in sys.argv[1:] if word.startswith("--")]
    (tool,) = [word for word in sys.argv[1:] if word not in options]
    page, full = ROOT / "docs/trust.md", ROOT / "docs/evidence/trust.csv"
    text = page.read_text()
    if "--check-own" in options:
        return check_own(measure(tool, [OWN]), text, full.read_text())
    figures = measure(tool, [OWN, *standards(tool), "accumulation", "bit_equal"])
    for name, content in tables(figures).items():
        begin, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->"
        head, rest = text.split(begin)
        text = head + begin + content + end + rest.split(end)[1]
    return write_or_check("make_trust.py", {page: text, full: csv_text(figures)}, "--check" in options)


if __name__ == "__main__":
    sys.exit(main())
