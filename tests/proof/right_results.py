#!/usr/bin/env python3
"""Holds assay's gate to right results: none of them may fail or be `untrusted`.

    /usr/bin/python3 tests/proof/right_results.py --assay build/release/bin/assay
    /usr/bin/python3 tests/proof/right_results.py --assay build/release/bin/assay --csv alarms.csv --quick

Prints a Markdown table "right results: failed and untrusted of N" by family and gate. The exit code is 0 whatever the
table says, and 1 with --strict if a right result failed or was untrusted. The CSV file has a line for each false alarm.

Families (each result is confirmed by an oracle that shares nothing with assay: right_data.py, torch_data.py):
  - products of float16, bfloat16 and float8_e4m3fn operands, summed in float32 in six orders;
  - reductions, softmax and norms of long rows in three orders;
  - results of PyTorch's CPU kernels, if PyTorch is installed;
  - what every emulated machine gives on hard data, under the machine's name (machine_data.py).
All but the last name no machine and state no order: the gate knows only the operator and its operands. All golden
results of the first three families are the oracle's own. The environment's ASSAY_PROOF_SEED draws other data."""
import argparse
import collections
import csv
import itertools
import os
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import exact
import machine_data
import right_data
import torch_data
from store import File, gate, markdown, run_assay

GATES = (("default", ()), ("expected_error", ("--standard", "expected_error")))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--assay", required=True, help="the program")
    parser.add_argument("--csv", help="writes a line for each false alarm")
    parser.add_argument("--quick", action="store_true", help="a subset, in less than 60 seconds")
    parser.add_argument("--strict", action="store_true", help="exit code 1 if there is a false alarm")
    parser.add_argument("--keep", help="folder that keeps the dataset files")
    return parser.parse_args()


def families(quick):
    yield "products", itertools.chain(
        *(right_data.products(dtype, 20 if quick else 100) for dtype in ("float16", "bfloat16", "float8_e4m3fn"))
    )
    yield "rows", right_data.rows_family(5 if quick else 25)
    if torch_data.available():
        yield "torch", torch_data.cases(quick)


class Tally:
    """Counts of outcomes by family and gate, and the false alarms themselves."""

    def __init__(self):
        self.counts, self.alarms, self.standards = collections.OrderedDict(), [], collections.Counter()

    def add(self, family, gate_name, case):
        counts = self.counts.setdefault(family, {}).setdefault(gate_name, collections.Counter())
        counts[case["outcome"]] += 1
        self.standards[gate_name, case.get("bound", {}).get("standard", "-")] += 1
        if case["outcome"] != "pass":
            self.alarms.append(
                (
                    family,
                    gate_name,
                    case["case"],
                    case["op"],
                    case["outcome"],
                    case["misses"],
                    case["sites"],
                    case.get("worst_ratio", ""),
                    case.get("bound", {}).get("standard", ""),
                    case["because"],
                    case["reproduce"],
                )
            )

    def cells(self, family, gate_name):
        counts = self.counts[family].get(gate_name)
        if counts is None:
            return ["-", "-"]
        other = sum(counts.values()) - counts["pass"] - counts["fail"] - counts["untrusted"]
        return [str(counts["fail"]) + (f" (+{other} not judged)" if other else ""), str(counts["untrusted"])]


