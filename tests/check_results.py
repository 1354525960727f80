#!/usr/bin/env python3
"""Reads what ctest has written about its tests.

    check_results.py RESULTS.xml            # skipped tests that tests/skipped.txt does not explain
    check_results.py RESULTS.xml --times BUILD   # the label slow, compared with the times that were measured
    check_results.py --selftest

RESULTS.xml is made by `ctest --output-junit RESULTS.xml --test-output-size-passed 100000000`. The exit code is 1 if
something is wrong. A skipped test is one that ends with the code for it (77), or a part of a program's tests that
GoogleTest or Python's unittest reports as skipped.
"""

import fnmatch
import json
import pathlib
import re
import subprocess
import sys
import xml.etree.ElementTree

ALLOWED = pathlib.Path(__file__).with_name("skipped.txt")
SLOW_SECONDS = 10
# A test that needs less than half of SLOW_SECONDS does not need the label slow. A smaller difference may be noise of
# the machine.
NOT_SLOW_SECONDS = 5


class Result:
    def __init__(self, name, skipped=False, seconds=0.0, output=""):
        self.name, self.skipped, self.seconds, self.output = name, skipped, seconds, output


def read(path):
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        yield Result(case.get("name"), case.find("skipped") is not None, float(case.get("time", 0)),
                     case.findtext("system-out") or "")


def labels_of_tests(build):
    shown = subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], check=True, capture_output=True,
                           text=True).stdout
    return {test["name"]: [label for property in test["properties"] if property["name"] == "LABELS"
                           for label in property["value"]] for test in json.loads(shown)["tests"]}


def skipped_parts(result):
    """Returns the names of what was skipped: TEST, or TEST/PART."""
    if result.skipped:
        return [result.name]
    parts = re.findall(r"^\[  SKIPPED \] ([\w/]+\.[\w/]+)", result.output, re.M)
    # With --gtest_brief=1, GoogleTest prints only the places (file and line) of skipped tests, not their names.
    if not parts:
        parts = re.findall(r"([\w.]+):\d+: Skipped$", result.output, re.M)
    found = re.findall(r"^ *(\w+) \((\S+)\)(?: \[.*\])?(?:\n.*)? \.\.\. skipped ", result.output, re.M)
    parts += [f"{where.removeprefix('__main__.').split('.')[0]}.{name}" for name, where in found]
    # Without verbosity=2, unittest prints only the number of skipped tests, not their names.
    count = sum(int(n) for n in re.findall(r"^OK \(.*?skipped=(\d+)", result.output, re.M))
    if count > len(found):
        parts.append(f"{count - len(found)}_tests_without_a_name")
    return sorted({f"{result.name}/{part}" for part in parts})


def allowed(text):
    return [line.split()[0] for line in text.splitlines() if len(line.split()) > 1 and not line.startswith("#")]


def unexplained(results, patterns):
    return [part for result in results for part in skipped_parts(result)
            if not any(fnmatch.fnmatchcase(part, pattern) for pattern in patterns)]


def wrong_times(results, labels):
    for result in results:
        slow = "slow" in labels[result.name]
        if result.seconds > SLOW_SECONDS and not slow and "nightly" not in labels[result.name]:
            yield f"{result.name} took {result.seconds:.1f} s and has no label slow"
        elif slow and not result.skipped and result.seconds < NOT_SLOW_SECONDS:
            yield f"{result.name} took only {result.seconds:.1f} s and has the label slow"


def selftest():
    google = "[ RUN      ] S.A\nreason\n[  SKIPPED ] S.A (0 ms)\n[  SKIPPED ] 1 test, listed below:\n[  SKIPPED ] S.A\n"
    python = ("test_a (__main__.C.test_a) ... skipped 'why'\ntest_b (__main__.C.test_b)\nIts text. ... skipped 'why'\n"
              "setUpClass (__main__.D) ... skipped 'why'\ntest_c (__main__.C.test_c) ... ok\nOK (skipped=3)\n")
    assert skipped_parts(Result("r.S", output=google)) == ["r.S/S.A"]
    assert skipped_parts(Result("p", output=python)) == ["p/C.test_a", "p/C.test_b", "p/D.setUpClass"]
    assert skipped_parts(Result("p", output="..s\nOK (skipped=1)\n")) == ["p/1_tests_without_a_name"]
    brief = "/x/tests/a/b_test.cc:131: Skipped\nthe reason\n[  PASSED  ] 21 tests.\n[  SKIPPED ] 2 tests.\n"
    assert skipped_parts(Result("a", output=brief)) == ["a/b_test.cc"]
    assert skipped_parts(Result("p", output="OK\n")) == []
    assert skipped_parts(Result("q", skipped=True)) == ["q"]
    patterns = allowed("# comment\n\nr.S/*  a reason\nq  a reason\nwithout_a_reason\n")
    assert patterns == ["r.S/*", "q"], patterns
    assert unexplained([Result("r.S", output=google), Result("q", skipped=True),
                        Result("x", skipped=True)], patterns) == ["x"]
    times = [Result(name, seconds=seconds) for name, seconds in (("a", 11), ("b", 11), ("c", 2), ("d", 2))]
    labels = {"a": ["unit"], "b": ["slow"], "c": ["unit", "slow"], "d": []}
    assert [line.split()[0] for line in wrong_times(times, labels)] == ["a", "c"]


def main():
    if sys.argv[1:] == ["--selftest"]:
        return selftest()
    results = list(read(sys.argv[1]))
    if "--times" in sys.argv:
        wrong = list(wrong_times(results, labels_of_tests(sys.argv[3])))
    else:
        wrong = [f"{part} was skipped, and tests/skipped.txt does not say why it may be"
                 for part in unexplained(results, allowed(ALLOWED.read_text()))]
    print("".join(line + "\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
