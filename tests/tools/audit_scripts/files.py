"""Reads raw float32 files for the scripts beside this one."""
import array


def read(path):
    values = array.array("f")
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return values
