"""Blocks of GNU Radio whose work a Baseband Offload server does."""

from .baseband_offload_python import *
