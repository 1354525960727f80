"""Makes single system calls fail, one in each run, in every command that writes files.

The failures are those of a full disk, a broken disk and refused memory. Each earlier file must stay
whole or be replaced by a whole file. The outputs of a failed run may be missing. Nothing may be
left beside them, and no failure may pass for success.

    failing_calls.py ASSAY FOLDER [--most 40] [--signal KILL] [--command NAME]... [--call NAME]...

For each system call, at most --most of its calls are tried. They are spread over the run, from the
beginning of the program itself. With --signal no call fails, but the process gets that signal at
the call. strace does all of it. Prints how many runs ended in each way. Exits with 1 if anything
was lost, and with 77 if strace cannot be used here."""

import argparse
import collections
import json
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import xml.etree.ElementTree

import h5py
import numpy as np

import losses

SECONDS = 120
OLD = b"what was here before\n"
ERRORS = {
    "write": "ENOSPC", "pwrite64": "ENOSPC", "writev": "ENOSPC", "ftruncate": "ENOSPC",
    "fallocate": "ENOSPC", "fsync": "EIO", "fdatasync": "EIO", "rename": "EIO", "linkat": "EIO",
    "mkdir": "ENOSPC", "openat": "ENOSPC", "close": "EIO", "fchmod": "EPERM", "read": "EIO",
    "pread64": "EIO", "mmap": "ENOMEM", "getrandom": "EAGAIN", "unlink": "EIO", "clone3": "EAGAIN",
    "newfstatat": "EIO",
}
# The commands that write files, each with the files that it writes and its exit code.
COMMANDS = {
    "generate": ("generate sqrt --dtype float16 --shape 8,16 --out new.h5", ["new.h5"], 0),
    "probes": ("probes float8_e4m3fn --out new.h5", ["new.h5"], 0),
    "golden": ("golden cases.h5 --out new.h5", ["new.h5"], 0),
    "golden_in_place": ("golden cases.h5 --out cases.h5", ["cases.h5"], 0),
    "emulate": ("emulate cases.h5 --machine ascend910b --out new.h5", ["new.h5"], 0),
    "inject": ("inject cases.h5 --recorded npu --fault flip,bit=14,seed=1 --out new.h5",
               ["new.h5"], 0),
    "pack": ("pack cases.h5 --compress --out new.h5", ["new.h5"], 0),
    "unpack": ("unpack cases.h5 --as npy --out arrays", [], 0),
    "gate": ("gate cases.h5 --recorded npu --json new.json --junit new.xml --html new.html "
             "--save-failures new.h5", ["new.json", "new.xml", "new.html", "new.h5"], 1),
    "gate_to_stdout": ("gate cases.h5 --recorded npu --json -", [], 1),
    "compare": ("compare a.npy b.npy --json new.json", ["new.json"], 1),
    "identify": ("identify product.h5 --json new.json --out machine.json",
                 ["new.json", "machine.json"], 0),
    "audit": ("audit cases.h5 --rounded --target torch --draws 1 --no-searches --json new.json --html new.html",
              ["new.json", "new.html"], None),
    "trial": ("trial add --machine ascend910b --emulate --draws 1 --max-elements 64 --json new.json --junit new.xml "
              "--html new.html", ["new.json", "new.xml", "new.html"], 0),
    "regate": ("regate result.json --standard torch --json new.json", ["new.json"], None),
    "join": ("join part.json --json new.json", ["new.json"], 1),
    "study": ("study reduction --json new.json", ["new.json"], None),
    "standards": ("list standards --json new.json", ["new.json"], 0),
}


