"""Makes single memory allocations fail, one in each run, in every command that writes files.

Each earlier file must stay whole or be replaced by a whole file, and nothing may be left beside it.
No run may end without a message, by a signal, or with success if it failed. There is one exception:
an allocation of HDF5 1.10's own. HDF5 may then overflow its stack (H5I_inc_ref and H5E_push call
each other), free memory twice (H5FS__sinfo_new), or keep its lock, for which another thread waits
for ever. Files must be whole then, too, and at most a third of the runs in which an allocation of
HDF5 failed may end this way.

    failing_allocations.py ASSAY SHIM FOLDER [--most 40] [--command NAME]...

SHIM is the library built from fail_allocation.c. Prints how many runs ended in each way. Exits with
1 if anything was lost."""

import argparse
import collections
import pathlib
import re
import shutil
import signal
import sys

import failing_calls
import losses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in "assay", "shim", "folder":
        parser.add_argument(name, type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--command", action="append", choices=failing_calls.COMMANDS)
    asked = parser.parse_args()
    failing_calls.SECONDS = 20
    inputs = asked.folder / "inputs"
    shutil.rmtree(asked.folder, ignore_errors=True)
    inputs.mkdir(parents=True)
    caller = asked.folder / "caller.txt"
    failing_calls.write_inputs(str(asked.assay), inputs)
    ended, lost_runs, in_hdf5 = collections.Counter(), [], 0
    for name in asked.command or failing_calls.COMMANDS:
        command = failing_calls.Command(str(asked.assay), inputs, asked.folder / "here", name)

        def run(number):
            caller.unlink(missing_ok=True)
            return command.run("env", f"LD_PRELOAD={asked.shim}", f"FAIL_ALLOCATION={number}",
                               f"FAIL_ALLOCATION_CALLER={caller}")

        ran = run(0)
        command.learn(ran)
        count = int(re.search(r"allocations: (\d+)\n$", ran.stderr).group(1))
        for number in failing_calls.some_of(range(1, count + 1), asked.most):
            ran = run(number)
            of_hdf5 = ""
            if caller.exists() and "libhdf5" in caller.read_text():
                in_hdf5 += 1
                of_hdf5 = ("HDF5 keeps its lock" if ran is None else
                           "HDF5 overflows its stack" if ran.returncode == -signal.SIGSEGV else
                           "HDF5 frees memory twice" if ran.returncode == -signal.SIGABRT else "")
            lost = command.harmed(same=False) if of_hdf5 else command.lost(ran)
            if of_hdf5 and not lost:
                ended[of_hdf5] += 1
                continue
            ended["lost" if lost else f"exit {ran.returncode}"] += 1
            if lost:
                asked_by = caller.read_text() if caller.exists() else "nobody"
                lost_runs.append(f"{name}, allocation {number} of {count}, asked for by {asked_by}: {lost}")
    by_hdf5 = sum(count for how, count in ended.items() if how.startswith("HDF5"))
    if 3 * by_hdf5 > in_hdf5:
        lost_runs.append(f"of the {in_hdf5} runs in which an allocation of HDF5 failed, HDF5 ended or stopped {by_hdf5}")
    return losses.report(f"{sum(ended.values())} runs of {len(asked.command or failing_calls.COMMANDS)} commands, "
                         f"in each of which one allocation failed; {in_hdf5} of these were HDF5's", ended, lost_runs)


if __name__ == "__main__":
    sys.exit(main())
