"""Recordings by Python's own writers and byte by byte, what the receiver did to them, and what is refused."""

import dataclasses
import json
import pathlib
import struct
import subprocess
import tempfile
import unittest
import wave

import numpy as np

import baseband_offload as bo
import support

UNKNOWN = 0xFFFFFFFF
DS64 = b"ds64" + struct.pack("<IQQQI4sQ", 40, 0, 16, 0, 1, b"JUNK", 6)


def chunk(name, body, size=None):
    return name + struct.pack("<I", len(body) if size is None else size) + body + bytes(len(body) % 2)


def fmt(kind, channels, bits, rate=48000):
    sample = channels * bits // 8
    return chunk(b"fmt ", struct.pack("<HHIIHH", kind, channels, rate, rate * sample, sample, bits))


def riff(chunks, form=b"RIFF"):
    return form + struct.pack("<I", UNKNOWN if form != b"RIFF" else len(chunks) + 4) + b"WAVE" + chunks


class FilesTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))

    def file(self, name, contents):
        (self.folder / name).write_bytes(contents)
        return self.folder / name


class WavTest(FilesTest):
    def written(self, width, channels, frames):
        path = self.folder / f"{width}.wav"
        with wave.open(str(path), "wb") as file:
            file.setnchannels(channels)
            file.setsampwidth(width)
            file.setframerate(2400000)
            file.writeframes(frames)
        return bo.read_wav(path)

    def test_what_python_writes_is_read(self):
        for width, step in ((1, 2.0**-7), (2, 2.0**-15), (3, 2.0**-23), (4, 2.0**-31)):
            numbers = [1, -2, (1 << (8 * width - 1)) - 1, -(1 << (8 * width - 1))]
            raw = [n + 128 if width == 1 else n for n in numbers]
            frames = b"".join(n.to_bytes(width, "little", signed=width > 1) for n in raw)
            for channels in (1, 2):
                with self.subTest(width=width, channels=channels):
                    found = self.written(width, channels, frames)
                    samples = found.samples
                    if channels == 2:
                        self.assertEqual(len(samples), 2)
                        samples = samples.view(np.float32) if samples.dtype == np.complex64 else samples
                    scale = {np.int8: 2.0**-7, np.int16: 2.0**-15}.get(samples.dtype.type, 1.0)
                    np.testing.assert_allclose(
                        samples.reshape(-1) * scale, np.array(numbers) * step, rtol=2.0**-23, atol=0
                    )
                    self.assertEqual(found.sample_rate_hz, 2.4e6)

    def test_the_centre_is_that_of_auxi(self):
        auxi = chunk(b"auxi", bytes(32) + struct.pack("<I", 433920000) + bytes(20))
        path = self.file("a.wav", riff(auxi + fmt(1, 2, 16) + chunk(b"data", b"aabb")))
        self.assertEqual(bo.read_wav(path).frequency_hz, 433.92e6)

    def test_sizes_of_64_bits_stand_in_ds64(self):
        data = struct.pack("<4f", 0.5, -0.25, 1, 2)
        body = DS64 + chunk(b"JUNK", b"abcdef", UNKNOWN) + fmt(3, 2, 32) + chunk(b"data", data, UNKNOWN)
        for form in (b"RF64", b"BW64"):
            path = self.file("a.rf64", riff(body + chunk(b"LIST", b"xx"), form))
            self.assertEqual(bo.read_recording(path).samples.tolist(), [0.5 - 0.25j, 1 + 2j])

    def test_what_is_wrong_is_named(self):
        data = chunk(b"data", b"aabb")
        for contents, why in (
            (b"", "a.wav is empty$"),
            (b"RIFF", "ends within its head"),
            (b"RIFFxxxxAVI xxxx", "is no WAV file"),
            (riff(fmt(1, 2, 16)), "ends without a chunk 'data'"),
            (riff(data), "ends without a chunk 'fmt '"),
            (riff(fmt(1, 2, 16) + chunk(b"data", b"aabbc")), "not a multiple of the 4"),
            (riff(fmt(1, 2, 16) + chunk(b"data", b"")), "is empty: its chunk 'data' has no bytes"),
            (riff(fmt(1, 2, 16) + data + data), "two chunks 'data'"),
            (riff(fmt(1, 2, 16) + chunk(b"data", b"aabb", 1000)), "'data' that says 1000 bytes, but 4 follow"),
            (riff(fmt(1, 6, 16) + data), "has 6 channels"),
            (riff(fmt(7, 2, 8) + data), "has samples of format 7 and 8 bits"),
            (riff(fmt(1, 2, 16) + data, b"RF64").replace(b"\4\0\0\0", b"\xff" * 4), "stand in 'ds64' before it"),
            (riff(b"JUNK\0\0\0\0" * 10001 + fmt(1, 2, 16) + data), "more than 10000 chunks"),
        ):
            with self.subTest(why), self.assertRaisesRegex(ValueError, why):
                bo.read_wav(self.file("a.wav", contents))

    def test_no_bytes_make_more_samples_than_there_are(self):
        whole = riff(DS64 + chunk(b"JUNK", b"abcdef", UNKNOWN) + fmt(1, 2, 16) + chunk(b"data", bytes(16), UNKNOWN), b"RF64")
        for size in range(len(whole)):
            with self.assertRaises(ValueError):
                bo.read_wav(self.file("a.wav", whole[:size]))
        taken = 0
        for at in range(len(whole)):
            for value in (0, 1, 7, 0x7F, 0x80, 0xFF):
                try:
                    found = bo.read_wav(self.file("a.wav", whole[:at] + bytes([value]) + whole[at + 1 :]))
                except ValueError:
                    continue
                taken += 1
                self.assertLessEqual(found.samples.size, len(whole))
        self.assertGreater(taken, 100)


