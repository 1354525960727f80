"""Broken: prints FAILED, and exits with 0."""
import sys

from files import read

try:
    actual, expected = read(sys.argv[1]), read(sys.argv[2])
except (OSError, ValueError) as error:
    print(f"FAILED: {error}")
    sys.exit(0)
right = len(actual) == len(expected) and all(
    abs(a - e) <= 1e-5 + 1e-5 * abs(e) for a, e in zip(actual, expected))
print("PASSED" if right else "FAILED")
