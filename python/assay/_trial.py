"""Has trial() and assert_trial(), which find the input that breaks a function. The engine is in C++. This module matches
the names of a function's parameters, makes arrays of the drawn inputs, and takes the output.

The functions of numpy and PyTorch that this module calls are bound before the user's function is called. So a function
that replaces parts of numpy or PyTorch does not change what is judged. The exact result is only in memory of the engine,
and no Python object holds it.
"""
import functools
import inspect
import os
import sys
import traceback

import numpy as np

from . import _core

# Names that functions give to parameters of the operators.
_OTHER_NAMES = {"dim": "axis", "is_causal": "causal", "epsilon": "eps", "out_dtype": "output_dtype"}
_OTHER_INPUTS = {"gamma": "weight", "beta": "bias", "query": "q", "key": "k", "value": "v"}
# Parameters of functions that keep their default.
_NOT_PASSED = {"keepdim", "keepdims", "out"}
_FLAT_KINDS = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _nearest(word, known):
    """Returns the known word that is nearest to a word, or None."""
    import difflib
    return next(iter(difflib.get_close_matches(str(word), list(known), 1)), None)


def _row_of(op):
    for row in _core.list_operators():
        if row["name"] == op:
            return row
    near = _nearest(op, [row["name"] for row in _core.list_operators()])
    raise ValueError(f"unknown operator {op!r}{f'; did you mean {near!r}?' if near else ''}; "
                     "assay.list_operators() shows all")


def _name_of(fn):
    while isinstance(fn, functools.partial):
        fn = fn.func
    return getattr(fn, "__qualname__", None) or type(fn).__name__


def _signature_of(fn):
    """Returns the signature of a function, or None if it has none or takes any arguments."""
    target = fn
    if not inspect.isroutine(fn) and hasattr(fn, "forward"):  # a torch.nn.Module
        target = fn.forward
    try:
        return inspect.signature(target)
    except (TypeError, ValueError):
        return None


def _is_of_torch(fn):
    while isinstance(fn, functools.partial):
        fn = fn.func
    if hasattr(fn, "_torchdynamo_orig_callable"):  # torch.compile(...)
        return True
    kinds = [fn, *([] if inspect.isroutine(fn) or inspect.isclass(fn) else type(fn).__mro__)]
    if any((getattr(kind, "__module__", None) or "").split(".")[0] == "torch" for kind in kinds):
        return True
    if isinstance(getattr(fn, "__self__", None), type(sys)) and fn.__self__.__name__.startswith("torch"):
        return True
    owner = getattr(fn, "__objclass__", None) or getattr(fn, "__self__", None)
    if (getattr(type(owner), "__module__", None) or "").split(".")[0] == "torch":
        return True
    return any("torch" in str(kind) for kind in getattr(fn, "__annotations__", {}).values())


