"""Runs tools that only read the code.

    check_static.py BUILD_FOLDER cppcheck
    check_static.py BUILD_FOLDER clang-tidy [FILE ...]
    check_static.py BUILD_FOLDER clang-tidy-changed COMMIT

cppcheck reads everything in half a minute. clang-tidy takes some six seconds a file, and reads framework/ if no
file is given. clang-tidy-changed reads what differs from the commit in framework/, for at most two minutes. It prints
the names of the files that it did not get to, which the nightly tests read. The settings are in files (.clang-tidy,
tests/static/cppcheck.txt). A tool that is not installed is skipped (exit code 77)."""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time

# After this time, no further file is begun.
SECONDS_FOR_CHANGES = 100
ROOT = pathlib.Path(__file__).resolve().parents[2]


def cppcheck():
    with tempfile.TemporaryDirectory() as copy:
        for folder in "framework", "datasets/assay", "matchers", "tools":
            copy_without_inline_namespaces(folder, pathlib.Path(copy))
        return cppcheck_of(copy)


def copy_without_inline_namespaces(folder, to):
    """Copies the sources of a folder. cppcheck 2.10 cannot read nested inline namespaces."""
    for file in (ROOT / folder).rglob("*"):
        if file.suffix in (".h", ".cc"):
            copy = to / file.relative_to(ROOT)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_text(re.sub(r"^namespace assay::inline \w+", "namespace assay", file.read_text(), flags=re.M))


def cppcheck_of(tree):
    return subprocess.run(
        ["cppcheck", "--std=c++20", "--language=c++", "--enable=warning,performance,portability", "--quiet",
         "--max-configs=1", "--error-exitcode=1", f"--suppressions-list={ROOT / 'tests/static/cppcheck.txt'}",
         f"-j{os.cpu_count()}", "--template={file}:{line}: {id}: {message}", "-Iframework", "-Idatasets",
         "-Imatchers", "-Itools", "framework", "datasets/assay", "matchers", "tools"], cwd=tree).returncode


def commands_without_pch(build, files, to):
    """Writes a compilation database of these files. The build compiles several files of the framework in one, so
    each file gets those flags, without the precompiled header, which is for g++."""
    commands = json.loads((pathlib.Path(build) / "compile_commands.json").read_text())
    words = next(shlex.split(c["command"]) for c in commands if "/assay_framework.dir/Unity/" in c["file"])
    flags = [w for w in words[:words.index("-o")] if w not in ("-Winvalid-pch", "-fpch-preprocess")]
    if "-include" in flags:
        header = flags.index("-include")
        del flags[header:header + 2]
    (pathlib.Path(to) / "compile_commands.json").write_text(json.dumps(
        [{"directory": str(build), "file": str(file), "arguments": [*flags, "-c", str(file)]} for file in files]))


def clang_tidy(build, files):
    files = [pathlib.Path(f).resolve() for f in files] or sorted((ROOT / "framework").rglob("*.cc"))
    with tempfile.TemporaryDirectory() as database:
        commands_without_pch(build, files, database)
        return tidied(database, files)


def changed_files(commit):
    """Returns the sources of framework/ that differ from the commit, or whose header differs."""
    names = subprocess.run(["git", "diff", "--name-only", "--diff-filter=d", commit, "--", "framework"], cwd=ROOT,
                           check=True, capture_output=True, text=True).stdout.split("\n")
    sources = {(ROOT / name).with_suffix(".cc") for name in names if name.endswith((".h", ".cc"))}
    return sorted(file for file in sources if file.exists())


def clang_tidy_changed(build, commit):
    files = changed_files(commit)
    print(f"clang-tidy: {len(files)} sources of framework/ differ from {commit}, or their headers do", flush=True)
    if not files:
        return 0
    with tempfile.TemporaryDirectory() as database:
        commands_without_pch(build, files, database)
        return tidied(database, files, SECONDS_FOR_CHANGES)


def tidied(database, files, seconds=float("inf")):
    end, left = time.monotonic() + seconds, []

    def one(file):
        if time.monotonic() > end:
            left.append(file)
            return 0, ""
        # Some warnings are known only to g++, and clang-tidy must not complain about them.
        ran = subprocess.run(["clang-tidy", "-p", database, "--quiet",
                              "--extra-arg=-Wno-unknown-warning-option", str(file)], cwd=ROOT,
                             capture_output=True, text=True)
        return ran.returncode, ran.stdout

    worst = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, said in pool.map(one, files):
            worst = max(worst, status)
            if status:
                print(said, end="", flush=True)
    if left:
        print(f"clang-tidy: no time for {len(left)} of {len(files)}, which are left to the nightly tests: "
              + " ".join(str(file.relative_to(ROOT)) for file in left))
    return worst


def main():
    build, tool, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    program = tool.removesuffix("-changed")
    if shutil.which(program) is None:
        print(f"{program} is not installed")
        return 77
    if tool == "clang-tidy-changed":
        return clang_tidy_changed(build, files[0])
    return cppcheck() if tool == "cppcheck" else clang_tidy(build, files)


if __name__ == "__main__":
    sys.exit(main())
