"""What is checked before anything in a file is believed: links, types, filters, sizes, codes."""
import collections
import contextlib
import itertools
import math
import os
import re
import stat
import zlib

import h5py
import numpy as np
from h5py import h5a, h5d, h5f, h5g, h5l, h5o, h5s, h5t, h5z

from .case import TensorInfo
from .errors import DatasetError
from .stored import byte_order, is_bool_enum, words
from .tensor import Tensor, codes, find_format, invalid_element, no_dtype

MAX_SOFT_LINKS = 16   # on the way to one object, as in HDF5 itself
MAX_CHUNKS = 1 << 24  # of a dataset
DEFAULT_MAX_GIB = 8

# What h5py raises over a damaged file.
_HDF5_ERRORS = (OSError, RuntimeError, KeyError, ValueError, TypeError, OverflowError, MemoryError)


def _own_words(error):
    """HDF5's reason alone: "Can't open object (addr overflow)" -> "addr overflow"."""
    text = str(error.args[0]) if error.args else ""
    inner = re.search(r"\((.*)\)", text)
    return inner.group(1) if inner else text


def _with_reason(what, error):
    reason = _own_words(error)
    return f"{what} ({reason})" if reason else what


def _damage(what, error):
    return _with_reason(f"{what}; the file is truncated or corrupt", error)


def _encoded(name):
    return name.encode("utf-8", "surrogateescape")


def default_max_bytes():
    try:
        asked = int(os.environ.get("ASSAY_MAX_DATASET_GIB", ""))
    except ValueError:
        asked = 0
    return (min(asked, 1 << 30) if asked > 0 else DEFAULT_MAX_GIB) << 30


def _open(path):
    """The HDF5 file at `path`, for reading. Says in plain words why it cannot be opened."""
    def refuse(reason):
        raise DatasetError(path, "", reason)
    try:
        status = os.stat(path)
    except OSError as error:
        refuse(f"cannot be opened: {error.strerror}")
    if stat.S_ISDIR(status.st_mode):
        refuse("is a directory, not a dataset file")
    if not stat.S_ISREG(status.st_mode):
        refuse("is not a regular file")
    if not os.access(path, os.R_OK):
        refuse("cannot be read: Permission denied")
    if status.st_size == 0:
        refuse("is empty (0 bytes)")
    name = os.fsencode(path)
    try:
        is_hdf5 = h5f.is_hdf5(name)
    except _HDF5_ERRORS:
        is_hdf5 = False
    if not is_hdf5:
        refuse("is not an HDF5 file")
    try:
        return h5py.File(path, "r")
    except _HDF5_ERRORS as error:
        refuse(_with_reason("is truncated, corrupt or locked", error))


