#!/usr/bin/env python3
"""Checks that the house keeps its rules: which room may include which, which library is included
where, and a few things that no file may hold. The tables below are the rules.

    check_rooms.py [--root DIRECTORY]    checks a tree; exit code 1 when a rule is broken
    check_rooms.py --selftest            checks made-up trees, each of which breaks one rule
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# A room of framework/assay/ and the rooms that it stands on. It may also include the rooms below those.
FRAMEWORK = {
    "base": [],
    "simd": ["base"],
    "format": ["simd"],
    "tensor": ["format"],
    "cases": ["tensor"],
    "machine": ["tensor"],
    "op": ["cases", "machine"],
    "study": ["op"],
    "identify": ["op"],
    "judge": ["tensor"],
    "abft": ["op", "judge"],
    "fault": ["op"],
    "gate": ["abft", "fault"],
    "trial": ["gate"],
    "device": ["gate"],
    "campaign": ["gate"],
    "audit": ["campaign"],
    "wire": ["study", "identify", "audit", "trial"],
    "report": ["wire"],
}

# The rooms of datasets/assay/datasets/, each with the rooms that it stands on. They stand on the framework, too.
DATASETS = {
    "datasets/checks": [],
    "datasets/store": ["datasets/checks"],
    "datasets/arrays": ["datasets/store"],
    "datasets/layouts": ["datasets/arrays"],
    "datasets/runner": ["datasets/layouts"],
}

# The other rooms are whole folders. "framework" and "datasets" stand for all of their rooms;
# "framework" is itself the room of the umbrella headers framework/assay/*.h, "datasets" that of datasets/assay/*.h.
HOUSE = {
    "framework": [],
    "datasets": ["framework"],
    "matchers": ["framework"],
    "cuda": ["framework"],
    "tools": ["datasets", "matchers"],
    "python": ["cuda", "datasets", "tools"],
    "tests": ["cuda", "datasets", "matchers", "tools"],
    "examples": ["datasets", "matchers", "tools"],
    "benchmarks": ["datasets", "matchers", "tools", "tests"],
}

# In these, sources come in pairs with headers: a.cc beside a.h, which declares what others use of
# it.
PAIRED = {"framework", "datasets", "matchers"}

# These folders may include every library.
FREE = {"tests", "examples", "benchmarks"}

# Rooms that a room reaches but must not include, because parsing runs no operators.
NOT_DIRECTLY = {"wire": {"op"}}

# A library, how its headers are written, and the room or rooms that may include it. With None, only the
# free rooms may.
LIBRARIES = [
    ("Eigen", r"(unsupported/)?Eigen/", "tensor"),
    ("CUDA", r"cuda_\w+\.h$", "tensor"),
    ("Highway", r"hwy/", "simd"),
    ("fmt", r"fmt/", "base"),
    ("nlohmann-json", r"nlohmann/", "base"),
    ("Random123", r"Random123/", "base"),
    ("Boost", r"boost/", ("campaign", "judge")),
    ("HDF5", r"(hdf5/.*/)?(hdf5\w*|H5\w+)\.h$", "datasets/store"),
    ("libzip", r"zip(conf)?\.h$", "datasets/arrays"),
    ("zlib", r"zlib\.h$", "datasets/store"),
    ("xxHash", r"xxhash\.h$", "datasets/store"),
    ("CLI11", r"CLI/", "tools"),
    ("MPI", r"mpi\.h$", "tools"),
    ("pybind11", r"pybind11/", "python"),
    ("GoogleTest", r"(gtest|gmock)/", "matchers"),
    ("Google Benchmark", r"benchmark/", None),
    ("RapidCheck", r"rapidcheck(/|\.h)", None),
    ("MPFR", r"(mpfr|mpf2mpfr|gmp|gmpxx)\.h$", None),
    ("BLAS", r"(.*/)?(cblas|lapacke|openblas_config)\.h$", None),
]

# Headers that are no library: C++'s own, C's and POSIX's, and those of the compiler.
SYSTEM = re.compile(
    r"[a-z0-9_]+$|sys/\w+\.h$|"
    r"(assert|ctype|dirent|dlfcn|endian|errno|fcntl|fenv|float|fnmatch|ftw|getopt|glob|inttypes|limits|"
    r"locale|math|poll|pthread|regex|sched|semaphore|signal|spawn|stdalign|stdarg|stdbool|stddef|stdint|"
    r"stdio|stdlib|string|strings|termios|time|unistd|wchar|"
    r"cpuid|immintrin|x86intrin|arm_neon|arm_sve)\.h$")

MAX_LINES = 600
# Longer files, and why each stays in one piece. Tests may have 700 lines: they are read one by one.
MAX_TEST_LINES = 700
LONGER = {
    "datasets/assay/datasets/store/dataset_file.cc": "one class: what a dataset file answers",
    "datasets/assay/datasets/store/plain_objects.cc": "the part of HDF5's file format that is read without HDF5",
    "datasets/assay/datasets/store/writer.cc": "one class: how a dataset file is written",
    "framework/assay/format/format.cc": "the table of formats",
    "framework/assay/identify/model_search.cc": "one search",
    "framework/assay/judge/draw_distribution.cc": "the table of laws with their distribution functions",
    "framework/assay/judge/metrics_pass.cc": "one pass over elements and how its parts merge",
    "framework/assay/report/campaign_html.cc": "one page",
    "framework/assay/simd/checksum.cc": "kernels that share their vector helpers",
}
MAX_LONGER = 700

# Patterns that no source file may hold: (pattern, why and what to do). Benchmarks may, as a peer to
# time.
NOWHERE = [
    (r"\bstd\s*::\s*\w+_distribution\b",
     "differs between standard libraries: use the draws of assay/base/random.h"),
]

# Patterns that no source file outside of tests and benchmarks may hold.
NOT_SHIPPED = [
    # A type or a list of properties that HDF5 could not complete, for lack of memory, makes a wrong file.
    # H5Eclear2() and H5free_memory() cannot fail.
    (r"(?<=[;{})])\s*\bH5(?!Eclear2|Eset_auto2|Ewalk2|Epush2|free_memory)[A-Z]+[a-z]\w*(?=\()",
     "may fail: pass its result to h5::require(), or look at it"),
    # nlohmann-json 3.11.2 ends the program if it has no memory to make an object of null.
    (r"\bJson(?=\s+\w+;)", "is null: write = Json::object(), or what else it begins as"),
]

# Patterns that no public header may hold, because both compilers have to build it.
NOT_PUBLIC = [
    # _Float16 may stand in ASSAY_FORMAT_OF(), which the preprocessor guards.
    (r"(?<!ASSAY_FORMAT_OF\()\b_Float16\b",
     "does not build on both compilers: keep it in a .cc, or use the bits"),
    (r"\bstd\s*::\s*format\b", "is not in libstdc++ 12: use assay::format of assay/base/text.h"),
    (r"\bstd\s*::\s*expected\b", "is not in libstdc++ 12: throw, or give a std::optional"),
]

# Options that let a compiler change results.
TEXTS = (".h", ".cc", ".md", ".py", ".txt", ".cmake", ".sh", ".yml", ".json")
CMAKE_FILE = re.compile(r"(^|/)CMakeLists\.txt$|\.cmake(\.in)?$|(^|/)CMake\w*Presets\.json$")
FAST_MATH = r"-(ffast-math|Ofast|funsafe-math-optimizations|fassociative-math|freciprocal-math)\b"


def reachable(room, edges):
    """`room` and every room that it stands on."""
    found, todo = set(), [room]
    while todo:
        here = todo.pop()
        if here not in found:
            found.add(here)
            todo += edges[here]
    return found


def allowed_rooms(room):
    if room in FRAMEWORK:
        return reachable(room, FRAMEWORK)
    if room in DATASETS:
        return reachable(room, DATASETS) | {"framework"} | set(FRAMEWORK)
    rooms = reachable(room, HOUSE)
    for whole, parts in (("framework", FRAMEWORK), ("datasets", DATASETS)):
        if whole in rooms:
            rooms |= set(parts)
    return rooms


def room_of(path):
    """Returns the room of a file of the house, or None if no room is declared for it."""
    parts = path.split("/")
    if parts[0] == "datasets" and parts[1:2] == ["assay"] and len(parts) == 3 and path.endswith(".h"):
        return "datasets"
    if parts[0] == "datasets":
        room = "datasets/" + parts[3] if parts[1:3] == ["assay", "datasets"] and len(parts) > 4 else None
        return room if room in DATASETS else None
    if parts[0] != "framework":
        return parts[0] if parts[0] in HOUSE else None
    if parts[1:2] == ["assay"] and len(parts) == 3 and path.endswith(".h"):
        return "framework"
    if parts[1:2] == ["assay"] and len(parts) > 3 and parts[2] in FRAMEWORK:
        return parts[2]
    return None


# -- Reading ---------------------------------------------------------------------------------------

TOKEN = re.compile(
    r"""(?P<comment>//(?:\\\n|[^\n])*|/\*[\s\S]*?\*/)"""
    r"""|(?P<raw>\b(?:u8|u|U|L)?R"(?P<fence>[^()\\\s]{0,16})\([\s\S]*?\)(?P=fence)")"""
    r"""|(?P<text>"(?:\\[\s\S]|[^"\\\n])*")"""
    r"""|\b\d[\w'.]*"""  # a number, because a ' may separate its digits
    r"""|'(?:\\.|[^'\\\n])*'""")