def write_inputs(assay, folder):
    draw = np.random.default_rng(3)
    with h5py.File(folder / "plain.h5", "w") as f:
        f.attrs["assay_schema"] = 1
        for name, off in ("right", 1.0), ("off", 1.01):
            x = draw.random((8, 16), dtype=np.float32) + np.float32(0.5)
            group = f.create_group(f"cases/sqrt/{name}")
            group.attrs.update({"op": "sqrt", "rtol": 1e-3, "atol": 1e-3})
            golden = np.sqrt(x.astype(np.float64))
            for part, values in {"inputs/x": x, "golden": golden,
                                 "outputs/npu": golden.astype(np.float32) * np.float32(off)}.items():
                group.create_dataset(part, data=values).attrs["dtype"] = str(values.dtype)
    np.save(folder / "a.npy", x)
    np.save(folder / "b.npy", x * np.float32(1.01))

    def run(words, code=0):
        ran = subprocess.run([assay, *words.split()], cwd=folder, capture_output=True, text=True)
        assert ran.returncode == code, (words, ran.stderr)

    run("pack plain.h5 --out cases.h5")
    run("gate cases.h5 --recorded npu --json result.json --histograms", 1)
    run("gate cases.h5 --recorded npu --shard 1/1 --json part.json", 1)
    run("generate matmul --dtype float16 --shape 32,128,32 --output-dtype float32 --out made.h5")
    run("emulate made.h5 --machine hopper --out product.h5")
    for made in "plain.h5", "made.h5":
        (folder / made).unlink()


def is_whole(path):
    data = path.read_bytes()
    if path.suffix == ".json":
        json.loads(data)
    elif path.suffix == ".xml":
        xml.etree.ElementTree.fromstring(data)
    elif path.suffix == ".html":
        return data.rstrip().endswith(b"</html>")
    elif path.suffix == ".h5":
        with h5py.File(path) as f:
            f.visititems(lambda name, item: item[...] if isinstance(item, h5py.Dataset) else None)
    return True


def without_numbers(text):
    return re.sub(r"[0-9]+(\.[0-9]+)?(e[-+]?[0-9]+)?", "#", text)


