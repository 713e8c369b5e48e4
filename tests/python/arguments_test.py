"""Arguments of the wrong kind: each public call says which one it is, whatever is given."""

import asyncio
import dataclasses
import inspect
import unittest

import numpy as np

import baseband_offload as bo

CODE = bo.WifiCode("1/2", 648)
LLRS = np.full(648, 40, np.int8)
BLOCK = bo.TransportBlock(tb_bytes=250, g=4800, qm=4, code_rate=0.4)
AXES = [bo.Axis(0, 1, 3)]
SAMPLES = np.ones(2048, np.complex64)
CHANNELS = [bo.Channel(0, taps=np.ones(1))]
WRONG = (object(), "wrong", b"wrong", 3, -3, 0.5, float("nan"), None, True, [object()], ["wrong"], {}, 1j, np.ones(3))

# What every public function and class is right with.
RIGHT = {
    bo.read_recording: ("/nowhere/x.ci16",),
    bo.read_sigmf: ("/nowhere/x",),
    bo.read_wav: ("/nowhere/x.wav",),
    bo.Recording(SAMPLES, 1e6, 1e9).channel: (1e9,),
    bo.Recording(SAMPLES).corrected: (),
    bo.encode_request: (np.zeros(324, np.uint8), CODE),
    bo.decode_request: (LLRS, CODE),
    bo.encode_shared_channel_request: (np.zeros(250, np.uint8), BLOCK),
    bo.decode_shared_channel_request: (np.zeros(4800, np.int8), BLOCK),
    bo.recover_carrier_request: (SAMPLES, "QPSK"),
    bo.downconvert_request: (SAMPLES, 1e6, CHANNELS),
    bo.minimize_request: ("x", AXES),
    bo.join: ([bo.decode_request(LLRS, CODE)],),
    bo.quantize: (np.ones(3),),
    bo.front_end: (SAMPLES,),
    bo.Axis: (0, 1, 3),
    bo.Axis.linspace: (0, 1, 3),
    bo.CallOptions: (),
    bo.Channel: (0, 1, 1, 1e3),
    bo.Chirp: (np.ones(8, complex), 1.0),
    bo.CodeBlock: (1, 384, 1000, 2),
    bo.CustomCode: (np.zeros((2, 4), int), 8),
    bo.DelayDoppler: (np.ones(8, complex), np.ones(8, complex), 1.0),
    bo.Expression: ("x",),
    bo.Harq: (b"key", 0),
    bo.NrCode: (1, 384),
    bo.Piece: (SAMPLES,),
    bo.Pll: (),
    bo.Recording: (SAMPLES, 1e6, 1e9),
    bo.Retune: (0, 0, 0.0),
    bo.Sinusoids: (np.ones(8), 1.0),
    bo.Sweep: (),
    bo.Tls: (),
    bo.TransportBlock: (250, 4800, 4),
    bo.WifiCode: ("1/2", 648),
    bo.WimaxCode: ("1/2", 576),
    bo.Client: (),
}


# What is looked at when it is used.
USES = {
    bo.Axis: lambda a: bo.minimize_request("x", [a]),
    bo.Channel: lambda made: bo.downconvert_request(SAMPLES, 1e6, [made]),
    bo.Chirp: lambda f: bo.minimize_request(f, AXES),
    bo.Sinusoids: lambda f: bo.minimize_request(f, AXES),
    bo.DelayDoppler: lambda f: bo.minimize_request(f, AXES),
    bo.Expression: lambda f: bo.minimize_request(f, AXES),
    bo.CodeBlock: lambda b: bo.decode_shared_channel_request(np.zeros(1000, np.int8), b) if b.e == 1000 else None,
    bo.TransportBlock: lambda b: bo.decode_shared_channel_request(np.zeros(4800, np.int8), b) if b.g == 4800 else None,
    bo.Harq: lambda h: bo.decode_shared_channel_request(np.zeros(4800, np.int8), BLOCK, harq=h),
    bo.Pll: lambda p: bo.recover_carrier_request(SAMPLES, "QPSK", fine="pll", pll=p),
    bo.Sweep: lambda p: bo.recover_carrier_request(SAMPLES, "QPSK", fine="sweep", sweep=p),
    bo.Retune: lambda r: bo.downconvert_request(SAMPLES, 1e6, CHANNELS, retunes=[r]),
}

# What is named where not the argument is: what is in it, or what it has to fit to.
PARTS = {"path": "path|^wrong ", "pieces": "pieces|samples", "requests": "request", "n_filler": "n_filler|bits"}

