"""Writing dataset files (docs/dataset.md), of schema 1 where no case needs more: a file is written beside its destination and
moved into place when it is whole."""
import contextlib
import io
import itertools
import os
import stat

import h5py
import numpy as np
from h5py import h5d, h5p, h5s

from .case import Case, attribute_problem, canonical, is_case_name
from .errors import DatasetError, NoCaseError
from .stored import stored_type
from .tensor import FORMATS, Tensor

CHUNK_BYTES = 1 << 20   # of a compressed dataset, about
MIN_COMPRESSED = 1024   # elements; fewer are not worth a chunk
MOST_FIXED_LENGTH = 1 << 15  # bytes of a string in its object's header, which takes less than 64 KiB

_count = itertools.count()


class _Sink(io.RawIOBase):
    """What HDF5 writes to. It remembers the first error and goes on: HDF5 leaves a file that it
    could not write in a state from which nothing closes it."""

    def __init__(self, path):
        self.fd = os.open(path, os.O_CREAT | os.O_RDWR | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        self.at = self.end = 0
        self.error = None

    def _try(self, action):
        if self.error is None:
            try:
                return action()
            except OSError as error:
                self.error = error
        return 0

    def seek(self, offset, whence=io.SEEK_SET):
        self.at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self.at, io.SEEK_END: self.end}[whence]
        return self.at

    def tell(self):
        return self.at

    def readable(self):
        return True

    def writable(self):
        return True

    def seekable(self):
        return True

    def readinto(self, buffer):  # HDF5 reads back what it has evicted; beyond the end are zeros
        data = self._try(lambda: os.pread(self.fd, len(buffer), self.at)) or b""
        buffer[:] = data + bytes(len(buffer) - len(data))
        self.at += len(buffer)
        return len(buffer)

    def write(self, data):
        view = memoryview(data).cast("B")
        done = 0
        while done < len(view) and self.error is None:
            done += self._try(lambda: os.pwrite(self.fd, view[done:], self.at + done))
        self.at += len(view)
        self.end = max(self.end, self.at)
        return len(view)

    def truncate(self, size=None):
        self._try(lambda: os.ftruncate(self.fd, size))
        self.end = size
        return size

    def finish(self):
        """Syncs and closes; the first error, None where all was written."""
        self._try(lambda: os.fsync(self.fd))
        self.close()
        return self.error

    def close(self):
        if not self.closed:
            try:
                os.close(self.fd)
            except OSError as error:
                self.error = self.error or error
        super().close()


def write(path, cases, attributes=None, compress=False):
    """Writes a dataset file of these cases.

    path        replaced when the new file is whole; an error before that leaves it as it was
    cases       a Case, or any iterable of them: a generator's are in memory one at a time
    attributes  the root's: description, source, license, ...
    compress    deflates datasets of at least 1024 elements

    Raises DatasetError on what the schema does not allow or the disk does not take; TypeError or
    ValueError on an array that holds no dtype of the schema. Returns how many cases were written.
    """
    path = os.fspath(path)
    cases = [cases] if isinstance(cases, Case) else cases
    try:
        mode = os.stat(path).st_mode
    except OSError:
        mode = stat.S_IFREG
    if not stat.S_ISREG(mode):
        raise DatasetError(path, "", "is a directory; name a file to write" if stat.S_ISDIR(mode)
                           else "is not a regular file")
    temporary = f"{path}.tmp.{os.getpid()}.{next(_count)}"
    try:
        sink = _Sink(temporary)
    except OSError as error:
        raise DatasetError(path, "", f"cannot be written: {error.strerror}") from None
    try:
        with h5py.File(sink, "w", libver="earliest") as file:
            writer = _Writer(path, file, compress)
            writer.attributes("/", file, {**(attributes or {}), "assay_schema": 1})
            file.create_group("cases")
            for case in cases:
                writer.case(case)
                if sink.error:
                    break
            if writer.needs_schema_2:
                del file.attrs["assay_schema"]
                writer.attributes("/", file, {"assay_schema": 2})
        error = sink.finish()
        if error:
            raise DatasetError(path, "", f"cannot be written: {error.strerror}")
        if not writer.names:
            raise NoCaseError(path, "", "would hold no case; nothing was written")
        try:
            os.replace(temporary, path)
        except OSError as error:
            raise DatasetError(path, "", f"cannot be written: {error.strerror}") from None
    except BaseException:
        sink.close()
        with contextlib.suppress(OSError):
            os.remove(temporary)
        raise
    return len(writer.names)


