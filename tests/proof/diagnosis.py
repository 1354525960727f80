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
from store import File, decisive, gate, golden64, Array

LEAST_RIGHT, MOST_BY_CHANCE = 0.95, 0.01

# Matches clauses that say only where mismatches lie, how many there are, or how far off they are. These name no cause.
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
    # The first clause of `because` is left out. It is the decision itself: how many elements differ by more than the
    # bound.
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
            inputs = {
                key: Array(value, s.out if key == "bias" and s.op == "matmul" else s.operand)
                for key, value in s.inputs.items()
            }
            name = file.add(
                f"{number}", s.op, inputs, golden64(s.golden), one.stored(), {"output_dtype": s.out, **s.attributes}
            )
            cases[name] = one.name
        file.close()
        judged, seconds = gate(tool, file.path, *(["--standard", standard] if standard else []))
        print(f"{standard or 'default'}: {len(cases)} cases in {seconds:.1f} s", file=sys.stderr)
        for case, name in cases.items():
            found[name] = {**judged[case], "where": decisive(judged[case]).get("where", "")}
        os.unlink(file.path)
    return found


def in_batches(tool, plants, batch=400):
    """Judges `batch` plants at a time to save memory. Yields (plant, entry), and then drops the operands."""
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
        reasons.append(
            f"a cause is named in {len(named)} of {len(failed)} failures without a cause, more than 1 percent"
        )
    return reasons


def self_test():
    """Tests that each check fails for its own reason."""
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
    verdict = {
        "because": "3 of 9 elements differ; errors like those of bfloat16 inputs",
        "where": "all in row 3; the transpose of the output would pass",
    }
    assert clauses(verdict) == ["errors like those of bfloat16 inputs", "the transpose of the output would pass"]
    assert clauses({"because": "3 of 9 elements differ", "where": "all in row 3"}) == []
    plant = planted_causes.Plant("p", "transposed", "small", "transpose", "", None, None)
    assert not is_right(plant, verdict), "the second cause must not count"
    assert is_right(plant, {**verdict, "because": "3 of 9 elements differ"})
    print("self-test: each check fails for its reason")


def counts_of(causes, chance):
    """Returns {(kind, size): (right or named, judged)}. Failures without a cause have the size "chance"."""
    counts = collections.OrderedDict()
    failed = [one for one in chance if one["outcome"] == "fail"]
    keyed = [((one["kind"], one["size"]), one["right"]) for one in causes]
    keyed += [((one["kind"], "chance"), bool(one["named"])) for one in failed]
    for key, hit in keyed:
        hits, of = counts.get(key, (0, 0))
        counts[key] = (hits + int(hit), of + 1)
    return counts


def write_counts(path, counts):
    with open(path, "w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(["kind", "size", "count", "of"])
        writer.writerows([*key, *value] for key, value in counts.items())


def read_counts(path):
    with open(path, newline="") as file:
        return {(one["kind"], one["size"]): (int(one["count"]), int(one["of"])) for one in csv.DictReader(file)}


def tables(programs):
    """Returns two Markdown tables: that of the causes, and that of failures without a cause. `programs` has pairs (name
    of the program, its counts)."""
    sizes = list(planted_causes.SIZES)

    def cell(pairs):
        return f"{sum(hits for hits, _ in pairs)}/{sum(of for _, of in pairs)}" if pairs else "-"

    def lines(head, kinds, of_sizes):
        columns = [(counts, size) for _, counts in programs for size in of_sizes]
        rows = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(columns)]
        for kind in kinds:
            cells = [cell([counts[kind, size]] if (kind, size) in counts else []) for counts, size in columns]
            rows.append("| " + " | ".join([kind.replace("_", " "), *cells]) + " |")
        total = [cell([value for (kind, of), value in counts.items() if of == size]) for counts, size in columns]
        return "\n".join(rows + ["| " + " | ".join(["**all**", *total]) + " |"])

    known = programs[-1][1]
    kinds = list(dict.fromkeys(kind for kind, size in known if size != "chance"))
    without = list(dict.fromkeys(kind for kind, size in known if size == "chance"))
    names = [name for name, _ in programs]
    causes = lines(["cause"] + [f"{name} {size}".strip() for name in names for size in sizes], kinds, sizes)
    return causes, lines(["failures without a cause", *names], without, ["chance"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", help="the program")
    parser.add_argument(
        "--quick", action="store_true", help="one seed for each kind at the small size, 160 failures without a cause"
    )
    parser.add_argument("--seeds", type=int, default=20, help="seeds for each kind and size")
    parser.add_argument("--chance", type=int, default=2000, help="failures without a cause")
    parser.add_argument("--csv", help="writes a line for each result")
    parser.add_argument("--counts", help="writes how many of each kind are right")
    parser.add_argument("--before", help="a file of --counts, which stands beside the result in the tables")
    parser.add_argument("--wrong", action="store_true", help="prints each wrong explanation")
    parser.add_argument("--kind", default="", help="regular expression: only these kinds")
    parser.add_argument("--self-test", action="store_true", help="checks the checks, and stops")
    options = parser.parse_args()
    if options.self_test:
        return self_test()
    began = time.time()
    chosen = (
        one
        for one in planted_causes.plants(2 if options.quick else options.seeds)
        if not options.quick or one.size == "small"
    )
    chosen = (one for one in chosen if re.search(options.kind, one.kind))
    causes = lines_of(in_batches(options.assay, chosen))
    chance = lines_of(
        in_batches(options.assay, planted_causes.chance_failures(160 if options.quick else options.chance))
    )
    if options.csv:
        with open(options.csv, "w", newline="") as out:
            writer = csv.DictWriter(out, list(causes[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(causes + chance)
    counts = counts_of(causes, chance)
    if options.counts:
        write_counts(options.counts, counts)
    before = [("before", read_counts(options.before))] if options.before else []
    print("\n\n".join(tables(before + [("now" if before else "", counts)])) + "\n")
    for one in causes + chance if options.wrong else []:
        if (
            one["right"] == 0
            or (one["right"] == "" and one["named"])
            or (one["right"] != "" and one["outcome"] != "fail")
        ):
            print(f"{one['name']}: {one['outcome']}: {one['because']} || {one['where']}")
    print(f"{time.time() - began:.0f} s", file=sys.stderr)
    reasons = complaints(causes, chance)
    for reason in reasons:
        print(reason, file=sys.stderr)
    return 1 if reasons else 0


if __name__ == "__main__":
    sys.exit(main())