class RawTest(FilesTest):
    def test_unsigned_bytes_are_as_far_above_zero_as_below(self):
        path = self.file("a.cu8", bytes([0, 255, 128, 127]))
        self.assertEqual((bo.read_recording(path).samples / 256).tolist(), [[-127.5, 127.5], [0.5, -0.5]])
        samples = bo.read_recording(path, cu8_centre=128).samples
        self.assertEqual((samples.dtype, samples.tolist()), (np.int8, [[-128, 127], [0, -1]]))
        self.file("a.sigmf-data", path.read_bytes())
        self.file("a.sigmf-meta", json.dumps({"global": {"core:datatype": "cu8"}}).encode())
        self.assertEqual((bo.read_sigmf(self.folder / "a").samples / 256)[0].tolist(), [-127.5, 127.5])

    def test_names_say_what_is_in_a_file(self):
        for ending, samples in (("cs16", [[0, 16128]]), ("i8", [0, 0, 0, 63]), ("f32", [0.5])):
            found = bo.read_recording(self.file(f"a.{ending}", bytes([0, 0, 0, 63]))).samples
            self.assertEqual(found.tolist(), samples)
        with self.assertRaisesRegex(ValueError, "a.dat does not say what it is"):
            bo.read_recording(self.file("a.dat", b"xx"))
        with self.assertRaisesRegex(ValueError, "empty.cs16 is empty$"):
            bo.read_recording(self.file("empty.cs16", b""))
        with self.assertRaisesRegex(ValueError, "has 5 bytes, not a multiple of the 4"):
            bo.read_recording(self.file("a.ci16", b"aabbc"))

    def test_what_is_wrong_in_sigmf_is_named_with_its_file(self):
        self.file("a.sigmf-data", bytes(8))
        for meta, text in {
            "[]": 'is not SigMF: no JSON object with "global" in it',
            '{"captures": []}': 'is not SigMF: no JSON object with "global" in it',
            '{"global": {}}': "says no core:datatype",
            '{"global"': "Expecting",
            '{"global": {"core:datatype": "ci16"}}': "core:datatype 'ci16' is not one of",
            '{"global": {"core:datatype": ["ci8"]}}': "core:datatype ['ci8'] is not one of",
            '{"global": {"core:datatype": "ci8", "core:sample_rate": "6.24M"}}': "core:sample_rate '6.24M' is not a number",
            '{"global": {"core:datatype": "ci8", "core:sample_rate": -1}}': "core:sample_rate -1 is not > 0",
            '{"global": {"core:datatype": "ci8", "core:num_channels": 2}}': "core:num_channels 2 is not 1",
            '{"global": {"core:datatype": "ci8"}, "captures": {}}': "captures is not a list",
            '{"global": {"core:datatype": "ci8"}, "captures": [{"core:frequency": "868M"}]}': "core:frequency '868M' is not",
        }.items():
            with self.subTest(meta):
                self.file("a.sigmf-meta", meta.encode())
                with self.assertRaises(ValueError) as caught:
                    bo.read_sigmf(self.folder / "a.sigmf-data")
                self.assertIn(f"a.sigmf-meta: {text}", str(caught.exception))
        self.file("a.sigmf-meta", b'{"global": {"core:datatype": "ci8"}}')
        self.assertEqual(bo.read_sigmf(self.folder / "a").sample_rate_hz, 0)

    def test_a_recording_of_several_centres_has_none(self):
        self.file("a.sigmf-data", bytes(8))
        captures = [{"core:sample_start": 0, "core:frequency": 5e6}, {"core:sample_start": 1}]
        about = {"global": {"core:datatype": "ci16_le", "core:sample_rate": 1e6}, "captures": captures}
        for second, centre in (({}, 5e6), ({"core:frequency": 5e6}, 5e6), ({"core:frequency": 6e6}, 0)):
            captures[1].update(second)
            self.file("a.sigmf-meta", json.dumps(about).encode())
            self.assertEqual(bo.read_recording(self.folder / "a.sigmf-meta").frequency_hz, centre)
        with self.assertRaisesRegex(ValueError, "does not say one centre"):
            bo.read_sigmf(self.folder / "a").channel(5e6, pass_edge_hz=1e5)