class _Writer:
    def __init__(self, path, file, compress):
        self.path, self.file, self.compress = path, file, compress
        self.names, self.groups = set(), set()  # of cases, and of the groups above them
        self.needs_schema_2 = False  # several outputs, a list of inputs, or an absent one

    def refuse(self, obj, reason):
        raise DatasetError(self.path, obj, reason)

    def case(self, case):
        if not isinstance(case, Case):
            raise TypeError(f"a Case is written, not a {type(case).__name__}")
        at = f"/cases/{case.name}"
        self.check_name(at, case.name)
        if not isinstance(case.op, str) or not case.op:
            self.refuse(at, "its op must be a string; 'external' where there is none to name")
        if "op" in case.attributes:
            self.refuse(at, "gives 'op' as an attribute; it is Case.op")
        group = self.file.create_group(at)
        self.attributes(at, group, {**canonical(case.attributes), "op": case.op})
        problem = attribute_problem(case.attributes)
        if problem:
            self.refuse(at, problem)
        for name in (*case.inputs, *case.outputs):
            if not is_case_name(name) or "/" in name:
                self.refuse(at, f"'{name}' is no name of an operand or producer: letters, digits, "
                            "'_', '.' and '='")
        self.check_outputs(at, case)
        golden = {}
        for name, tensor in sorted(case.tensors(), key=lambda named: named[0]):  # golden first
            self.needs_schema_2 |= tensor is None or name.startswith("golden/") or \
                name.count("/") == 2
            parts = name.split("/")
            output = parts[-1] if parts[0] == "golden" or len(parts) == 3 else ""
            if parts[0] == "golden":
                golden[output if len(parts) == 2 else ""] = tensor
            same = golden.get(output) if parts[0] == "outputs" else None
            if tensor is None:
                self.absent(f"{at}/{name}")
            elif same is not None and _same_memory(tensor, same):
                # One object in the file as well, which the gate sees.
                group[name] = group["golden/" + output if output else "golden"]
            else:
                self.tensor(f"{at}/{name}", tensor)
        for output, attributes in sorted(case.output_attributes.items()):
            if attributes:
                where = f"golden/{output}"
                self.attributes(f"{at}/{where}", group[where], canonical(attributes))
        self.names.add(case.name)

    def check_outputs(self, at, case):
        """Refuses names of outputs that are none, and what lies beside an output that is not there."""
        for part in (case.accumulators, case.residuals):
            for name, beside in part.items():
                if name not in case.outputs:
                    self.refuse(at, f"has no output of '{name}' that an accumulator or residual could "
                                "lie beside")
                if isinstance(beside, dict) and not set(beside) <= set(case.outputs[name]):
                    self.refuse(at, f"has an accumulator or residual of '{name}' beside an output that "
                                "it does not have")
        for name in case.output_names():
            if not isinstance(name, str) or not is_case_name(name) or "/" in name:
                self.refuse(at, f"'{name}' is no name of an output: letters, digits, '_', '.' and '='")
        for value in (case.golden, *case.outputs.values()):
            if isinstance(value, dict) and not value:
                self.refuse(at, "has an empty dict for outputs; it must hold one an output")
        for name, attributes in case.output_attributes.items():
            if name not in (case.golden if isinstance(case.golden, dict) else ()):
                self.refuse(at, f"has attributes of the output '{name}', and no golden result of it "
                            "that they could stand on")
            problem = attribute_problem(canonical(attributes))
            if problem or "op" in attributes:
                self.refuse(f"{at}/golden/{name}", problem or "its attribute 'op' belongs to the case")

    def absent(self, at):
        """An empty dataset that says so."""
        empty = Tensor("uint8", np.zeros(0, "u1"), {"absent": 1})
        self.tensor(at, empty)

    def check_name(self, at, name):
        if not isinstance(name, str) or not is_case_name(name):
            self.refuse(at, "is no case name: parts of letters, digits, '_', '.' and '=', none of "
                        "them inputs, outputs, golden, '.' or '..'")
        if name in self.names or name in self.groups:
            self.refuse(at, "is there already")
        parts = name.split("/")
        above = ["/".join(parts[:i]) for i in range(1, len(parts))]
        for outer in above:
            if outer in self.names:
                self.refuse(at, f"lies inside the case /cases/{outer}; cases do not nest")
        self.groups.update(above)

    def attributes(self, at, obj, values):
        for name, value in sorted(values.items()):  # the same content is the same file
            # A bool is an int to Python.
            if isinstance(value, (bool, np.bool_)):
                stored, dtype = np.bool_(value), None
            elif isinstance(value, str):
                if "\0" in value or not _is_utf8(value):
                    self.refuse(at, f"its attribute '{name}' must be UTF-8 without zero bytes")
                stored, dtype = _stored_text(value.encode())
            elif isinstance(value, (int, np.integer)) and -1 << 63 <= value < 1 << 64:
                stored = np.int64(value) if value < 1 << 63 else np.uint64(value)
                dtype = stored.dtype.newbyteorder("<")
            elif isinstance(value, (float, np.floating)):
                stored, dtype = np.float64(value), np.dtype("<f8")
            else:
                self.refuse(at, f"its attribute '{name}' must be a str, bool, float or an int of 64 "
                            f"bits, not {value!r}")
            obj.attrs.create(name, stored, dtype=dtype)

    def tensor(self, at, tensor):
        fmt, bits = FORMATS[tensor.dtype], tensor.bits
        bits = bits.view(f"V{fmt.storage_bytes}").reshape(tensor.shape)
        created = h5p.create(h5p.DATASET_CREATE)
        created.set_obj_track_times(False)
        if self.compress and bits.size >= MIN_COMPRESSED:
            created.set_chunk(_chunk_of(bits))
            created.set_shuffle()
            created.set_deflate(6)
        kind = stored_type(fmt)
        space = h5s.create_simple(bits.shape) if bits.shape else h5s.create(h5s.SCALAR)
        parent, name = at.rsplit("/", 1)
        dataset = h5d.create(self.file.require_group(parent).id, name.encode(), kind, space, created)
        if bits.size:
            dataset.write(h5s.ALL, h5s.ALL, bits, mtype=kind)
        self.attributes(at, h5py.Dataset(dataset), {**tensor.attributes, "dtype": fmt.name})


def _same_memory(a, b):
    """Whether both are the same bytes in memory."""
    def place(tensor):
        return tensor.dtype, tensor.bits.ctypes.data, tensor.bits.shape, tensor.bits.strides
    return a.bits.size > 0 and a.attributes == b.attributes and place(a) == place(b)


def _stored_text(text):
    """Of a fixed length: copying strings of variable length is what HDF5 1.10 fails at."""
    if len(text) > MOST_FIXED_LENGTH:
        return text.decode(), h5py.string_dtype()
    dtype = h5py.string_dtype(length=max(1, len(text)))  # which an empty one takes as well
    return np.array(text, dtype=dtype), dtype


def _is_utf8(text):
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _chunk_of(bits):
    """Whole leading slices."""
    chunk, size = list(bits.shape), bits.nbytes
    for i in range(len(chunk)):
        while chunk[i] > 1 and size > CHUNK_BYTES:
            chunk[i], size = (chunk[i] + 1) // 2, (size + 1) // 2
    return tuple(chunk)
