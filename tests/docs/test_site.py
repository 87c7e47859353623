"""What docs/site does to the pages, and what it finds in a built site. `make docs-site` builds the real one."""

from types import SimpleNamespace

import pytest

from docs.site.check import problems
from docs.site.hooks import on_page_markdown


def published(text: str, page: str = "guides/secure-it.md") -> str:
    """The text of a page as the site has it, among three published files."""
    names = ("guides/secure-it.md", "security.md", "decisions/README.md")
    files = [SimpleNamespace(src_uri=name, inclusion=SimpleNamespace(is_included=lambda: True)) for name in names]
    return on_page_markdown(
        text, page=SimpleNamespace(file=SimpleNamespace(src_uri=page), meta={}), config=None, files=files
    )


@pytest.mark.parametrize(
    ("link", "shown"),
    [
        ("[security](../security.md#tls)", "[security](../security.md#tls)"),
        ("[decisions](../decisions)", "[decisions](../decisions/README.md)"),
        ("[the test](../../tests/docs)", 'the test (<code class="outside">tests/docs</code>)'),
        ("[`setup.py`](../../setup.py)", '<code class="outside">setup.py</code>'),
        ("[elsewhere](https://example.com/a.md)", "[elsewhere](https://example.com/a.md)"),
        ("![a picture](../images/x.png)", "![a picture](../images/x.png)"),
    ],
)
def test_links_to_what_is_not_published_become_paths(link, shown):
    assert published(f"See {link}.") == f"See {shown}."


def test_a_link_to_what_is_nowhere_is_reported(caplog):
    assert published("[gone](../gone.md)") == "[gone](../gone.md)"
    assert "no such file" in caplog.text


def test_code_stays_as_it_is():
    text = "```sh\n- [a](../../setup.py)\n  - b\n```"
    assert published(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Text:\n- a\n  more\n  - b\n- c", "Text:\n\n- a\n    more\n    - b\n- c"),
        ("1. a\n   more\n\n   - b\n     more\n2. c", "1. a\n    more\n\n    - b\n        more\n2. c"),
        ("10. a\n    more\n\nEnd.\n  two", "10. a\n    more\n\nEnd.\n  two"),
        (
            "- a\n\n  ```sh\n  if b; then\n    c\n  ```\n\nEnd.",
            "- a\n\n    ```sh\n    if b; then\n      c\n    ```\n\nEnd.",
        ),
        ("    code\n    - no item", "    code\n    - no item"),
    ],
)
def test_lists_are_those_of_python_markdown(text, shown):
    assert published(text) == shown


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="b.html">b</a>', "dead link: b.html"),
        ('<a href="a.html#c">c</a>', "heading that is not there: a.html#c"),
        ('<script src="https://example.com/x.js"></script>', "another host: https://example.com/x.js"),
        ('<img src="a.html">', "without a text: a.html"),
        ('<a href="a.html#d">d</a><h1 id="d"></h1><a href="https://example.com">e</a>', ""),
    ],
)
def test_a_built_page_is_checked(tmp_path, body, problem):
    (tmp_path / "a.html").write_text(f"<html>{body}</html>")
    found = list(problems(tmp_path))
    assert [problem in each for each in found] == ([True] if problem else [])


def test_a_folder_without_pages_is_no_site(tmp_path):
    assert [problem for problem in problems(tmp_path) if "no pages" in problem]
