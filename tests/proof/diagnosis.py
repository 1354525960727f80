#!/usr/bin/env python3
"""Measures how often a failure's explanation names the right cause first, and how often it names one by chance.

    /usr/bin/python3 tests/proof/diagnosis.py --assay build/release/bin/assay [--quick] [--csv FILE]

The plants are those of planted_causes.py, which also has the texts that are right. A cause is *named* if the verdict's
`because` or `where` has a clause that says more than where the mismatches lie. The order is that of the text, `because`
first. The script exits with 1 if

  - the right cause is named first in fewer than 95 percent of the plants,
  - a cause is named in more than 1 percent of the failures that have none, or
  - an output that should fail does not.

`--self-test` runs the checks on explanations that are known to be wrong, each of which must fail for its own reason."""
import argparse
import collections
import csv
import os
import re
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import planted_causes
from store import File, gate, golden64, Array

LEAST_RIGHT, MOST_BY_CHANCE = 0.95, 0.01

# Clauses that say only where mismatches lie, how many there are, or how far off: not a cause.
NOT_A_CAUSE = re.compile(
    r"^(all in |misses |mismatches |a run of |every \d+|positions? \d+|on the |in the |only in |at |"
    r"\d[\d ]* of |\d[\d ]* elements? |the (first|last) \d|rows? [\d ,]+(to|and)? ?\d*$|columns? [\d ,]+$|"
    r"all \d|none of|spread |(looked|seen) |.*\bof [\d ]+ looked at)"
)
CAUSE = re.compile(
    r"would pass|written|stale|errors (like|as large as)|overflow|saturat|repeat|missing|not added|added twice|"
    r"\bbias\b|NaN|\bis nan\b|infinit|rounds to NaN|halves|reversed|flipped|stuck|moved|transpose|"
    r"exchanged|permut|another order|times|truncat|toward zero|cut (to|off)|negative values|subnormal|weight|"
    r"read as|terms|twice|last (element|term)|each (element|row|column)|is the (row|column|tile)"
)


def clauses(verdict):
    """Returns the clauses of an explanation that name a cause, in the order of the text."""
    # The first clause of `because` is the decision itself: how many elements differ by more than what.
    parts = verdict["because"].split("; ")[1:] + verdict.get("where", "").split("; ")
    parts = [part.strip() for part in parts if part.strip()]
    return [part for part in parts if CAUSE.search(part) and not NOT_A_CAUSE.match(part)]


def judge(tool, folder, made):
    """Returns {name of the plant: its entry in the JSON report}."""
    found = {}
    for standard in sorted({one.standard for one in made}):
        file, cases = File(f"{folder}/plants_{standard or 'default'}.h5"), {}
        for number, one in enumerate(made):
            if one.standard != standard:
                continue
            s = one.setting
            inputs = {key: Array(value, s.out if key == "bias" and s.op == "matmul" else s.operand) for key, value in s.inputs.items()}
            name = file.add(f"{number}", s.op, inputs, golden64(s.golden), one.stored(), {"output_dtype": s.out, **s.attributes})
            cases[name] = one.name
        file.close()
        judged, seconds = gate(tool, file.path, *(["--standard", standard] if standard else []))
        print(f"{standard or 'default'}: {len(cases)} cases in {seconds:.1f} s", file=sys.stderr)
        found.update({name: judged[case] for case, name in cases.items()})
        os.unlink(file.path)
    return found


def in_batches(tool, plants, batch=400):
    """Judges so many at a time, to need little memory. Yields (plant, entry); operands are dropped after that."""
    with tempfile.TemporaryDirectory() as folder:
        waiting = []
        for one in plants:
            waiting.append(one)
            if len(waiting) == batch:
                found = judge(tool, folder, waiting)
                yield from ((each, found[each.name]) for each in waiting)
                waiting = []
        if waiting:
            found = judge(tool, folder, waiting)
            yield from ((each, found[each.name]) for each in waiting)


def is_right(plant, entry):
    named = clauses(entry)
    return bool(named) and re.search(plant.accepts, named[0]) is not None


def lines_of(results):
    """Returns what is kept of each result: kind, size, name, outcome, whether it is right, text."""
    return [
        {
            "kind": plant.kind,
            "size": plant.size,
            "name": plant.name,
            "outcome": entry["outcome"],
            "right": int(is_right(plant, entry)) if plant.accepts else "",
            "named": "; ".join(clauses(entry)),
            "because": entry["because"],
            "where": entry.get("where", ""),
        }
        for plant, entry in results
    ]


def complaints(causes, chance):
    """Returns the reasons why the explanations are not good enough."""
    reasons = []
    passed = [one["name"] for one in causes if one["outcome"] != "fail"]
    if passed:
        reasons.append(f"{len(passed)} plants do not fail (first: {passed[0]})")
    right = sum(one["right"] for one in causes)
    if right < LEAST_RIGHT * len(causes):
        reasons.append(f"the right cause is named first in {right} of {len(causes)} plants, less than 95 percent")
    failed = [one for one in chance if one["outcome"] == "fail"]
    named = [one for one in failed if one["named"]]
    if not failed:
        reasons.append("none of the failures without a cause fails")
    elif len(named) > MOST_BY_CHANCE * len(failed):
        reasons.append(f"a cause is named in {len(named)} of {len(failed)} failures without a cause, more than 1 percent")
    return reasons


