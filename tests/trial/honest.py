#!/usr/bin/env python3
"""Tries the right kernels of honest_kernels.py with drawn inputs. A trial that calls one of them wrong is a false finding.

    honest.py --draws 10000 --jobs 16                    all kernels
    honest.py --draws 1000 --only 'softmax_*' sum_kahan  some of them, by names or globs
    honest.py --draws 10000 --time-limit 580 --table honest.md

Each kernel is tried in processes of its own, so that a crash or a hang is reported by its name. The draws of a kernel are
computed in pieces of at most --piece draws, each with another seed. All kernels get their first piece before one gets its
second, so a run that a time limit ends has tried all kernels for about the same number of draws. Needs only numpy; the
kernels of PyTorch are not run if it is not installed. Exit code 1 if there is any finding.
"""
import argparse
import collections
import fnmatch
import functools
import multiprocessing
import os
import pathlib
import signal
import sys
import time
import traceback

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[variable] = "1"  # kernels run side by side

import numpy as np  # noqa: E402

import assay  # noqa: E402
from honest_kernels import KERNELS, torch  # noqa: E402

SEEDS = 1000  # a piece of a kernel's draws has the seed SEEDS * --seed + its number


class Result:
    """The sum of the pieces of one kernel."""

    def __init__(self, kernel):
        self.kernel, self.pieces = kernel, 0
        self.passed = self.listed = self.not_judged = self.not_supported = 0
        self.seconds, self.processor_seconds = 0.0, 0.0
        self.failure, self.text, self.was_cut = "", "", False

    def add(self, piece):
        self.pieces += 1
        self.seconds += piece["seconds"]
        self.processor_seconds += piece["processor_seconds"]
        self.was_cut = self.was_cut or piece["was_cut"]
        counts = piece["counts"]
        self.passed += counts["random"]["passed"]
        self.listed += counts["listed"]["passed"]
        self.not_judged += sum(counts[way]["not_judged"] for way in ("random", "listed"))
        self.not_supported += sum(counts[way]["not_supported"] for way in ("random", "listed"))
        if piece["finding"] and not self.failure:
            self.failure, self.text = piece["finding"], piece["text"]

    def outcome(self):
        if self.failure:
            return self.failure
        if self.passed + self.listed == 0:
            return "not run" if self.was_cut or self.pieces == 0 else "no verdict"
        return "pass"

    def line(self):
        cut = ", time limit" if self.was_cut else ""
        return f"{self.kernel.name:28} {self.kernel.op:16} {self.passed:7,} draws passed, " \
               f"{self.not_judged:5,} without a verdict  {self.outcome()}{cut}  {self.seconds:.1f} s"


def try_piece(kernel, draws, seed, calls, connection):
    """Tries a kernel in this process, and sends the counts."""
    try:
        if torch is not None:
            torch.set_num_threads(1)

        @functools.wraps(kernel.function)
        def counted(*positions, **keywords):
            calls.value += 1
            return kernel.function(*positions, **keywords)
        report = assay.trial(counted, kernel.op, dtypes=kernel.dtypes, draws=draws, seed=seed, threads=1, **kernel.options)
        finding = report.failures[0].finding if report.failures else \
            "no verdict" if report.outcome != "pass" and not report.was_interrupted else ""
        connection.send({"counts": report.counts, "finding": finding, "text": report.text if finding else "",
                         "was_cut": report.was_interrupted, "processor_seconds": time.process_time()})
    except KeyboardInterrupt:
        connection.send({"was_cut": True})
    except BaseException:
        connection.send({"error": traceback.format_exc()})


NO_COUNTS = {way: {"passed": 0, "not_judged": 0, "not_supported": 0} for way in ("listed", "random")}


