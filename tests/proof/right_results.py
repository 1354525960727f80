#!/usr/bin/env python3
"""Holds assay's gate to right results: none of them may fail or be `untrusted`.

    /usr/bin/python3 tests/proof/right_results.py --assay build/release/bin/assay [--csv FILE] [--quick]
    /usr/bin/python3 tests/proof/right_results.py --assay build/release/bin/assay --check
    /usr/bin/python3 tests/proof/right_results.py --assay build/release/bin/assay --selftest

Prints Markdown tables: the failed and untrusted right results by family and gate, and the false alarms by kind. The CSV
file has a line for each false alarm.

With --check, the exit code is 1 if there is a false alarm that known_alarms.csv does not list. A whole run (without
--quick) also fails if an entry of that list no longer occurs. With --selftest, the check itself is tested.

Sources of right results (each result is confirmed by an oracle that shares nothing with assay):
  - `products` of float16, bfloat16 and float8_e4m3fn operands, summed in float32 in six orders (right_data.py);
  - `rows`: reductions, softmax and norms of long rows in three orders (right_data.py);
  - `torch`: results of PyTorch's CPU kernels (torch_data.py). The exit code is 77 if only this source is asked for and
    PyTorch is not installed;
  - `machines`: what every emulated machine gives on hard data, under the machine's name (machine_data.py).
Only the last one names a machine or states an order. For the others the gate knows only the operator and its operands.
The golden results of the first three sources are the oracle's own. The environment variable ASSAY_PROOF_SEED draws
other data."""
import collections
import fnmatch
import itertools
import os
import pathlib
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import exact
import machine_data
import right_data
import torch_data
from reports import end_check, end_selftest, markdown, read_csv, read_options, write_csv
from store import File, decisive, gate

GATES = {"default": (), "expected_error": ("--standard", "expected_error")}
SOURCES = ("products", "rows", "torch", "machines")
KNOWN = pathlib.Path(__file__).with_name("known_alarms.csv")
HEAD = "family gate case op outcome mismatches sites worst_ratio standard because reproduce".split()
Alarm = collections.namedtuple("Alarm", HEAD)


class Tally:
    """Counts of outcomes by family and gate, and the false alarms themselves."""

    def __init__(self):
        self.counts = collections.defaultdict(lambda: collections.defaultdict(collections.Counter))
        self.alarms = []
        # For each family, the largest error divided by its limit: the textbook bound plus one rounding.
        self.used = collections.defaultdict(float)
        # The outcomes of results that are wrong by the definition of a machine.
        self.wrong_by_definition = collections.Counter()
        self.notes = []

    def add(self, family, gate_name, case):
        self.counts[family][gate_name][case["outcome"]] += 1
        if case["outcome"] != "pass":
            worst = decisive(case)
            self.alarms.append(
                Alarm(
                    family=family,
                    gate=gate_name,
                    mismatches=worst.get("mismatches", 0),
                    sites=worst.get("sites", 0),
                    worst_ratio=worst.get("worst_ratio", ""),
                    standard=worst.get("bound", {}).get("standard", ""),
                    **{key: case[key] for key in ("case", "op", "outcome", "because", "reproduce")},
                )
            )

    def judged(self, family):
        return max(sum(counts.values()) for counts in self.counts[family].values())

    def cells(self, families, gate_name):
        """Returns how many results failed (or could not be judged) and how many were untrusted."""
        counts = sum((self.counts[family][gate_name] for family in families), collections.Counter())
        if not counts:
            return ["-", "-"]
        other = sum(counts.values()) - counts["pass"] - counts["fail"] - counts["untrusted"]
        return [str(counts["fail"]) + (f" (+{other} not judged)" if other else ""), str(counts["untrusted"])]


def right_cases(source, quick):
    """Yields the right results of a source that names no machine."""
    if source == "products":
        for dtype in ("float16", "bfloat16", "float8_e4m3fn"):
            yield from right_data.products(dtype, 10 if quick else 100)
    elif source == "rows":
        yield from right_data.rows_family(3 if quick else 25)
    elif torch_data.available():
        yield from torch_data.cases(quick)


