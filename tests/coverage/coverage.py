"""Measures how much of framework/ its unit tests run: coverage.py BUILD_FOLDER PROGRAM...

Runs the test programs of a build with --coverage, one per core, asks gcovr what lines they reached, and
prints a line for each room. BUILD_FOLDER/unreached.txt lists the lines that no program reached. Exit code 1
if a program fails or if less than 95 percent of the lines are reached."""

import collections
import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
LEAST = 95.0  # percent


def run(program):
    done = subprocess.run([program, "--gtest_brief=1"], capture_output=True, text=True, check=False)
    return program, done.returncode, done.stdout + done.stderr


def ranges(lines):
    """[1, 2, 3, 7] as "1-3 7"."""
    words, first = [], None
    for line, after in zip(lines, lines[1:] + [None]):
        first = line if first is None else first
        if after != line + 1:
            words.append(str(first) if first == line else f"{first}-{line}")
            first = None
    return " ".join(words)


def main():
    build, programs = pathlib.Path(sys.argv[1]), sys.argv[2:]
    if shutil.which("gcovr") is None:
        print("gcovr is not installed")
        return 77
    for old in build.rglob("*.gcda"):
        old.unlink()
    failed = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for program, status, said in pool.map(run, programs):
            if status != 0:
                failed.append(program)
                print(f"{program} failed:\n{said[-4000:]}")
    listed = subprocess.run(
        ["gcovr", "--root", ROOT, "--object-directory", build, "--filter", "framework/", "--json", "--exclude-unreachable-branches",
         "-j", str(os.cpu_count()), build], cwd=ROOT, stdout=subprocess.PIPE, check=True).stdout
    rooms = collections.defaultdict(lambda: [0, 0])
    unreached = []
    for file in json.loads(listed)["files"]:
        lines = [line for line in file["lines"] if not line.get("gcovr/noncode")]
        missed = sorted(line["line_number"] for line in lines if line["count"] == 0)
        for name in file["file"].split("/")[2], "framework":
            rooms[name][0] += len(lines)
            rooms[name][1] += len(missed)
        if missed:
            unreached.append(f"{file['file']}: {ranges(missed)}\n")
    (build / "unreached.txt").write_text("".join(unreached), encoding="utf-8")
    for name, (count, missed) in sorted(rooms.items(), key=lambda item: (item[0] == "framework", item[0])):
        print(f"{name}: {100 * (count - missed) / count:.1f} percent of {count} lines")
    count, missed = rooms["framework"]
    return 1 if failed or 100 * (count - missed) < LEAST * count else 0


if __name__ == "__main__":
    sys.exit(main())