class Running:
    """A process that computes one piece."""

    def __init__(self, result, draws, seed):
        self.result, self.draws, self.seed = result, draws, seed
        self.begin = self.last_change = time.monotonic()
        self.seen, self.was_ended = -1, False
        context = multiprocessing.get_context("fork")  # PyTorch takes seconds to import
        self.calls = context.Value("q", 0, lock=False)
        self.connection, other = context.Pipe(False)
        self.process = context.Process(target=try_piece,
                                       args=(result.kernel, draws, seed, self.calls, other), daemon=True)
        self.process.start()
        other.close()

    def end(self):
        """Asks the process to report what was done until now."""
        if not self.was_ended and self.process.is_alive():
            self.was_ended = True
            os.kill(self.process.pid, signal.SIGINT)

    def look(self, most_seconds):
        """Returns what the piece found, or None if it still runs."""
        now = time.monotonic()
        if self.calls.value != self.seen:
            self.seen, self.last_change = self.calls.value, now
        is_hanging = now - self.last_change > (10 if self.was_ended else most_seconds)
        if not self.connection.poll(0) and self.process.is_alive() and not is_hanging:
            return None
        piece = {"counts": NO_COUNTS, "finding": "", "text": "", "was_cut": False, "processor_seconds": 0.0}
        try:
            message = self.connection.recv() if self.connection.poll(0) else {}
        except EOFError:  # the process ended without a message
            message = {}
        if is_hanging and not message:
            self.process.kill()
        self.process.join()
        where = f"call {self.calls.value:,} of the trial of {self.draws:,} draws with seed={self.seed}"
        if "error" in message:
            piece.update(finding="error of the trial", text=message["error"])
        elif message:
            piece.update(message)
        elif is_hanging and self.was_ended:
            piece["was_cut"] = True
        elif is_hanging:
            piece.update(finding="hang", text=f"{where} takes more than {most_seconds:.0f} s")
        else:
            piece.update(finding="crash", text=f"{where} ended the process with exit code {self.process.exitcode}")
        if piece["finding"] and piece["text"]:
            piece["text"] += f"\nrepeat: honest.py --only {self.result.kernel.name} --draws {self.draws} " \
                             f"--trial-seed {self.seed}"
        piece["seconds"] = now - self.begin
        return piece


def pieces_of(options, results):
    """Returns (result, draws, seed) of all pieces, the first ones of all kernels first."""
    pieces, left, number = [], options.draws, 0
    while left > 0 or number == 0:
        draws = min(left, options.piece)
        seed = options.trial_seed if options.trial_seed is not None else SEEDS * options.seed + number
        pieces += [(result, draws, seed) for result in results]
        left, number = left - draws, number + 1
    return collections.deque(pieces)


def run(options, results):
    """Runs all pieces. Prints the line of a kernel after its last piece, or after a finding."""
    begin = time.monotonic()
    waiting, running = pieces_of(options, results), []
    left = collections.Counter(result.kernel.name for result, _, _ in waiting)

    shown = set()

    def count(result):
        """Counts that a piece needs no more time."""
        left[result.kernel.name] -= 1
        if (left[result.kernel.name] == 0 or result.failure) and result.kernel.name not in shown:
            shown.add(result.kernel.name)
            print(result.line(), flush=True)
            if result.failure:
                print(result.text, flush=True)

    def drop_waiting():
        for result, _, _ in waiting:
            result.was_cut = True
            count(result)
        waiting.clear()

    is_over = False
    while waiting or running:
        try:
            if not is_over and options.time_limit is not None and time.monotonic() - begin > options.time_limit:
                is_over = True
                drop_waiting()
                for one in running:
                    one.end()
            while waiting and len(running) < options.jobs:
                result, draws, seed = waiting.popleft()
                if result.failure:  # what else would be found is not looked for
                    count(result)
                    continue
                running.append(Running(result, draws, seed))
            for one in list(running):
                piece = one.look(options.call_seconds)
                if piece is not None:
                    running.remove(one)
                    one.result.add(piece)
                    count(one.result)
            time.sleep(0.01)
        except KeyboardInterrupt:  # the terminal interrupts the other processes, too
            is_over = True
            drop_waiting()
            for one in running:
                one.was_ended = True


def sentence(results):
    """Returns the sum of all kernels and the bound of the rate of false findings."""
    passed = sum(result.passed for result in results)
    findings = sum(bool(result.failure) for result in results)
    tried = [result for result in results if result.outcome() != "not run"]
    text = f"{len(tried)} kernels of {len({result.kernel.op for result in tried})} operators: {passed:,} draws passed, " \
           f"{sum(result.listed for result in results):,} of the fixed list passed, " \
           f"{sum(result.not_judged for result in results):,} without a verdict, {findings} findings"
    if findings == 0 and passed > 0:
        rate = 1 - 0.05 ** (1 / passed)
        text += f"\nwith 95 % confidence fewer than {rate:.2g} of such draws have a false finding (1 in {int(1 / rate):,})"
    return text


