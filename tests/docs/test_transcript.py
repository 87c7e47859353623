"""What docs/make_transcript.py makes of a page."""

import pytest

from docs.make_transcript import Shell, transcript

PAGE = """Save this as `data.txt`:

```python
first
```

```console
$ sleep 0.2 && touch ready & cat data.txt
what was printed before
$ coordinator --version > version.txt; wc -l < version.txt
```

<!-- until: test -e ready -->

```console
$ echo 127.0.0.1:9092 > address.txt; ls ready
$ cat address.txt
```
"""


@pytest.fixture
def shell(tmp_path):
    opened = Shell(tmp_path, "127.0.0.1:1234")
    yield opened
    opened.close()


def test_what_commands_print_is_written_down(shell, tmp_path):
    page = transcript(PAGE, shell)
    assert "$ sleep 0.2 && touch ready & cat data.txt\nfirst\n$ coordinator" in page
    assert "> version.txt; wc -l < version.txt\n1\n```" in page
    assert "ls ready\nready\n$ cat address.txt\n127.0.0.1:9092\n```" in page
    assert (tmp_path / "work" / "address.txt").read_text() == "127.0.0.1:1234\n"
    assert transcript(page, shell) == page


def test_a_command_that_fails_ends_it(shell):
    with pytest.raises(SystemExit, match="exit code 1 of: \\$ false"):
        transcript("```console\n$ false\n```", shell)