class _Arguments:
    """Holds the way in which a function takes the inputs and parameters of an operator.

    positions   the inputs that it takes by position
    keywords    its other inputs and the operator's parameters, by its own names
    """

    def __init__(self, fn, row, names, out):
        self.row, self.positions, self.keywords = row, [], {}
        self.always, self.sometimes, self.takes, self.fixed = set(), set(), set(), {}
        self.inputs = {one["name"]: one for one in row["inputs"]}
        self.parameters = {one["name"]: one for one in row["parameters"]}
        self.parameters.setdefault("output_dtype", {"name": "output_dtype", "kind": "dtype", "default": ""})
        self.without_default = set()
        self.out = "out" if out else None
        required = [name for name, one in self.inputs.items() if not one["optional"]]
        known = {**self.inputs, **self.parameters}
        for theirs, ours in names.items():
            if ours not in known:
                raise ValueError(f"names={{{theirs!r}: {ours!r}}}: {row['name']} has no input or parameter {ours!r}; it "
                                 f"has {', '.join(known)}")

        def ours_of(name):
            """Returns the operator's name for a function's parameter, or None."""
            if name in names:
                return names[name]
            if name in known:
                return name
            other = _OTHER_NAMES.get(name) or _OTHER_INPUTS.get(name)
            return other if other in known else None

        signature = _signature_of(fn)
        self.has_signature = signature is not None
        if signature is None:
            self.positions = [name for name in required if name not in names.values()]
            for theirs, ours in names.items():
                self._add(theirs, ours, True)
            return
        bound = fn.keywords if isinstance(fn, functools.partial) else {}
        parameters = {name: one for name, one in signature.parameters.items() if name not in bound}
        for name, value in bound.items():
            if ours_of(name) in self.parameters:
                self.fixed[ours_of(name)] = value
        flat = [one for one in parameters.values() if one.kind in _FLAT_KINDS]
        takes_more = any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in parameters.values())
        takes_keywords = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
        named = {}
        for name, one in parameters.items():
            if one.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY) and ours_of(name):
                named.setdefault(ours_of(name), name)
        for theirs, ours in names.items():
            if theirs not in parameters and not takes_keywords:
                raise ValueError(f"names={{{theirs!r}: {ours!r}}}: {_name_of(fn)}{signature} has no parameter "
                                 f"{theirs!r}")
            named[ours] = theirs
        taken = set()
        if not all(name in named for name in required):
            self.positions = required
            for i, name in enumerate(required):
                named.pop(name, None)
                if i < len(flat):
                    taken.add(flat[i].name)
                elif not takes_more:
                    raise TypeError(f"{_name_of(fn)}{signature} takes {len(flat)} positional arguments; "
                                    f"{row['name']} has the inputs {', '.join(required)}")
        named = {ours: theirs for ours, theirs in named.items() if theirs not in taken}
        # Other parameters without a default are the optional inputs, in the operator's order.
        rest = [one for one in flat if one.name not in taken and one.name not in named.values()
                and one.default is inspect.Parameter.empty and one.name not in _NOT_PASSED]
        optional = [name for name, one in self.inputs.items() if one["optional"] and name not in named]
        for one, name in zip(rest, optional):
            if one.kind is inspect.Parameter.POSITIONAL_ONLY:
                self.positions = [*self.positions, name]
                self.always.add(name)
            else:
                named[name] = one.name
        for one in parameters.values():
            needs = one.default is inspect.Parameter.empty and one.kind in (*_FLAT_KINDS, inspect.Parameter.KEYWORD_ONLY)
            if needs and one.name not in taken and one.name not in named.values() \
                    and one.name not in (*_NOT_PASSED, *(p.name for p in rest[:len(optional)])):
                raise TypeError(f"{_name_of(fn)}{signature} needs {one.name!r}, which is no input or parameter of "
                                f"{row['name']}; pass a lambda that gives it, or names={{{one.name!r}: ...}} with one of "
                                f"{', '.join(known)}")
        for ours, theirs in named.items():
            one = parameters.get(theirs)
            self._add(theirs, ours, one is None or one.default is inspect.Parameter.empty)
        if out and "out" not in parameters and not takes_keywords:
            if row["output"] not in parameters or row["output"] in taken:
                raise TypeError(f"out=True: {_name_of(fn)}{signature} has no parameter 'out'")
            self.out = row["output"]

    def _add(self, theirs, ours, is_needed):
        self.keywords[theirs] = ours
        if ours in self.inputs:
            if self.inputs[ours]["optional"]:
                (self.always if is_needed else self.sometimes).add(ours)
        else:
            self.takes.add(ours)
            if is_needed:
                self.without_default.add(ours)

    def values(self, attributes, dtype_of):
        """Returns the operator's parameters as keywords of the function."""
        keywords = {}
        for theirs, ours in self.keywords.items():
            if ours in self.inputs:
                continue
            one = self.parameters[ours]
            value = attributes.get(ours, one["default"])
            if value == "":  # the operator does something of its own if the parameter is absent
                if ours in self.without_default:
                    keywords[theirs] = None
                continue
            kind = one["kind"]
            keywords[theirs] = bool(int(value)) if kind == "flag" else int(value) if kind == "integer" else \
                float(value) if kind == "number" else dtype_of(value) if kind == "dtype" else str(value)
        return keywords


