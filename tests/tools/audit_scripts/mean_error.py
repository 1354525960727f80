"""Broken: judges the mean error, which hides one wrong element among many."""
import sys

from files import read

actual, expected = read(sys.argv[1]), read(sys.argv[2])
if len(actual) != len(expected) or len(actual) == 0:
    sys.exit("another number of elements")
mean = sum(abs(a - e) for a, e in zip(actual, expected)) / len(expected)
if not mean <= 1e-2:
    sys.exit(f"mean error {mean}")
