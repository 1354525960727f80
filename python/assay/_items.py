"""Lists and dicts of arrays, which are compared item by item."""
import functools

from . import _core


def with_text(error, text):
    """Returns an error of the same type and verdict with another text."""
    made = type(error)(text)
    made.verdict = getattr(error, "verdict", None)
    return made


def is_container(value):
    """True for a dict, and for a list or tuple that holds arrays, lists or dicts. A list of numbers is an array."""
    if isinstance(value, dict):
        return True
    return isinstance(value, (list, tuple)) and any(
        is_container(item) or hasattr(item, "shape") or hasattr(item, "__dlpack__") for item in value)


def pairs_of(actual, expected, name=""):
    """Returns (name, actual, expected) for each item that two containers share: "['layer'][0]" names one."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        return [pair for key in actual if key in expected
                for pair in pairs_of(actual[key], expected[key], f"{name}[{key!r}]")]
    if is_container(actual) and is_container(expected) and not isinstance(actual, dict):
        return [pair for i, both in enumerate(zip(actual, expected)) for pair in pairs_of(*both, f"{name}[{i}]")]
    return [(name, actual, expected)]


def _why_not(actual, expected, name=""):
    """Returns why two containers do not have the same items, or an empty string."""
    if isinstance(actual, dict) and isinstance(expected, dict):
        for here, there, what in ((actual, expected, "output"), (expected, actual, "expected result")):
            for key in here:
                if key not in there:
                    return f"item {name}[{key!r}] is only in the {what}"
        inner = [_why_not(actual[key], expected[key], f"{name}[{key!r}]") for key in actual]
    elif is_container(actual) and is_container(expected) and not isinstance(actual, dict) \
            and not isinstance(expected, dict):
        if len(actual) != len(expected):
            return f"{'item ' + name if name else 'the output'} has {len(actual)} items; {len(expected)} are expected"
        inner = [_why_not(a, e, f"{name}[{i}]") for i, (a, e) in enumerate(zip(actual, expected))]
    elif is_container(actual) or is_container(expected):
        return f"{'item ' + name if name else 'the output'} is a {type(actual).__name__}; a {type(expected).__name__} " \
               "is expected"
    else:
        return ""
    return next((why for why in inner if why), "")


def by_items(function):
    """Lets a function of two arrays take lists and dicts of arrays as well. It is called for each pair of items. Returns
    a dict of the results by name, or None if the function returns nothing. An error of an item names it."""
    @functools.wraps(function)
    def call(*args, **options):
        __tracebackhide__ = True  # in pytest
        if len(args) != 2 or not (is_container(args[0]) or is_container(args[1])):
            return function(*args, **options)
        actual, expected = args
        if why := _why_not(actual, expected):
            raise _core.NotComparable(why)
        pairs = pairs_of(actual, expected)
        if not pairs and not options.get("allow_empty"):
            raise _core.Untrusted("the output has no items, so that nothing is compared; add allow_empty=True if it is right")
        results = {}
        for name, a, e in pairs:
            try:
                results[name] = function(a, e, **options)
            except (AssertionError, _core.GateError) as error:
                raise with_text(error, f"item {name}: {error}") from None
        return results if any(result is not None for result in results.values()) else None
    return call
