"""A sample that has gone stale is found, and what varies from run to run is not taken for it."""

import pathlib
import sys
import tempfile
import unittest

import markdown
import samples


class LineTest(unittest.TestCase):
    def test_what_is_measured_may_differ(self):
        for shown, printed in (
            ("123 ms in 1 request, 132 ksymbols/s", "1.2 s in 1 request, 3.1 Msymbols/s"),
            ("10.0 M points in 474 ms, 21.1 M points/s", "10.0 M points in 47 ms, 211 k points/s"),
            ("16 MiB in 798 ms: 21.01 MB/s, 0.0821 x real time", "16 MiB in 8 ms: 2 GB/s, 8e-3 x real time"),
            ("p99    1.5 ms", "p99  980 us"),
            ("device  cpu: .., healthy", "device  cpu: AMD EPYC, 4 lanes, healthy"),
            ("Minimum 1.27275661427e-05 at x = 420.968746481", "Minimum 1.27275661311e-05 at x = 420.968746520"),
        ):
            self.assertTrue(samples.line_matches(shown, printed), shown)

    def test_what_is_computed_may_not(self):
        for shown, printed in (
            ("350 passed, 0 failed", "349 passed, 1 failed"),
            ("phase  +20.05 +- 0.18 degrees", "phase  +20.10 +- 0.32 degrees"),
            ("frequency +0.020833333 cycles/symbol", "frequency +0.062500049 cycles/symbol"),
            ("channel at 9.1 MHz", "channel at 9.2 MHz"),
            ("123 ms in 1 request", "123 ms in 2 requests"),
            ("lock  yes", "lock  no"),
            ("device  cpu: .., healthy", "device  cpu: AMD EPYC, 4 lanes, lost"),
        ):
            self.assertFalse(samples.line_matches(shown, printed), shown)

    def test_in_a_measured_block_no_number_counts_but_all_words_do(self):
        self.assertTrue(samples.line_matches("all  363  11.0 ms  0 %", "all  41  0 us  12 %", measured=True))
        self.assertFalse(samples.line_matches("363 good, 0 late", "363 good, 0 wrong", measured=True))


class SampleTest(unittest.TestCase):
    def test_three_points_stand_for_any_lines(self):
        self.assertTrue(samples.matches(["a", "...", "d"], ["a", "b", "c", "d"]))
        self.assertTrue(samples.matches(["a", "...", "d"], ["a", "d"]))
        self.assertFalse(samples.matches(["a", "...", "d"], ["a", "b", "c"]))
        self.assertFalse(samples.matches(["a"], ["a", "b"]))
        self.assertFalse(samples.matches(["a", "b"], ["a"]))
        self.assertTrue(samples.matches([], ["anything"]))

    def test_an_update_matches_and_keeps_what_was_right(self):
        shown = ["took 5 ms", "found 3", "at .."]
        printed = ["took 7 ms", "found 4", "at 0x1234"]
        self.assertEqual(samples.updated(shown, printed), ["took 5 ms", "found 4", "at .."])
        self.assertEqual(samples.updated(["a 1", "...", "z 1"], ["a 1", "b", "c", "z 2"]), ["a 1", "...", "z 2"])
        self.assertEqual(samples.updated(["a", "b"], ["c"]), ["c"])


class MarkdownTest(unittest.TestCase):
    def guide(self, text):
        with tempfile.NamedTemporaryFile("w", suffix=".md", dir=pathlib.Path(__file__).parent) as file:
            file.write(text)
            file.flush()
            return markdown.Guide(file.name)

    def test_commands_go_on_and_end_where_they_print(self):
        block = self.guide("```console\n$ a \\\n  b\n1\n$ for i in 1; do\n> c\n> done\n2\n3\n$ d\n```\n").blocks[0]
        told = [(c.text, c.begin, c.shown) for c in markdown.commands(block)]
        self.assertEqual(told, [("a \\\n  b", 3, ["1"]), ("for i in 1; do\nc\ndone", 7, ["2", "3"]), ("d", 10, [])])

    def test_links_and_anchors_are_those_of_github(self):
        guide = self.guide("# A `b`, c-d\n## A\n## A\n[x](#a-1) [y `z`](../u.md#v) ![w](w.svg) [h](https://h)\n")
        self.assertEqual(guide.anchors(), {"a-b-c-d", "a", "a-1"})
        self.assertEqual([(p.name, a) for _, p, a in guide.links()], [(guide.path.name, "a-1"), ("u.md", "v"), ("w.svg", "")])

    def test_a_block_without_end_is_an_error(self):
        with self.assertRaises(ValueError):
            self.guide("```console\n$ a\n")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
