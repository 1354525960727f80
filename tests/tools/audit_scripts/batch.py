"""Right. It starts once, reads a pair of paths from each line, and answers with one line for each.
"""
import sys

from files import read

for line in sys.stdin:
    try:
        actual, expected = (read(path) for path in line.rstrip("\n").split("\t"))
        right = len(actual) == len(expected) and all(
            abs(a - e) <= 1e-5 + 1e-5 * abs(e) for a, e in zip(actual, expected))
    except (OSError, ValueError):
        right = False
    print("pass" if right else "fail", flush=True)
