#!/usr/bin/env python3
"""Draws mutants of the rooms' sources and asks the rooms' own tests whether they see them.

    mutants.py [--build build/release] [--rooms format,judge] [--count 300] [--seed 1] [--jobs 2]
               [--json results.jsonl]
    mutants.py --list                    what would be drawn, without compiling
    mutants.py --mutant FILE:LINE:TEXT   one mutant: that line with the text in its place
    mutants.py --selftest                checks the changes on small texts

One line of one source is changed (changes.py). That source, with those that the build tree compiles
together with it, is compiled as its compile_commands.json says, and linked before the archives with the
objects of the room's tests. Its symbols then replace those of the archive. Nothing is written into the
build tree. A mutant is killed if a test fails, or if the program crashes or takes too long. A mutant
that does not compile is drawn anew. The mutants of equivalent.txt change nothing that could be seen,
and are counted apart. The same seed draws the same mutants of the same sources, for any number of jobs."""

import argparse
import concurrent.futures
import hashlib
import json
import math
import os
import pathlib
import random
import re
import resource
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import changes

HERE = pathlib.Path(__file__).resolve().parent
ROOMS = ["format", "judge", "abft", "gate", "fault", "machine"]
# Excludes tests that only drive other programs, which have no mutant in them (for --tests-filter).
NOT_THESE = "-Runner.*"
MEMORY = 8 << 30


class Build:
    """Describes how a build tree compiles a source and links a room's tests."""

    def __init__(self, directory):
        self.directory = pathlib.Path(directory).resolve()
        commands = json.loads((self.directory / "compile_commands.json").read_text())
        self.commands = {entry["file"]: entry for entry in commands}
        # For each source that is compiled together with others, the file that includes them.
        self.together = {}
        for file in self.commands:
            if "/Unity/" in file:
                for source in re.findall(r'^#include "(.*)"$', pathlib.Path(file).read_text(), re.M):
                    self.together[source] = file
        self.ninja = (self.directory / "build.ninja").read_text()
        first = next(f for f in [*self.commands, *self.together] if "/framework/assay/" in f)
        self.root = pathlib.Path(first[:first.index("/framework/assay/")])

    def compile(self, source, text_file, made, optimise):
        """The command that compiles `text_file` as though it were `source`."""
        group = self.together.get(str(source))
        if group:
            all_of_it = made.with_suffix(".cxx")
            all_of_it.write_text(pathlib.Path(group).read_text().replace(f'"{source}"', f'"{text_file}"'))
            text_file = all_of_it
        entry = self.commands[group or str(source)]
        words, command = shlex.split(entry["command"]), []
        at = 0
        while at < len(words):
            if words[at] in ("-o", "-c"):
                at += 2
                continue
            if not re.match(r"-W|-O\d|.*/ccache$", words[at]):
                command.append(words[at])
            at += 1
        return command + ["-w", optimise, "-o", str(made), "-c", str(text_file)]

    def link(self, program, objects, made, linker):
        match = re.search(r"^build " + re.escape(program) + r": \S+ ([^|\n]*)((?:.|\n(?=  ))*)",
                          self.ninja, re.M)
        if not match:
            sys.exit(f"mutants.py: {self.directory}/build.ninja builds no {program}")
        settings = dict(re.findall(r"^  (\w+) = (.*)$", match.group(2), re.M))
        flags = settings.get("LINK_FLAGS", "")
        if linker:
            flags = re.sub(r"-fuse-ld=\w+", "", flags) + f" -fuse-ld={linker}"
        return (["c++"] + flags.split() + [str(o) for o in objects] + match.group(1).split() +
                settings["LINK_LIBRARIES"].split() + ["-o", str(made)])


def candidates(root, rooms, seed):
    """Returns for each room a generator of its mutants, as (room, path, mutant). The kind of each mutant is drawn, so
    that no kind comes first. A generator ends when all mutants of its room were drawn."""
    streams = {}
    for room in rooms:
        kinds = {}
        for path in sorted((root / "framework/assay" / room).glob("*.cc")):
            for mutant in changes.mutants_of(path.read_text()):
                kinds.setdefault(mutant.kind, []).append((room, path, mutant))
        draw = random.Random(f"{seed} {room}")
        for kind in sorted(kinds):
            draw.shuffle(kinds[kind])

        def stream(kinds=kinds, draw=draw):
            while kinds:
                kind = draw.choice(sorted(kinds))
                yield kinds[kind].pop()
                if not kinds[kind]:
                    del kinds[kind]

        streams[room] = stream()
    return streams