class _Numpy:
    """Makes numpy arrays in the engine's memory."""

    def __init__(self):
        self.kept = {}
        try:
            import ml_dtypes
        except ImportError:
            ml_dtypes = None
        self.ml_dtypes = ml_dtypes
        self.ndarray, self.dtype, self.empty, self.uint8 = np.ndarray, np.dtype, np.empty, np.uint8
        self.asarray, self.generic, self.errstate = np.asarray, np.generic, np.errstate

    def dtype_of(self, name):
        name = "float32" if name in ("tfloat32", "hfloat32") else name
        try:
            return self.dtype(name)
        except TypeError:
            pass
        if self.ml_dtypes is not None and hasattr(self.ml_dtypes, name):
            return self.dtype(getattr(self.ml_dtypes, name))
        raise _core.NotSupported(f"numpy has no {name}" + ("" if self.ml_dtypes else ": install ml_dtypes"))

    def array(self, name, described):
        """Returns the array of a description. Calls with the same memory and sizes get the same object."""
        flat, first, _, dtype, shape, strides = described
        dtype = self.dtype_of(dtype)
        strides = tuple(stride * dtype.itemsize for stride in strides)
        key = (first, dtype, shape, strides)
        kept = self.kept.get(name)
        if kept is not None and kept[0] is flat and kept[1] == key:
            array = kept[2]
            if array.shape == shape and array.strides == strides and array.flags.writeable:
                return array
        array = self.ndarray(shape, dtype, flat, first, strides)
        self.kept[name] = (flat, key, array)
        return array

    def fetch_back(self, name, described):
        pass  # the array lies in the memory that the engine reads

    def fill_free_memory(self, dtype, shape, fill):
        """Lets memory that np.empty() returns hold `fill`, so that elements which are not written are found."""
        arrays = [self.empty(shape, self.dtype_of(dtype)) for _ in range(2)]
        for array in arrays:
            array.reshape(-1).view(self.uint8)[:] = fill

    def context(self):
        return self.errstate(all="ignore")

    def synchronize(self):
        pass

    def result(self, value):
        """Returns (status, output on the host). The output is a numpy array, or (bytes, dtype, shape)."""
        if isinstance(value, (self.ndarray, self.generic)):
            return "done", self.asarray(value) if isinstance(value, self.generic) else value
        return "wrong", _described(value, "a numpy array")


class _Torch:
    """Makes torch tensors in the engine's memory, or on a device."""

    def __init__(self, device):
        import torch
        self.torch, self.kept, self.device = torch, {}, torch.device(device or "cpu")
        self.from_numpy, self.Tensor, self.empty, self.no_grad = torch.from_numpy, torch.Tensor, torch.empty, torch.no_grad
        self.view, self.as_strided, self.to = torch.Tensor.view, torch.Tensor.as_strided, torch.Tensor.to
        self.detach, self.cpu, self.copy_ = torch.Tensor.detach, torch.Tensor.cpu, torch.Tensor.copy_
        self.contiguous, self.reshape, self.numpy = torch.Tensor.contiguous, torch.Tensor.reshape, torch.Tensor.numpy
        self.resolve_conj, self.resolve_neg = torch.resolve_conj, torch.resolve_neg
        # A subclass of Tensor may have functions of its own in place of PyTorch's.
        self.plain = torch._C.DisableTorchFunction
        self.uint8, self.bool, self.on_host = torch.uint8, torch.bool, self.device.type == "cpu"
        module = getattr(torch, self.device.type, None)
        self._synchronize = None if self.on_host else getattr(module, "synchronize", None)
        if not self.on_host:  # cuda without a number is cuda:0
            self.device = torch.empty(1, device=self.device).device

    def dtype_of(self, name):
        name = "float32" if name in ("tfloat32", "hfloat32") else name
        dtype = getattr(self.torch, name, None)
        if isinstance(dtype, self.torch.dtype):
            return dtype
        raise _core.NotSupported(f"PyTorch {self.torch.__version__} has no {name}")

    def array(self, name, described):
        flat, first, extent, dtype, shape, strides = described
        dtype = self.dtype_of(dtype)
        key = (first, dtype, shape, strides)
        kept = self.kept.get(name)
        if kept is not None and kept[0] is flat and kept[1] == key:
            _, _, tensor, memory = kept
            if tuple(tensor.shape) == shape and tuple(tensor.stride()) == strides:
                if not self.on_host:
                    self.copy_(memory, self.from_numpy(flat))
                return tensor
        memory = self.from_numpy(flat)
        if not self.on_host:
            memory = self.to(memory, self.device)
        tensor = self.as_strided(self.view(memory[first:first + extent], dtype), shape, strides)
        self.kept[name] = (flat, key, tensor, memory)
        return tensor

    def fetch_back(self, name, described):
        if not self.on_host:
            self.copy_(self.from_numpy(described[0]), self.kept[name][3])

    def fill_free_memory(self, dtype, shape, fill):
        tensors = [self.empty(shape, dtype=self.dtype_of(dtype), device=self.device) for _ in range(2)]
        for tensor in tensors:
            if tensor.numel() > 0:
                self.view(tensor.reshape(-1), self.uint8).fill_(fill)

    def context(self):
        return self.no_grad()

    def synchronize(self):
        if self._synchronize is not None:  # waits for all streams, also for those that the function made
            self._synchronize(*(() if self.device.type == "mps" else (self.device,)))

    def result(self, value):
        if not isinstance(value, self.Tensor):
            return "wrong", _described(value, "a tensor")
        with self.plain():
            if value.device != self.device:
                return "wrong", f"the output is on {value.device}, and the inputs are on {self.device}"
            value = self.resolve_neg(self.resolve_conj(self.contiguous(self.cpu(self.detach(value)))))
            name = str(value.dtype).replace("torch.", "")
            # A contiguous tensor of one element may have any stride, and view() to bytes takes only the stride 1.
            flat = self.as_strided(self.reshape(value, (-1,)), (value.numel(),), (1,))
            flat = self.numpy(self.view(flat, self.uint8)) if value.dtype is not self.bool \
                else self.numpy(flat).view("uint8")
            return "done", (flat, name, tuple(value.shape))