def main():
    options = arguments()
    exact.check_exact_sum()
    tally, began = Tally(), time.time()
    folder_context = tempfile.TemporaryDirectory()
    folder = options.keep or folder_context.name
    os.makedirs(folder, exist_ok=True)
    worst = collections.defaultdict(float)
    for name, cases in families(options.quick):
        file = File(f"{folder}/{name}.h5")
        family_of = {}
        for one in cases:
            family_of[file.add(one.name, one.op, one.inputs, one.golden, one.output, one.attributes)] = one.family
            worst[one.family] = max(worst[one.family], one.used)
        file.close()
        for gate_name, words in GATES:
            judged, _ = gate(options.assay, file.path, *words)
            assert set(judged) == set(family_of), "the report lacks cases"
            for case_name, family in family_of.items():
                tally.add(family, gate_name, judged[case_name])
    golden, lines, refused = machine_data.make(options.assay, folder, options.quick)
    if refused:
        print(f"note: {refused}", file=sys.stderr)
    listed = run_assay(options.assay, "list", "machines").stdout
    machines = [
        line.split(":")[0]
        for line in listed.splitlines()
        if line
        and line[0] != " "
        and ":" in line
        and not line.startswith("functions of")
        and line.split(":")[0].replace("_", "").isalnum()
    ]
    machines = [one for one in machines if one not in ("documented", "inferred", "exact")]
    flagged = []
    for machine in machines:
        outputs = machine_data.emulate(options.assay, golden, machine, folder)
        judged, _ = gate(options.assay, golden, "--outputs", outputs, recorded=machine)
        for case in judged.values():
            if case["outcome"] == "not_comparable" and "no recorded output" in case["because"]:
                continue  # the machine does not take this dtype
            if machine_data.is_right(machine, case["case"]):
                tally.add(f"emulated {machine}", "default", case)
            else:
                flagged.append(case["outcome"])
    rows, total = [], collections.Counter()
    for family in tally.counts:
        count = max(sum(c.values()) for c in tally.counts[family].values())
        rows.append(
            [
                family,
                count,
                *tally.cells(family, "default"),
                *tally.cells(family, "expected_error"),
                f"{worst[family]:.3f}" if family in worst else "-",
            ]
        )
        for gate_name, counts in tally.counts[family].items():
            total.update({(gate_name, word): n for word, n in counts.items()})
    rows.append(
        ["**all**", sum(row[1] for row in rows)]
        + [f"{total[gate_name, word]}" for gate_name in ("default", "expected_error") for word in ("fail", "untrusted")]
        + [""]
    )
    print(
        "Right results: failed and untrusted of N. *Used*: the largest error over its textbook bound, by the oracle.\n"
    )
    print(
        markdown(["family", "N", "default: failed", "untrusted", "`expected_error`: failed", "untrusted", "used"], rows)
    )
    print(f"Seed {right_data.SEED}; {'a subset (--quick)' if options.quick else 'full size'}.")
    if torch_data.available():
        print(
            f"{len(torch_data.left_out)} results of PyTorch {torch_data.torch.__version__} are left out: the oracle "
            "does not confirm them (bfloat16 kernels that keep less than float32, or results as small as the bound)."
        )
    else:
        print("PyTorch is not installed: its family is left out.")
    outcomes = ", ".join(f"{n} {word}" for word, n in sorted(collections.Counter(flagged).items()))
    print(
        f"{len(flagged)} emulated results are not counted, because the machine's definition makes them wrong (on the "
        "910B's vector unit NaN becomes 0, and so does tanh of a subnormal number; on cdna2 subnormal operands become "
        f"0): {outcomes}."
    )
    shapes = collections.Counter()
    for family, gate_name, _, op, outcome, *_, standard, because, _ in tally.alarms:
        shapes[gate_name, family, op, outcome, standard] += 1
    print("\nFalse alarms by kind:\n")
    print(
        markdown(
            ["family and gate", "operator", "outcome", "judged by", "count"],
            [[f"{f}, {g}", op, o, s, n] for (g, f, op, o, s), n in sorted(shapes.items())],
        )
        if shapes
        else "none"
    )
    if options.csv:
        with open(options.csv, "w", newline="") as out:
            writer = csv.writer(out, lineterminator="\n")
            writer.writerow(
                [
                    "family",
                    "gate",
                    "case",
                    "op",
                    "outcome",
                    "misses",
                    "sites",
                    "worst_ratio",
                    "standard",
                    "because",
                    "reproduce",
                ]
            )
            writer.writerows(tally.alarms)
    print(f"{time.time() - began:.0f} s", file=sys.stderr)
    folder_context.cleanup()
    return 1 if options.strict and tally.alarms else 0


if __name__ == "__main__":
    sys.exit(main())