def equivalents(path=HERE / "equivalent.txt"):
    """Returns the mutants that change nothing, as {(file, line as it is, line as changed): reason}. Each
    block has a line with the file, a line with "- " and the line as it is, a line with "+ " and the changed line, and
    the reason, which may take several lines."""
    known = {}
    if path.exists():
        text = "\n".join(l for l in path.read_text().splitlines() if not l.startswith("#"))
        for block in re.split(r"\n\s*\n", text.strip()):
            lines = block.splitlines()
            if (len(lines) < 4 or lines[1][:2] != "- " or lines[2][:2] not in ("+ ", "+") or
                    any(line[:2] in ("- ", "+ ") for line in lines[3:])):
                sys.exit(f"{path}: a block is a file, '- line', '+ line' and a reason: {block}")
            known[lines[0], lines[1][2:].strip(), lines[2][1:].strip()] = " ".join(lines[3:])
    return known


def listed(text):
    """Returns the names of the tests that --gtest_list_tests prints."""
    names, suite = [], ""
    for line in text.splitlines():
        word = line.split("#")[0].strip()
        if line.startswith("  "):
            names.append(suite + word)
        elif word.endswith("."):
            suite = word
    return [name for name in names if not re.search(r"(^|[./])DISABLED_", name)]


def durations(build, program, path, longest):
    """Returns how long each unmutated test takes. The times are read from `path`. Missing ones are measured
    and written there. Tests that no longer exist are left out. If only the program's objects exist, and not
    the program, its tests are those of `path`."""
    known = json.loads(path.read_text()) if path and path.exists() else {}
    if program in known and not (build.directory / program).exists():
        return {name: seconds for name, seconds in known[program].items() if seconds <= longest}
    names = listed(subprocess.run([build.directory / program, "--gtest_list_tests"], check=True,
                                  capture_output=True, text=True).stdout)
    times = {name: known.get(program, {}).get(name) for name in names}
    missing = [name for name, seconds in times.items() if seconds is None]
    if missing:
        with tempfile.TemporaryDirectory() as directory:
            report = pathlib.Path(directory) / "report.json"
            flags = pathlib.Path(directory) / "flags"
            flags.write_text("--gtest_filter=" + ":".join(missing) + "\n")
            done = subprocess.run([build.directory / program, f"--gtest_flagfile={flags}",
                                   f"--gtest_output=json:{report}"],
                                  cwd=directory, capture_output=True, text=True)
            if done.returncode != 0:
                sys.exit(f"mutants.py: {program} fails without a mutant:\n{done.stdout[-3000:]}")
            suites = json.loads(report.read_text())["testsuites"]
        times |= {f"{s['name']}.{t['name']}": float(t["time"][:-1])
                  for s in suites for t in s["testsuite"]}
        known[program] = times
        if path:
            path.write_text(json.dumps(known, indent=0))
    return {name: seconds for name, seconds in times.items() if seconds <= longest}


def phases(times, refused):
    """Returns the tests in three parts, each as (names, seconds), so that the quickest ways to see most come
    first: one quick instance of each test, the other quick ones, and the slow ones."""
    first = {}
    for name in sorted(times, key=times.get):
        if not any(matches(name, pattern) for pattern in refused):
            first.setdefault(re.sub(r"/[^/.]*$", "", re.sub(r"^\w+/", "", name)), name)
    chosen = {name for name in first.values() if times[name] < 0.5}
    rest = [n for n in times if n not in chosen and not any(matches(n, p) for p in refused)]
    parts = [chosen, {n for n in rest if times[n] < 0.5}, {n for n in rest if times[n] >= 0.5}]
    return [(sorted(p), sum(times[n] for n in p)) for p in parts if p]


def matches(name, pattern):
    return re.fullmatch(re.escape(pattern).replace(r"\*", ".*").replace(r"\?", "."), name) is not None


def limited():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 30, 1 << 30))


