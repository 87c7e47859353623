"""Which tests are found for a file."""

from pathlib import Path, PurePosixPath

import pytest

from tests.covering import Project, mirror_of

FILES = {
    "_wire/__init__.py": "",
    "_wire/frames.pyx": "from _wire.sizes cimport size_of\n",
    "_wire/sizes.pyx": "",
    "coordinator/__init__.py": "",
    "coordinator/core/__init__.py": "",
    "coordinator/core/joining.py": "",
    "coordinator/core/members.py": "from coordinator.core import joining\n",
    "coordinator/cli/__init__.py": "",
    "coordinator/cli/verbs/serve.py": "",
    "interop/driver.py": "",
    "tests/__init__.py": "",
    "tests/conftest.py": "import tests.servers\n",
    "tests/servers.py": "import coordinator.core.members\n",
    "tests/cli/test_serve.py": "",
    "tests/core/conftest.py": "from tests.core.deciding import decide\n",
    "tests/core/deciding.py": "def decide():\n    import coordinator.core.members\n",
    "tests/core/test_admin.py": "",
    "tests/core/test_joining.py": "",
    "tests/core/test_joining_of_many.py": "",
    "tests/e2e/test_joining.py": "from tests.servers import RunningServer\n",
    "tests/e2e/test_frames.py": "from _wire.frames import split\n",
    "tests/e2e/test_members.py": "from coordinator.core.members import (\n    leave,\n)\n",
    "tests/wire/split.pyx": "from _wire.frames cimport split\n",
    "tests/wire/test_round_trips.py": "from tests.wire import split\n",
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return Project(tmp_path)


@pytest.mark.parametrize(
    ("file", "found"),
    [
        (
            "coordinator/core/joining.py",
            [
                "tests/core/test_joining.py",
                "tests/core/test_joining_of_many.py",
                "tests/e2e/test_joining.py",
                "tests/core/test_admin.py",
            ],
        ),
        (
            "coordinator/core/members.py",
            [
                "tests/e2e/test_members.py",
                "tests/core/test_admin.py",
                "tests/core/test_joining.py",
                "tests/core/test_joining_of_many.py",
                "tests/e2e/test_joining.py",
            ],
        ),
        ("_wire/frames.pyx", ["tests/e2e/test_frames.py", "tests/wire/test_round_trips.py"]),
        ("coordinator/cli/verbs/serve.py", ["tests/cli/test_serve.py"]),
        ("tests/servers.py", ["tests/e2e/test_joining.py"]),
        ("tests/core/test_admin.py", ["tests/core/test_admin.py"]),
        ("interop/driver.py", []),
    ],
)
def test_the_tests_of_a_file_are_found_by_name_folder_and_imports(
    project: Project, file: str, found: list[str]
) -> None:
    assert set(project.tests_of([file])) == set(found)


def test_the_nearest_tests_come_first_and_each_once(project: Project) -> None:
    assert project.tests_of(["coordinator/core/members.py", "coordinator/core/joining.py"]) == [
        "tests/e2e/test_members.py",
        "tests/core/test_joining.py",
        "tests/core/test_joining_of_many.py",
        "tests/e2e/test_joining.py",
        "tests/core/test_admin.py",
    ]


@pytest.mark.parametrize(
    ("file", "folder"),
    [
        ("_wire/codegen/reading.py", "tests/wire/codegen"),
        ("coordinator/node.py", "tests"),
        ("coordinator/front/handlers/groups.py", "tests/front/handlers"),
        ("setup.py", "tests"),
        ("tests/core/deciding.py", "tests/core"),
    ],
)
def test_folders_are_mirrored(file: str, folder: str) -> None:
    assert mirror_of(PurePosixPath(file)) == PurePosixPath(folder)