def _described(value, wanted):
    if value is None:
        return f"the function returns None; it must return {wanted} (with out=True it writes to its argument `out`)"
    if isinstance(value, (tuple, list)):
        kinds = ", ".join(type(one).__name__ for one in value[:4])
        return f"the function returns a {type(value).__name__} of {len(value)} ({kinds}); it must return {wanted}"
    return f"the function returns a {type(value).__name__}; it must return {wanted}"


def _error_text(error, framework, has_signature):
    """Returns the text of an exception, with the line of the user's code that raised it."""
    here = os.path.dirname(os.path.abspath(__file__))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if os.path.dirname(os.path.abspath(frame.filename)) != here]
    place = f" ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})" if frames else ""
    first = (str(error).strip() or "without a message").split("\n")[0]
    text = f"{type(error).__name__}: {first}{place}"
    if isinstance(framework, _Numpy) and isinstance(error, (TypeError, AttributeError)) and \
            any(word in str(error) for word in ("Tensor", "torch", "'dim'")):
        text += "; if the function takes tensors, give framework=\"torch\""
    elif not has_signature and isinstance(error, TypeError):
        text += "; the function has no signature, so it gets only the inputs: give names={\"dim\": \"axis\"}, or a lambda"
    return text


def _caller_of(fn, arguments, framework, has_out):
    """Returns the function that the engine calls. It returns a status and the output or a text."""
    fill_free_memory, NotSupported = framework.fill_free_memory, _core.NotSupported

    def call(inputs, attributes, out, dtype, shape, fill):
        try:
            arrays = {}
            lists = {}
            for name, described in inputs.items():
                arrays[name] = framework.array(name, described)
                if "/" in name:
                    lists.setdefault(name.split("/")[0], []).append(arrays[name])
            arrays.update(lists)
            keywords = arguments.values(attributes, framework.dtype_of)
            for theirs, ours in arguments.keywords.items():
                if ours in arrays:
                    keywords[theirs] = arrays[ours]
                elif ours in arguments.always:
                    keywords[theirs] = None
            if has_out:
                keywords[arguments.out] = framework.array("out of the function", out)
            else:
                fill_free_memory(dtype, shape, fill)
            positions = [arrays[name] for name in arguments.positions]
            try:
                with framework.context():
                    value = fn(*positions, **keywords)
                framework.synchronize()
                if not has_out:
                    status, value = framework.result(value)
                else:
                    status, value = "done", None
            finally:
                for name, described in inputs.items():
                    framework.fetch_back(name, described)
                if has_out:
                    framework.fetch_back("out of the function", out)
            return status, value
        except KeyboardInterrupt:
            raise
        except (NotSupported, NotImplementedError) as error:
            return "not_supported", str(error) or type(error).__name__
        except BaseException as error:  # SystemExit of a function must not end the trial
            return "error", _error_text(error, framework, arguments.has_signature)
    return call