def judge_cases(tally, tool, path, cases, gates=GATES):
    """Writes the right results to a dataset file and judges them by each gate."""
    file, family_of = File(path), {}
    for one in cases:
        name = file.add(one.name, one.op, one.inputs, one.golden, one.output, one.attributes)
        family_of[name] = one.family
        tally.used[one.family] = max(tally.used[one.family], one.used)
    file.close()
    for gate_name, words in gates.items():
        judged, _ = gate(tool, file.path, *words)
        assert set(judged) == set(family_of), "the report lacks cases"
        for case_name, family in family_of.items():
            tally.add(family, gate_name, judged[case_name])


def judge_machines(tally, tool, folder, quick):
    """Judges what every machine gives by the default gate."""
    golden, refused = machine_data.make(tool, folder, quick)
    if refused:
        tally.notes.append(refused)
    for machine in machine_data.machines(tool):
        outputs = machine_data.emulate(tool, golden, machine, folder)
        judged, _ = gate(tool, golden, "--outputs", outputs, recorded=machine)
        for case in judged.values():
            if case["outcome"] == "not_comparable" and "no recorded output" in case["because"]:
                # The machine does not take this dtype.
                continue
            if machine_data.is_right(machine, case["case"]):
                tally.add(f"emulated {machine}", "default", case)
            else:
                tally.wrong_by_definition[case["outcome"]] += 1


def judge(tool, folder, sources, quick):
    """Judges the right results of each source by the gates, and returns the tally of the verdicts."""
    tally = Tally()
    for source in sources:
        if source == "machines":
            judge_machines(tally, tool, folder, quick)
        elif source != "torch" or torch_data.available():
            judge_cases(tally, tool, f"{folder}/{source}.h5", right_cases(source, quick))
    return tally


def print_report(tally, sources, quick):
    """Prints the tables and what was left out of them."""
    print("Right results: failed and untrusted of N. *Used*: the largest error over its textbook bound.\n")
    rows = [
        [
            family,
            tally.judged(family),
            *tally.cells([family], "default"),
            *tally.cells([family], "expected_error"),
            f"{tally.used[family]:.3f}" if family in tally.used else "-",
        ]
        for family in list(tally.counts)
    ]
    every = [cell for gate_name in GATES for cell in tally.cells(list(tally.counts), gate_name)]
    rows.append(["**all**", sum(row[1] for row in rows), *every, ""])
    print(
        markdown(["family", "N", "default: failed", "untrusted", "`expected_error`: failed", "untrusted", "used"], rows)
    )
    print(f"Seed {right_data.SEED}; {'a sample (--quick)' if quick else 'full size'}.")
    if "torch" in sources and torch_data.available():
        print(
            f"{len(torch_data.left_out)} results of PyTorch {torch_data.torch.__version__} are left out: the oracle "
            "does not confirm them (bfloat16 kernels that keep less than float32 or may do so, or results as small as "
            "the bound)."
        )
    elif "torch" in sources:
        print("PyTorch is not installed: its right results are left out.")
    if "machines" in sources:
        outcomes = ", ".join(f"{n} {word}" for word, n in sorted(tally.wrong_by_definition.items()))
        print(
            f"{sum(tally.wrong_by_definition.values())} emulated results are not counted, because the machine's "
            "definition makes them wrong (on the 910B's vector unit NaN becomes 0, and so does tanh of a subnormal "
            f"number; on cdna2 subnormal operands become 0): {outcomes}."
        )
    kinds = collections.Counter((f"{a.family}, {a.gate}", a.op, a.outcome, a.standard) for a in tally.alarms)
    print("\nFalse alarms by kind:\n")
    rows = [[*kind, count] for kind, count in sorted(kinds.items())]
    print(markdown(["family and gate", "operator", "outcome", "judged by", "count"], rows) if rows else "none")


