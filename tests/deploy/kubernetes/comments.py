"""Every number of a manifest says on its line which flag of basebandd it sets or follows from.

A comment names a flag, `--lanes`, or with its value, `--lanes=4`, which is then the one that applies. Where no flag has to
do with a number, the comment is `no flag:` and the reason.
"""
import functools
import re

import yaml

_NUMBER = re.compile(r"[0-9][0-9.]*([a-zA-Z]{1,2}|%)?")
_FLAG = re.compile(r"--([a-z_]+(?:-[a-z]+)*)(?:=([^ ,;:)]+[^ ,;:).]?(?::[0-9]+)?))?")


def problems(path, text, flags, settings):
    """Of the YAML file `path`, whose basebandd has `settings`."""
    lines = text.splitlines()
    for line in sorted(_lines_of_numbers(text)):
        comment = lines[line].partition(" #")[2].strip()
        if not comment:
            yield f"{path}:{line + 1}: a number without a comment"
        elif "--" not in comment and not comment.startswith("no flag:"):
            yield f"{path}:{line + 1}: the comment names no flag"
    for i, line in enumerate(lines):
        for flag, value in _FLAG.findall(line.partition("# ")[2]):
            if flag not in flags:
                yield f"{path}:{i + 1}: basebandd has no flag --{flag}"
            elif value and not _applies(applied := settings.get(flag.replace("-", "_")), value):
                yield f"{path}:{i + 1}: --{flag} is {applied}, not {value}"


def _applies(setting, value):
    return value in [str(s) for s in setting] if isinstance(setting, list) else str(setting) == value


@functools.lru_cache(None)
def _lines_of_numbers(text):
    return list(_find_numbers(text, 0))


def _find_numbers(text, first):
    for document in yaml.compose_all(text, yaml.CSafeLoader):
        for node in _scalars(document):
            line = first + node.start_mark.line
            if node.style == "|":  # a patch
                yield from _find_numbers(node.value, line + 1)
            elif _NUMBER.fullmatch(node.value):
                yield line


def _scalars(node):
    if isinstance(node, yaml.ScalarNode):
        yield node
    elif isinstance(node, yaml.SequenceNode):
        for element in node.value:
            yield from _scalars(element)
    elif isinstance(node, yaml.MappingNode):
        for pair in node.value:
            for element in pair:
                yield from _scalars(element)
