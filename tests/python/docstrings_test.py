"""The examples in the docstrings, run against a fresh server; and that what is public has some words."""

import doctest
import importlib
import inspect
import pkgutil
import unittest

import baseband_offload as bo
import support

MODULES = ["baseband_offload", *(f"baseband_offload.{found.name}" for found in pkgutil.iter_modules(bo.__path__))]
WITHOUT_EXAMPLE = {"call", "close", "connect", "check_health", "open_submit_stream"}


class DocstringsTest(support.ServerTest):
    def test_examples_print_what_they_show(self):
        attempted = 0
        for name in MODULES:
            with self.subTest(name):
                told = doctest.testmod(importlib.import_module(name), extraglobs={"target": self.server.target})
                self.assertEqual(told.failed, 0)
                attempted += told.attempted
        self.assertGreater(attempted, 80)

    def test_each_method_of_the_client_has_an_example(self):
        for name, method in inspect.getmembers(bo.Client, inspect.isfunction):
            if not name.startswith("_") and name not in WITHOUT_EXAMPLE:
                with self.subTest(name):
                    self.assertIn(">>> ", method.__doc__)

    def test_what_is_public_is_documented(self):
        for name in set(bo.__all__) - {"LdpcCode"}:  # a Union
            with self.subTest(name):
                self.assertTrue(getattr(bo, name).__doc__)

    def test_the_async_client_has_the_client_s_methods_and_parameters(self):
        def public(of):
            return {name: method for name, method in inspect.getmembers(of, inspect.isfunction) if name[0] != "_"}

        ours, theirs = public(bo.AsyncClient), public(bo.Client)
        self.assertEqual(set(theirs) - set(ours), {"open_submit_stream"})
        for name, method in ours.items():
            with self.subTest(name):
                mine, other = (inspect.signature(found).parameters for found in (method, theirs[name]))
                self.assertEqual([(p.name, p.default) for p in mine.values()], [(p.name, p.default) for p in other.values()])


if __name__ == "__main__":
    unittest.main()
