"""SigMF recordings: NAME.sigmf-meta beside the samples in NAME.sigmf-data."""

from __future__ import annotations

import dataclasses
import json
import pathlib
from typing import Any, Union

import numpy as np

from ._arrays import Array

_DTYPES = {"8": "i1", "16_le": "<i2", "32_le": "<f4"}  # behind "ci" or "ri", "cf" or "rf"


@dataclasses.dataclass(frozen=True, eq=False)
class Recording:
    """Samples as `Client.downconvert` and `Client.recover_carrier` take them.

    Attributes
    ----------
    samples : ndarray
        complex64; (samples, 2) of int16 or int8; or a real signal. Mapped from the file, not read.
    sample_rate_hz : float
        0: not said.
    frequency_hz : float
        The radio frequency that is at zero in them; 0: not said.
    meta : dict
        All that the metadata say.
    """

    samples: Array
    sample_rate_hz: float
    frequency_hz: float
    meta: dict[str, Any]


def read_sigmf(path: Union[str, pathlib.Path]) -> Recording:
    """Opens a recording.

    Parameters
    ----------
    path : str or Path
        Of either of its files, or without their endings.

    Examples
    --------
    >>> import json, pathlib, tempfile
    >>> import numpy as np
    >>> from baseband_offload import read_sigmf
    >>> folder = tempfile.TemporaryDirectory()
    >>> base = pathlib.Path(folder.name, "tone")
    >>> np.array([[1, 2], [3, 4]], "<i2").tofile(f"{base}.sigmf-data")
    >>> about = {"core:datatype": "ci16_le", "core:sample_rate": 1e6}
    >>> _ = pathlib.Path(f"{base}.sigmf-meta").write_text(json.dumps({"global": about, "captures": []}))
    >>> read_sigmf(base).samples.tolist()
    [[1, 2], [3, 4]]
    """
    base = str(path)
    for ending in (".sigmf-meta", ".sigmf-data"):
        base = base[: -len(ending)] if base.endswith(ending) else base
    meta = json.loads(pathlib.Path(base + ".sigmf-meta").read_text(encoding="utf-8"))
    datatype = meta["global"]["core:datatype"]
    dtype = _DTYPES.get(datatype[2:])
    if dtype is None or datatype[:2] not in ("ci", "ri", "cf", "rf") or ("f" in dtype) != (datatype[1] == "f"):
        raise ValueError(f"core:datatype {datatype!r} is not one of ci8, ci16_le, cf32_le, ri8, ri16_le, rf32_le")
    samples: Array = np.memmap(base + ".sigmf-data", dtype, "r")
    if datatype.startswith("c"):
        samples = samples.view("<c8") if "f" in dtype else samples.reshape(-1, 2)
    captures = meta.get("captures") or [{}]
    rate = float(meta["global"].get("core:sample_rate", 0))
    return Recording(samples, rate, float(captures[0].get("core:frequency", 0)), meta)
