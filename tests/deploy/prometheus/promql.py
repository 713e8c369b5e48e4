"""As much of PromQL as these tests need: its words, its durations and its selectors."""

import re

_WORD = re.compile(
    r'"(?:\\.|[^"\\])*"'  # a string
    r"|[a-zA-Z_:][\w:]*"  # a name
    r"|(?:\d+(?:ms|[smhdwy]))+\b"  # a duration
    r"|\d*\.?\d+(?:[eE][+-]?\d+)?"
    r"|\s+|.",
    re.DOTALL,
)
_DURATION_PART = re.compile(r"(\d+)(ms|[smhdwy])")
_SECONDS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800, "y": 31536000}
_LABEL_LISTS = {"by", "without", "on", "ignoring", "group_left", "group_right"}
_NO_METRICS = {
    *_LABEL_LISTS,
    *("and", "or", "unless", "bool", "offset", "inf", "nan"),
    *("sum", "min", "max", "avg", "count", "topk", "bottomk", "quantile", "group"),
}


def words(expr):
    """The words of `expr` in order, white space among them: joined, they are `expr` again."""
    return _WORD.findall(expr)


def is_duration(word):
    return re.fullmatch(r"(?:\d+(?:ms|[smhdwy]))+", word) is not None


def to_seconds(duration):
    return sum(int(count) * _SECONDS[unit] for count, unit in _DURATION_PART.findall(duration))


def divide_duration(duration, factor):
    """"5m" by 60 is "5s"; what is left must be whole milliseconds."""
    millis = to_seconds(duration) * 1000 / factor
    if millis != int(millis):
        raise ValueError(f"{duration} / {factor} is no whole number of milliseconds")
    return f"{int(millis)}ms" if millis % 1000 else f"{int(millis) // 1000}s"


def divide_durations(expr, factor):
    """`expr` with each of its durations, of ranges and offsets, divided."""
    return "".join(divide_duration(w, factor) if is_duration(w) else w for w in words(expr))


def _end_of(text_words, opening, closing, begin):
    depth = 0
    for at in range(begin, len(text_words)):
        depth += (text_words[at] == opening) - (text_words[at] == closing)
        if depth == 0:
            return at
    raise ValueError(f"no {closing} in {''.join(text_words)}")


def selectors(expr):
    """The instant selectors of `expr`, `name{label="value"}`, without range; each once."""
    found = []
    dense = [w for w in words(expr) if not w.isspace()] + [""]
    at = 0
    while at < len(dense) - 1:
        word, after = dense[at], dense[at + 1]
        if word in _LABEL_LISTS and after == "(":
            at = _end_of(dense, "(", ")", at + 1)
        elif re.match(r"[a-zA-Z_:]", word) and after != "(" and word not in _NO_METRICS:
            end = _end_of(dense, "{", "}", at + 1) if after == "{" else at
            found.append("".join(dense[at : end + 1]))
            at = end
        at += 1
    return list(dict.fromkeys(found))