def is_known(entry, alarm):
    """Returns whether an entry of known_alarms.csv describes the alarm. Family, gate and case are patterns."""
    return entry["outcome"] == alarm.outcome and all(
        fnmatch.fnmatchcase(getattr(alarm, key), entry[key]) for key in ("family", "gate", "case")
    )


def complaints(tally, known, whole):
    """Returns a sentence for each false alarm that is not in the list of known ones. If `whole`, also returns one for
    each entry of the list that no longer occurs."""
    found = [
        f"A right result is judged {alarm.outcome}: {alarm.family}, {alarm.gate}, {alarm.case}: {alarm.because}\n"
        f"    ASSAY_PROOF_SEED={right_data.SEED} {alarm.reproduce}"
        for alarm in tally.alarms
        if not any(is_known(entry, alarm) for entry in known)
    ]
    stale = [entry for entry in known if whole and not any(is_known(entry, alarm) for alarm in tally.alarms)]
    return found + [
        f"The known alarm {entry['family']}, {entry['gate']}, {entry['case']} no longer occurs. Remove it from "
        f"{KNOWN.name}."
        for entry in stale
    ]


def is_of(entry, sources):
    """Returns whether an entry of known_alarms.csv is about one of the sources and about this seed. An entry without
    seeds is about every seed."""
    seeds = entry["seeds"].split()
    return entry["source"] in sources and (not seeds or str(right_data.SEED) in seeds)


def selftest(tool):
    """Checks that the check fails when it should, and says the reason."""
    cases = list(itertools.islice(right_data.products("float16", 3), 18))
    tally, strict = Tally(), Tally()
    with tempfile.TemporaryDirectory() as folder:
        judge_cases(tally, tool, f"{folder}/right.h5", cases)
        judge_cases(strict, tool, f"{folder}/strict.h5", cases, {"default": ("--rtol", "0", "--atol", "0")})
    entry = {"family": "products *", "gate": "default", "case": "product/*", "outcome": "fail"}
    failed = len(strict.alarms)
    found = {
        "right results, by the default gate": (complaints(tally, [], True), 0, ""),
        "right results, with a bound of 0": (complaints(strict, [], True), failed, "A right result is judged fail"),
        "alarms that are known": (complaints(strict, [entry], True), 0, ""),
        "an alarm that is known with another outcome": (
            complaints(strict, [{**entry, "outcome": "untrusted"}], False),
            failed,
            "A right result is judged fail",
        ),
        "a known alarm that no longer occurs": (complaints(tally, [entry], True), 1, "no longer occurs. Remove it"),
        "a known alarm outside a sample": (complaints(tally, [entry], False), 0, ""),
    }
    assert failed > 0, "no right result fails with a bound of 0"
    return end_selftest(found)


def main():
    options = read_options(
        __doc__,
        "false alarm",
        [("--source", {"action": "append", "choices": SOURCES, "help": "only this source; can be repeated"})],
    )
    exact.check_exact_sum()
    if options.selftest:
        return selftest(options.assay)
    sources, began = options.source or SOURCES, time.time()
    if list(sources) == ["torch"] and not torch_data.available():
        print("PyTorch is not installed: skipped")
        return 77
    with tempfile.TemporaryDirectory() as temporary:
        tally = judge(options.assay, options.keep or temporary, sources, options.quick)
    for note in tally.notes:
        print(f"note: {note}", file=sys.stderr)
    print_report(tally, sources, options.quick)
    write_csv(options.csv, HEAD, tally.alarms)
    print(f"{time.time() - began:.0f} s", file=sys.stderr)
    if not options.check:
        return 0
    known = [entry for entry in read_csv(KNOWN) if is_of(entry, sources)]
    return end_check(complaints(tally, known, not options.quick), "No right result is judged wrongly, but known ones")


if __name__ == "__main__":
    sys.exit(main())