class Command:
    def __init__(self, assay, inputs, folder, name):
        words, self.outputs, self.code = COMMANDS[name]
        self.words, self.inputs, self.folder = [assay, *words.split()], inputs, folder

    def prepare(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.copytree(self.inputs, self.folder)
        for output in self.outputs:
            if not (self.folder / output).exists():
                (self.folder / output).write_bytes(OLD)
        self.before = {p.name: p.read_bytes() for p in self.folder.iterdir()}

    def run(self, *strace):
        self.prepare()
        try:
            return subprocess.run([*strace, *self.words], cwd=self.folder, capture_output=True,
                                  text=True, timeout=SECONDS, stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            return None

    # Records how a run ends if nothing fails.
    def learn(self, ran):
        if self.code is not None and ran.returncode != self.code or ran.returncode not in (0, 1):
            sys.exit(f"{' '.join(self.words)}: exit {ran.returncode}: {ran.stderr}")
        self.code, self.stdout = ran.returncode, without_numbers(ran.stdout)
        self.after = {p.name for p in self.folder.iterdir()}
        self.gone = set(self.outputs) - {p.name for p in self.inputs.iterdir()}

    def clean(self, log, calls):
        self.learn(self.run("strace", "-f", "-qq", "-o", log, "-e", f"trace={','.join(calls)}"))
        lines = re.findall(r"^\d+ +((\w+)\(.*)", log.read_text(), re.M)
        loaded = max((i for i, (line, _) in enumerate(lines) if re.search(r"\.so[.0-9]*\"", line)),
                     default=-1)
        counts = collections.Counter(call for _, call in lines)
        before = collections.Counter(call for _, call in lines[:loaded + 1])
        # The loader maps each library in a few steps after it has opened it, so 5 more calls of mmap are its own.
        before["mmap"] += 5
        return {call: range(before[call] + 1, counts[call] + 1) for call in calls}

    # Returns a description of the loss, or "" if nothing was lost.
    def lost(self, ran, sent=None, call=None):
        is_replacing = call == "rename" and not self.gone
        if ran is None:
            return "hangs"
        if sent and ran.returncode == -sent:
            # Between the two steps that replace a file, the old file has a second name in the
            # folder.
            for second in self.folder.glob(".assay.*.tmp"):
                if is_replacing and sent == signal.SIGKILL:
                    second.unlink()
            return self.harmed(same=False)
        if ran.returncode < 0 or ran.returncode > 127:
            return f"ended by a signal ({ran.returncode}): {ran.stderr[-300:]}"
        if ran.returncode not in (0, 1, 2, 3, 4, 127):
            return f"exit {ran.returncode}"
        same = ran.returncode == self.code
        if same and without_numbers(ran.stdout) != self.stdout:
            return "prints something else, and exits as if it had not"
        if not same and not ran.stderr.strip():
            return f"exit {ran.returncode} without a word"
        return self.harmed(same)

    # Returns what is wrong with the files, or "".
    def harmed(self, same):
        left = {p.name for p in self.folder.iterdir()}
        # A failed run also removes the old files that it was to write, so that no older result
        # passes for its own.
        gone = set(self.before) - left - (set() if same else self.gone)
        if left - self.after or gone:
            return f"files that should not be there, or are gone: {sorted(left - self.after | gone)}"
        for name in sorted(left):
            path = self.folder / name
            old = self.before.get(name)
            if path.is_dir():
                continue
            if old is not None and path.read_bytes() == old:
                if same and old == OLD:
                    return f"{name} was not written, and the exit code is as if it was"
                continue
            if name not in self.outputs:
                return f"{name} was changed"
            try:
                whole = is_whole(path)
            except Exception as e:  # whatever reads it
                return f"{name} is not whole: {e}"
            if not whole:
                return f"{name} is not whole"
        return ""


def some_of(moments, most):
    if len(moments) <= most:
        return moments
    return sorted({moments[i * (len(moments) - 1) // max(most - 1, 1)] for i in range(most)})


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("assay", type=lambda p: str(pathlib.Path(p).resolve()))
    parser.add_argument("folder", type=lambda p: pathlib.Path(p).resolve())
    parser.add_argument("--most", type=int, default=40)
    parser.add_argument("--signal", choices=("KILL", "TERM", "INT"))
    parser.add_argument("--command", action="append", choices=COMMANDS)
    parser.add_argument("--call", action="append", choices=ERRORS)
    asked = parser.parse_args()
    try:
        subprocess.run(["strace", "-o", "/dev/null", "true"], check=True, capture_output=True)
    except (OSError, subprocess.CalledProcessError):
        print("strace cannot be used here: nothing was tried")
        return 77
    inputs = asked.folder / "inputs"
    shutil.rmtree(asked.folder, ignore_errors=True)
    inputs.mkdir(parents=True)
    write_inputs(asked.assay, inputs)
    ended, lost_runs = collections.Counter(), []
    calls = asked.call or list(ERRORS)
    sent = signal.Signals[f"SIG{asked.signal}"] if asked.signal else None
    for name in asked.command or COMMANDS:
        command = Command(asked.assay, inputs, asked.folder / "here", name)
        for call, moments in command.clean(asked.folder / "calls.txt", calls).items():
            how = f"signal={asked.signal}" if sent else f"error={ERRORS[call]}"
            for moment in some_of(moments, asked.most):
                ran = command.run("strace", "-f", "-qq", "-o", "/dev/null", "-e",
                                  f"trace={call}", "-e", f"inject={call}:{how}:when={moment}")
                lost = command.lost(ran, sent, call)
                ended["lost" if lost else f"exit {ran.returncode}"] += 1
                if lost:
                    lost_runs.append(f"{name}, {call} number {moment} of {moments[-1]}: {lost}")
    way = f"which SIG{asked.signal} came at one call" if sent else "which one call failed"
    return losses.report(f"{sum(ended.values())} runs of {len(asked.command or COMMANDS)} commands, "
                         f"in each of {way}", ended, lost_runs)


if __name__ == "__main__":
    sys.exit(main())