def blanked(source, *kinds):
    """Returns `source` with tokens of these kinds as blanks. Line numbers stay."""
    def blank(match):
        if match.lastgroup and any(match.group(kind) is not None for kind in kinds):
            return re.sub(r"[^\n]", " ", match.group())
        return match.group()
    return TOKEN.sub(blank, source)


def line_of(text, position):
    return text.count("\n", 0, position) + 1


def cmake_options(source):
    """Returns (position, command, text) of each piece of CMake code outside comments. `command` is the
    command that has the piece as an argument."""
    token = re.compile(
        r"(?P<comment>#\[(?P<a>=*)\[[\s\S]*?\](?P=a)\]|#[^\n]*)"
        r"|(?P<text>\"(?:\\[\s\S]|[^\"\\])*\"|\[(?P<b>=*)\[[\s\S]*?\](?P=b)\])"
        r"|(?P<open>(?P<name>\w*)[ \t]*\()|(?P<close>\))|(?P<word>[^\s()#\"]+)")
    depth, command = 0, ""
    for match in token.finditer(source):
        if match.group("open"):
            if depth == 0:
                command = match.group("name").lower()
            depth += 1
        elif match.group("close"):
            depth = max(0, depth - 1)
        elif not match.group("comment"):
            yield match.start(), command, match.group()


