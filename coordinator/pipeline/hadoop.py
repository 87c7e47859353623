"""Files on any file system that Hadoop's clients can reach, through the JVM of Spark."""

import contextlib
from collections.abc import Iterator
from typing import Any, cast

from py4j.protocol import Py4JError, Py4JJavaError
from pyspark.sql import SparkSession


class HadoopError(OSError):
    """The file system refused something, or could not be reached. The message is one line that names the folder."""


class HadoopFiles:
    """The files of one folder, which is created with its first file."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        """Raises HadoopError: there is no such file system."""
        self._name = folder
        context = cast(Any, spark.sparkContext)  # pyspark declares what is the JVM's as optional
        self._jvm = context._jvm
        settings = context._jsc.hadoopConfiguration()
        with self._errors():
            fs = self._jvm.org.apache.hadoop.fs
            self._folder = fs.Path(folder)
            self._files = self._folder.getFileSystem(settings)
            self.uri = str(self._files.makeQualified(self._folder).toString())
            """The folder with the host that a URI like hdfs:///path leaves to Hadoop's settings."""
            self._context = fs.FileContext.getFileContext(self._folder.toUri(), settings)
            rename = getattr(fs, "Options$Rename")
            self._overwrite = context._gateway.new_array(rename, 1)
            self._overwrite[0] = rename.OVERWRITE

    def __str__(self) -> str:
        return self._name

    def names(self) -> list[str]:
        try:
            with self._errors():
                return [status.getPath().getName() for status in self._files.listStatus(self._folder)]
        except FileNotFoundError:
            return []

    def read(self, name: str) -> bytes:
        with self._errors():
            stream = self._files.open(self._path(name))
            try:
                return bytes(stream.readAllBytes())
            finally:
                stream.close()

    def write(self, name: str, content: bytes) -> None:
        """On HDFS the rename is one step; on an object store the file appears whole anyway."""
        new = self._path(f"{name}.new")
        with self._errors():
            self._put(self._files.create(new, True), content)
            self._context.rename(new, self._path(name), self._overwrite)

    def create(self, name: str, content: bytes) -> bool:
        """Write a file that must not exist; return false if it does."""
        with self._errors():
            try:
                self._put(self._files.create(self._path(name), False), content)
            except Py4JJavaError as problem:
                if _class_of(problem) == "org.apache.hadoop.fs.FileAlreadyExistsException":
                    return False
                raise
        return True

    def delete(self, name: str) -> None:
        with self._errors():
            self._files.delete(self._path(name), False)

    def changed_ms(self, name: str) -> int | None:
        """When a file or folder was changed (ms since the epoch); None if it does not exist or that is not known."""
        try:
            with self._errors():
                return int(self._files.getFileStatus(self._path(name)).getModificationTime()) or None
        except FileNotFoundError:
            return None

    def _put(self, stream: Any, content: bytes) -> None:
        try:
            stream.write(content)
            if stream.hasCapability("hsync"):
                stream.hsync()
        finally:
            stream.close()

    def _path(self, name: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._folder, name)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Py4JJavaError as problem:
            if _class_of(problem) == "java.io.FileNotFoundException":
                raise FileNotFoundError(f"{self._name}: {java_message(problem)}") from problem
            raise HadoopError(f"{self._name}: {java_message(problem)}") from problem
        except Py4JError as problem:
            raise HadoopError(f"{self._name}: {str(problem).splitlines()[0]}") from problem


def _class_of(problem: Py4JJavaError) -> str:
    return str(problem.java_exception.getClass().getName())


def java_message(problem: Py4JJavaError) -> str:
    text = problem.java_exception.getMessage() or _class_of(problem)
    return str(text).strip().splitlines()[0]