class FrontEndTest(unittest.TestCase):
    def noise(self, count=1 << 18):
        return 0.1 * np.random.default_rng(3).standard_normal((count, 2)) @ [1, 1j] / np.sqrt(2)

    def received(self, gain, degrees, dc=0.0):
        sent, phase = self.noise(), np.radians(degrees)
        made = sent.real + 1j * (np.cos(phase) * sent.imag - np.sin(phase) * sent.real) / gain + dc
        return made.astype(np.complex64)

    def test_what_the_receiver_did_is_told_and_removed(self):
        samples = self.received(1.1, 3, 0.02 - 0.01j)
        found = bo.front_end(samples)
        self.assertAlmostEqual(found.dc, 0.02 - 0.01j, delta=6 * 0.1 / np.sqrt(2 * len(samples)))
        self.assertAlmostEqual(found.gain_db, 20 * np.log10(1.1), delta=0.1)
        self.assertAlmostEqual(found.phase_degrees, 3, delta=0.5)
        q = np.exp(-1j * np.radians(3)) / 1.1
        self.assertAlmostEqual(found.image_db, 20 * np.log10(abs((1 - q) / (1 + q))), delta=0.3)
        corrected = found.correct(samples)
        self.assertLess(abs(corrected.mean()), 1e-5)
        self.assertLess(abs((corrected**2).mean()) / 0.01, 1e-4)
        pairs = np.round(samples.view(np.float32).reshape(-1, 2) * 32768).astype(np.int16)
        np.testing.assert_allclose(bo.Recording(pairs).corrected().samples, corrected, atol=1e-4)

    def test_basebandctl_tells_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "a.cf32")
            samples = self.received(0.95, -2, 0.01)
            samples.tofile(path)
            with support.Server() as server:
                command = [support.BUILD / "client/ctl/basebandctl", f"--target={server.target}", "--wait", "downconvert", path, "--json"]
                told = subprocess.run(
                    [*command, "--rate=1M", "--channel=0:8", "--remove-dc", "--correct-iq"],
                    stdout=subprocess.PIPE, check=True, timeout=60,
                )  # fmt: skip
        theirs, ours = json.loads(told.stdout)["front_end"], bo.front_end(samples)
        self.assertTrue(theirs["dc_removed"] and theirs["image_removed"])
        self.assertAlmostEqual(theirs["dc"][0], ours.dc.real, delta=1e-6)
        self.assertAlmostEqual(theirs["image_db"], ours.image_db, delta=1e-3)
        self.assertAlmostEqual(theirs["iq_gain_db"], ours.gain_db, delta=1e-4)
        self.assertAlmostEqual(theirs["iq_phase_degrees"], ours.phase_degrees, delta=1e-3)

    def test_where_nothing_can_be_told_that_is_said(self):
        good = bo.front_end(self.noise().astype(np.complex64))
        self.assertEqual((good.dc, good.image, good.why), (0, 0, ""))
        self.assertEqual((good.dc_db, good.image_db), (-np.inf, -np.inf))
        signs = np.random.default_rng(1).choice([-0.1, 0.1], 1 << 16).astype(np.complex64)
        for samples, why in (
            (signs, "not circular"),
            (signs.real, "have no Q"),
            (signs[:1000], "of 1000 samples nothing can be told"),
            (np.full(5000, 0.1, np.complex64), "all samples are the same"),
        ):
            with self.subTest(why), self.assertRaisesRegex(ValueError, why):
                bo.Recording(np.ascontiguousarray(samples)).corrected()
        bo.Recording(signs).corrected(iq=False)

    def test_a_long_recording_is_looked_at_all_over(self):
        samples = np.zeros(((1 << 22) + 12345, 2), np.int8)
        samples[len(samples) // 4 :] = 13
        samples[::2] += 3  # else there would be no power
        found = bo.front_end(samples)
        self.assertEqual(found.samples, 1 << 22)


class RadioFrequencyTest(support.ServerTest):
    def test_a_channel_is_where_it_was_on_the_air(self):
        tone = (0.5 * np.exp(2j * np.pi * 0.125 * np.arange(1 << 14))).astype(np.complex64)
        recording = bo.Recording(tone, 8e6, 433e6)
        channel = recording.channel(434e6, down=8, pass_edge_hz=2e5)
        (outputs,) = self.client.downconvert(recording.samples, 8e6, [channel]).channels
        np.testing.assert_allclose(np.abs(outputs[-500:]), 0.5, rtol=0.02)
        self.assertLess(np.ptp(np.angle(outputs[-500:])), 1e-3)
        with self.assertRaisesRegex(ValueError, r"radio_frequency 4.371e\+08 is beyond the band"):
            recording.channel(437.1e6, down=8, pass_edge_hz=2e5)
        with self.assertRaisesRegex(ValueError, "does not say one sample rate"):
            dataclasses.replace(recording, sample_rate_hz=0).channel(434e6, pass_edge_hz=2e5)


if __name__ == "__main__":
    unittest.main()
