"""Checks how a program that assay builds is hardened: hardening_test.py PROGRAM (docs/reliability.md). Skipped
if readelf is not installed.

The program must have no thread_local object with a destructor: glibc ends the program if it cannot
allocate the few bytes in which it registers the destructor."""

import shutil
import subprocess
import sys


def readelf(*words):
    return subprocess.run(["readelf", "--wide", *words], check=True, capture_output=True, text=True).stdout


def main():
    if shutil.which("readelf") is None:
        return 77
    program = sys.argv[1]
    dynamic = readelf("--dynamic", program)
    segments, symbols = readelf("--segments", program), readelf("--dyn-syms", program)
    missing = [what for what, is_there in {
        "PIE": "Type:" in readelf("--file-header", program) and "DYN" in readelf("--file-header", program),
        "RELRO": "GNU_RELRO" in segments,
        "BIND_NOW": "BIND_NOW" in dynamic or " NOW" in dynamic,
        "a stack that does not run": any("GNU_STACK" in line and "RWE" not in line and "RW " in line
                                         for line in segments.splitlines()),
        "the stack's protector": "__stack_chk_fail" in symbols,
        "functions that know sizes": "_chk@" in symbols,
        "threads that end without destructors": "__cxa_thread_atexit" not in symbols,
    }.items() if not is_there]
    print(f"{program} lacks " + ", ".join(missing) if missing else f"{program} is hardened")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
