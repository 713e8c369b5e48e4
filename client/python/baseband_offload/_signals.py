"""The client's methods for signals."""

from __future__ import annotations

from typing import Optional, Sequence, TypeVar, Union

from ._arrays import Array
from ._request import Request
from .carrier import Pll, Rate, Recovered, Sweep, recover_carrier_request
from .downconvert import Channel, Downconverted, Retune, downconvert_request
from .options import CallOptions

T = TypeVar("T")
_DEFAULT = CallOptions()


class SignalMethods:
    """Of `Client`, which says how a request is called."""

    def call(self, request: Request[T], options: CallOptions = _DEFAULT) -> T:
        raise NotImplementedError

    def recover_carrier(
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
        """Carrier recovery; of samples also symbol timing.

        Parameters
        ----------
        symbols : ndarray of complex64 or complex128, (.., frame_symbols)
            One sample a symbol, at the right instants; or I and Q of float32, float16 or int16 along a
            last axis more. complex128 is converted. The leading axes number the frames. With
            `samples_per_symbol` samples, (.., frame_samples), before the matched filter.
        constellation : str or ndarray of complex
            "QPSK", "64QAM", "32APSK 3/4", ..; or the points.
        symbol_rate_hz : float
            Frequencies are told in Hz, too.
        scale : float
            A sample is what was sent times this; 0: 1, of int16 1 / 32768.
        known : ndarray of complex, optional
            Symbols that the receiver knows, at `known_positions`, or at the frame's beginning.
        coarse : {"none", "power", "known_symbols"}, optional
            "power" takes all symbols, "known_symbols" those alone. Left out: "power", or where known
            symbols lie all over the frame, or are very many, "known_symbols".
        power : int
            Of the coarse method "power"; 0: the best.
        amplitude : {"optimal", "plain", "unit"}
        max_frequency : float
            Look only up to this, cycles per symbol; 0: as far as it can be told.
        expected_snr_db : float, optional
        fine : {"remodulate", "none", "interpolate", "sweep", "pll"}
        sweep : Sweep
        pll : Pll
        reference : {"first", "centre", "last"}
            Where in the frame `phase` is told.
        corrected : bool
            Also return the corrected symbols.
        curve : bool
            Also return the metric against the frequency: that of the coarse stage, or of a sweep.
        samples_per_symbol : int, float, fractions.Fraction or str, optional
            So many were received, 2 .. 16: they go through the matched filter, and their timing is found.
            A fraction of terms up to 4096; a float is the one that it is but for rounding, 2.6 is 13/5, as "13/5" is.
            Cycles per symbol then count symbols as they are, not nominal ones.
        roll_off : float, optional
            Of their root-raised-cosine pulses, 0.05 .. 1; of `taps`: their band ends at (1 + roll_off) / 2
            cycles per symbol.
        max_clock_error : float, optional
            By which a symbol's length may differ from the nominal one, of that: 0 .. 0.001; if not given, 1e-4.
            A clock further off, by more than 0.1 symbol at a frame's ends, is not locked.
        taps : ndarray of float32 or float64, optional
            Other pulses, as they are sent: `taps_per_symbol` samples of one to a symbol, symmetric around the
            middle one, of any scale, up to 64 symbols to either side.
        taps_per_symbol : int, optional
            2 .. 16.
        options : CallOptions

        Returns
        -------
        Recovered

        Examples
        --------
        >>> import numpy as np
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> random = np.random.default_rng(1)
        >>> sent = np.exp(0.5j * np.pi * random.integers(0, 4, 1000) + 0.25j * np.pi)
        >>> received = sent * np.exp(2j * np.pi * 0.01 * np.arange(1000))
        >>> received += 0.1 * random.standard_normal((1000, 2)) @ [1, 1j]
        >>> found = client.recover_carrier(received, "QPSK")
        >>> str(found.lock), f"{found.frequency:.4f}"
        ('locked', '0.0100')

        The same as samples, four to a symbol, of pulses half a symbol late:

        >>> t = np.arange(-40, 41) / 4 + 1e-9
        >>> a = 0.5
        >>> rrc = np.sin(np.pi * t * (1 - a)) + 4 * a * t * np.cos(np.pi * t * (1 + a))
        >>> rrc /= np.pi * t * (1 - (4 * a * t) ** 2)
        >>> samples = np.convolve(np.kron(sent, [0, 0, 1, 0]), rrc)[40:-40]
        >>> found = client.recover_carrier(samples, "QPSK", samples_per_symbol=4, roll_off=0.5, corrected=True)
        >>> str(found.symbol_timing.lock), f"{found.symbol_timing.offset:.2f}", found.corrected.shape
        ('locked', '0.50', (999,))

        And with the transmitter's filter instead of its formula:

        >>> rates = {"samples_per_symbol": 4, "roll_off": 0.5}
        >>> found = client.recover_carrier(samples, "QPSK", **rates, taps=rrc, taps_per_symbol=4)
        >>> str(found.symbol_timing.lock), f"{found.symbol_timing.offset:.2f}"
        ('locked', '0.50')
        """
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
        return self.call(request, options)

    def downconvert(
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
        """Down-conversion of one piece of a wideband signal; stateless.

        Parameters
        ----------
        samples : ndarray
            complex64 or complex128, or I and Q of float32, int16 or int8 along a last axis; a real signal is
            one-dimensional float32, int16 or int8.
        sample_rate_hz : float
        channels : sequence of Channel
        scale : float
            A sample is what was received times this; 0: 1, of int8 1 / 128, of int16 1 / 32768.
        first_sample : int
            Place in the signal of the first of `samples`.
        history : int
            So many of `samples` were in an earlier call: they fill the filters, and no output is
            theirs. At least `Downconverted.history`, or all since sample 0.
        zero_history : bool
            Where history is short, zeros stand for it.
        retunes : sequence of Retune
            All since sample 0.
        options : CallOptions

        Returns
        -------
        Downconverted

        Examples
        --------
        >>> import numpy as np
        >>> import baseband_offload as bo
        >>> client = bo.Client(target)
        >>> signal = np.exp(2j * np.pi * 9.1e6 / 64e6 * np.arange(1 << 16)).astype(np.complex64)
        >>> found = client.downconvert(signal, 64e6, [bo.Channel(9e6, down=8, pass_edge_hz=3e6)])
        >>> tone = found.channels[0]
        >>> tone.size, round(np.angle(tone[-1] / tone[-2]) * 8e6 / (2 * np.pi))
        (8192, 100000)
        """
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
        return self.call(request, options)