class UntrustedFile:
    """Access to the objects of one file by their absolute paths."""

    def __init__(self, path, max_bytes=None):
        self.path = os.fspath(path)
        self.max_bytes = max_bytes or default_max_bytes()
        self.file = _open(self.path)
        with self.damaged("/", "cannot be opened"):
            self.root = h5g.open(self.file.id, b"/")

    def close(self):
        self.file.close()

    def refuse(self, obj, reason):
        raise DatasetError(self.path, obj, reason)

    @contextlib.contextmanager
    def damaged(self, obj, what):
        """An error of HDF5 within is a refusal."""
        try:
            yield
        except _HDF5_ERRORS as error:
            self.refuse(obj, _damage(what, error))

    # -- Objects and links

    def exists(self, obj):
        """Walks an absolute path link by link. Refuses where a link leaves the file, leads nowhere
        or without end; False where a part does not exist."""
        ahead = collections.deque(part for part in obj.split("/") if part)
        at, target, of_target, soft_links = "", "", 0, 0
        while ahead:
            part, in_target = ahead.popleft(), of_target > 0
            of_target -= in_target
            if part == ".":  # HDF5's name for the group itself; ".." is none
                continue
            following = f"{at}/{part}"
            if not self._has_link(obj, at, following):
                if in_target:
                    self.refuse(obj, f"is a soft link to {target}, which does not exist")
                return False
            with self.damaged(obj, "its link cannot be read"):
                kind = self.root.links.get_info(_encoded(following)).type
            via = "is" if following == obj else f"leads to {following},"
            if kind == h5l.TYPE_HARD:
                at = following
            elif kind == h5l.TYPE_SOFT:
                soft_links += 1
                if soft_links > MAX_SOFT_LINKS:
                    self.refuse(obj, "is a soft link that leads on without end")
                with self.damaged(obj, "its soft link cannot be read"):
                    target = self.root.links.get_val(_encoded(following))
                target = target.decode("utf-8", "surrogateescape")
                if target.startswith("/"):
                    at = ""
                parts = [part for part in target.split("/") if part]
                ahead.extendleft(reversed(parts))
                of_target += len(parts)
            elif kind == h5l.TYPE_EXTERNAL:
                self.refuse(obj, f"{via} an external link; a dataset file must hold all its data")
            else:
                self.refuse(obj, f"{via} a link of an unknown, user-defined kind")
        return True

    def _has_link(self, obj, at, following):
        try:
            return self.root.links.exists(_encoded(following))
        except _HDF5_ERRORS as error:
            if at and not self.is_group(at):  # what is no group holds no link
                return False
            self.refuse(obj, _damage("cannot be looked up", error))

    def open(self, obj):
        """The object at a path that exists()."""
        with self.damaged(obj, "cannot be opened"):
            return h5o.open(self.root, _encoded(obj) or b"/")

    def is_group(self, obj):
        return isinstance(self.open(obj), h5g.GroupID)

    def address(self, obj):
        """A number that two paths share where they lead to the same object."""
        at = self.open(obj)
        with self.damaged(obj, "cannot be opened"):
            return h5o.get_info(at).addr

    def links(self, obj):
        """Names of the links in a group, sorted; their paths are checked."""
        group = self.open(obj)
        if not isinstance(group, h5g.GroupID):
            self.refuse(obj, "must be a group of datasets")
        with self.damaged(obj, "its links cannot be read"):
            kinds = {name.decode("utf-8", "surrogateescape"): group.links.get_info(name).type
                     for name in group}
        for name, kind in kinds.items():
            if kind != h5l.TYPE_HARD:
                self.exists(f"{obj}/{name}")
        return sorted(kinds)

    # -- Attributes

    def has_attribute(self, obj, name):
        at = self.open(obj)
        with self.damaged(obj, "its attributes cannot be read"):
            return bool(h5a.exists(at, name.encode()))

    def attribute_names(self, obj):
        """Of all attributes, sorted."""
        at, names = self.open(obj), []
        with self.damaged(obj, "its attributes cannot be read"):
            h5a.iterate(at, names.append)
        return sorted(name.decode("utf-8", "surrogateescape") for name in names)

    def attributes(self, obj, required=()):
        """Attributes that are a string, an integer, a float or a bool of one element. Others are
        left out, except that `required` ones are refused."""
        at, names, values = self.open(obj), [], {}
        with self.damaged(obj, "its attributes cannot be read"):
            h5a.iterate(at, names.append)
        for name in names:
            text = name.decode("utf-8", "surrogateescape")
            with self.damaged(obj, f"its attribute '{text}' cannot be read"):
                value = _attribute_value(h5a.open(at, name))
            if value is not None:
                values[text] = value
            elif text in required:
                self.refuse(obj, f"its attribute '{text}' must be one value: a UTF-8 string, a "
                            "number or a bool")
        return values

    # -- Datasets

    def is_absent(self, obj):
        """Whether a dataset stands for a tensor that there is none of. Refuses one with elements, or
        with data outside the file."""
        if not self.has_attribute(obj, "absent"):
            return False
        absent = self.attributes(obj, ("absent",))["absent"]
        if not isinstance(absent, int) or absent not in (0, 1):
            said = int(absent) if isinstance(absent, bool) else absent
            self.refuse(obj, f"its attribute 'absent' must be a bool, but it is '{said}'")
        if not absent:
            return False
        dataset = self.open(obj)
        if not isinstance(dataset, h5d.DatasetID):
            self.refuse(obj, "must be a dataset")
        self._check_storage(obj, dataset)
        with self.damaged(obj, "its shape cannot be read"):
            space = dataset.get_space()
            empty = space.get_simple_extent_type() == h5s.NULL or not space.get_simple_extent_npoints()
        if not empty:
            self.refuse(obj, "is said to be absent, and has elements")
        return True

    def tensor_info(self, obj):
        dataset, fmt, _, _ = self._checked_dataset(obj)
        return TensorInfo(fmt.name, dataset.shape)

    def tensor(self, obj):
        dataset, fmt, order, attributes = self._checked_dataset(obj)
        width = fmt.storage_bytes
        with self.damaged(obj, "its data cannot be read"):
            problem = _storage_problem(dataset)
        if problem:
            self.refuse(obj, problem)
        with self.damaged(obj, "its data cannot be read"):
            raw = np.empty(dataset.shape, f"V{width}")
            if raw.size:
                dataset.read(h5s.ALL, h5s.ALL, raw, mtype=dataset.get_type())
        if fmt.parts == 2:
            raw, width = raw[..., np.newaxis], fmt.code_bytes
        bits = codes(fmt, raw.view(f"{order}u{width}").astype(f"<u{width}", copy=False))
        problem = invalid_element(fmt, bits)
        if problem:
            self.refuse(obj, problem)
        return Tensor(fmt.name, bits, attributes)

    def _check_storage(self, obj, dataset):
        """(creation properties, layout). Nothing may lie outside the file, nor need a filter that is
        not known."""
        # The creation properties come first: nothing is read through a source outside the file.
        with self.damaged(obj, "its properties cannot be read"):
            created = dataset.get_create_plist()
            layout, external = created.get_layout(), created.get_external_count()
            filters = [created.get_filter(i) for i in range(created.get_nfilters())]
        if layout == h5d.VIRTUAL:
            self.refuse(obj, "is a virtual dataset; its data lie elsewhere")
        if external:
            self.refuse(obj, "keeps its data in an external file; a dataset file must hold all its "
                        "data")
        for number, _, _, name in filters:
            if number not in (h5z.FILTER_DEFLATE, h5z.FILTER_SHUFFLE, h5z.FILTER_FLETCHER32):
                self.refuse(obj, f"uses the filter '{name.decode('utf-8', 'surrogateescape')}' "
                            f"({number}); only deflate, shuffle and fletcher32 are read")
        return created, layout

    def _checked_dataset(self, obj):
        """(dataset, format, byte order, attributes); none of its data has been read."""
        if not self.exists(obj):
            self.refuse(obj, "does not exist")
        dataset = self.open(obj)
        if not isinstance(dataset, h5d.DatasetID):
            self.refuse(obj, "must be a dataset")
        created, layout = self._check_storage(obj, dataset)
        attributes = self.attributes(obj, ("dtype",))
        dtype = attributes.pop("dtype", None)
        if dtype is None:
            self.refuse(obj, "has no attribute 'dtype'")
        if not isinstance(dtype, str):
            self.refuse(obj, "its attribute 'dtype' must be a string")
        fmt = find_format(dtype)
        if fmt is None:
            self.refuse(obj, f"its dtype {no_dtype(dtype)}")
        dtype = fmt.name
        with self.damaged(obj, "its type cannot be read"):
            stored = dataset.get_type()
            order, in_words = byte_order(stored, fmt), words(stored)
        if order is None:
            self.refuse(obj, f"stored as {in_words}, which cannot hold {dtype}")
        with self.damaged(obj, "its shape cannot be read"):
            space = dataset.get_space()
            is_null = space.get_simple_extent_type() == h5s.NULL
            shape = () if is_null else space.get_simple_extent_dims()
            chunk = created.get_chunk() if layout == h5d.CHUNKED else ()
        if is_null:
            self.refuse(obj, "has no data (null space)")
        # As if no extent were 0: the product must fit even where one is.
        for what, extents in (("declares {} bytes", shape), ("has chunks of {} bytes", chunk)):
            size = fmt.storage_bytes * math.prod(max(extent, 1) for extent in extents)
            if size > self.max_bytes:
                self.refuse(obj, f"{what.format(size)}, over the reader's cap of {self.max_bytes}; "
                            "ASSAY_MAX_DATASET_GIB raises it")
        return dataset, fmt, order, attributes