def run(command, directory, seconds, environment):
    """Returns (exit status or None after too long, output). Processes that the command started end with it."""
    with open(directory / "output", "w+b") as output:
        process = subprocess.Popen(command, cwd=directory, stdout=output, stderr=output,
                                   stdin=subprocess.DEVNULL, env=environment, preexec_fn=limited,
                                   start_new_session=True)
        try:
            status = process.wait(seconds)
        except subprocess.TimeoutExpired:
            status = None
        try:
            os.killpg(process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        process.wait()
        output.seek(0)
        return status, output.read(1 << 20).decode(errors="replace")


def programs_of(options, room):
    """Returns the test programs that should detect the mutants of a room: its own, unless --room-tests names others."""
    named = dict(pair.split("=") for pair in options.room_tests.split(",") if pair)
    return [f"bin/{name}_test" for name in named.get(room, room).split("+")]


def parts_of(build, options, room):
    """Returns the test runs for a mutant of a source in this room (docs/rooms.md), in order. Each run is (test program,
    names of its tests, the seconds that these tests take together without a mutant)."""
    refused = options.tests_filter.lstrip("-").split(":")
    return [(program, names, seconds) for program in programs_of(options, room)
            for names, seconds in phases(
                durations(build, program, options.durations, options.longest), refused)]


def judged(build, options, room, source, lines_changed, parts):
    """Returns the verdict on one mutant, with what killed it."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="mutant_", dir=options.temporary))
    environment = dict(os.environ, TMPDIR=str(directory), CCACHE_DISABLE="1", GTEST_FAIL_FAST="1",
                       GTEST_BRIEF="1")
    for name in ("GTEST_BREAK_ON_FAILURE", "GTEST_FILTER"):
        environment.pop(name, None)
    try:
        text = directory / source.name
        text.write_text(lines_changed)
        made = directory / "mutant.o"
        started = time.monotonic()
        done = subprocess.run(build.compile(source, text, made, options.optimise), env=environment,
                              cwd=build.directory, capture_output=True, text=True)
        if done.returncode != 0:
            return {"verdict": "not compiled", "by": first_error(done.stderr)}
        for name in dict.fromkeys(name for name, _, _ in parts):
            done = subprocess.run(
                build.link(name, [made], directory / pathlib.Path(name).name, options.linker),
                env=environment, cwd=build.directory, capture_output=True, text=True)
            if done.returncode != 0:
                return {"verdict": "not compiled", "by": "link: " + first_error(done.stderr)}
        compiled = time.monotonic()
        for name, names, seconds in parts:
            flags = directory / "flags"
            flags.write_text("--gtest_filter=" + ":".join(names) + "\n")
            limit = 20 + options.patience * seconds
            program = directory / pathlib.Path(name).name
            status, output = run([program, f"--gtest_flagfile={flags}"], directory, limit,
                                 environment)
            result = {"seconds": round(time.monotonic() - compiled, 1),
                      "compiling": round(compiled - started, 1)}
            if status is None:
                return {"verdict": "killed", "by": "too long"} | result
            if status != 0:
                failed = re.search(r"\[  FAILED  \] (\S+?),? ", output + " ")
                by = failed.group(1) if failed else f"ended with {status}"
                return {"verdict": "killed", "by": by} | result
        return {"verdict": "survived", "by": ""} | result
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def first_error(text):
    return next((l for l in text.splitlines() if "error" in l), text[:200])[:300]


def wilson(hits, of, z=1.959964):
    if of == 0:
        return 0.0, 1.0
    share, square = hits / of, z * z / of
    middle = (share + square / 2) / (1 + square)
    half = z / (1 + square) * math.sqrt(share * (1 - share) / of + square / (4 * of))
    return middle - half, middle + half


def key_of(path, mutant):
    text = f"{path}:{mutant.line}:{mutant.before}:{mutant.after}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def summary(results, out=print):
    rooms = [r for r in ROOMS if any(x["room"] == r for x in results)]
    for room in rooms + ["all"]:
        of_room = [x for x in results if room in ("all", x["room"])]
        count = {v: sum(x["verdict"] == v for x in of_room)
                 for v in ("killed", "survived", "equivalent", "not compiled")}
        judged_ones = count["killed"] + count["survived"]
        low, high = wilson(count["killed"], judged_ones)
        share = 100 * count["killed"] / judged_ones if judged_ones else 0
        out(f"{room:8} {count['killed']:4} of {judged_ones:4} killed  {share:5.1f} %  "
            f"[{100 * low:.1f}, {100 * high:.1f}]; {count['equivalent']} equivalent, "
            f"{count['not compiled']} did not compile")
    for x in results:
        if x["verdict"] == "survived":
            out(f"\nsurvived: {x['file']}:{x['line']} ({x['kind']})\n- {x['before'].strip()}\n"
                f"+ {x['after'].strip()}")


def draw_all(options):
    build = Build(options.build)
    rooms = options.rooms.split(",")
    equivalent = equivalents()
    done = {}
    if options.json and options.json.exists():
        for line in options.json.read_text().splitlines():
            result = json.loads(line)
            done[result["key"]] = result
    streams = candidates(build.root, rooms, options.seed)
    wanted = {room: options.count // len(rooms) + (i < options.count % len(rooms))
              for i, room in enumerate(rooms)}
    if options.list:
        for room in rooms:
            for _ in range(wanted[room]):
                _, path, mutant = next(streams[room])
                print(f"{path.relative_to(build.root)}:{mutant.line} ({mutant.kind})\n"
                      f"- {mutant.before.strip()}\n+ {mutant.after.strip()}")
        return 0
    parts = {room: parts_of(build, options, room) for room in rooms}
    results, lock, stop = [], threading.Lock(), threading.Event()
    ends = time.monotonic() + options.minutes * 60

    def one(room):
        """Draws mutants until one compiles."""
        while not stop.is_set() and time.monotonic() < ends:
            with lock:
                drawn = next(streams[room], None)
            if drawn is None:
                return
            _, path, mutant = drawn
            relative = str(path.relative_to(build.root))
            key = key_of(relative, mutant)
            result = done.get(key)
            reason = equivalent.get((relative, mutant.before.strip(), mutant.after.strip()))
            if reason:
                result = {"verdict": "equivalent", "by": reason}
            elif not result:
                lines = path.read_text().split("\n")
                lines[mutant.line - 1] = mutant.after
                result = judged(build, options, room, path, "\n".join(lines), parts[room])
            result |= {"key": key, "room": room, "file": relative, "line": mutant.line,
                       "kind": mutant.kind, "before": mutant.before, "after": mutant.after}
            with lock:
                results.append(result)
                if options.json and key not in done:
                    with open(options.json, "a") as out:
                        out.write(json.dumps(result) + "\n")
                print(f"{len(results):4} {result['verdict']:12} {relative}:{mutant.line} "
                      f"{mutant.kind}: {result['by'][:70]}", flush=True)
            if result["verdict"] != "not compiled":
                return

    def control(room):
        """Runs the room's tests on this machine without a mutant. None of them may fail."""
        path = next((build.root / "framework/assay" / room).glob("*.cc"))
        return judged(build, options, room, path, path.read_text(), parts[room])

    # The rooms take turns, so that a draw that is cut short has some mutants of each.
    turns = [room for i in range(max(wanted.values())) for room in rooms if i < wanted[room]]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        controls = {} if options.no_control else {r: pool.submit(control, r) for r in rooms}
        futures = [pool.submit(one, room) for room in turns]
        try:
            for room, future in controls.items():
                result = future.result()
                if result["verdict"] != "survived":
                    stop.set()
                    sys.exit(f"mutants.py: without a mutant the tests of {room}: {result}")
                print(f"     {room} without a mutant: {result['seconds']} s", flush=True)
            for future in futures:
                future.result()
        except BaseException:
            stop.set()
            raise
    print()
    summary(results)
    return 0


def one_mutant(options):
    """Prints whether the tests kill one line changed by hand. Returns the exit code, 0 if they do."""
    name, line, after = options.mutant.split(":", 2)
    build = Build(options.build)
    path = build.root / name
    room = path.parent.name
    parts = parts_of(build, options, room)
    lines = path.read_text().split("\n")
    print(f"- {lines[int(line) - 1].strip()}\n+ {after.strip()}")
    lines[int(line) - 1] = after
    result = judged(build, options, room, path, "\n".join(lines), parts)
    print(f"{result['verdict']}: {result['by']}")
    return 0 if result["verdict"] == "killed" else 1


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--build", default="build/release", type=pathlib.Path)
    parser.add_argument("--rooms", default=",".join(ROOMS))
    parser.add_argument("--count", default=300, type=int, help="mutants, as many of each room")
    parser.add_argument("--seed", default=1, type=int)
    parser.add_argument("--jobs", default=1, type=int)
    parser.add_argument("--json", type=pathlib.Path,
                        help="results, a line each; those already there are not run again")
    parser.add_argument("--durations", type=pathlib.Path,
                        help="how long the tests take: measured once and kept in this file")
    parser.add_argument("--tests-filter", default=NOT_THESE, help="tests that are not run: -A.*:B.c")
    parser.add_argument("--room-tests", default="", metavar="gate=gate+matchers,...",
                        help="whose test programs see a room's mutants, where it is not the room's own alone")
    parser.add_argument("--longest", default=10.0, type=float,
                        help="seconds; tests that take longer are not run")
    parser.add_argument("--patience", default=4.0, type=float,
                        help="how many times as long as without a mutant tests may take")
    parser.add_argument("--minutes", default=1e6, type=float, help="none is drawn after these")
    parser.add_argument("--optimise", default="-O1", help="the mutated source's optimisation")
    parser.add_argument("--no-control", action="store_true",
                        help="do not first run the tests of each room without a mutant")
    parser.add_argument("--linker", help="of -fuse-ld, instead of the build tree's")
    parser.add_argument("--temporary", type=pathlib.Path, help="where temporary files go")
    parser.add_argument("--summary", type=pathlib.Path, help="sums up such a file of --json")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--mutant")
    parser.add_argument("--selftest", action="store_true")
    options = parser.parse_args()
    if options.selftest:
        import selftest
        return selftest.run()
    if options.summary:
        found = [json.loads(line) for line in options.summary.read_text().splitlines()]
        summary(list({x["key"]: x for x in found}.values()))
        return 0
    if options.mutant:
        return one_mutant(options)
    return draw_all(options)


if __name__ == "__main__":
    sys.exit(main())
