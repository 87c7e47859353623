"""The program for spark-submit: `coordinator pipeline run` in the session that spark-submit gives.

    spark-submit [OPTIONS OF SPARK] submit.py --bootstrap HOST:PORT --tables URI [OPTIONS OF pipeline run]

It may lie anywhere, alone. The package is imported from the Python that spark-submit starts, or from its wheel in
--py-files. docs/pipeline.md says which of the two, and when the executors need the package too.
"""

import sys
import tempfile
import zipfile
from pathlib import Path


def unpack_wheels(folder: str) -> None:
    """Replace our archives in sys.path by unpacked ones, because Python imports no compiled modules from an archive."""
    for place, entry in enumerate(sys.path):
        if Path(entry).is_file() and zipfile.is_zipfile(entry):
            with zipfile.ZipFile(entry) as archive:
                if "coordinator/__init__.py" in archive.namelist():
                    archive.extractall(folder)
                    sys.path[place] = folder


def require_spark_4(version: str) -> None:
    """End with one line if Spark is too old: it has no DataFrame.toArrow before 4.0."""
    if int(version.partition(".")[0]) < 4:
        sys.exit(f"this is Spark {version}; the job needs 4.0 or newer")


def main() -> None:
    here = Path(__file__).resolve().parent
    # As the folder of the program it would come first in sys.path, where its modules hide others of the same name.
    sys.path[:] = [entry for entry in sys.path if Path(entry).resolve() != here]
    import pyspark

    require_spark_4(pyspark.__version__)
    with tempfile.TemporaryDirectory(prefix="coordinator-submit-") as folder:
        unpack_wheels(folder)
        from coordinator.cli.pipeline import run

        run.main(prog_name="submit.py")


if __name__ == "__main__":
    main()
