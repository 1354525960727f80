"""Builds the module of the Python package with CMake; pyproject.toml has the rest.

The environment's ASSAY_BUILD_DIR names a folder that is configured already; else build/wheel is, without
tests, with ASSAY_CMAKE_ARGS behind it."""
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = pathlib.Path(__file__).resolve().parent


class Build(build_ext):
    def build_extension(self, ext):
        target = pathlib.Path(self.get_ext_fullpath(ext.name)).resolve()
        folder = os.environ.get("ASSAY_BUILD_DIR")
        if folder is None:
            folder = ROOT / "build/wheel"
            generator = ["-G", "Ninja"] if shutil.which("ninja") else []
            options = ["-DCMAKE_BUILD_TYPE=Release", f"-DPython_EXECUTABLE={sys.executable}"]
            options += [f"-DASSAY_{part}=OFF"
                        for part in ("TESTS", "EXAMPLES", "BENCHMARKS", "MATCHERS", "MPI")]
            subprocess.run(["cmake", "-S", ROOT, "-B", folder, *generator, *options,
                            *shlex.split(os.environ.get("ASSAY_CMAKE_ARGS", ""))], check=True)
        cores = os.environ.get("CMAKE_BUILD_PARALLEL_LEVEL") or str(len(os.sched_getaffinity(0)))
        # pip shows this with -v.
        print(f"assay: building the module with {cores} threads in {folder}; from nothing, two cores take about 4 minutes",
              flush=True)
        subprocess.run(["cmake", "--build", folder, "--target", "assay_python", "--parallel", cores], check=True)
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(pathlib.Path(folder) / "python/assay" / target.name, target)


version = re.search(r"project\(assay VERSION (\S+)", (ROOT / "CMakeLists.txt").read_text())[1]
(ROOT / "build").mkdir(exist_ok=True)
setup(version=version, ext_modules=[Extension("assay._core", [])], cmdclass={"build_ext": Build},
      options={"build": {"build_base": "build/setuptools"}, "egg_info": {"egg_base": "build"}})
