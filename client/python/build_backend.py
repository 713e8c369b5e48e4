"""Builds the package by setuptools: this host's where pip's own, empty environment has none."""

import importlib.util
import site
import sys

sys.path += [path for path in (*site.getsitepackages(), "/usr/lib/python3/dist-packages") if path not in sys.path]
_MISSING = [name for name in ("setuptools", "wheel") if importlib.util.find_spec(name) is None]


def get_requires_for_build_wheel(config_settings=None):
    """What pip has to fetch before it calls build_wheel."""
    return _MISSING


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    from setuptools import build_meta

    return build_meta.build_wheel(wheel_directory, config_settings, metadata_directory)