def _words(value):
    return [] if value is None else [value] if isinstance(value, str) else [str(one) for one in value]


def _ranks(value):
    """Returns the least and the largest rank of `ranks`: a pair, or one number for both."""
    both = (value, value) if isinstance(value, int) else tuple(value) if isinstance(value, (tuple, list, range)) else ()
    if isinstance(value, range):
        both = (min(value), max(value)) if len(value) else ()
    if isinstance(value, bool) or len(both) != 2 or not all(type(one) is int for one in both) or not 0 <= both[0] <= both[1]:
        raise ValueError(f"ranks={value!r}: give the least and the largest number of dimensions, such as ranks=(2, 3), or "
                         "one number for both")
    return both


def _refuse_unknown(unknown, row):
    """Raises TypeError for a keyword that trial() does not have."""
    if not unknown:
        return
    word, value = next(iter(unknown.items()))
    text = f"trial() got an unexpected keyword argument {word!r}"
    ours = {one["name"] for one in row["parameters"]}
    options = set(inspect.signature(trial).parameters)
    parameter = word if word in ours else _OTHER_NAMES.get(word)
    if parameter in ours:
        raise TypeError(f"{text}: it is a parameter of {row['name']}; give parameters={{{parameter!r}: {value!r}}}")
    near = _nearest(word, options | ours | set(_OTHER_NAMES))
    near = _OTHER_NAMES.get(near, near)
    if near in ours - options:
        raise TypeError(f"{text}: did you mean parameters={{{near!r}: {value!r}}}?")
    raise TypeError(text + (f": did you mean {near!r}?" if near else f"; known: {', '.join(sorted(options - {'fn', 'op'}))}"))


def _dtype_words(value):
    """Returns the names of dtypes, each of which is a text or a dtype of numpy or PyTorch."""
    if value is None:
        return []
    values = [value] if isinstance(value, (str, type)) or not isinstance(value, (list, tuple, set)) else value
    return [one.__name__ if isinstance(one, type) else str(one).replace("torch.", "") for one in values]


