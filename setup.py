"""Build of the compiled half: message modules from their definitions, then an extension beside every .pyx.

    python setup.py build_ext --inplace -j2

Incremental: a definition that did not change leaves its module as it is, and an unchanged .pyx is not compiled again.
"""

import os
import sys
from pathlib import Path

from Cython.Build import cythonize
from setuptools import Extension, find_packages, setup

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT))

from _wire.generate import generate  # noqa: E402  (the build may run from anywhere)

DIRECTIVES = {
    "language_level": 3,
    "auto_pickle": False,
    "binding": False,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
}
CYTHON_THREADS = 2


def extensions() -> list[Extension]:
    """Every .pyx of the packages; of the tests' too where they are at hand (not in a source distribution's build)."""
    sources = sorted(path for package in ("_wire", "coordinator", "tests") for path in (ROOT / package).rglob("*.pyx"))
    return [
        Extension(
            ".".join(path.relative_to(ROOT).with_suffix("").parts),
            [str(path.relative_to(ROOT))],
            extra_compile_args=["-O3", "-g0"],
        )
        for path in sources
    ]


def compiled() -> list[Extension]:
    """All extensions; none where EXTENSIONS_ARE_BUILT says that they lie beside their sources already.

    An editable install would compile each of them once more, one after the other, only to leave them where they are.
    """
    if os.environ.get("EXTENSIONS_ARE_BUILT"):
        return []
    generate()
    modules: list[Extension] = cythonize(
        extensions(), nthreads=CYTHON_THREADS, build_dir="build/cython", compiler_directives=DIRECTIVES
    )
    return modules


setup(
    packages=find_packages(include=["_wire", "_wire.*", "coordinator", "coordinator.*"]),
    package_data={"": ["*.pxd", "*.pyi", "*.pyx", "py.typed"], "_wire": ["schemas/*.schema"]},
    ext_modules=compiled(),
    zip_safe=False,
)
