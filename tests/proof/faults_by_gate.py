#!/usr/bin/env python3
"""Counts which gate catches which planted fault.

    /usr/bin/python3 tests/proof/faults_by_gate.py --assay build/release/bin/assay [--csv FILE] [--quick]
    /usr/bin/python3 tests/proof/faults_by_gate.py --assay build/release/bin/assay --check
    /usr/bin/python3 tests/proof/faults_by_gate.py --assay build/release/bin/assay --selftest

Prints Markdown tables: all plants by operator and gate, and each kind of fault by gate. A cell is caught/planted; a
number of outcomes that are `untrusted` (neither passed nor caught) follows in brackets. Rows *right* are the controls:
up to three right evaluations of the same operands, for which the cell is failed/judged. Read the faults that a gate
catches together with its outcomes for these controls. The CSV file has a line for each plant, with each gate's outcome.

With --check, the exit code is 1 if a gate catches fewer faults of an operator than the committed table of this seed
says, or fails more controls: docs/evidence/faults.csv (by docs/make_faults.py), and faults_seed_N.csv (by --csv) for
another seed N. With --selftest, the check itself is tested.

Gates, each `assay gate` on dataset files that this script writes, with no other option than the one named:
  - `default`: the case has its operands, so its operator's own bound decides;
  - `golden only`: the same without operands;
  - `--standard expected_error`, `torch`, `triton_ascend`;
  - `--abft`: only the checksums of matmul and attention.
The plants are those of planted_faults.py, whose oracle decides what is wrong. The environment variable ASSAY_PROOF_SEED
draws other data."""
import collections
import itertools
import os
import pathlib
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

import exact
import planted_faults
import row_faults
from reports import end_check, end_selftest, markdown, read_csv, read_options, write_csv
from right_data import DEFAULT_SEED, SEED
from store import File, gate

HERE = pathlib.Path(__file__).resolve().parent
COMMITTED = HERE.parents[1] / "docs/evidence/faults.csv" if SEED == DEFAULT_SEED else HERE / f"faults_seed_{SEED}.csv"
# The largest share of plants in which a run may differ from the committed table. BLAS adds in another order on another
# processor, so that a fault that is nearly right may be dropped there.
OTHER_PLANTS = 0.01
WITH_CHECKSUMS = ("matmul", "attention")
CHECKSUMS = "`--abft` alone"
# For each gate: whether the file has the operands, and the options of `assay gate`.
GATES = {
    "default": (True, ()),
    "golden only": (False, ()),
    "`expected_error`": (True, ("--standard", "expected_error")),
    "`torch`": (True, ("--standard", "torch")),
    "`triton_ascend`": (True, ("--standard", "triton_ascend")),
    CHECKSUMS: (True, ("--abft", *(word for op in WITH_CHECKSUMS for word in ("--case", f"{op}*")))),
}


def write_files(folder, made):
    """Writes the plants to two dataset files. Returns {whether it has the operands: path}, and {plant: case}."""
    paths = {}
    for has_operands in (True, False):
        file = File(f"{folder}/faults_{'with' if has_operands else 'without'}_operands.h5", has_operands)
        case_of = {
            one.name: file.add(
                one.name, one.op, one.inputs, one.golden, one.output, one.attributes if has_operands else {}
            )
            for one in made
        }
        file.close()
        paths[has_operands] = file.path
    assert len(set(case_of.values())) == len(made), "two plants have one name"
    return paths, case_of


def judge(tool, folder, made, gates=GATES):
    """Returns {gate: {name of the plant: outcome}}. The checksums have outcomes only of the operators they know."""
    paths, case_of = write_files(folder, made)
    outcomes = {}
    for name, (has_operands, words) in gates.items():
        judged, seconds = gate(tool, paths[has_operands], *words)
        print(f"{name}: {seconds:.1f} s", file=sys.stderr)
        of_case = {
            case: report["abft"] if name == CHECKSUMS else report
            for case, report in judged.items()
            if name != CHECKSUMS or "abft" in report
        }
        outcomes[name] = {plant: of_case[case]["outcome"] for plant, case in case_of.items() if case in of_case}
    return outcomes


def cell(outcomes, plants):
    """Returns "caught/planted", with the number of outcomes that are neither a pass nor a failure."""
    counts = collections.Counter(outcomes[one.name] for one in plants if one.name in outcomes)
    if not counts:
        return "-"
    others = [f"{n} {word}" for word, n in sorted(counts.items()) if word not in ("pass", "fail")]
    return f"{counts['fail']}/{sum(counts.values())}" + (f" ({', '.join(others)})" if others else "")