def files_of(root):
    """Returns the tree's files that git tracks or would track, or all files if git lists none."""
    try:
        listed = subprocess.run(
            ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
            check=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
        files = [os.fsdecode(name) for name in listed.split(b"\0") if name]
    except (OSError, subprocess.CalledProcessError):
        files = []
    if not files:
        for folder, folders, names in os.walk(root):
            folders[:] = [f for f in folders if not f.startswith((".", "build"))]
            files += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    files = [name.replace(os.sep, "/") for name in files]
    return sorted({name for name in files if os.path.isfile(os.path.join(root, name))})


# -- Checking --------------------------------------------------------------------------------------

class House:
    """Checks one tree; `problems` holds "file:line: message"."""

    def __init__(self, root):
        self.root = root
        self.files = files_of(root)
        self.sources = [name for name in self.files
                        if name.endswith((".h", ".cc")) and name.split("/")[0] in HOUSE]
        self.known = set(self.sources)
        self.includes = 0
        self.problems = []
        for name in self.sources:
            self.check_source(name)
        for name in self.files:
            if CMAKE_FILE.search(name):
                self.check_cmake(name)
            if name.endswith(TEXTS):
                self.check_merged(name)
        if not self.sources:
            self.report(root, 1, "no .h or .cc file of the house in this tree: is it the "
                        "repository's root?")

    def report(self, name, line, message):
        self.problems.append(f"{name}:{line}: {message}")

    def read(self, name):
        return pathlib.Path(self.root, name).read_text(encoding="utf-8", errors="replace")

    def check_source(self, name):
        source = self.read(name)
        without_comments = blanked(source, "comment", "raw")
        code = blanked(source, "comment", "raw", "text")
        header = name.endswith(".h")
        room = room_of(name)
        if room is None:
            self.report(name, 1, "is in no declared room: move it into one, or declare its room in "
                        "the tables of tests/rooms/check_rooms.py")
        else:
            directive = r"^[ \t]*#[ \t]*(?:include|include_next|import)\b[ \t]*(.*?)[ \t]*$"
            for match in re.finditer(directive, without_comments, re.M):
                self.check_include(name, room, line_of(source, match.start()), match.group(1))
        once = re.search(r"^[ \t]*#[ \t]*pragma[ \t]+once\b", code, re.M)
        if header and not once and not name.endswith("-inl.h"):
            self.report(name, 1, "has no #pragma once: add it above the first #include")
        own = name[:-len(".cc")] + ".h"
        if not header and name.split("/")[0] in PAIRED and own not in self.known:
            self.report(name, 1, f"has no header of its own: declare in {own} what others use of "
                        "it, or move it into the source that it is a part of")
        rules = [] if room == "benchmarks" else list(NOWHERE)
        if room not in ("benchmarks", "tests"):
            rules += NOT_SHIPPED
        if header and (name.split("/")[0] in ("framework", "datasets", "matchers") or
                       name.startswith("tools/assay/")):
            rules += NOT_PUBLIC
        for pattern, advice in rules:
            for match in re.finditer(pattern, code):
                word = re.sub(r"\s", "", match.group())
                self.report(name, line_of(source, match.end()), f"{word} {advice}")
        lines = len(source.splitlines())
        most = (MAX_TEST_LINES if room == "tests" else MAX_LONGER if name in LONGER else MAX_LINES)
        if lines > most:
            self.report(name, lines, f"{lines} lines, at most {most}: split the file by subject, or "
                        "say in LONGER why it stays in one piece")
        elif name in LONGER and lines <= MAX_LINES:
            self.report(name, lines, f"{lines} lines: it needs no entry in LONGER any more")

    def check_merged(self, name):
        for match in re.finditer(r"^(<{7}|>{7}) ", self.read(name), re.M):
            self.report(name, line_of(self.read(name), match.start()),
                        f"{match.group(1)} of a merge: decide which of the two it is to be")

    def check_include(self, name, room, line, written):
        self.includes += 1
        match = re.match(r"<([^>]+)>|\"([^\"]+)\"", written)
        if not match:
            self.report(name, line, f"#include {written} cannot be checked: write the header's "
                        "name")
            return
        header = match.group(1) or match.group(2)
        target = self.find(name, header, quoted=match.group(2) is not None)
        if target:
            self.check_arrow(name, room, line, header, target)
        elif room not in FREE:
            self.check_library(name, room, line, header)

    def find(self, name, header, quoted):
        """Returns the file of the house that `header` means, or its expected path. Returns None for other headers."""
        beside = os.path.normpath(os.path.join(os.path.dirname(name), header))
        if quoted and beside in self.known:
            return beside
        for folder in ("framework/", "datasets/", "matchers/", "tools/", ""):
            if os.path.normpath(folder + header) in self.known:
                return os.path.normpath(folder + header)
        return "framework/" + header if header.startswith("assay/") else None

    def check_arrow(self, name, room, line, header, target):
        other = room_of(target)
        rooms = allowed_rooms(room)
        if other is None:
            self.report(name, line, f'"{header}" is in no declared room: correct the name, or '
                        "declare its room in the tables of tests/rooms/check_rooms.py")
        elif other not in rooms:
            what = f'"{header}" of room {other}'
            if other == "framework":
                what = f'the umbrella header "{header}"'
                advice = "include the header that is needed"
            elif room in allowed_rooms(other):
                advice = f"arrows go one way, {other} stands on {room}: move down what {room} needs"
            else:
                below = ", ".join(sorted(rooms - {room})) or "no other room"
                advice = f"{room} may include {below}: move what both need into one of those" \
                    if rooms - {room} else f"{room} may include {below}"
            self.report(name, line, f"room {room} may not include {what}: {advice}")
        elif other in NOT_DIRECTLY.get(room, ()):
            self.report(name, line, f'room {room} may not include "{header}" of room {other}: it '
                        "reads and runs nothing; leave that to a room that it hands its result to")

    def check_library(self, name, room, line, header):
        for library, pattern, home in LIBRARIES:
            if re.match(pattern, header):
                if home is None:
                    self.report(name, line, f"<{header}>: {library} is for "
                                f"{', '.join(sorted(FREE))} alone: do without it in {room}")
                    return
                homes = (home,) if isinstance(home, str) else home
                if room not in homes:
                    words = " and ".join(homes)
                    self.report(name, line, f"<{header}>: {library} is included from {words} alone: "
                                f"reach it through a header of {words}")
                return
        if not SYSTEM.match(header):
            self.report(name, line, f"<{header}>: library not declared: correct the name, or add "
                        "it to LIBRARIES in tests/rooms/check_rooms.py with the one room that "
                        "includes it")

    def check_cmake(self, name):
        source = self.read(name)
        if name.endswith(".json"):
            pieces = [(0, "", source)]
        else:
            pieces = cmake_options(source)
        for position, command, text in pieces:
            # These commands test for such an option or warn of it, and do not set it.
            if command in ("if", "elseif", "while", "message"):
                continue
            for match in re.finditer(FAST_MATH, text):
                self.report(name, line_of(source, position + match.start()),
                            f"{match.group()} changes results: remove it")


# -- Selftest --------------------------------------------------------------------------------------

H = "#pragma once\n"

UNPAIRED = "a source without a header"

# (name, {file: content}, the problems expected). Every tree also gets the headers of its sources, except
# the tree that tests a missing header.
SELFTEST = [
    ("a clean tree", {
        "framework/assay/base/text.h": H + "#include <fmt/format.h>\n#include <string>\n",
        "framework/assay/simd/gemm.cc":
            '#include <hwy/highway.h>\n#include <immintrin.h>\n#include "assay/base/text.h"\n',
        "framework/assay/tensor/eigen.h": H + "#include <Eigen/Core>\n",
        "framework/assay/judge/judge.h": H + '#include "assay/tensor/eigen.h"\n',
        "framework/assay/base/json.cc": '#include <nlohmann/json.hpp>\n#include <sys/stat.h>\n',
        "framework/assay/wire/results.cc":
            '#include "assay/judge/judge.h"\n#include "assay/base/json.h"\n',
        "framework/assay/base/json.h": H,
        "framework/assay/framework.h": H + '#include "assay/judge/judge.h"\n',
        "datasets/assay/datasets/store/reader.cc": '#include <hdf5.h>\n#include "assay/framework.h"\n',
        "matchers/assay/matchers.h": H + '#include "assay/matchers/close.h"\n',
        "matchers/assay/matchers/close.h": H + "#include <gmock/gmock.h>\n",
        "tools/main.cc":
            '#include <CLI/CLI.hpp>\n#include "assay/judge/judge.h"\n#include "run.h"\n',
        "tools/run.h": H,
        "tests/judge/judge_test.cc":
            '#include <gtest/gtest.h>\n#include <mpfr.h>\n#include "assay/matchers.h"\n',
        "benchmarks/gemm.cc": "#include <benchmark/benchmark.h>\n#include <cblas.h>\n",
        "CMakeLists.txt": "# no -ffast-math\nif(FLAGS MATCHES \"-ffast-math\")\n"
                          "  message(FATAL_ERROR \"-ffast-math (a)\")\nendif()\n"
                          "add_compile_options(-fno-fast-math)\n",
    }, []),
    ("what is in comments and strings is no code", {
        "framework/assay/base/a.h":
            '// #include <gtest/gtest.h>\n/*\n#include <hdf5.h>\n*/\n' + H +
            "// std::normal_distribution, _Float16\n"
            'inline const char* a = "std::format \\" _Float16";\n'
            'inline const char* b = R"x(\n#include <hdf5.h>\nstd::expected)x";\n'
            "inline int c = 1'000; inline char d = '\"'; inline char e = '\\'';\n"
            '#include <string>\n',
    }, []),
    ("an arrow up", {
        "framework/assay/judge/judge.h": H,
        "framework/assay/format/convert.cc": '#include <string>\n#include "assay/judge/judge.h"\n',
    }, ['framework/assay/format/convert.cc:2: room format may not include "assay/judge/judge.h" of '
        "room judge: arrows go one way, judge stands on format: move down what format needs"]),
    ("an arrow aside", {
        "framework/assay/judge/judge.h": H,
        "framework/assay/op/matmul.cc": "#include <assay/judge/judge.h>\n",
    }, ['framework/assay/op/matmul.cc:1: room op may not include "assay/judge/judge.h" of room '
        "judge: op may include base, cases, format, machine, simd, tensor: move what both need into one "
        "of those"]),
    ("an arrow up by a relative name", {
        "framework/assay/tensor/tensor.h": H,
        "framework/assay/simd/gemm.h": H + '#  include "../tensor/tensor.h"  // why not\n',
    }, ['framework/assay/simd/gemm.h:2: room simd may not include "../tensor/tensor.h" of room '
        "tensor: arrows go one way, tensor stands on simd: move down what simd needs"]),
    ("campaign includes report", {
        "framework/assay/report/report.h": H,
        "framework/assay/campaign/plan.h": H + '#include "assay/report/report.h"\n',
    }, ['framework/assay/campaign/plan.h:2: room campaign may not include '
        '"assay/report/report.h" of room report: arrows go one way, report stands on campaign: '
        "move down what campaign needs"]),
    ("framework includes matchers", {
        "matchers/assay/matchers.h": H,
        "framework/assay/judge/judge.cc": '#include "assay/matchers.h"\n',
    }, ['framework/assay/judge/judge.cc:1: room judge may not include "assay/matchers.h" of room '
        "matchers: arrows go one way, matchers stands on judge: move down what judge needs"]),
    ("framework includes tools", {
        "tools/run.h": H,
        "framework/assay/judge/judge.cc": '#include "tools/run.h"\n',
    }, ['framework/assay/judge/judge.cc:1: room judge may not include "tools/run.h" of room tools: '
        "arrows go one way, tools stands on judge: move down what judge needs"]),
    ("matchers includes datasets", {
        "datasets/assay/datasets/store/dataset_file.h": H,
        "matchers/assay/matchers/close.cc": '#include "assay/datasets/store/dataset_file.h"\n',
    }, ['matchers/assay/matchers/close.cc:1: room matchers may not include '
        '"assay/datasets/store/dataset_file.h" of room datasets/store: matchers may include abft, audit, base, campaign, '
        "cases, device, fault, format, framework, gate, identify, judge, machine, op, report, simd, study, tensor, trial, wire: move "
        "what both need into one of those"]),
    ("parsing runs an operator", {
        "framework/assay/op/operator.h": H,
        "framework/assay/wire/plan_file.cc": '#include "assay/op/operator.h"\n',
    }, ['framework/assay/wire/plan_file.cc:1: room wire may not include "assay/op/operator.h" of '
        "room op: it reads and runs nothing; leave that to a room that it hands its result to"]),
    ("a room includes the umbrella header", {
        "framework/assay/framework.h": H,
        "framework/assay/report/gate_text.cc": '#include "assay/framework.h"\n',
    }, ['framework/assay/report/gate_text.cc:1: room report may not include the umbrella header '
        '"assay/framework.h": include the header that is needed']),
    ("a room that is not declared", {
        "framework/assay/cellar/wine.h": H,
        "tools/main.cc": '#include "assay/cellar/wine.h"\n',
    }, ["framework/assay/cellar/wine.h:1: is in no declared room: move it into one, or declare its "
        "room in the tables of tests/rooms/check_rooms.py",
        'tools/main.cc:1: "assay/cellar/wine.h" is in no declared room: correct the name, or '
        "declare its room in the tables of tests/rooms/check_rooms.py"]),
    ("a source beside the rooms", {
        "framework/assay/loose.cc": "",
    }, ["framework/assay/loose.cc:1: is in no declared room: move it into one, or declare its room "
        "in the tables of tests/rooms/check_rooms.py"]),
    ("a computed include", {
        "framework/assay/base/a.cc": "#include HEADER\n",
    }, ["framework/assay/base/a.cc:1: #include HEADER cannot be checked: write the header's name"]),
    *[(f"{library} outside its room", {
        f"{folder}/a.cc": f"\n#include <{header}>\n",
    }, [f"{folder}/a.cc:2: <{header}>: {library} is included from {home} alone: reach it through a "
        f"header of {home}"])
      for library, header, home, folder in [
          ("Eigen", "Eigen/Core", "tensor", "framework/assay/judge"),
          ("Eigen", "unsupported/Eigen/FFT", "tensor", "tools"),
          ("Highway", "hwy/highway.h", "simd", "framework/assay/op"),
          ("fmt", "fmt/format.h", "base", "tools"),
          ("nlohmann-json", "nlohmann/json.hpp", "base", "datasets/assay/datasets/store"),
          ("Random123", "Random123/philox.h", "base", "framework/assay/fault"),
          ("Boost", "boost/math/distributions/beta.hpp", "campaign and judge", "framework/assay/report"),
          ("HDF5", "hdf5.h", "datasets/store", "tools"),
          ("HDF5", "hdf5/serial/H5Dpublic.h", "datasets/store", "framework/assay/tensor"),
          ("CLI11", "CLI/CLI.hpp", "tools", "datasets/assay/datasets/store"),
          ("MPI", "mpi.h", "tools", "framework/assay/campaign"),
          ("GoogleTest", "gtest/gtest.h", "matchers", "framework/assay/judge"),
          ("GoogleTest", "gmock/gmock.h", "matchers", "tools"),
      ]],
    ("a library in quotes", {
        "tools/main.cc": '#include "hdf5.h"\n',
    }, ["tools/main.cc:1: <hdf5.h>: HDF5 is included from datasets/store alone: reach it through "
        "a header of datasets/store"]),
    ("a library for tests alone", {
        "framework/assay/machine/a.cc": "#include <mpfr.h>\n",
    }, ["framework/assay/machine/a.cc:1: <mpfr.h>: MPFR is for benchmarks, examples, tests alone: "
        "do without it in machine"]),
    ("a library that is not declared", {
        "framework/assay/base/a.cc": "#include <absl/strings/str_cat.h>\n",
    }, ["framework/assay/base/a.cc:1: <absl/strings/str_cat.h>: library not declared: correct the "
        "name, or add it to LIBRARIES in tests/rooms/check_rooms.py with the one room that "
        "includes it"]),
    ("a header without #pragma once", {
        "framework/assay/base/a.h": "// #pragma once\nint a();\n",
    }, ["framework/assay/base/a.h:1: has no #pragma once: add it above the first #include"]),
    (UNPAIRED, {
        "framework/assay/base/a.h": H,
        "framework/assay/base/a.cc": '#include "assay/base/a.h"\n',
        "framework/assay/base/b.cc": '#include "assay/base/a.h"\n',
        "tools/main.cc": "",
        "tests/base/a_test.cc": "",
    }, ["framework/assay/base/b.cc:1: has no header of its own: declare in framework/assay/base/b.h "
        "what others use of it, or move it into the source that it is a part of"]),
    ("a distribution of the standard library", {
        "tests/base/a_test.cc": "#include <random>\n\nstd::normal_distribution<double> normal;\n",
    }, ["tests/base/a_test.cc:3: std::normal_distribution differs between standard libraries: use "
        "the draws of assay/base/random.h"]),
    ("a distribution of the standard library, to be timed", {
        "benchmarks/draw_bench.cc": "#include <random>\nstd::normal_distribution<double> normal;\n",
    }, []),
    ("a failure of HDF5 that nobody looks at", {
        "datasets/assay/datasets/store/a.cc":
            "void f(int t) {\n  if (t)\n    H5Tset_size(t, 4);\n  if (H5Tset_order(t, 0) < 0) stop();\n"
            "  require(H5Pset_shuffle(t));\n  g();\n  H5Eclear2(0);\n}\n",
    }, ["datasets/assay/datasets/store/a.cc:3: H5Tset_size may fail: pass its result to h5::require(), or look at it"]),
    ("JSON that begins as null", {
        "framework/assay/wire/a.cc": "void f() {\n  Json head;\n  Json tail = Json::object();\n}\n",
    }, ["framework/assay/wire/a.cc:2: Json is null: write = Json::object(), or what else it begins as"]),
    ("public headers that one compiler refuses", {
        "framework/assay/base/a.h": H + "using Half = _Float16;\n",
        "datasets/assay/datasets/store/a.h": H + "\nstd::expected<int, int> f();\n",
        "matchers/assay/matchers/a.h": H + 'inline auto a = std :: format("{}", 1);\n',
        "framework/assay/base/a.cc": "using Half = _Float16;\n",
    }, ["datasets/assay/datasets/store/a.h:3: std::expected is not in libstdc++ 12: throw, or give a "
        "std::optional",
        "framework/assay/base/a.h:2: _Float16 does not build on both compilers: keep it in a .cc, "
        "or use the bits",
        "matchers/assay/matchers/a.h:2: std::format is not in libstdc++ 12: use assay::format of "
        "assay/base/text.h"]),
    ("a file that is too long", {
        "tools/main.cc": "\n" * (MAX_LINES + 1),
        "tools/run.cc": "\n" * MAX_LINES,
        "framework/assay/report/campaign_html.cc": "\n" * MAX_LINES,
        "tests/judge/a_test.cc": "\n" * (MAX_TEST_LINES + 1),
    }, [f"tools/main.cc:{MAX_LINES + 1}: {MAX_LINES + 1} lines, at most {MAX_LINES}: split the "
        "file by subject, or say in LONGER why it stays in one piece",
        f"tests/judge/a_test.cc:{MAX_TEST_LINES + 1}: {MAX_TEST_LINES + 1} lines, at most "
        f"{MAX_TEST_LINES}: split the file by subject, or say in LONGER why it stays in one piece",
        f"framework/assay/report/campaign_html.cc:{MAX_LINES}: {MAX_LINES} lines: it needs no entry in "
        "LONGER any more"]),
    ("fast math", {
        "tools/main.cc": "",
        "CMakeLists.txt":
            'if(RELEASE)\n  string(APPEND CMAKE_CXX_FLAGS " -O3 -ffast-math")\nendif()\n',
        "cmake/a.cmake": "#[[ -Ofast\n]]\ntarget_compile_options(a\n  PRIVATE -Ofast)\n",
        "CMakePresets.json": '{\n"CMAKE_CXX_FLAGS": "-ffast-math"}\n',
    }, ["CMakeLists.txt:2: -ffast-math changes results: remove it",
        "CMakePresets.json:2: -ffast-math changes results: remove it",
        "cmake/a.cmake:4: -Ofast changes results: remove it"]),
    ("a merge that was not finished", {
        "tools/main.cc": "",
        "README.md": "one\n" + "<" * 7 + " HEAD\ntwo\n=======\nthree\n" + ">" * 7 + " other\n",
    }, ["README.md:2: <<<<<<< of a merge: decide which of the two it is to be",
        "README.md:6: >>>>>>> of a merge: decide which of the two it is to be"]),
    ("an empty tree", {"README.md": "\n"},
     ["{root}:1: no .h or .cc file of the house in this tree: is it the repository's root?"]),
]


def selftest():
    failed = 0
    for edges in (FRAMEWORK, DATASETS, HOUSE):
        for room, below in edges.items():
            if any(room in reachable(other, edges) for other in below):
                print(f"selftest: the table goes in a circle through {room}")
                failed += 1
    for name, tree, expected in SELFTEST:
        headers = {path[:-len(".cc")] + ".h": H for path in tree
                   if path.endswith(".cc") and path.split("/")[0] in PAIRED and name != UNPAIRED}
        with tempfile.TemporaryDirectory() as root:
            for path, content in {**headers, **tree}.items():
                file = pathlib.Path(root, path)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_text(content, encoding="utf-8")
            got = sorted(House(root).problems)
            wanted = sorted(line.replace("{root}", root) for line in expected)
        if got != wanted:
            failed += 1
            print(f"selftest: {name}: expected")
            print("".join(f"  {line}\n" for line in wanted or ["(no problem)"]) + "got")
            print("".join(f"  {line}\n" for line in got or ["(no problem)"]), end="")
    clean = sum(not expected for _, _, expected in SELFTEST)
    print(f"selftest: {clean} clean trees, {len(SELFTEST) - clean} that must be refused: " +
          (f"{failed} FAILED" if failed else "all as expected"))
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser(description="Checks the rules of the rooms.")
    parser.add_argument("--root", default=str(pathlib.Path(__file__).resolve().parents[2]))
    parser.add_argument("--selftest", action="store_true", help="check the checker")
    arguments = parser.parse_args()
    if arguments.selftest:
        return selftest()
    house = House(arguments.root)
    for problem in house.problems:
        print(problem)
    counts = f"{len(house.sources)} files, {house.includes} includes"
    if house.problems:
        print(f"rooms: {len(house.problems)} times a rule is broken, in {counts}")
        return 1
    print(f"rooms: {counts}, all rules kept")
    return 0


if __name__ == "__main__":
    sys.exit(main())