def table(results, not_run):
    """Returns the page of --table: a table by operator, and one of all kernels."""
    by_op = collections.defaultdict(list)
    for result in results:
        by_op[result.kernel.op].append(result)
    with_torch = f", PyTorch {torch.__version__}" if torch is not None else ""
    parts = [f"Python {sys.version.split()[0]}, numpy {np.__version__}{with_torch}\n\n{sentence(results)}\n",
             "| operator | kernels | dtypes | draws that passed | without a verdict | findings |\n"
             "| --- | --- | --- | --- | --- | --- |"]
    for op, of in by_op.items():
        dtypes = dict.fromkeys(dtype for result in of for dtype in result.kernel.dtypes)
        parts.append(f"| {op} | {len(of)} | {', '.join(dtypes)} | {sum(result.passed for result in of):,} | "
                     f"{sum(result.not_judged for result in of):,} | {sum(bool(result.failure) for result in of)} |")
    parts.append("\n| kernel | operator | style | library | dtypes | draws that passed | without a verdict | outcome | "
                 "seconds |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    for result in results:
        kernel = result.kernel
        parts.append(f"| {kernel.name} | {kernel.op} | {kernel.style} | {'PyTorch' if kernel.uses_torch else 'numpy'} | "
                     f"{', '.join(kernel.dtypes)} | {result.passed:,} | {result.not_judged:,} | {result.outcome()} | "
                     f"{result.seconds:.1f} |")
    for kernel, why in not_run:
        parts.append(f"| {kernel.name} | {kernel.op} | {kernel.style} | PyTorch | {', '.join(kernel.dtypes)} | | | "
                     f"not run: {why} | |")
    return "\n".join(parts) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=1000, help="random draws for each kernel, after the fixed list")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only kernels whose name or operator matches a glob")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="number of processes, by default one for each core")
    parser.add_argument("--seed", type=int, default=1, help="another number gives other draws")
    parser.add_argument("--trial-seed", type=int, help="the seed of the trial itself, as the line `repeat` of a finding says")
    parser.add_argument("--piece", type=int, default=1000, help="the most draws of one process")
    parser.add_argument("--time-limit", type=float, metavar="SECONDS", help="ends the whole run, and reports what was done")
    parser.add_argument("--call-seconds", type=float, default=120, help="a process that makes no call for this time hangs")
    parser.add_argument("--table", type=pathlib.Path, metavar="FILE", help="writes the results as Markdown")
    parser.add_argument("--list", action="store_true", help="prints the kernels, and runs none")
    options = parser.parse_args(arguments)
    if options.draws < 0 or options.jobs < 1 or options.piece < 1:
        parser.error("--draws must be at least 0, --jobs and --piece at least 1")
    if options.trial_seed is not None:
        options.piece = max(options.draws, 1)  # one piece, as its seed is given
    return parser, options


def main(arguments=None):
    parser, options = parse(arguments)
    kernels = list(KERNELS.values())
    for glob in options.only or []:
        if not any(fnmatch.fnmatchcase(word, glob) for one in kernels for word in (one.name, one.op)):
            parser.error(f"--only {glob}: no kernel has such a name or operator; --list prints all")
    kernels = [one for one in kernels if options.only is None or
               any(fnmatch.fnmatchcase(word, glob) for glob in options.only for word in (one.name, one.op))]
    if options.list:
        for one in kernels:
            print(f"{one.name:28} {one.op:16} {one.style}; {', '.join(one.dtypes)}"
                  + (f" (not run: {one.why_not()})" if one.why_not() else ""))
        return 0
    not_run = [(one, one.why_not()) for one in kernels if one.why_not()]
    results = [Result(one) for one in kernels if not one.why_not()]
    begin = time.monotonic()
    run(options, results)
    for kernel, why in not_run:
        print(f"{kernel.name:28} {kernel.op:16} not run: {why}")
    seconds = time.monotonic() - begin
    processor = sum(result.processor_seconds for result in results)
    draws = sum(result.passed + result.listed + result.not_judged for result in results)
    print(f"{sentence(results)}\n{seconds:.1f} s, {processor:.1f} s of processor time, {draws / max(processor, 1e-9):.0f} draws "
          "per second of it")
    if options.table:
        options.table.write_text(table(results, not_run))
    return 1 if any(result.outcome() not in ("pass", "not run") for result in results) else 0


if __name__ == "__main__":
    sys.exit(main())
