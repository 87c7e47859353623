"""Compile one .pyx beside its source, as setup.py does: python -m tests.mutations.compile _wire/batches.pyx"""

import sys
from pathlib import PurePath
from typing import Final

from Cython.Build import cythonize
from setuptools import Distribution, Extension  # type: ignore[import-untyped]

DIRECTIVES: Final = {
    "language_level": 3,
    "auto_pickle": False,
    "binding": False,
    "boundscheck": False,
    "wraparound": False,
    "cdivision": True,
}


def main(file: str) -> None:
    name = ".".join(PurePath(file).with_suffix("").parts)
    modules = cythonize([Extension(name, [file])], compiler_directives=DIRECTIVES, quiet=True)
    build = Distribution({"ext_modules": modules}).get_command_obj("build_ext")
    assert build is not None
    build.inplace = True
    build.ensure_finalized()
    build.run()


if __name__ == "__main__":
    main(sys.argv[1])
