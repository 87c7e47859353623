"""docs/pipeline.md lists the tables with the columns that they have, and the packages that the code asks for."""

import re
from pathlib import Path

from coordinator.pipeline.columns import BRONZE_COLUMNS, TABLES
from coordinator.pipeline.jvm import PACKAGES
from coordinator.pipeline.names import BRONZE

PAGE = Path(__file__).parents[2] / "docs" / "pipeline.md"


def test_the_page_lists_the_columns_of_each_table():
    listed = re.findall(r"^\| `(\w+)` \| [^|]+ \| ([^|]+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    expected = {BRONZE: BRONZE_COLUMNS.names, **{name: schema.names for name, schema in TABLES.items()}}
    assert {name: columns.split(", ") for name, columns in listed} == expected


def test_the_page_names_the_packages():
    assert ",".join(PACKAGES) in PAGE.read_text(encoding="utf-8")