def _attribute_value(attribute):
    """The one value of an attribute; None where it has another kind or number of values."""
    space, kind = attribute.get_space(), attribute.get_type()
    if space.get_simple_extent_type() == h5s.NULL or space.get_simple_extent_npoints() != 1:
        return None
    number, size = kind.get_class(), kind.get_size()

    def read(dtype, memory=None):
        value = np.empty(attribute.shape, dtype)
        attribute.read(value, mtype=memory)
        return value.reshape(-1)[0]

    if number == h5t.STRING:
        if kind.is_variable_str():
            text = read(h5py.string_dtype())
            text = text if isinstance(text, bytes) else _encoded(text or "")
        else:
            text = read(f"V{size}", kind).tobytes().split(b"\0")[0]
            if kind.get_strpad() == h5t.STR_SPACEPAD:
                text = text.rstrip(b" ")
        try:
            return text.decode()
        except UnicodeDecodeError:
            return None
    if number == h5t.INTEGER and size <= 8:
        return int(read("i8" if kind.get_sign() == h5t.SGN_2 else "u8"))
    if number == h5t.FLOAT and size <= 8:  # widened: a parameter, not data; no bits are lost
        return float(read("f8"))
    if number == h5t.ENUM and is_bool_enum(kind):
        value = int(read("V1", kind).tobytes()[0])
        return bool(value) if value in (0, 1) else value
    return None


