"""Reading dataset files, schemas 1 and 2 (docs/dataset.md). A file from outside is not trusted: whatever
the page does not allow is refused with the file, the object in it and the reason."""
import re

from .case import (PARTS, KNOWN, Case, CaseInfo, attribute_problem, canonical, is_case_name,
                   name_problem)
from .errors import NoCaseError
from .tensor import Tensor
from .untrusted import UntrustedFile

SCHEMAS = (1, 2)

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
        if schema not in SCHEMAS:
            self._file.refuse("/", f"has assay_schema {int(schema)}; this version reads schemas 1 "
                              "and 2")
        self._schema = int(schema)

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
                        case.accumulators, case.residuals, case.output_attributes)

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

        def links(where):
            return file.links(where) if file.exists(where) else []

        several = self._has_several(at)

        def one(where):  # an input or a golden result, which may be absent
            return None if self._is_absent(where) else get(where)

        def operand(where):
            if self._schema == 1 or not file.is_group(where):
                return one(where)
            members = file.links(where)
            if not members:
                file.refuse(where, "is a list without tensors")
            for i in range(len(members)):
                if str(i) not in members:
                    file.refuse(where, f"is a list of {len(members)}, whose datasets must be named 0 "
                                f"to {len(members) - 1}; there is no '{i}'")
            return [one(f"{where}/{i}") for i in range(len(members))]

        def outputs_in(where, get):  # one, or several by name
            if not several:
                return get(where)
            return {output: get(f"{where}/{output}") for output in self._names_in(where)}

        def group(part, wanted):
            where = f"{at}/{part}"
            return {name: outputs_in(f"{where}/{name}", get)
                    for name in (links(where) if wanted else ())}

        operands = {tensor: operand(f"{at}/inputs/{tensor}")
                    for tensor in (links(at + "/inputs") if inputs else ())}
        found, output_attributes = None, {}
        if file.exists(at + "/golden"):
            if golden:
                found = outputs_in(at + "/golden", one)
            if several:
                for tensor in (found or {}).values():
                    if isinstance(tensor, Tensor):
                        tensor.attributes.clear()  # they are the output's
                output_attributes = {
                    output: self._output_attributes(f"{at}/golden/{output}")
                    for output in self._names_in(at + "/golden")}
        self._check_beside(at, several)
        return (name, attributes.pop("op"),
                operands, found, group("outputs", outputs), attributes, group("accumulators", outputs),
                group("residuals", outputs),
                {output: values for output, values in output_attributes.items() if values})

    # -- Several outputs

    def _has_several(self, at):
        """Whether golden results and outputs lie in groups, by their names."""
        file = self._file
        if self._schema == 1:
            return False
        where = [at + "/golden"]
        if file.exists(at + "/outputs"):
            where += [f"{at}/outputs/{producer}" for producer in file.links(at + "/outputs")]
        return any(file.exists(one) and file.is_group(one) for one in where)

    def _names_in(self, where):
        """The names in a group of several outputs."""
        file = self._file
        if not file.is_group(where):
            file.refuse(where, "must be a group of datasets, one an output, as the case has several")
        names = file.links(where)
        if not names:
            file.refuse(where, "is an empty group; it must hold a dataset an output")
        for name in names:
            if not is_case_name(name):
                file.refuse(f"{where}/{name}",
                            "is no name of an output: letters, digits, '_', '.' and '='")
        return names

    def _check_beside(self, at, several):
        """Refuses accumulators and residuals of outputs that are not recorded."""
        if not several:
            return
        for part in ("accumulators", "residuals"):
            file, where = self._file, f"{at}/{part}"
            for producer in file.links(where) if file.exists(where) else ():
                beside, of = f"{where}/{producer}", f"{at}/outputs/{producer}"
                if not file.exists(of):
                    file.refuse(beside, "belongs to no recorded output")
                recorded = self._names_in(of)
                for name in self._names_in(beside):
                    if name not in recorded:
                        file.refuse(f"{beside}/{name}", f"belongs to no recorded output; '{producer}' "
                                    f"has {', '.join(recorded)}")

    def _is_absent(self, where):
        if not self._file.is_absent(where):
            return False
        if self._schema == 1:
            self._file.refuse(where, "is said to be absent, which belongs to assay_schema 2, and the "
                              "file has 1")
        return True

    def _output_attributes(self, where):
        """Those of one of several outputs, which stand on its golden result."""
        file = self._file
        attributes = file.attributes(where, tuple(KNOWN))
        own = [name for name in file.attribute_names(where) if name not in ("dtype", "absent")]
        if "op" in own:
            file.refuse(where, "its attribute 'op' belongs to the case")
        problem = next(filter(None, map(name_problem, own)), "")
        attributes = {name: value for name, value in attributes.items() if name in own}
        problem = problem or attribute_problem(attributes)
        if problem:
            file.refuse(where, problem)
        return canonical(attributes)

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