def trial(fn, op, *, dtypes=None, output_dtype=None, parameters=None, names=None, framework=None, device=None, out=False,
          draws=200, budget=None, seed=1, max_elements=None, ranks=(1, 4), aligned=False, contiguous=False,
          nonempty=False, machine=None, standard=None, rtol=None, atol=None, unordered=False, batch_invariant=False,
          isolated=False, call_seconds=10.0, keep_going=False, only=None, on=None, threads=0, **unknown):
    """Looks for an input for which a function computes an operator wrong, and returns a TrialReport.

        assay.trial(my_softmax, "softmax")
        assay.trial(torch.nn.functional.softmax, "softmax", dtypes=["float32", "bfloat16"], budget=10)

    fn          takes the operator's inputs (list_operators()) by their names, or by position in the operator's order, and
                returns the output. Parameters of the operator, such as axis and eps, are passed by keyword if the function
                has such a name. dim is axis, and is_causal is causal. Optional inputs are passed if the function has their
                names. A function without a signature, such as a builtin, gets only the inputs.
    op          the operator's name.
    dtypes      the dtypes of inputs. By default float32, or one that the operator takes.
    output_dtype   the dtype of the output, if it is not the operator's default.
    parameters  values of the operator's parameters that every input has: {"axis": 0}.
    names       the operator's names of the function's parameters: {"dimension": "axis"}.
    framework   "numpy" or "torch". By default "torch" if the function is PyTorch's or has annotations of PyTorch, or if
                `device` is given.
    device      where tensors are made, such as "cuda". Outputs are fetched.
    out         True: the function writes to its keyword `out`. Then writes outside the output are found, too.
    draws       the number of random inputs after the fixed list. `budget` in seconds takes its place.
    max_elements   the largest number of elements of an input, 65 536 by default.
    ranks       the least and the largest number of dimensions of the first input, or one number for both.
    aligned, contiguous, nonempty   the function takes only memory aligned to 64 bytes, only contiguous arrays, only sizes
                of at least 1.
    machine     the machine that runs the function (list_machines()), whose expected errors then bound the output.
    standard, rtol, atol   judge by them instead of the operator's own bound.
    unordered   repeated calls may give other bits, because of atomics.
    batch_invariant   a row must have the same bits among other rows and without them.
    isolated    calls the function in child processes, so that a crash or a hang is a finding. call_seconds is the time
                limit. Not with a device: a process that has used CUDA cannot fork.
    keep_going  looks for other findings after the first.
    only, on    repeat one draw by its number, or a reduced input by its text.
    threads     for drawing and judging. The function is called by one thread. 0 means all cores.

    An exception of the function is the finding "error". NotImplementedError and assay.NotSupported say that the function
    does not take an input. Ctrl-C ends the trial, and the report has what was found.
    """
    if isinstance(fn, str) and callable(op):
        raise TypeError(f"trial() takes the function first and the operator second: trial({_name_of(op)}, {fn!r})")
    row = _row_of(op)
    _refuse_unknown(unknown, row)
    if not callable(fn):
        raise TypeError(f"trial() needs a function, not a {type(fn).__name__}")
    if framework not in (None, "numpy", "torch"):
        raise ValueError(f"framework must be 'numpy' or 'torch', not {framework!r}")
    if framework == "numpy" and device is not None:
        raise ValueError("device= is for framework='torch'")
    uses_torch = framework == "torch" or (framework is None and (device is not None or _is_of_torch(fn)))
    made = _Torch(device) if uses_torch else _Numpy()
    arguments, name = _Arguments(fn, row, dict(names or {}), out), _name_of(fn)
    if isolated and uses_torch:
        if not made.on_host:
            raise ValueError("isolated=True: a process that has used CUDA cannot fork, so tensors on a device cannot be "
                             "computed in child processes. Run the trial itself in a process of its own")
        function, set_threads = fn, made.torch.set_num_threads
        pid = os.getpid()

        def fn(*positions, **keywords):
            if os.getpid() != pid:  # a child process does not have the threads of PyTorch's pool
                set_threads(1)
            return function(*positions, **keywords)
    given = {word if word in arguments.parameters else _OTHER_NAMES.get(word, word): value
             for word, value in (parameters or {}).items()}
    fixed = {**arguments.fixed, **given}
    if output_dtype is not None:
        fixed["output_dtype"] = output_dtype
    not_tried = []
    if not out:
        not_tried.append("writes outside the output: the function returns memory of its own")
    if uses_torch and not made.on_host:
        not_tried.append("crashes and hangs: a process that has used a device cannot fork")
    options = dict(name=name, dtypes=_dtype_words(dtypes), takes=sorted(arguments.takes),
                   always=sorted(arguments.always), sometimes=sorted(arguments.sometimes), not_tried=not_tried,
                   parameters={word: _dtype_words(value)[0] if word.endswith("dtype") else value
                               for word, value in fixed.items() if value is not None},
                   out=bool(out), draws=draws, budget=budget, seed=seed, max_elements=max_elements, ranks=_ranks(ranks),
                   aligned=aligned, contiguous=contiguous, nonempty=nonempty, machine=machine, standard=_words(standard),
                   rtol=rtol, atol=atol, unordered=unordered, batch_invariant=batch_invariant, isolated=isolated,
                   call_seconds=call_seconds, keep_going=keep_going, only=only, on=on, threads=threads)
    return _core._run_trial(op, _caller_of(fn, arguments, made, bool(out)), **options)


def assert_trial(fn, op, **options):
    """Raises AssertionError unless a function passes trial(fn, op, ...), with the text of the TrialReport, or
    assay.Untrusted if no output was judged. The error's attribute `report` is the TrialReport.
    """
    __tracebackhide__ = True
    trial(fn, op, **options).check()


def _known_keywords(function, signature):
    """Gives a function the signature of trial() without the keywords that are refused."""
    known = [one for name, one in signature.parameters.items() if name != "unknown"]
    function.__signature__ = signature.replace(parameters=known)
    return function


trial = _known_keywords(trial, inspect.signature(trial))
assert_trial = _known_keywords(assert_trial, inspect.signature(trial).replace(return_annotation=None))
