"""Raw float32 files, as the scripts beside this one read them."""
import array


def read(path):
    values = array.array("f")
    with open(path, "rb") as file:
        values.frombytes(file.read())
    return values
