"""Reading dataset files, schema 1 (docs/dataset.md). A file from outside is not trusted: whatever
the page does not allow is refused with the file, the object in it and the reason."""
import re

from .case import (PARTS, KNOWN, Case, CaseInfo, attribute_problem, canonical, is_case_name,
                   name_problem)
from .errors import NoCaseError
from .untrusted import UntrustedFile

SCHEMA = 1

# Hostile files: paths without end, and a few groups with hard links that make 2^40 ways of them.
MAX_DEPTH = 64
MAX_SECOND_WAYS = 1000


class _Walk:
    """The way down from /cases, against cycles and hostile files."""

    def __init__(self):
        self.above, self.seen, self.second_ways, self.cases = [], set(), 0, []


class Dataset:
    """A dataset file, open for reading; a context manager. Reading a case reads no other.

        with Dataset("golden.h5") as file:
            for name in file.case_names("gemm/*"):
                case = file.read(name)
    """

    def __init__(self, path, max_bytes=None):
        """Raises DatasetError on what is no dataset file. Datasets larger than max_bytes (None: the
        environment's ASSAY_MAX_DATASET_GIB, else 8 GiB) are refused when they are met."""
        self._file = UntrustedFile(path, max_bytes)
        try:
            self._check_schema()
        except BaseException:
            self.close()
            raise

    def _check_schema(self):
        schema = self._file.attributes("/", ("assay_schema",)).get("assay_schema")
        if schema is None:
            self._file.refuse("/", "has no attribute 'assay_schema'; it is no dataset file of assay")
        if not isinstance(schema, int):
            self._file.refuse("/", "its attribute 'assay_schema' must be an integer")
        if schema != SCHEMA:
            self._file.refuse("/", f"has assay_schema {int(schema)}; this version reads schema "
                              f"{SCHEMA}")

    @property
    def path(self):
        return self._file.path

    @property
    def attributes(self):
        """The root's: assay_schema, description, source, license and what else is there."""
        return self._file.attributes("/")

    def close(self):
        self._file.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()

    def __iter__(self):
        """All cases, one in memory at a time."""
        return (self.read(name) for name in self.case_names())

    def case_names(self, glob=""):
        """The names of all cases, sorted, or of those that match a glob of '*' and '?'. Raises
        NoCaseError where there is none, DatasetError on anything in /cases that is no case."""
        file = self._file
        if not file.exists("/cases"):
            raise NoCaseError(file.path, "/cases", "does not exist; the file holds no cases")
        if not file.is_group("/cases"):
            file.refuse("/cases", "is no group")
        walk = _Walk()
        self._collect("", walk)
        if not walk.cases:
            raise NoCaseError(file.path, "/cases", "holds no case")
        names = sorted(walk.cases)
        if not glob:
            return names
        pattern = re.escape(glob).replace(r"\*", ".*").replace(r"\?", ".")
        matching = [name for name in names if re.fullmatch(pattern, name)]
        if not matching:
            raise NoCaseError(file.path, "", f"no case matches '{glob}'; it has {len(names)}, the "
                              f"first is '{names[0]}'")
        return matching

    def read(self, name, inputs=True, golden=True, outputs=True):
        """The Case of that name, with the parts that are asked for. Raises DatasetError where it,
        a dataset or an attribute of it is refused."""
        return Case(*self._parts(name, self._file.tensor, inputs, golden, outputs))

    def info(self, name):
        """The CaseInfo of that name: dtypes and shapes, no data."""
        case = Case(*self._parts(name, self._file.tensor_info, True, True, True))
        return CaseInfo(name, case.op, case.inputs, case.golden, case.outputs, case.attributes,
                        case.accumulators, case.residuals)

    def _parts(self, name, get, inputs, golden, outputs):
        file, at = self._file, f"/cases/{name}"
        if not is_case_name(name):
            self._refuse_name(at)
        if not file.exists(at):
            file.refuse(at, "does not exist")
        if not file.is_group(at):
            file.refuse(at, "is no group")
        attributes = file.attributes(at, tuple(KNOWN))
        if "op" not in attributes:
            file.refuse(at, "is a case without the attribute 'op'")
        problems = [name_problem(name) for name in file.attribute_names(at)]
        problem = next(filter(None, problems), "") or attribute_problem(attributes)
        if problem:
            file.refuse(at, problem)
        attributes = canonical(attributes)

        def group(part, wanted):
            where = f"{at}/{part}"
            if not wanted or not file.exists(where):
                return {}
            return {tensor: get(f"{where}/{tensor}") for tensor in file.links(where)}

        return (name, attributes.pop("op"), group("inputs", inputs),
                get(at + "/golden") if golden and file.exists(at + "/golden") else None,
                group("outputs", outputs), attributes, group("accumulators", outputs),
                group("residuals", outputs))

    # -- The walk

    def _refuse_name(self, at):
        self._file.refuse(at, "is no case name: parts of letters, digits, '_', '.' and '=', none "
                          "of them inputs, outputs, golden, '.' or '..'")

    def _enter(self, at, walk):
        """Steps into a group and returns its links."""
        file, address = self._file, self._file.address(at)
        if address in walk.above:
            file.refuse(at, "contains itself")
        if len(walk.above) > MAX_DEPTH:
            file.refuse(at, f"lies more than {MAX_DEPTH} groups deep")
        if address in walk.seen:
            walk.second_ways += 1
            if walk.second_ways > MAX_SECOND_WAYS:
                file.refuse(at, f"lies in a maze: more than {MAX_SECOND_WAYS} links lead to groups "
                            "that others lead to")
        walk.seen.add(address)
        walk.above.append(address)
        return file.links(at)

    def _collect(self, name, walk):
        """Collects the cases below a group: "" for /cases, else the first parts of a case name."""
        file, at = self._file, f"/cases/{name}" if name else "/cases"
        links = self._enter(at, walk)
        if name and file.has_attribute(at, "op"):
            for link in links:
                if link not in PARTS:
                    self._refuse_cases_below(f"{at}/{link}", walk)
            walk.cases.append(name)
        else:
            if name and (not links or any(link in PARTS for link in links)):
                file.refuse(at, "is a case without the attribute 'op'")
            for link in links:
                inner = f"{name}/{link}" if name else link
                if not is_case_name(link):
                    self._refuse_name(f"/cases/{inner}")
                if not file.is_group(f"/cases/{inner}"):
                    file.refuse(f"/cases/{inner}", "is no group; only cases lie under /cases")
                self._collect(inner, walk)
        walk.above.pop()

    def _refuse_cases_below(self, at, walk):
        """What a case holds beside its parts is ignored, as long as no case hides in it."""
        file = self._file
        if not file.is_group(at):
            return
        if file.has_attribute(at, "op"):
            file.refuse(at, "is a case inside a case; cases do not nest")
        for link in self._enter(at, walk):
            self._refuse_cases_below(f"{at}/{link}", walk)
        walk.above.pop()