def self_test():
    """Each check must fail for its own reason."""
    right = {"name": "x", "outcome": "fail", "right": 1, "named": ""}
    chance = {"name": "y", "outcome": "fail", "named": ""}
    assert complaints([right] * 100, [chance] * 100) == []
    for causes, failures, reason in (
        ([{**right, "right": 0}] * 6 + [right] * 94, [chance] * 100, "named first in 94 of 100"),
        ([right] * 100, [{**chance, "named": "bit 3"}] * 2 + [chance] * 98, "named in 2 of 100"),
        ([{**right, "outcome": "pass"}] + [right] * 99, [chance], "1 plants do not fail (first: x)"),
        ([right], [{**chance, "outcome": "pass"}], "none of the failures"),
    ):
        found = complaints(causes, failures)
        assert len(found) == 1 and reason in found[0], (reason, found)
    verdict = {"because": "3 of 9 elements differ; errors like those of bfloat16 inputs", "where": "all in row 3; the transpose of the output would pass"}
    assert clauses(verdict) == ["errors like those of bfloat16 inputs", "the transpose of the output would pass"]
    assert clauses({"because": "3 of 9 elements differ", "where": "all in row 3"}) == []
    plant = planted_causes.Plant("p", "transposed", "small", "transpose", "", None, None)
    assert not is_right(plant, verdict), "the second cause must not count"
    assert is_right(plant, {**verdict, "because": "3 of 9 elements differ"})
    print("self-test: each check fails for its reason")


def count(lines, kind, size):
    of = [one for one in lines if one["kind"] == kind and one["size"] == size]
    return f"{sum(one['right'] for one in of)}/{len(of)}" if of else "-"


def table(causes, chance, before=None):
    """Returns the Markdown tables; with what another program said, both stand side by side."""
    sizes = list(planted_causes.SIZES)
    columns = [(name, lines) for name, lines in (("before", before), ("now", causes)) if lines]
    columns = columns if before else [("", causes)]
    head = ["cause"] + [f"{name} {size}".strip() for name, _ in columns for size in sizes]
    rows = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    for kind in dict.fromkeys(one["kind"] for one in causes):
        cells = [count(lines, kind, size) for _, lines in columns for size in sizes]
        rows.append("| " + " | ".join([kind, *cells]) + " |")
    total = [
        f"{sum(one['right'] for one in lines if one['size'] == size)}/{sum(one['size'] == size for one in lines)}"
        for _, lines in columns
        for size in sizes
    ]
    rows.append("| " + " | ".join(["**all**", *total]) + " |")
    return "\n".join(rows)


def chance_table(columns):
    """`columns`: (name, lines) of failures without a cause."""
    rows = ["| failures without a cause | " + " | ".join(name for name, _ in columns) + " |", "| --- |" + " ---: |" * len(columns)]
    kinds = list(dict.fromkeys(one["kind"] for one in columns[0][1]))

    def cell(lines):
        failed = [one for one in lines if one["outcome"] == "fail"]
        return f"{sum(bool(one['named']) for one in failed)}/{len(failed)}"

    for kind in kinds:
        rows.append(f"| {kind.replace('_', ' ')} | " + " | ".join(cell([one for one in lines if one["kind"] == kind]) for _, lines in columns) + " |")
    rows.append("| **all** | " + " | ".join(cell(lines) for _, lines in columns) + " |")
    return "\n".join(rows)


def read(path):
    with open(path, newline="") as file:
        lines = list(csv.DictReader(file))
    causes = [{**one, "right": int(one["right"])} for one in lines if one["right"] != ""]
    return causes, [one for one in lines if one["right"] == ""]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", help="the program")
    parser.add_argument("--quick", action="store_true", help="one seed for each kind at the small size, 160 failures without a cause")
    parser.add_argument("--seeds", type=int, default=20, help="seeds for each kind and size")
    parser.add_argument("--chance", type=int, default=2000, help="failures without a cause")
    parser.add_argument("--csv", help="writes a line for each result")
    parser.add_argument("--before", help="a file of --csv, which stands beside the result in the tables")
    parser.add_argument("--wrong", action="store_true", help="prints each wrong explanation")
    parser.add_argument("--kind", default="", help="regular expression: only these kinds")
    parser.add_argument("--self-test", action="store_true", help="checks the checks, and stops")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    began = time.time()
    chosen = (one for one in planted_causes.plants(2 if options.quick else options.seeds) if not options.quick or one.size == "small")
    chosen = (one for one in chosen if re.search(options.kind, one.kind))
    causes = lines_of(in_batches(options.assay, chosen))
    chance = lines_of(in_batches(options.assay, planted_causes.chance_failures(160 if options.quick else options.chance)))
    if options.csv:
        with open(options.csv, "w", newline="") as out:
            writer = csv.DictWriter(out, list(causes[0]) , lineterminator="\n")
            writer.writeheader()
            writer.writerows(causes + chance)
    before = read(options.before) if options.before else (None, None)
    print(table(causes, chance, before[0]) + "\n")
    print(chance_table(([("before", before[1])] if before[1] else []) + [("now", chance)]) + "\n")
    for one in causes + chance if options.wrong else []:
        if one["right"] == 0 or (one["right"] == "" and one["named"]) or (one["right"] != "" and one["outcome"] != "fail"):
            print(f"{one['name']}: {one['outcome']}: {one['because']} || {one['where']}")
    print(f"{time.time() - began:.0f} s", file=sys.stderr)
    reasons = complaints(causes, chance)
    for reason in reasons:
        print(reason, file=sys.stderr)
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