def print_report(made, outcomes, quick):
    """Prints the tables and what was left out of them."""
    faulty, right = [one for one in made if one.fault], [one for one in made if not one.fault]
    gates, operators = list(outcomes), list(dict.fromkeys(one.operator for one in made))

    def row(head, plants):
        return [head, *(cell(outcomes[name], plants) for name in gates)]

    print("Planted faults by operator: caught/planted. *Right*: controls, failed/judged.\n")
    rows = []
    for operator in operators:
        rows.append(row(operator, [one for one in faulty if one.operator == operator]))
        rows.append(row(f"{operator}: *right*", [one for one in right if one.operator == operator]))
    rows += [
        row("**all faults**", faulty),
        row("**all right**", right),
        row("faults within the textbook bound", [one for one in faulty if "variety" in one.decided]),
    ]
    print(markdown(["operator", *gates], rows))
    print("Fault by gate: caught/planted.\n")
    kinds = [
        kind
        for operator in operators
        for kind in dict.fromkeys((operator, one.fault) for one in faulty if one.operator == operator)
    ]
    rows = [row(": ".join(kind), [one for one in faulty if (one.operator, one.fault) == kind]) for kind in kinds]
    print(markdown(["fault", *gates], rows))
    print(
        f"{len(faulty)} plants in {len({(one.operator, one.setting) for one in right})} settings, seed {SEED}"
        f"{', small sizes only (--quick)' if quick else ''}; {len(planted_faults.dropped)} further faults are "
        "not counted, because the oracle cannot tell them from right results."
    )


def table_of(made, outcomes):
    """Returns a dictionary for each plant: the line of the CSV file."""
    return [
        {
            "operator": one.operator,
            "fault": one.fault or "right",
            "setting": one.setting,
            "dtypes": one.dtypes,
            "size": one.size,
            "changed": one.changed,
            "of": one.of,
            "largest_relative": f"{one.relative:.3g}",
            "decided": one.decided,
            **{name: outcomes[name].get(one.name, "") for name in outcomes},
        }
        for one in made
    ]


def plant_of(row):
    return row["operator"], row["fault"], row["setting"]


def failures(table, operator, gate_name, is_right):
    """Returns {plant: number of its failures by a gate} for the plants of an operator. These are the right results if
    `is_right`, and otherwise the faults, which are then caught."""
    return collections.Counter(
        plant_of(row)
        for row in table
        if row["operator"] == operator and row[gate_name] == "fail" and (row["fault"] == "right") == is_right
    )


def complaints(rows, committed, whole):
    """Returns a sentence for each operator and gate whose faults are caught less often than in the committed table, or
    whose controls fail more often. It compares the plants that both tables have. If `whole`, both must have nearly the
    same plants."""
    found = []
    planted, listed = (collections.Counter(map(plant_of, table)) for table in (rows, committed))
    new, gone = (sum(counts.values()) for counts in (planted - listed, listed - planted))
    if whole and new + gone > OTHER_PLANTS * len(committed):
        found.append(
            f"{new} plants are not in {COMMITTED.name}, and {gone} of its plants are no longer there. Make it again."
        )
    rows, committed = ([row for row in table if plant_of(row) in planted & listed] for table in (rows, committed))
    operators, gates = dict.fromkeys(row["operator"] for row in rows), [name for name in GATES if name in rows[0]]
    for operator, name in itertools.product(operators, gates):
        now, then = (failures(table, operator, name, False) for table in (rows, committed))
        if sum(now.values()) < sum(then.values()):
            found.append(
                f"{name} catches {sum(now.values())} faults of {operator}. {COMMITTED.name} says "
                f"{sum(then.values())} of the same. Missed now: "
                + "; ".join(f"{fault}, {setting}" for _, fault, setting in then - now)
            )
        now, then = (failures(table, operator, name, True) for table in (rows, committed))
        if sum(now.values()) > sum(then.values()):
            found.append(
                f"{name} fails {sum(now.values())} right results of {operator}. {COMMITTED.name} says "
                f"{sum(then.values())}. New: " + "; ".join(setting for _, _, setting in now - then)
            )
    return found


def selftest(tool):
    """Checks that the check fails when it should, and says the reason."""
    with np.errstate(all="ignore"):
        made = list(row_faults.softmaxes("small"))
    only = {"default": GATES["default"]}
    loose, strict = (
        {"default": (True, words)} for words in (("--rtol", "1", "--atol", "1"), ("--rtol", "0", "--atol", "0"))
    )
    with tempfile.TemporaryDirectory() as folder:
        own, loosened, tightened = (table_of(made, judge(tool, folder, made, gates)) for gates in (only, loose, strict))
    committed = read_csv(COMMITTED)
    found = {
        "the default gate": (complaints(own, committed, False), 0, ""),
        "a loosened gate": (complaints(loosened, committed, False), 1, "default catches 0 faults of softmax"),
        "a bound of 0": (complaints(tightened, committed, False), 1, "default fails"),
        "faults that are no longer planted": (complaints(own, committed, True), 1, "Make it again"),
    }
    return end_selftest(found)


def main():
    options = read_options(__doc__, "plant")
    exact.check_exact_sum()
    if options.selftest:
        return selftest(options.assay)
    began = time.time()
    made = list(planted_faults.plants(options.quick))
    with tempfile.TemporaryDirectory() as temporary:
        outcomes = judge(options.assay, options.keep or temporary, made)
    print_report(made, outcomes, options.quick)
    rows = table_of(made, outcomes)
    write_csv(options.csv, rows[0], [row.values() for row in rows])
    print(f"{time.time() - began:.0f} s", file=sys.stderr)
    if not options.check:
        return 0
    if not COMMITTED.exists():
        return end_check([f"Seed {SEED} has no committed table. Make it with --csv {COMMITTED}"], "")
    return end_check(
        complaints(rows, read_csv(COMMITTED), not options.quick), f"Each gate catches what {COMMITTED.name} says"
    )


if __name__ == "__main__":
    sys.exit(main())
