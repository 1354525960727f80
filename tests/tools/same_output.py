"""Runs several processes that write the same outputs at once, for every command that writes files.

Each process must end as it does without the others, or be refused with a reason. The outputs must
be whole, and nothing may be left beside them.

    same_output.py ASSAY FOLDER [--processes 8] [--rounds 1]"""

import argparse
import collections
import pathlib
import shutil
import subprocess
import sys

import failing_calls
import losses


def names_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def at_once(command, processes):
    """Returns how the processes ended, and what was lost."""
    command.prepare()
    running = [subprocess.Popen(command.words, cwd=command.folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                stdin=subprocess.DEVNULL, text=True) for _ in range(processes)]
    ended, lost = collections.Counter(), []
    for process in running:
        _, said = process.communicate(timeout=failing_calls.SECONDS)
        if process.returncode == command.code:
            ended["as alone"] += 1
        elif process.returncode == 2 and said.startswith("error: ") and said.count("\n") == 1:
            ended["refused"] += 1
        else:
            ended["otherwise"] += 1
            lost.append(f"exit {process.returncode}: {said[:300]}")
    if ended["as alone"] == 0:
        lost.append("none ended as it does alone")
    return ended, lost


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("assay", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--processes", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    assay, folder = arguments.assay.resolve(), arguments.folder.resolve()
    shutil.rmtree(folder, ignore_errors=True)
    inputs = folder / "inputs"
    inputs.mkdir(parents=True)
    failing_calls.write_inputs(assay, inputs)
    counts, lost = collections.Counter(), []
    for name in failing_calls.COMMANDS:
        command = failing_calls.Command(assay, inputs, folder / name, name)
        command.prepare()
        alone = subprocess.run(command.words, cwd=command.folder, capture_output=True, text=True, check=False,
                               stdin=subprocess.DEVNULL)
        command.code = alone.returncode
        after = names_in(command.folder)
        for _ in range(arguments.rounds):
            ended, problems = at_once(command, arguments.processes)
            counts.update(ended)
            problems += [f"{output} is not whole" for output in command.outputs
                         if not failing_calls.is_whole(command.folder / output)]
            if names_in(command.folder) != after:
                problems.append(f"other files: {sorted(names_in(command.folder) ^ after)}")
            lost += [f"{name}: {problem}" for problem in problems]
    return losses.report(f"{len(failing_calls.COMMANDS)} commands, each by {arguments.processes} processes at once",
                         counts, lost)


if __name__ == "__main__":
    sys.exit(main())
