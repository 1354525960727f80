#!/usr/bin/env python3
"""Lists the faults that faults_by_gate.py plants: wrong arithmetic in results, which a gate should catch.

    /usr/bin/python3 tests/proof/planted_faults.py [--csv FILE]

plant.py says what counts as a fault."""
import argparse
import collections
import sys

import numpy as np

from plant import dropped
from product_faults import products, scaled_products
from quantizer_faults import affine_quantizers, dequantizers, quantizers
from reports import write_csv
from row_faults import attentions, gelus, norms, softmaxes

FAMILIES = (products, scaled_products, attentions, softmaxes, norms, gelus, quantizers, affine_quantizers, dequantizers)


def plants(quick=False):
    """Yields the controls (right results; fault "") and the plants. quick: the small size only."""
    for family in FAMILIES:
        for size in ("small",) if quick else ("small", "large"):
            with np.errstate(all="ignore"):
                yield from family(size)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--csv", help="writes a line for each plant")
    options = parser.parse_args()
    made = [one for one in plants() if one.fault]
    head = ["operator", "fault", "setting", "changed", "of", "relative", "decided"]
    write_csv(options.csv, head, [[getattr(one, key) for key in head] for one in made])
    for operator, count in collections.Counter(one.operator for one in made).items():
        print(f"{operator}: {count}")
    print(f"{len(made)} plants; {sum('variety' in one.decided for one in made)} of them within the textbook bound")
    for operator, fault, setting, why in dropped:
        print(f"dropped as right in truth: {operator}, {fault}, {setting}: {why} of right evaluations")
    return 0


if __name__ == "__main__":
    sys.exit(main())