def _storage_problem(dataset):
    """What is wrong with how much is stored of a dataset's elements; "" where nothing is. HDF5
    reads short chunks and elements that were never written without a word."""
    created, shape = dataset.get_create_plist(), dataset.shape
    element = dataset.get_type().get_size()
    if 0 in shape:
        return ""
    damaged = "; the file is truncated or corrupt"
    if created.get_layout() != h5d.CHUNKED:
        stored, whole = dataset.get_storage_size(), element * math.prod(shape)
        if stored == 0:
            return _fill_problem(created)
        return "" if stored == whole else f"holds {stored} bytes instead of {whole}{damaged}"
    chunk = created.get_chunk()
    if len(chunk) != len(shape):
        return f"its chunks have another rank than its shape{damaged}"
    total = math.prod(-(-extent // step) for extent, step in zip(shape, chunk))
    if total > MAX_CHUNKS:
        return f"is cut into {total} chunks, more than the {MAX_CHUNKS} that are read"
    stored, chunk_bytes = dataset.get_num_chunks(), element * math.prod(chunk)
    if stored < total and _fill_problem(created):
        return _fill_problem(created)
    filters = [created.get_filter(i)[0] for i in range(created.get_nfilters())]
    if not filters:
        # HDF5 answers with the nominal length of an unfiltered chunk whatever its index says.
        short = dataset.get_storage_size() != stored * chunk_bytes
        return f"its {stored} chunks do not hold {chunk_bytes} bytes each{damaged}" if short else ""
    found = 0
    for offset in itertools.product(*(range(0, n, c) for n, c in zip(shape, chunk))):
        if found == stored:
            break
        if stored < total and dataset.get_chunk_info_by_coord(offset).byte_offset is None:
            continue
        skipped, data = dataset.read_direct_chunk(offset)
        found += 1
        over_edge = any(o + c > n for o, c, n in zip(offset, chunk, shape))
        if over_edge and not skipped and len(data) == chunk_bytes:
            continue  # it may be that chunks over the edge are not filtered
        length = _chunk_length(data, filters, skipped, chunk_bytes)
        if length != chunk_bytes:
            holds = f"more than {chunk_bytes}" if length > chunk_bytes else f"{length}"
            return (f"its chunk at [{', '.join(map(str, offset))}] holds {holds} bytes instead of "
                    f"{chunk_bytes}{damaged}")
    if found < stored:
        return f"only {found} of its {stored} chunks hold data that belong to it{damaged}"
    return ""


def _fill_problem(created):
    undefined = created.fill_value_defined() == h5d.FILL_VALUE_UNDEFINED
    if undefined or created.get_fill_time() == h5d.FILL_TIME_NEVER:
        return "has elements that were never written, and no fill value for them"
    return ""


def _chunk_length(data, filters, skipped, chunk_bytes):
    """The bytes of a stored chunk once its filters are undone; at most a little over chunk_bytes,
    so that a small file cannot fill the memory. Checksums are HDF5's to verify."""
    for i in reversed(range(len(filters))):
        if skipped >> i & 1:
            continue
        if filters[i] == h5z.FILTER_FLETCHER32:
            data = data[:-4] if len(data) >= 4 else b""
        elif filters[i] == h5z.FILTER_DEFLATE:
            stream = zlib.decompressobj()
            try:
                data = stream.decompress(data, chunk_bytes + (chunk_bytes >> 8) + 64 * (i + 1))
            except zlib.error as error:
                raise ValueError(str(error)) from None
            if not stream.eof and not stream.unconsumed_tail:
                raise ValueError("a chunk ends too early")
    return len(data)
