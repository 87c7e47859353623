"""What the log package says while a command works on a data folder."""

from coordinator.cli.error_lines import ErrorLines


def test_an_error_is_printed_with_all_that_it_is_about_and_other_lines_are_not(capsys):
    lines = ErrorLines()
    lines.write("error", "cannot recover a log", {"log": "/data/topic-0", "problem": "Input/output\nerror"})
    lines.write("info", "recovered logs", {"logs": 1})
    assert capsys.readouterr() == ("", "cannot recover a log: /data/topic-0: 'Input/output\\nerror'\n")
