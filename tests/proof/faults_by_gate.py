#!/usr/bin/env python3
"""Counts which gate catches which planted fault.

    /usr/bin/python3 tests/proof/faults_by_gate.py --assay build/release/bin/assay [--csv FILE] [--quick]

Prints Markdown tables: all plants by operator and gate, and each kind of fault by gate. A cell is caught/planted; a
number of outcomes that are `untrusted` (neither passed nor caught) follows in brackets. Rows *right* are the controls:
up to three right evaluations of the same operands, for which the cell is failed/judged. What a gate catches counts only
beside what it says of these.

Gates, each `assay gate` on dataset files that this script writes, with no other option than the one named:
  - `default`: the case has its operands, so its operator's own bound decides;
  - `golden only`: the same without operands;
  - `--standard expected_error`, `torch`, `triton_ascend`;
  - `--abft`: the checksums alone, of matmul and attention.
The plants are those of planted_faults.py, whose oracle decides what is wrong. The environment's
ASSAY_PROOF_SEED draws other data."""
import argparse
import collections
import csv
import os
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import exact
import planted_faults
from right_data import SEED
from store import File, gate, markdown

WITH_CHECKSUMS = ("matmul", "attention")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", required=True, help="the program")
    parser.add_argument("--csv", help="writes a line for each plant, with each gate's outcome")
    parser.add_argument("--quick", action="store_true", help="the small sizes only, in less than 60 seconds")
    parser.add_argument("--keep", help="folder that keeps the dataset files")
    return parser.parse_args()


def judge(tool, folder, made):
    """Returns {gate: {name of the plant: outcome}}."""
    files = {}
    for key, inputs in (("with", True), ("without", False)):
        file = File(f"{folder}/faults_{key}_operands.h5", inputs)
        for one in made:
            case = file.add(one.name, one.op, one.inputs, one.golden, one.output, one.attributes if inputs else {})
            one.case = case
        file.close()
        files[key] = file.path
    assert len({one.case for one in made}) == len(made), "two plants have one name"
    outcomes = {}
    for name, file, words in (
        ("default", "with", []),
        ("golden only", "without", []),
        ("`expected_error`", "with", ["--standard", "expected_error"]),
        ("`torch`", "with", ["--standard", "torch"]),
        ("`triton_ascend`", "with", ["--standard", "triton_ascend"]),
    ):
        judged, seconds = gate(tool, files[file], *words)
        print(f"{name}: {seconds:.1f} s", file=sys.stderr)
        outcomes[name] = {one.name: judged[one.case]["outcome"] for one in made}
    judged, seconds = gate(
        tool, files["with"], "--abft", *[word for op in WITH_CHECKSUMS for word in ("--case", f"{op}*")]
    )
    print(f"checksums: {seconds:.1f} s", file=sys.stderr)
    outcomes["`--abft` alone"] = {
        one.name: judged[one.case]["abft"]["outcome"]
        for one in made
        if one.op in WITH_CHECKSUMS and "abft" in judged[one.case]
    }
    return outcomes


def cell(outcomes, plants):
    """Returns "caught/planted", with the number of outcomes that are neither a pass nor a failure."""
    counts = collections.Counter(outcomes[one.name] for one in plants if one.name in outcomes)
    if not counts:
        return "-"
    others = [f"{n} {word}" for word, n in sorted(counts.items()) if word not in ("pass", "fail")]
    return f"{counts['fail']}/{sum(counts.values())}" + (f" ({', '.join(others)})" if others else "")


def main():
    options = arguments()
    began = time.time()
    exact.check_exact_sum()
    made = list(planted_faults.plants(options.quick))
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or temporary
        os.makedirs(folder, exist_ok=True)
        outcomes = judge(options.assay, folder, made)
    faulty, right = [one for one in made if one.fault], [one for one in made if not one.fault]
    gates = list(outcomes)

    def row(head, plants):
        return head + [cell(outcomes[name], plants) for name in gates]

    operators = list(dict.fromkeys(one.operator for one in made))
    print("Planted faults by operator: caught/planted. *Right*: controls, failed/judged.\n")
    rows = []
    for operator in operators:
        rows.append(row([operator], [one for one in faulty if one.operator == operator]))
        rows.append(row([f"{operator}: *right*"], [one for one in right if one.operator == operator]))
    rows += [
        row(["**all faults**"], faulty),
        row(["**all right**"], right),
        row(["faults within the textbook bound"], [one for one in faulty if "variety" in one.decided]),
    ]
    print(markdown(["operator", *gates], rows))
    print("Fault by gate: caught/planted.\n")
    rows = []
    for operator in operators:
        kinds = list(dict.fromkeys(one.fault for one in faulty if one.operator == operator))
        rows += [
            row([f"{operator}: {kind}"], [one for one in faulty if (one.operator, one.fault) == (operator, kind)])
            for kind in kinds
        ]
    print(markdown(["fault", *gates], rows))
    print(
        f"{len(faulty)} plants in {len({(one.operator, one.setting) for one in right})} settings, seed {SEED}"
        f"{', small sizes only (--quick)' if options.quick else ''}; {len(planted_faults.dropped)} further faults are "
        "not counted, because the oracle cannot tell them from right results."
    )
    if options.csv:
        with open(options.csv, "w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(
                [
                    "operator",
                    "fault",
                    "setting",
                    "dtypes",
                    "size",
                    "changed",
                    "of",
                    "largest_relative",
                    "decided",
                    *gates,
                ]
            )
            for one in made:
                writer.writerow(
                    [
                        one.operator,
                        one.fault or "right",
                        one.setting,
                        one.dtypes,
                        one.size,
                        one.changed,
                        one.of,
                        f"{one.relative:.3g}",
                        one.decided,
                        *[outcomes[name].get(one.name, "") for name in gates],
                    ]
                )
    print(f"{time.time() - began:.0f} s", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
