"""Libraries that arrays in the memory of a device need."""
import ctypes
import functools
import importlib.util
import pathlib


@functools.lru_cache(maxsize=None)
def load_compiler():
    """Loads NVRTC, NVIDIA's compiler of kernels, from the packages of PyTorch's wheels.

    The system does not search their folders. If these packages are missing, nothing is loaded, because the compiler may
    be installed with the CUDA toolkit.
    """
    spec = importlib.util.find_spec("nvidia")
    for place in (spec.submodule_search_locations or ()) if spec else ():
        for file in sorted(pathlib.Path(place).glob("*/lib/libnvrtc.so.[0-9]*")):
            try:
                ctypes.CDLL(str(file))
                return
            except OSError:
                continue
