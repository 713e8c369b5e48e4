"""Client of basebandd, the Baseband Offload server: numpy arrays in, numpy arrays out.

Examples
--------
>>> import numpy as np
>>> import baseband_offload as bo
>>> client = bo.Client(target)  # "127.0.0.1:50151"
>>> llrs = np.full((8, 1944), 20, np.int8)
>>> decoded = client.decode(llrs, bo.WifiCode("1/2", 1944))
>>> decoded.bits.shape, bool(decoded.parity_ok.all())
((8, 972), True)
"""

from ._front_end import FrontEnd, front_end
from ._request import Request, Timing, join
from .aio import AsyncClient
from .carrier import Pll, Recovered, Sweep, SymbolTiming, recover_carrier_request
from .client import Client
from .codes import CustomCode, LdpcCode, NrCode, WifiCode, WimaxCode
from .downconvert import Channel, Description, Downconverted, Piece, Retune, downconvert_request
from .errors import (
    BasebandError,
    Cancelled,
    DeadlineExceeded,
    FailedPrecondition,
    Internal,
    InvalidArgument,
    NotFound,
    OutOfRange,
    PermissionDenied,
    ResourceExhausted,
    Unauthenticated,
    Unavailable,
    Unimplemented,
)
from .ldpc import Decoded, Encoded, decode_request, encode_request, quantize
from .minimize import (
    Axis,
    Chirp,
    DelayDoppler,
    Expression,
    GridPoint,
    Minimum,
    Progress,
    Schwefel,
    Sinusoids,
    minimize_request,
)
from .options import CallOptions, Tls
from .recordings import Recording, read_recording, read_sigmf, read_wav
from .shared_channel import (
    CodeBlock,
    DecodedSharedChannel,
    EncodedSharedChannel,
    Harq,
    TransportBlock,
    decode_shared_channel_request,
    encode_shared_channel_request,
)
from .submit import Answer, SubmitStream
from .tuning import apply_malloc_tuning

__version__ = "0.1.0"
__all__ = [
    "Answer",
    "AsyncClient",
    "Axis",
    "BasebandError",
    "CallOptions",
    "Cancelled",
    "Channel",
    "Chirp",
    "Client",
    "CodeBlock",
    "CustomCode",
    "DeadlineExceeded",
    "Decoded",
    "DecodedSharedChannel",
    "DelayDoppler",
    "Description",
    "Downconverted",
    "Encoded",
    "EncodedSharedChannel",
    "Expression",
    "FailedPrecondition",
    "FrontEnd",
    "GridPoint",
    "Harq",
    "Internal",
    "InvalidArgument",
    "LdpcCode",
    "Minimum",
    "NotFound",
    "NrCode",
    "OutOfRange",
    "PermissionDenied",
    "Piece",
    "Pll",
    "Progress",
    "Recording",
    "Recovered",
    "Request",
    "ResourceExhausted",
    "Retune",
    "Schwefel",
    "Sinusoids",
    "SubmitStream",
    "Sweep",
    "SymbolTiming",
    "Timing",
    "Tls",
    "TransportBlock",
    "Unauthenticated",
    "Unavailable",
    "Unimplemented",
    "WifiCode",
    "WimaxCode",
    "apply_malloc_tuning",
    "decode_request",
    "decode_shared_channel_request",
    "downconvert_request",
    "encode_request",
    "encode_shared_channel_request",
    "front_end",
    "join",
    "minimize_request",
    "quantize",
    "read_recording",
    "read_sigmf",
    "read_wav",
    "recover_carrier_request",
]
