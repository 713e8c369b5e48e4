"""The table of basebandd's settings in server/README.md, from `basebandd --help`, which is made of
the one table of server/config/settings.cc."""

import re
import subprocess

GUIDE = "server/README.md"
BEGIN = "<!-- settings: tests/guides/guides_test.py BUILD --update writes this table -->"
END = "<!-- end of settings -->"
_SETTING = re.compile(r"^  (--[a-z-]+)=(\S+)\s+(.*) \[(.*)\]$", re.MULTILINE)


def from_help(basebandd):
    """The lines of the table."""
    told = subprocess.run([basebandd, "--help"], capture_output=True, text=True, check=True).stdout
    lines = ["|flag|value|default||", "|---|---|---|---|"]
    for flag, value, meaning, default in _SETTING.findall(re.sub(r"(?m)^(  --\S+)\n\s+", r"\1 ", told)):
        lines.append(f"|`{flag}`|{_cell(value)}|{_cell(default)}|{_cell(meaning)}|")
    return lines


def _cell(text):
    return text.replace("|", ", ")


def in_guide(guide):
    """(first, end): which of its lines, from 0, are the table."""
    return guide.lines.index(BEGIN) + 1, guide.lines.index(END)
