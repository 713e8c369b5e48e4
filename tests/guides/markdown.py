"""The guides as the tests read them: fenced blocks, comments, headings and links of a .md file.

What the words behind a fence's language mean:
    ```console             lines `$ COMMAND`, each with what it must print; nothing: only that it ends with 0
    ```console measured    the same, and every number in what it prints is one that was measured
    ```python              a program of its own, behind those of the blocks marked `setup`
    ```text output         what the Python block before it must print
    ```json file=NAME      written to the file NAME for the commands after it (any language)
    ```cpp in=PATH         is a part of that file (any language)
    ```console setup       also what Python blocks of other guides need first
Any other block is not run, and the line above it says why: <!-- not run: REASON -->.
A guide whose blocks need a server says so at its top: <!-- server: FLAGS OF BASEBANDD -->.
"""

import dataclasses
import pathlib
import re

PROJECT = pathlib.Path(__file__).resolve().parents[2]
FOLDERS = ("client", "common", "deploy", "docker", "kernels", "proto", "server", "tests")
_OPTIONS = re.compile(r"setup|measured|output|file=[\w.]+|in=[\w./]+")
_NOT_RUN = re.compile(r"<!-- not run: (.+) -->")
_SERVER = re.compile(r"^<!-- server:(.*)-->$", re.MULTILINE)
_LINK = re.compile(r"\[[^][]*(?:\[[^][]*\][^][]*)?\]\(([^()\s]+)\)")


@dataclasses.dataclass
class Block:
    """A fenced block. `line` is the number of its first fence, counted from 1."""

    language: str
    options: list
    line: int
    lines: list
    why_not_run: str = ""
    is_indented: bool = False  # in a list: not for blocks that are run

    def value(self, name):
        """Of an option NAME=VALUE; None: it is not there."""
        return next((o.partition("=")[2] for o in self.options if o.startswith(name + "=")), None)


@dataclasses.dataclass
class Command:
    """Of a console block: what is typed, and the lines of the file, from 0, that show what it prints."""

    text: str
    begin: int
    shown: list


class Guide:
    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.name = str(self.path.relative_to(PROJECT))
        self.lines = self.path.read_text(encoding="utf-8").splitlines()
        self.blocks, self.prose = self._read()

    def _read(self):
        blocks, prose, block = [], [], None
        for number, line in enumerate(self.lines, 1):
            fence = line.lstrip().startswith("```")
            if block is None and fence:
                language, *options = line.strip()[3:].split() or [""]
                above = self.lines[number - 2].strip() if number > 1 else ""
                why = _NOT_RUN.fullmatch(above)
                block = Block(language, options, number, [], why[1] if why else "", line.startswith(" "))
                blocks.append(block)
            elif block is not None and fence:
                block = None
            elif block is not None:
                block.lines.append(line)
            else:
                prose.append((number, line))
        if block is not None:
            raise ValueError(f"{self.name}:{block.line}: the block has no end")
        return blocks, prose

    @property
    def text(self):
        return "\n".join(self.lines)

    def server_flags(self):
        """What basebandd is started with for this guide; None: it needs none."""
        found = _SERVER.search(self.text)
        return found[1].split() if found else None

    def is_run(self):
        """Whether there is anything in it to run."""
        return any(is_run(block) for block in self.blocks)

    def headings(self):
        return [line.lstrip("#").strip() for _, line in self.prose if re.match(r"#+ ", line)]

    def anchors(self):
        """Of the headings, as GitHub makes them."""
        seen, found = {}, set()
        for heading in self.headings():
            slug = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
            count = seen.get(slug, 0)
            seen[slug] = count + 1
            found.add(f"{slug}-{count}" if count else slug)
        return found

    def links(self):
        """(line, path, anchor) of all that stay in this repository."""
        for number, line in self.prose:
            for target in _LINK.findall(re.sub(r"`[^`]*`", "`", line)):
                if not re.match(r"[a-z]+:", target):
                    path, _, anchor = target.partition("#")
                    yield number, (self.path.parent / path if path else self.path), anchor

    def section(self, heading):
        """The lines of prose below a heading, up to the next; empty if there is none."""
        found, inside = [], False
        for _, line in self.prose:
            if re.match(r"#+ ", line):
                inside = line.lstrip("#").strip() == heading
            elif inside:
                found.append(line)
        return "\n".join(found)


def is_python_run(block):
    return block.language == "python" and block.value("in") is None


def is_run(block):
    return block.language == "console" or is_python_run(block) or bool({"output"} & set(block.options)) or bool(block.value("file"))


def unknown_options(block):
    return [option for option in block.options if not _OPTIONS.fullmatch(option)]


def commands(block):
    """The commands of a console block, in order. A line that follows a `\\`, or begins with `> `, goes on."""
    found = []
    for offset, line in enumerate(block.lines):
        goes_on = found and not found[-1].shown and found[-1].text.endswith("\\")
        if line.startswith("$ "):
            found.append(Command(line[2:], block.line + offset + 1, []))
        elif found and not found[-1].shown and (goes_on or line.startswith("> ")):
            found[-1].text += "\n" + (line if goes_on else line[2:])
            found[-1].begin += 1
        elif found:
            found[-1].shown.append(line)
        else:
            raise ValueError(f"line {block.line}: a console block begins with `$ `")
    return found


def tree():
    """All files and folders of the repository, but what is built, in no order."""
    yield from (path for path in PROJECT.iterdir() if path.is_file())
    for folder in FOLDERS:
        yield PROJECT / folder
        yield from (PROJECT / folder).rglob("*")


def guides():
    """All of the repository."""
    return [Guide(path) for path in sorted(tree()) if path.suffix == ".md"]
