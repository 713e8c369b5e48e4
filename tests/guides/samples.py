"""What a command printed, held against the sample in a guide.

 - Blanks: any number of them is one, for columns move with the numbers in them.
 - A time, a rate (NUMBER UNIT/s) and `N x real time` are measured: any other will do.
 - Other numbers with a point agree to a millionth: processors round differently. All others are equal.
 - In a block marked `measured` any number, with or without a unit, will do in place of another.
 - `..` in a line stands for anything, a line `...` for any lines.
"""

import re

_NUMBER = r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
_TIME = r"(?:ns|us|ms|s|min|h|d)"
_RATE = r"(?:[kMGT] )?(?!rad/)[A-Za-z]*/s"  # an angular frequency is none
_MEASURED = rf"{_NUMBER} ?(?:{_RATE}|{_TIME}|x real time)(?![\w/])"
_ANY_UNIT = rf"(?: ?(?:{_RATE}|{_TIME}|[kMG]?b|(?:[kMG]i?)?B|[kMG]|%)(?![\w/]))?"
_PART = re.compile(rf"(?P<any>\.\.+)|(?P<measured>{_MEASURED})|(?P<number>{_NUMBER})|(?P<blank>\s+)")
_TOLERANCE = 1e-6


def _pattern(line, measured):
    """A line of a sample as a regular expression, and the numbers that its groups must be near."""
    expression, near, end = "", [], 0
    for part in _PART.finditer(line):
        expression += re.escape(line[end : part.start()])
        end = part.end()
        if part["any"]:
            expression += ".*?"
        elif part["blank"]:
            expression += r"\s+"
        elif measured:
            expression += _NUMBER + _ANY_UNIT
            if part["number"]:
                end = re.compile(_ANY_UNIT).match(line, end).end()
        elif part["measured"]:
            expression += _MEASURED
        elif "." in part["number"]:
            expression += f"({_NUMBER})"
            near.append(float(part["number"]))
        else:
            expression += re.escape(part["number"])
    return expression + re.escape(line[end:]), near


def line_matches(shown, printed, measured=False):
    expression, near = _pattern(shown.strip(), measured)
    found = re.fullmatch(expression, printed.strip())
    if not found:
        return False
    pairs = zip(near, map(float, found.groups()))
    return all(abs(a - b) <= _TOLERANCE * max(abs(a), abs(b)) for a, b in pairs)


def matches(shown, printed, measured=False):
    """Lists of lines. Nothing shown: anything may be printed."""
    return not shown or _match(shown, printed, measured)


def _match(shown, printed, measured):
    if not shown:
        return not printed
    if shown[0].strip() == "...":
        return any(_match(shown[1:], printed[i:], measured) for i in range(len(printed) + 1))
    if not printed or not line_matches(shown[0], printed[0], measured):
        return False
    return _match(shown[1:], printed[1:], measured)


def updated(shown, printed, measured=False):
    """The sample that `printed` makes: lines that still match stay as they are, and so does what a
    single `...` leaves out."""
    if matches(shown, printed, measured):
        return shown
    if [line.strip() for line in shown].count("...") == 1:
        before = [line.strip() for line in shown].index("...")
        after = len(shown) - before - 1
        if len(printed) > before + after:
            head, tail = printed[:before], printed[len(printed) - after :]
            return [*_lines(shown[:before], head, measured), "...", *_lines(shown[before + 1 :], tail, measured)]
    return _lines(shown, printed, measured)


def _lines(shown, printed, measured):
    if len(shown) != len(printed):
        return [line.rstrip() for line in printed]
    return [a if line_matches(a, b, measured) else b.rstrip() for a, b in zip(shown, printed)]
