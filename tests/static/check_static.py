"""What tools find that read the code alone: check_static.py BUILD_FOLDER cppcheck|clang-tidy [FILE ...].

cppcheck reads everything in half a minute. clang-tidy takes some six seconds a file: of framework/, where no
file is named. Both keep to what stands in their files (.clang-tidy, tests/static/cppcheck.txt), and one that
is not installed is skipped."""

import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def cppcheck():
    return subprocess.run(
        ["cppcheck", "--std=c++20", "--language=c++", "--enable=warning,performance,portability", "--quiet",
         "--max-configs=1", "--error-exitcode=1", f"--suppressions-list={ROOT / 'tests/static/cppcheck.txt'}",
         f"-j{os.cpu_count()}", "--template={file}:{line}: {id}: {message}", "-Iframework", "-Idatasets",
         "-Imatchers", "-Itools", "framework", "datasets/assay", "matchers", "tools"], cwd=ROOT).returncode


def clang_tidy(build, files):
    def one(file):
        # g++ has warnings of its own.
        ran = subprocess.run(["clang-tidy", "-p", build, "--quiet",
                              "--extra-arg=-Wno-unknown-warning-option", str(file)], cwd=ROOT,
                             capture_output=True, text=True)
        return ran.returncode, ran.stdout

    files = files or sorted((ROOT / "framework").rglob("*.cc"))
    worst = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for status, said in pool.map(one, files):
            worst = max(worst, status)
            if status:
                print(said, end="", flush=True)
    return worst


def main():
    build, tool, files = sys.argv[1], sys.argv[2], sys.argv[3:]
    if shutil.which(tool) is None:
        print(f"{tool} is not installed")
        return 77
    return cppcheck() if tool == "cppcheck" else clang_tidy(build, files)


if __name__ == "__main__":
    sys.exit(main())
