#!/usr/bin/env python3
"""Checks that each line of tests/labels.txt names a test: check_labels.py CTEST BUILD_FOLDER.

BUILD_FOLDER is a Release build. Lines about rooms whose program is not built are not checked.
"""

import json
import pathlib
import re
import subprocess
import sys

TABLE = pathlib.Path(__file__).with_name("labels.txt")
LABELS = {"nightly", "slow", "unsanitized", "threads", "unit"}


def entries(text):
    """Yields the fields of each line: name, labels, reason."""
    for number, line in enumerate(text.splitlines(), 1):
        if line and not line.startswith("#"):
            fields = line.split(None, 2)
            if len(fields) < 3 or re.search(r"[;\[\]]", line):
                raise ValueError(f"line {number} is not NAME LABELS REASON, or has one of ; [ ]: {line}")
            yield fields[0], fields[1].split(","), fields[2]


def known_names(ctest, build):
    shown = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True,
                           text=True).stdout
    return {test["name"] for test in json.loads(shown)["tests"]}


def check(table, names):
    """Returns the errors of the table, one line for each."""
    wrong, seen = [], set()
    not_built = {name.split(".")[0] for name in names if name.endswith((".NOT_BUILT", ".LISTING"))}
    for name, labels, _ in table:
        if name in seen:
            wrong.append(f"{name} has two lines")
        seen.add(name)
        if unknown := set(labels) - LABELS:
            wrong.append(f"{name} has unknown labels: {', '.join(sorted(unknown))}")
        if name.split(".")[0] not in not_built and name.replace("*", "all") not in names:
            wrong.append(f"{name} is not the name of a test")
    return wrong


def main():
    wrong = check(entries(TABLE.read_text()), known_names(*sys.argv[1:3]))
    for line in wrong:
        print(f"tests/labels.txt: {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
