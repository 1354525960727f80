"""Right, and started once: a pair of paths a line, an answer a line."""
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
