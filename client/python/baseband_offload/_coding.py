"""The client's methods for codes."""

from __future__ import annotations

from typing import Any, Optional, TypeVar

import numpy as np
import numpy.typing as npt

from ._arrays import Array
from ._request import Request
from .codes import LdpcCode
from .ldpc import Decoded, Encoded, decode_request, encode_request
from .options import CallOptions
from .shared_channel import (
    Block,
    DecodedSharedChannel,
    EncodedSharedChannel,
    Harq,
    decode_shared_channel_request,
    encode_shared_channel_request,
)

T = TypeVar("T")
_DEFAULT = CallOptions()


class CodingMethods:
    """Of `Client`, which says how a request is called."""

    def call(self, request: Request[T], options: CallOptions = _DEFAULT) -> T:
        raise NotImplementedError

    def encode(
        self,
        bits: npt.NDArray[Any],
        code: LdpcCode,
        *,
        n_filler: int = 0,
        output: str = "parity",
        packed: bool = False,
        options: CallOptions = _DEFAULT,
    ) -> Encoded:
        """LDPC encoding.

        Parameters
        ----------
        bits : ndarray of uint8 or bool, (.., k - n_filler)
            Information bits, 0 or 1; the leading axes number the blocks.
        code : NrCode, WimaxCode, WifiCode or CustomCode
        n_filler : int
            So many bits of the k are zeros that are not in `bits`.
        output : {"parity", "codeword", "full_codeword"}
            The parity bits; the bits that are sent; all bits, punctured ones included.
        packed : bool
            `bits` and the result hold eight bits a byte, as they travel, the first bit the most
            significant: nothing is copied to be packed.
        options : CallOptions

        Returns
        -------
        Encoded

        Examples
        --------
        >>> import numpy as np
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> bits = np.random.default_rng(1).integers(0, 2, (10, 8448), np.uint8)
        >>> words = client.encode(bits, bo.NrCode(1, 384), output="codeword").bits
        >>> words.shape
        (10, 25344)
        >>> bool((words[:, : 8448 - 768] == bits[:, 768:]).all())  # the first 2 zc are not sent
        True
        """
        return self.call(encode_request(bits, code, n_filler=n_filler, output=output, packed=packed), options)

    def decode(
        self,
        llrs: npt.NDArray[np.int8],
        code: LdpcCode,
        *,
        n_filler: int = 0,
        algorithm: str = "normalized_min_sum",
        schedule: str = "layered",
        max_iterations: int = 10,
        fixed_iterations: bool = False,
        scale_factor: Optional[float] = None,
        llr_scale: float = 4.0,
        soft_output: bool = False,
        packed: bool = False,
        options: CallOptions = _DEFAULT,
    ) -> Decoded:
        """LDPC decoding.

        Parameters
        ----------
        llrs : ndarray of int8, (.., LLRs of a block)
            Of the first bits that are sent; positive means 0, zero unknown. `quantize` makes them.
            Where they are fewer than ``code.sent``, the rest is unknown. Hard decisions go as +-8, not +-1.
        code : NrCode, WimaxCode, WifiCode or CustomCode
        n_filler : int
            So many bits, the last of the k, are known zeros, and not in the result.
        algorithm : {"normalized_min_sum", "sum_product", "bit_flipping"}
        schedule : {"layered", "flooding"}
        max_iterations : int
            1 .. 100.
        fixed_iterations : bool
            Run them all; else a block stops when its parity checks hold.
        scale_factor : float, optional
            Of normalised min-sum, (0, 1]; the server's choice if it is not given.
        llr_scale : float
            Of sum-product: natural LLR = llr / llr_scale.
        soft_output : bool
            Also return a-posteriori LLRs.
        packed : bool
            The result holds eight bits a byte, as they travel.
        options : CallOptions

        Returns
        -------
        Decoded

        Examples
        --------
        >>> import numpy as np
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> code = bo.WimaxCode("1/2", 2304)
        >>> random = np.random.default_rng(1)
        >>> bits = random.integers(0, 2, (4, code.k), np.uint8)
        >>> sent = client.encode(bits, code, output="codeword").bits
        >>> received = 1 - 2.0 * sent + 0.7 * random.standard_normal(sent.shape)  # BPSK
        >>> decoded = client.decode(bo.quantize(2 * received / 0.7**2), code)
        >>> decoded.parity_ok
        array([ True,  True,  True,  True])
        >>> int((decoded.bits != bits).sum())
        0
        """
        request = decode_request(
            llrs,
            code,
            n_filler=n_filler,
            algorithm=algorithm,
            schedule=schedule,
            max_iterations=max_iterations,
            fixed_iterations=fixed_iterations,
            scale_factor=scale_factor,
            llr_scale=llr_scale,
            soft_output=soft_output,
            packed=packed,
        )
        return self.call(request, options)

    def encode_shared_channel(
        self,
        data: npt.NDArray[np.uint8],
        block: Block,
        *,
        output: str = "bits",
        scale: float = 0.0,
        options: CallOptions = _DEFAULT,
    ) -> EncodedSharedChannel:
        """Transport blocks of 5G to coded bits or symbols: CRC, code blocks, LDPC, rate matching, scrambling.

        Parameters
        ----------
        data : ndarray of uint8, (.., bytes of a block)
            The first bit is the most significant of the first byte.
        block : TransportBlock or CodeBlock
        output : {"bits", "float32", "float16", "int16"}
            Coded bits, or symbols of mean energy 1, those of int16 times `scale`, 8192 if it is 0.
        scale : float
        options : CallOptions

        Returns
        -------
        EncodedSharedChannel

        Examples
        --------
        >>> import numpy as np
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> block = bo.TransportBlock(tb_bytes=250, g=4800, qm=4, code_rate=0.4, c_init=77)
        >>> data = np.arange(500, dtype=np.uint8).reshape(2, 250)
        >>> symbols = client.encode_shared_channel(data, block, output="float32").sent
        >>> symbols.shape, symbols.dtype
        ((2, 1200), dtype('complex64'))
        """
        return self.call(encode_shared_channel_request(data, block, output=output, scale=scale), options)

    def decode_shared_channel(
        self,
        received: Array,
        block: Block,
        *,
        llr_scale: float = 0.0,
        symbol_scale: float = 0.0,
        noise_variance: Optional[float] = None,
        log_sum: bool = False,
        harq: Optional[Harq] = None,
        max_iterations: int = 10,
        scale_factor: float = 0.0,
        early_stop: str = "parity",
        options: CallOptions = _DEFAULT,
    ) -> DecodedSharedChannel:
        """Symbols or LLRs to transport blocks of 5G, and whether their CRCs hold.

        Parameters
        ----------
        received : ndarray
            Equalised symbols, (.., g / qm) of complex64, or I and Q of float32, float16, int16 or int8
            along a last axis; or LLRs, (.., g) of int8, int16 or float16.
        block : TransportBlock or CodeBlock
        llr_scale : float
            LLRs are multiplied by it; 0: the server's choice. Not of int8.
        symbol_scale : float
            A symbol is one of mean energy 1 times this; 0: 1, of int8 64, of int16 8192.
        noise_variance : float
            N0, of I and Q together; of symbols only.
        log_sum : bool
            Symbols: the logarithm of sums, not the largest term of each.
        harq : Harq, optional
            Combine with what the server holds of earlier transmissions.
        max_iterations : int
        scale_factor : float
        early_stop : {"parity", "crc", "none"}
        options : CallOptions

        Returns
        -------
        DecodedSharedChannel

        Examples
        --------
        >>> import numpy as np
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> block = bo.TransportBlock(tb_bytes=250, g=4800, qm=4, code_rate=0.4, c_init=77)
        >>> data = np.arange(250, dtype=np.uint8)
        >>> sent = client.encode_shared_channel(data, block, output="float32").sent
        >>> noise = 0.2 * np.random.default_rng(1).standard_normal((1200, 2)) @ [1, 1j]
        >>> found = client.decode_shared_channel(sent + noise, block, noise_variance=0.08)
        >>> bool(found.crc_ok), bool((found.data == data).all())
        (True, True)
        """
        request = decode_shared_channel_request(
            received,
            block,
            llr_scale=llr_scale,
            symbol_scale=symbol_scale,
            noise_variance=noise_variance,
            log_sum=log_sum,
            harq=harq,
            max_iterations=max_iterations,
            scale_factor=scale_factor,
            early_stop=early_stop,
        )
        return self.call(request, options)
