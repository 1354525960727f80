"""Shared by the programs of this folder: their options, their tables, and how a check ends."""
import argparse
import csv
import os
import sys


def read_options(doc, rows, more=()):
    """Reads the options that every program has. `rows` says what a line of the CSV file is. `more` has further options,
    as (name, keyword arguments of add_argument)."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--assay", required=True, help="the program")
    parser.add_argument("--csv", help=f"writes a line for each {rows}")
    parser.add_argument("--quick", action="store_true", help="only a sample")
    parser.add_argument("--keep", help="folder that keeps the dataset files")
    parser.add_argument("--check", action="store_true", help="exit code 1 if the gate is worse than the tree says")
    parser.add_argument("--selftest", action="store_true", help="checks the check")
    for name, words in more:
        parser.add_argument(name, **words)
    options = parser.parse_args()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    return options


def markdown(head, rows):
    """Returns a table whose first column is text and whose others are numbers."""
    lines = ["| " + " | ".join(head) + " |", "|" + " --- |" + " ---: |" * (len(head) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows]) + "\n"


def write_csv(path, head, rows):
    """Writes a table of cells. Without a path (None) it writes nothing."""
    if path:
        with open(path, "w", newline="") as out:
            csv.writer(out, lineterminator="\n").writerows([head, *rows])


def read_csv(path):
    """Returns the rows of a table as dictionaries."""
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def end_check(complaints, passed):
    """Prints the complaints, or the sentence `passed` if there are no complaints. Returns the exit code."""
    for complaint in complaints:
        print(complaint, file=sys.stderr)
    if not complaints:
        print(passed)
    return 1 if complaints else 0


def end_selftest(found):
    """Prints what differs from the expectation, and returns the exit code. `found` is {what was checked: (its
    complaints, their expected number, words that each of them must have)}."""
    wrong = [
        f"{name}: {len(said)} complaints instead of {count} that say '{words}': {said[:1]}"
        for name, (said, count, words) in found.items()
        if len(said) != count or any(words not in one for one in said)
    ]
    return end_check(wrong, f"The check did what it must in all of {len(found)} situations")
