"""The methods of `AsyncClient` that are one call each."""

from __future__ import annotations

from typing import Any, Optional, Sequence, TypeVar, Union

import numpy as np
import numpy.typing as npt

from ._arrays import Array
from ._request import Request
from .carrier import Pll, Rate, Recovered, Sweep, recover_carrier_request
from .codes import LdpcCode
from .downconvert import Channel, Downconverted, Retune, downconvert_request
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


class AsyncMethods:
    """Of `AsyncClient`, which says how a request is called. Documented at `Client`'s."""

    async def call(self, request: Request[T], options: CallOptions = _DEFAULT) -> T:
        raise NotImplementedError

    async def encode(
        self,
        bits: npt.NDArray[Any],
        code: LdpcCode,
        *,
        n_filler: int = 0,
        output: str = "parity",
        packed: bool = False,
        options: CallOptions = _DEFAULT,
    ) -> Encoded:
        return await self.call(encode_request(bits, code, n_filler=n_filler, output=output, packed=packed), options)

    async def decode(
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
        return await self.call(request, options)

    async def encode_shared_channel(
        self,
        data: npt.NDArray[np.uint8],
        block: Block,
        *,
        output: str = "bits",
        scale: float = 0.0,
        options: CallOptions = _DEFAULT,
    ) -> EncodedSharedChannel:
        return await self.call(encode_shared_channel_request(data, block, output=output, scale=scale), options)

    async def decode_shared_channel(
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
        return await self.call(request, options)

    async def recover_carrier(
        self,
        symbols: Array,
        constellation: Union[str, Array],
        *,
        symbol_rate_hz: float = 0.0,
        scale: float = 0.0,
        known: Optional[Array] = None,
        known_positions: Optional[Sequence[int]] = None,
        coarse: Optional[str] = None,
        power: int = 0,
        amplitude: str = "optimal",
        max_frequency: float = 0.0,
        expected_snr_db: Optional[float] = None,
        fine: str = "remodulate",
        sweep: Sweep = Sweep(),
        pll: Pll = Pll(),
        reference: str = "first",
        corrected: bool = False,
        curve: bool = False,
        samples_per_symbol: Optional[Rate] = None,
        roll_off: Optional[float] = None,
        max_clock_error: Optional[float] = None,
        taps: Optional[Array] = None,
        taps_per_symbol: Optional[int] = None,
        options: CallOptions = _DEFAULT,
    ) -> Recovered:
        request = recover_carrier_request(
            symbols,
            constellation,
            symbol_rate_hz=symbol_rate_hz,
            scale=scale,
            known=known,
            known_positions=known_positions,
            coarse=coarse,
            power=power,
            amplitude=amplitude,
            max_frequency=max_frequency,
            expected_snr_db=expected_snr_db,
            fine=fine,
            sweep=sweep,
            pll=pll,
            reference=reference,
            corrected=corrected,
            curve=curve,
            samples_per_symbol=samples_per_symbol,
            roll_off=roll_off,
            max_clock_error=max_clock_error,
            taps=taps,
            taps_per_symbol=taps_per_symbol,
        )
        return await self.call(request, options)

    async def downconvert(
        self,
        samples: Array,
        sample_rate_hz: float,
        channels: Sequence[Channel],
        *,
        scale: float = 0.0,
        first_sample: int = 0,
        history: int = 0,
        zero_history: bool = False,
        retunes: Sequence[Retune] = (),
        options: CallOptions = _DEFAULT,
    ) -> Downconverted:
        request = downconvert_request(
            samples,
            sample_rate_hz,
            channels,
            scale=scale,
            first_sample=first_sample,
            history=history,
            zero_history=zero_history,
            retunes=retunes,
        )
        return await self.call(request, options)
