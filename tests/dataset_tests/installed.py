"""Shared by the tests of the installed package: the package, installed once per program, and a way to run commands."""
import atexit
import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE, BUILD, CMAKE = sys.argv[1:4]
COMPILERS = sys.argv[4].split(",")  # the first one compiled the build
COMPILER = COMPILERS[0]
CTEST = str(pathlib.Path(CMAKE).with_name("ctest"))


def run(*command, **options):
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)
    return done.returncode, done.stdout + done.stderr


KEEP = tempfile.TemporaryDirectory(prefix="assay_package_")
atexit.register(KEEP.cleanup)
ROOT = pathlib.Path(KEEP.name)
PREFIX = ROOT / "moved"


def install():
    """Installs the package and moves it, so that nothing can depend on the prefix of the installation."""
    code, out = run(CMAKE, "--install", BUILD, "--prefix", ROOT / "prefix")
    assert code == 0, out
    os.rename(ROOT / "prefix", PREFIX)


def configure(source, build, *options, compiler=COMPILER):
    return run(CMAKE, "-S", source, "-B", build, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={PREFIX}",
               f"-DCMAKE_CXX_COMPILER={compiler}", *options)
