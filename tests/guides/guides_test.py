"""What can be said of the guides without running them: that they are short, complete and linked, and
name nothing that is not there. run_test.py runs what is in them.

    guides_test.py BUILD [--update]     --update writes the table of settings
"""

import fnmatch
import pathlib
import re
import subprocess
import sys
import unittest

import markdown
import settings_table

LONGEST = {"README.md": 150, "CONTRIBUTING.md": 100}
RESULTS = markdown.PROJECT / "tests/bench/RESULTS.md"
REPORT = markdown.PROJECT / "tests/bench/h200/results.md"  # by bench_report
SOURCES = {".c", ".cc", ".cmake", ".conf", ".cu", ".h", ".json", ".proto", ".py", ".sh", ".txt", ".yaml", ".yml", ""}
OF_DOCKER = {"--build-arg", "--gpus", "--ulimit", "--tmpfs"}  # in front of an image's name
_FLAG = re.compile(r"(?<![\w-])--[a-z][a-z-]*[a-z]\b")
_NUMBER = re.compile(r"(?<![\w.])\d+(?:\.\d+)?")
# In spans of code: what names a file or folder of this repository, and what its sources call so.
_PATH = re.compile(r"(?<![\w/:.$-])[\w<>*.-]+/(?:[\w<>*.-]+/?)*(?![\w:])")
_FILE = re.compile(r"(?<![\w/*.-])[\w-]+\.(?:cc|cu|h|md|proto|py|sh|yaml|yml)\b")
_WORD = re.compile(r"(?<!\w)(?:-D)?([A-Za-z]+(?:_[a-zA-Z0-9]+)+|[A-Z][a-z]+(?:[A-Z][a-z0-9]+)+)\b")
NO_PATHS = {"nvidia.com/gpu", "baseband-offload/client", "deployment/basebandd"}  # Kubernetes' names
NO_NAMES = {"UpperCamel", "snake_case", "RpcError", "ROW_REMAPPER"}  # of styles and of others' programs
MADE = ("build/", "BUILD/", "dist/")  # by the build


def our_commands(guide):
    """What is typed for our programs: spans of code in the prose, lines of blocks."""
    for _, line in guide.prose:
        yield from re.findall(r"`((?:--|basebandd |basebandctl |basebandd-ldpc-tool )[^`]*)`", line)
    for block in guide.blocks:
        text = "\n".join(block.lines).replace("\\\n", " ")
        yield from re.findall(r"(?m)(?:^|[$|;&(] ?)(baseband(?:d|ctl|d-ldpc-tool) .*)", text)


def spans(guide):
    """(line, what stands there as code)"""
    for number, line in guide.prose:
        for span in re.findall(r"`([^`]+)`", line):
            yield number, span


def is_there(path, tree):
    """Whether `path`, which may leave out where it begins, is one of `tree`."""
    parts = re.sub(r"<\w+>", "*", path).strip("/")
    return any(fnmatch.fnmatchcase(f"/{entry}", f"*/{parts}") for entry in tree)


