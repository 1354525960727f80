"""What goes wrong with a file."""
import os
import re


def printable(text):
    """Control characters and bytes that are no UTF-8, which a hostile name may hold, as \\xNN."""
    try:
        text.encode()
        unprintable = r"[\x00-\x1f\x7f]"
    except UnicodeEncodeError:  # surrogates stand for bytes that are no UTF-8
        text = "".join(chr(byte) for byte in text.encode("utf-8", "surrogateescape"))
        unprintable = r"[\x00-\x1f\x7f-\xff]"
    return re.sub(unprintable, lambda match: f"\\x{ord(match.group()):02x}", text)


class DatasetError(Exception):
    """A file that cannot be read or written; the message names file, object and reason."""

    def __init__(self, file, obj, reason):
        self.file, self.object, self.reason = os.fspath(file), obj, reason
        super().__init__(f"{self.file}: {printable(f'{obj}: {reason}' if obj else reason)}")

    def __reduce__(self):  # for pytest-xdist and multiprocessing
        return type(self), (self.file, self.object, self.reason)


class NoCaseError(DatasetError):
    """The file is fine, but it holds no case, or none that was asked for."""