REQUEST = bo.decode_request(LLRS, CODE)
METHODS = {  # of a client
    "call": (REQUEST,),
    "check_health": (),
    "connect": (),
    "constellation": ("QPSK",),
    "decode": RIGHT[bo.decode_request],
    "decode_shared_channel": RIGHT[bo.decode_shared_channel_request],
    "downconvert": RIGHT[bo.downconvert_request],
    "downconvert_stream": ([SAMPLES], 1e6, CHANNELS),
    "encode": RIGHT[bo.encode_request],
    "encode_shared_channel": RIGHT[bo.encode_shared_channel_request],
    "get_capabilities": (),
    "minimize": RIGHT[bo.minimize_request],
    "open_submit_stream": (),
    "recover_carrier": RIGHT[bo.recover_carrier_request],
    "search": (bo.minimize_request("x", AXES),),
    "submit": ([REQUEST],),
}


async def finished(made):
    """Of an AsyncClient."""
    if inspect.isasyncgen(made):
        async for _ in made:
            pass
    else:
        await made


class WrongArgumentsTest(unittest.TestCase):
    def setUp(self):
        self.client = bo.Client("unix:/nowhere")
        self.stream = self.client.open_submit_stream()
        self.client.close()  # what passes as right is Cancelled

    def check(self, call, right, use=lambda made: None):
        """Each argument in turn is each of WRONG. What is not taken is named, in a TypeError or a ValueError."""
        parameters = inspect.signature(call).parameters
        given = dict(zip(parameters, right))
        for name, parameter in parameters.items():
            if parameter.kind is parameter.VAR_KEYWORD:
                continue
            for wrong in WRONG:
                if type(wrong) is type(parameter.default) is bool:
                    continue
                what = f"{getattr(call, '__qualname__', call)}({name}={wrong!r})"
                try:
                    use(call(**{**given, name: wrong}))
                except (bo.BasebandError, OSError):
                    pass  # taken
                except Exception as error:
                    with self.subTest(what):
                        self.assertIsInstance(error, (TypeError, ValueError))
                        self.assertRegex(str(error), PARTS.get(name, name))

    def test_of_every_function_and_class_is_named(self):
        for call, right in RIGHT.items():
            self.check(call, right, USES.get(call, lambda made: None))
        public = {getattr(bo, name) for name in bo.__all__}
        results = {made for made in public if dataclasses.is_dataclass(made)} - RIGHT.keys()
        errors = {made for made in public if isinstance(made, type) and issubclass(made, Exception)}
        others = {bo.AsyncClient, bo.SubmitStream, bo.Timing, bo.LdpcCode, bo.apply_malloc_tuning}
        self.assertEqual(public - RIGHT.keys() - results - errors - others, set())

    def test_of_every_method_is_named(self):
        self.assertEqual({name for name in dir(bo.Client) if not name.startswith("_")} - {"close"}, METHODS.keys())
        for name, right in METHODS.items():
            self.check(getattr(self.client, name), right, lambda made: list(made) if inspect.isgenerator(made) else None)
        self.check(self.stream.submit, (REQUEST,))

    def test_of_every_method_for_asyncio_is_named(self):
        client = bo.AsyncClient("unix:/nowhere")
        asyncio.run(client.close())
        with asyncio.Runner() as runner:
            for name, right in METHODS.items():
                if name != "open_submit_stream":
                    self.check(getattr(client, name), right, lambda made: runner.run(finished(made)))

    def test_the_value_and_what_it_should_be_are_told(self):
        for text, call in {
            "request 'str' is str, not a Request": lambda: self.client.search("str"),
            "request 'x' is str, not a Request": lambda: self.client.call("x"),
            "options 3 is int, not a CallOptions": lambda: self.client.decode(LLRS, CODE, options=3),
            "options {} is dict, not a CallOptions": lambda: self.client.check_health(options={}),
            "harq b'key' is bytes, not a Harq or None": lambda: self.client.decode_shared_channel(
                np.zeros(4800, np.int8), BLOCK, harq=b"key"
            ),
            "packed [1] is list, not True or False": lambda: self.client.encode(np.zeros(324, np.uint8), CODE, packed=[1]),
            "timeout '5s' is str, not a number": lambda: bo.CallOptions(timeout="5s"),
            "progress 3 is int, not callable or None": lambda: self.client.minimize("x", AXES, progress=3),
        }.items():
            with self.subTest(text), self.assertRaises(TypeError) as caught:
                call()
            self.assertEqual(str(caught.exception), text)

    def test_options_of_a_stage_that_is_not_asked_for_are_refused(self):
        for text, options in {
            "sweep needs fine 'sweep', not 'remodulate'": {"sweep": bo.Sweep(range=1e-3)},
            "pll needs fine 'pll', not 'sweep'": {"pll": bo.Pll(damping=1.0), "fine": "sweep"},
            "known_positions needs known": {"known_positions": [1, 2]},
        }.items():
            with self.subTest(text), self.assertRaisesRegex(ValueError, text):
                bo.recover_carrier_request(SAMPLES, "QPSK", **options)


if __name__ == "__main__":
    unittest.main()
