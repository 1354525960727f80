"""Writes golden_means.txt: means that fractions give, for golden_means_test.cc.

Run it as `python3 tests/op/golden_means.py > tests/op/golden_means.txt`. Each line has a dtype, the mean
of its values, exact and rounded once to that dtype, and the values.
"""
import random
from fractions import Fraction


def to_float32(exact: Fraction) -> float:
    """Returns the float32 nearest to a fraction in float32's normal range, ties to even."""
    if exact == 0:
        return 0.0
    size, exponent = abs(exact), 0
    while size >= 2:
        size, exponent = size / 2, exponent + 1
    while size < 1:
        size, exponent = size * 2, exponent - 1
    unit = Fraction(2) ** (exponent - 23)
    return float(round(exact / unit) * unit)


def write(dtype: str, values: list) -> None:
    exact = sum(map(Fraction, values)) / len(values)
    mean = float(exact) if dtype == "float64" else to_float32(exact)
    print(dtype, mean.hex(), *(v.hex() for v in values))


def main() -> None:
    draw = random.Random(10)
    write("float64", [1.5e308] * 4)
    write("float64", [1.7e308, 1.7e308, -1.7e308, 1.6e308, 1.5e308])
    write("float64", [5e-324, 0.0])
    write("float64", [5e-324, 1e-323, 5e-324])
    write("float64", [1.0, 2.0**-53, 0.0])
    write("float64", [1e16, 1.0, -1e16])
    write("float64", [0.1, 0.0, 0.0])
    for n in (1, 2, 3, 5, 7, 11, 49, 70):
        for spread in (0, 3, 40, 300):
            write("float64", [draw.gauss(0, 1) * 2.0 ** draw.randint(-spread, spread) for _ in range(n)])
            write("float64", [draw.random() * 2.0**-1050 for _ in range(n)])
            if spread < 100:
                of_float32 = [to_float32(Fraction(draw.gauss(0, 1) * 2.0 ** draw.randint(-spread, spread)))
                              for _ in range(n)]
                write("float32", of_float32)
    # The means lie near the middle of two float32 numbers: a tie, a number of 24 bits, and a tie that a small rest
    # breaks.
    write("float32", [1.0, 1.0 + 2.0**-23])
    write("float32", [1.0, 1.0 + 2.0**-23, 1.0 + 2.0**-22])
    write("float32", [1.0 + 2.0**-23, 1.0 + 2.0**-22, 2.0**-60, 2.0**-60])


main()