def output(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def program_flags():
    ctl = BUILD / "client/ctl/basebandctl"
    general = output(ctl, "--help")
    commands = re.findall(r"^  ([a-z][a-z-]+)(?:  |$)", general.split("\nCommands:\n")[1], re.MULTILINE)
    told = [output(BUILD / "server/basebandd", "--help"), general]
    told += [output(ctl, command, "--help") for command in commands]
    told.append(output(BUILD / "client/ldpc_tool/basebandd-ldpc-tool", "--help"))
    told.append(output(BUILD / "tests/fuzz/wire/wire_fuzz", "--help"))
    told.append(output(BUILD / "tests/bench/bench_report", "--help"))
    return set(re.findall(r"^  (?:-\w,)?(--[a-z-]+)", "\n".join(told), re.MULTILINE))


class GuidesTest(unittest.TestCase):
    def setUp(self):
        self.guides = {guide.path.resolve(): guide for guide in markdown.guides()}

    def each_block(self):
        """(where, block)"""
        return [(f"{g.name}:{block.line}", block) for g in self.guides.values() for block in g.blocks]

    def test_each_is_reached_by_links_from_the_first(self):
        reached, waiting = set(), [markdown.PROJECT / "README.md"]
        while waiting:
            path = waiting.pop().resolve()
            if path in self.guides and path not in reached:
                reached.add(path)
                waiting += [target for _, target, _ in self.guides[path].links()]
        self.assertEqual({guide.name for path, guide in self.guides.items() if path not in reached}, set())

    def test_links_lead_to_what_is_there(self):
        for guide in self.guides.values():
            for line, path, anchor in guide.links():
                with self.subTest(f"{guide.name}:{line}: {path}#{anchor}"):
                    self.assertTrue(path.exists())
                    if anchor:
                        self.assertIn(anchor, self.guides[path.resolve()].anchors())

    def test_files_and_folders_are_where_they_are_said_to_be(self):
        tree = [str(path.relative_to(markdown.PROJECT)) for path in markdown.tree()]
        self.assertTrue(is_there("guides/guides_test.py", tree))
        self.assertFalse(is_there("guides_test.p", tree))
        for guide in self.guides.values():
            for line, span in spans(guide):
                for path in {*_PATH.findall(span), *_FILE.findall(span)} - NO_PATHS:
                    if not path.startswith(MADE):
                        with self.subTest(f"{guide.name}:{line}: {path}"):
                            self.assertTrue(is_there(path, tree))

    def test_names_in_the_source_are_spelt_as_there(self):
        sources = [path for path in markdown.tree() if path.is_file() and path.suffix in SOURCES and "vectors" not in path.parts]
        known = set().union(*(_WORD.findall(path.read_text(errors="replace")) for path in sources))
        self.assertIn("SteadyAlarm", known)
        for path, guide in self.guides.items():
            if path != RESULTS:  # which tells of what there was, too
                for line, span in spans(guide):
                    with self.subTest(f"{guide.name}:{line}: {span}"):
                        self.assertEqual(set(_WORD.findall(span)) - known - NO_NAMES, set())

    def test_those_that_all_read_are_short(self):
        for name, most in LONGEST.items():
            self.assertLessEqual(len((markdown.PROJECT / name).read_text().splitlines()), most, name)

    def test_each_block_is_run_or_says_why_not(self):
        for where, block in self.each_block():
            with self.subTest(where):
                self.assertEqual(markdown.unknown_options(block), [])
                is_checked = markdown.is_run(block) or block.value("in") is not None
                self.assertNotEqual(is_checked, bool(block.why_not_run))
                self.assertFalse(is_checked and block.is_indented)
                if block.language == "console":
                    self.assertTrue(markdown.commands(block))

    def test_a_reader_sees_how_its_server_is_started(self):
        for guide in self.guides.values():
            if flags := guide.server_flags():
                self.assertTrue(any(command.split()[1:] == flags for command in our_commands(guide)),
                                f"{guide.name}: in which line does `basebandd {' '.join(flags)}` stand?")

    def test_commands_that_are_run_need_no_folder_of_the_host(self):
        for where, block in self.each_block():
            if markdown.is_run(block):
                with self.subTest(where):
                    self.assertIsNone(re.search(r"(?<![\w.])/(?:etc|opt|run|srv|usr|var)/", "\n".join(block.lines)))

    def test_what_is_configured_needs_no_more_packages_than_are_installed(self):
        for where, block in self.each_block():
            text = "\n".join(block.lines)
            # With OAI_SRC it is client/oai alone, which is a project of its own and has no tests.
            if "cmake -S" in text and "packages.sh test" not in text and "-DOAI_SRC=" not in text:
                with self.subTest(where):
                    self.assertIn("-DBASEBAND_TESTS=OFF", text)

    def test_output_stands_behind_a_python_block(self):
        for guide in self.guides.values():
            for before, block in zip([None, *guide.blocks], guide.blocks):
                if "output" in block.options:
                    self.assertEqual(before.language, "python", f"{guide.name}:{block.line}")

    def test_code_is_part_of_the_file_it_names(self):
        for where, block in self.each_block():
            if block.value("in"):
                code = " ".join((markdown.PROJECT / block.value("in")).read_text().split())
                with self.subTest(where):
                    self.assertIn(" ".join("\n".join(block.lines).split()), code)

    def test_figures_are_those_of_the_results(self):
        known = set(_NUMBER.findall((RESULTS.read_text() + REPORT.read_text()).replace(",", "")))
        checked = 0
        for guide in self.guides.values():
            section = re.sub(r"\]\([^)]*\)|`[^`]*`", "", guide.section("Measured"))
            for number in _NUMBER.findall(section.replace(",", "")):
                checked += 1
                with self.subTest(f"{guide.name}: {number}"):
                    self.assertIn(number, known)
        self.assertGreater(checked, 50)

    def test_flags_are_those_of_the_programs(self):
        known = program_flags() | OF_DOCKER
        self.assertGreater(len(known), 150)
        for path, guide in self.guides.items():
            if path != RESULTS:  # which tells what was run then
                for command in our_commands(guide):
                    with self.subTest(f"{guide.name}: {command}"):
                        self.assertEqual(set(_FLAG.findall(command)) - known, set())

    def test_settings_are_those_of_the_server(self):
        guide = markdown.Guide(markdown.PROJECT / settings_table.GUIDE)
        begin, end = settings_table.in_guide(guide)
        table = settings_table.from_help(BUILD / "server/basebandd")
        self.assertGreater(len(table), 45)
        self.assertEqual(guide.lines[begin:end], table, f"{__file__} BUILD --update writes it")


def update():
    guide = markdown.Guide(markdown.PROJECT / settings_table.GUIDE)
    begin, end = settings_table.in_guide(guide)
    guide.lines[begin:end] = settings_table.from_help(BUILD / "server/basebandd")
    guide.path.write_text(guide.text + "\n", encoding="utf-8")


if __name__ == "__main__":
    BUILD = pathlib.Path(sys.argv[1])
    if "--update" in sys.argv[2:]:
        update()
    unittest.main(argv=sys.argv[:1])
