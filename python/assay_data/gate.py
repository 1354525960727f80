"""assay gate as an assertion, for pytest and unittest."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from .case import Case
from .tensor import Tensor
from .writer import write


class GateError(Exception):
    """The gate did not judge: no program, wrong usage, an unreadable file. No AssertionError, so
    that a test which expects a failed comparison does not take it for one."""


class NotComparable(GateError):
    """Exit code 3: a case, shape or dtype is missing, or nothing matched."""


class Untrusted(GateError):
    """Exit code 4: the check could not have failed, so that a pass would say nothing."""


_ERRORS = {1: (AssertionError, "the comparison failed"),
           2: (GateError, "wrong usage or an unreadable file"),
           3: (NotComparable, "not comparable"),
           4: (Untrusted, "untrusted: the check could not have failed")}


def find_assay(assay=None):
    """The program: the argument, else the environment variable ASSAY, else `assay` in PATH."""
    for said, name in (("assay=", assay),
                       ("the environment variable ASSAY", os.environ.get("ASSAY") or None)):
        if name is not None:
            found = shutil.which(os.fspath(name))
            if found is None:
                raise GateError(f"{said} names {os.fspath(name)!r}, which is no program to be run")
            return found
    found = shutil.which("assay")
    if found is None:
        raise GateError("the program assay is not found: give assay=, set the environment variable "
                        "ASSAY, or put it into PATH")
    return found


def assert_gate(golden, outputs=None, *, recorded=None, machine=None, case=None, standard=None,
                rtol=None, atol=None, equal_nan=False, abft=None, options=(), assay=None,
                directory=None):
    """Raises unless the outputs pass `assay gate` against the golden results.

    golden    the path of a golden file; a Case; or the golden result alone, an array
    outputs   the path of a file with the outputs; or, with an array as golden, an array; None:
              what the golden file or case recorded
    recorded, machine, case, standard (one or several), rtol, atol, equal_nan, abft (True or a
    threshold), options (any others, as a list of words): as `assay gate --help` has them
    assay     the program; default: the environment variable ASSAY, else `assay` in PATH
    directory where the files of a case or arrays are written (pytest's tmp_path); default: a new
              directory, removed after a pass and kept otherwise for the line that reproduces it

    Arrays are whatever Tensor.of takes. Returns what the program said. Raises AssertionError with
    the program's own text where the comparison failed (exit code 1), GateError on wrong usage or an
    unreadable file (2), NotComparable (3), Untrusted (4).
    """
    __tracebackhide__ = True
    words = [find_assay(assay), "gate"]
    chosen = [standard] if isinstance(standard, str) else standard or ()
    for option, value in [("recorded", recorded), ("machine", machine), ("case", case),
                          *(("standard", one) for one in chosen), ("rtol", rtol), ("atol", atol)]:
        if value is not None:
            words += [f"--{option}", str(value)]
    if equal_nan:
        words.append("--equal-nan")
    words += [str(word) for word in options]

    own = None  # a directory to be removed
    if _is_path(golden):
        if outputs is not None and not _is_path(outputs):
            raise TypeError("golden is a file, so outputs must be one: write a Case with both")
        words.insert(2, os.fspath(golden))
        if outputs is not None:
            words += ["--outputs", os.fspath(outputs)]
    else:
        to_write = _case_of(golden, outputs)
        if directory is None:
            own = directory = tempfile.mkdtemp(prefix="assay_gate_")
        path = os.path.join(directory, "case.h5")
        try:
            write(path, to_write)
        except BaseException:
            _remove(own)
            raise
        words.insert(2, path)
    if abft is not None and abft is not False:  # last: it may stand alone, and must not take what follows for its threshold
        words += ["--abft"] if abft is True else ["--abft", str(abft)]

    done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, encoding="utf-8", errors="replace", check=False)
    said = "\n".join(text.strip("\n") for text in (done.stdout, done.stderr) if text.strip())
    if done.returncode == 0:
        _remove(own)
        return said
    if done.returncode < 0:
        error, what = GateError, f"ended by {signal.Signals(-done.returncode).name}"
    else:
        error, what = _ERRORS.get(done.returncode, (GateError, f"exit code {done.returncode}"))
    kept = f"\nkept: {own}/case.h5" if own else ""
    raise error(f"assay gate: {what}\n{said}{kept}")


def _is_path(value):
    return isinstance(value, (str, os.PathLike))


def _case_of(golden, outputs):
    if not isinstance(golden, Case):
        if outputs is None or _is_path(outputs):
            raise TypeError("golden is an array, so outputs must be one")
        output = Tensor.of(outputs)
        return Case("arrays", golden=Tensor.of(golden), outputs={"output": output},
                    attributes={"output_dtype": output.dtype})
    if outputs is not None:
        raise TypeError("a Case holds its outputs itself: Case(outputs={producer: array})")
    return golden


def _remove(directory):
    if directory is not None:
        pathlib.Path(directory, "case.h5").unlink(missing_ok=True)
        pathlib.Path(directory).rmdir()
