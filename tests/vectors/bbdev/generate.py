#!/usr/bin/env python3
"""Writes the vectors of this folder, in the format of DPDK's test-bbdev.

  generate.py [--check]     --check: writes nothing, and fails if a file is not what would be written

Python as Debian has it, with python3-numpy. What is expected is not our kernels' own answer: bits are
known answers of ../ldpc (srsRAN_Project) or come from nr.py, which is held against all of those first;
a decoder's bits are those that were sent, and its ceiling of iterations is what layered min-sum takes
in floating point and in 8 bits. Seed: that of the file's name.
"""
import argparse
import json
import pathlib
import sys
import zlib

import numpy as np

import nr

HERE = pathlib.Path(__file__).resolve().parent
DECODERS = (0.7,), (0.75,), (0.8,), (0.75, True)  # of nr.decode
CEILING = 9  # from 10 iterations on test-bbdev forgives what the parity checks say
PREFIX = "RTE_BBDEV_LDPC_"
INTERNAL = ["INTERNAL_HARQ_MEMORY_IN_ENABLE", "INTERNAL_HARQ_MEMORY_OUT_ENABLE"]

files = {}


def words(data):
    """Bytes as test-bbdev reads them: little endian words, the last as short as it is."""
    tokens = [f"0x{bytes(data[i:i + 4])[::-1].hex()}" for i in range(0, len(data), 4)]
    return ",\n".join(",".join(tokens[i:i + 12]) for i in range(0, len(tokens), 12))


def as_bytes(values):
    """Bits are packed, LLRs are bytes."""
    if isinstance(values, bytes):
        return values
    return (np.packbits(values) if values.dtype == np.uint8 else values.astype(np.int8)).tobytes()


def vector(name, about, operation, data, fields, flags, status="OK"):
    """`data`: {key: a segment, or a list of some}."""
    lines = ["# " + line for line in [*about, "Written by generate.py."]]
    lines += ["op_type =", f"RTE_BBDEV_OP_LDPC_{operation}"]
    for key, segments in data.items():
        for i, segment in enumerate(segments if isinstance(segments, list) else [segments]):
            lines += ["", f"{key}{i} =", words(as_bytes(segment))]
    for key, value in fields.items():
        lines += ["", f"{key} =", str(value)]
    lines += ["", "op_flags =", ", ".join(PREFIX + flag for flag in flags)] if flags else []
    lines += ["", "expected_status =", status, ""]
    files[f"ldpc_{operation.lower()}_{name}.data"] = "\n".join(lines)


def code(case, rv, qm=None):
    return {"basegraph": case["bg"], "z_c": case["zc"], "n_cb": case["ncb"],
            "q_m": case["qm"] if qm is None else qm, "n_filler": case["filler"], "rv_index": rv}


def source(file, case, what=""):
    return f"{file}.jsonl case {case['case']} (srsRAN_Project){what}"


def alone(e):
    return {"e": e, "code_block_mode": 1}


def together(case):
    """Of a transport block: ea of the first cab code blocks, eb of the others."""
    e = case["e"]
    return {"c": case["c"], "cab": e.count(e[0]), "ea": e[0], "eb": e[-1], "r": 0,
            "code_block_mode": 0}


# ------------------------------------------------------------------------------------------ encode

def encode_rate_matched():
    """Code blocks that bring their CRC, or need none."""
    cases = nr.known("nr_rate_match")
    for number, name in {
            1: "bg1_z176_e4065", 5: "bg1_z2_rv1", 7: "bg2_z24_rv1_qm6", 9: "bg1_z240_rv2_qm8",
            13: "bg1_z240_rv3_lbrm", 19: "bg2_z224_qm8_lbrm", 25: "bg1_z2_rv2_repeated",
            33: "bg1_z384_filler", 37: "bg1_z30_rv1_qm6", 39: "bg2_z2_qm8", 43: "bg2_z52_rv2_lbrm",
            55: "bg2_z24_rv1_repeated", 85: "bg1_z64_rv1_repeated"}.items():
        case = cases[number]
        vector(name, [source("nr_rate_match", case)], "ENC",
               {"input": nr.bits_of(case["info"], case["k_prime"]),
                "output": nr.bits_of(case["out"], case["e"])},
               {**code(case, case["rv"]), **alone(case["e"])}, ["RATE_MATCH"])


def encode_unfolded():
    """The interleaver left out."""
    case = nr.known("nr_rate_match")[67]
    vector("bg2_z88_qm6_bypass", [source("nr_rate_match", case, ", its interleaver undone")], "ENC",
           {"input": nr.bits_of(case["info"], case["k_prime"]),
            "output": nr.deinterleaved(nr.bits_of(case["out"], case["e"]), case["qm"])},
           {**code(case, case["rv"]), **alone(case["e"])}, ["INTERLEAVER_BYPASS", "RATE_MATCH"])


def encode_with_crc():
    """The CRC is attached by the device."""
    cases = nr.known("nr_tb_chain")
    for number, name, which in ((1, "bg2_z7_crc16", "16"), (13, "bg2_z40_qm8_crc16", "16"),
                                (17, "bg2_z384_qm4_crc16", "16"), (21, "bg1_z192_rv2_crc24a", "24A"),
                                (23, "bg1_z384_qm6_crc24a", "24A"),
                                (39, "bg1_z320_rv1_lbrm_crc24a", "24A")):
        case = cases[number]
        vector(name, [source("nr_tb_chain", case)], "ENC",
               {"input": nr.bits_of(case["tb"], case["a"]), "output": nr.bits_of(case["out"], case["g"])},
               {**code(case, case["rv"]), **alone(case["g"])},
               ["RATE_MATCH", f"CRC_{which}_ATTACH"])
    case = cases[29]
    block = nr.bits_of(case["cbs"][2], case["k_prime"])
    begin = sum(case["e"][:2])
    vector("bg1_z320_qm8_crc24b", [source("nr_tb_chain", case, ", its third code block")], "ENC",
           {"input": block[:-24],
            "output": nr.bits_of(case["out"], case["g"])[begin:begin + case["e"][2]]},
           {**code(case, case["rv"]), **alone(case["e"][2])}, ["RATE_MATCH", "CRC_24B_ATTACH"])


def encode_transport_blocks():
    """Several code blocks an operation; each one's output begins with a byte."""
    cases = nr.known("nr_tb_chain")
    for number, name, attach in ((25, "tb_c2_z208", False), (29, "tb_c4_z320_crc24b", True),
                                 (27, "tb_c3_z288_lbrm_e7566", True),
                                 (31, "tb_c4_bg2_z320_e15010", False)):
        case = cases[number]
        blocks = [nr.bits_of(text, case["k_prime"])[:-24 if attach else None] for text in case["cbs"]]
        sent = np.split(nr.bits_of(case["out"], case["g"]), np.cumsum(case["e"])[:-1])
        vector(name, [source("nr_tb_chain", case)], "ENC",
               {"input": b"".join(map(as_bytes, blocks)), "output": b"".join(map(as_bytes, sent))},
               {**code(case, case["rv"]), **together(case)},
               ["RATE_MATCH"] + ["CRC_24B_ATTACH"] * attach)
    # The same, a code block in each mbuf, and in the other file the last code blocks alone.
    case = cases[25]
    blocks = [nr.bits_of(text, case["k_prime"]) for text in case["cbs"]]
    vector("tb_c2_z208_scattered", [source("nr_tb_chain", case)], "ENC",
           {"input": blocks, "output": nr.bits_of(case["out"], case["g"])},
           {**code(case, case["rv"]), **together(case)}, ["RATE_MATCH", "ENC_SCATTER_GATHER"])
    case = cases[29]
    blocks = [nr.bits_of(text, case["k_prime"]) for text in case["cbs"][1:]]
    vector("tb_c4_z320_from_r1", [source("nr_tb_chain", case, ", all but its first code block")], "ENC",
           {"input": b"".join(map(as_bytes, blocks)),
            "output": nr.bits_of(case["out"], case["g"])[case["e"][0]:]},
           {**code(case, case["rv"]), **together(case), "r": 1}, ["RATE_MATCH"])


# ------------------------------------------------------------------------------------------ decode

def buffer(case, received, n_cb=None):
    """[(rv, LLRs before the interleaver was undone, qm)] in the circular buffer, exact sums."""
    sums = np.zeros(n_cb or case["ncb"], int)
    for rv, llrs, qm in received:
        np.add.at(sums, nr.selected(case["bg"], case["zc"], case["filler"], case["ncb"], rv, len(llrs)),
                  nr.deinterleaved(llrs, qm))
    return sums


def decoded(case, sums):
    """Of soft bits: [(bits, iterations or None)], of each decoder."""
    begin, end = nr.fillers(case["bg"], case["zc"], case["filler"])
    llrs = np.clip(sums, -127, 127).astype(float)
    llrs[begin:end] = 127
    return [nr.decode(case["bg"], case["zc"], llrs, CEILING, *kind) for kind in DECODERS]


def all_decode(results, block):
    return all(count is not None and (bits[:len(block)] == block).all() for bits, count in results)


def ceiling(results):
    """Iterations that suffice for each of them, and one more, for other roundings than theirs."""
    count = 1 + max(count for _, count in results)
    assert count <= CEILING, [count for _, count in results]
    return count


def ceiling_of(case, sums, block):
    results = decoded(case, sums)
    assert all_decode(results, block), (case, [count for _, count in results])
    return ceiling(results)


def noise(snr_db):
    return f", {snr_db} dB a bit"


def rng_of(name):
    return np.random.default_rng(zlib.crc32(name.encode()))


def wrong(llrs, bits):
    return f"Wrong signs: {int(np.sum((llrs < 0) != bits))} of {len(llrs)}" if bits is not None else "No signal"


def iterations(count):
    return {"iter_max": CEILING, "expected_iter_count": count}


def decode_one(name, about, case, block, llrs, bits, rv, flags, output=None, qm=None, e=None,
               status="OK", count=None, data=None):
    """One code block; `block`: K' bits that were sent, `bits`: those that `llrs` are of."""
    llrs = np.asarray(llrs)
    qm_there = 1 if "DEINTERLEAVER_BYPASS" in flags else case["qm"]
    if count is None:
        count = ceiling_of(case, buffer(case, [(rv, llrs, qm_there)]), block)
    vector(name, [about, wrong(llrs, bits)], "DEC",
           data or {"input": llrs, "output": block if output is None else output},
           {**code(case, rv, qm), **alone(len(llrs)), **iterations(count)},
           ["ITERATION_STOP_ENABLE", *flags], status)


def decode_rate_matched():
    """Noise over known answers of rate matching."""
    cases = nr.known("nr_rate_match")
    for number, name, snr_db in (
            (1, "bg1_z176_e4065", 9.0), (3, "bg2_z9_lbrm", 5.0), (25, "bg1_z2_rv2_repeated", -2.0),
            (31, "bg2_z24_rv3_qm1", 4.5), (39, "bg2_z2_qm8", 0.0), (43, "bg2_z52_rv2_lbrm", 3.5),
            (55, "bg2_z24_rv1_repeated", -4.0), (59, "bg2_z18_rv2_qm8_lbrm", -3.5),
            (81, "bg1_z2_qm1", 0.0)):
        case = cases[number]
        bits = nr.bits_of(case["out"], case["e"])
        decode_one(name, source("nr_rate_match", case, noise(snr_db)), case,
                   nr.bits_of(case["info"], case["k_prime"]),
                   nr.llrs_received(bits, snr_db, rng_of(name)), bits, case["rv"], [])
    case = cases[37]  # whose own e is too short for parity alone
    block = nr.bits_of(case["info"], case["k_prime"])
    bits = nr.sent(case, block, case["rv"], 1980)
    decode_one("bg1_z30_rv1_qm6", source("nr_rate_match", case, ", more of it" + noise(0.5)), case, block,
               nr.llrs_received(bits, 0.5, rng_of("bg1_z30")), bits, case["rv"], [])


def decode_clean():
    """Right signs, so that test-bbdev's own noise is all that there is in its bler."""
    cases = nr.known("nr_rate_match")
    for number, name in ((3, "bg2_z9_qm2_clean"), (65, "bg1_z52_qm4_clean"), (67, "bg2_z88_qm6_clean"),
                         (59, "bg2_z18_qm8_clean"), (81, "bg1_z2_qm1_clean")):
        case = cases[number]
        bits = nr.bits_of(case["out"], case["e"])
        llrs = rng_of(name).integers(16, 100, case["e"]) * (1 - 2 * bits.astype(int))
        decode_one(name, source("nr_rate_match", case), case, nr.bits_of(case["info"], case["k_prime"]),
                   llrs, bits, case["rv"], [])


def decode_with_crc():
    """The CRC is checked, and kept or dropped."""
    case = nr.known("nr_tb_decode")[5]
    block = nr.bits_of(case["tb"], case["a"])
    block = np.concatenate([block, nr.crc(block, "24A")])
    llrs = nr.llrs_of(case["tx"][0]["llr"])
    decode_one("bg1_z384_qm6_crc24a", source("nr_tb_decode", case, ", its noise too"), case, block, llrs,
               nr.sent(case, block, 0, len(llrs)), 0, ["CRC_TYPE_24A_CHECK"])

    cases = nr.known("nr_tb_chain")
    for number, name, snr_db, which in ((1, "bg2_z7_crc16", -1.5, "16"),
                                        (13, "bg2_z40_qm8_crc16", 10.0, "16"),
                                        (17, "bg2_z384_qm4_crc16", 3.0, "16")):
        case = cases[number]
        bits = nr.bits_of(case["out"], case["g"])
        decode_one(name, source("nr_tb_chain", case, noise(snr_db)), case,
                   nr.bits_of(case["cbs"][0], case["k_prime"]),
                   nr.llrs_received(bits, snr_db, rng_of(name)), bits, case["rv"],
                   [f"CRC_TYPE_{which}_CHECK"])
    case = cases[25]
    bits = nr.bits_of(case["out"], case["g"])[:case["e"][0]]
    block = nr.bits_of(case["cbs"][0], case["k_prime"])
    llrs = nr.llrs_received(bits, 3.5, rng_of("bg1_z208"))
    about = source("nr_tb_chain", case, ", its first code block, 3.5 dB a bit")
    decode_one("bg1_z208_crc24b_dropped", about, case, block, llrs, bits, 0,
               ["CRC_TYPE_24B_CHECK", "CRC_TYPE_24B_DROP"], block[:-24])
    # In three mbufs, none of them a whole number of anything.
    decode_one("bg1_z208_crc24b_scattered", about, case, block, llrs, bits, 0,
               ["CRC_TYPE_24B_CHECK", "DEC_SCATTER_GATHER"],
               data={"input": np.split(llrs, [1001, 6005]), "output": block})


def decode_unfolded():
    """The interleaver left out: consecutive bits of the code word."""
    case = noisy("nr_bg1_z384_r080")
    case.update(ncb=case["n"], qm=8)
    block = nr.bits_of(case["info"], case["k_prime"])
    llrs = nr.llrs_of(case["llr"])
    decode_one("bg1_z384_r080_bypass", f"noisy_decode.jsonl {case['group']} case {case['case']}, its noise too",
               case, block, llrs, nr.sent(case, block, 0, len(llrs), bypass=True), 0,
               ["DEINTERLEAVER_BYPASS"])


def noisy(group):
    for line in (nr.ANSWERS / "noisy_decode.jsonl").read_text().splitlines():
        case = json.loads(line)
        if case["group"] == group:
            return case
    raise KeyError(group)


def packed(values):
    """Six bits each, +-31, the first in the upper bits."""
    bits = np.unpackbits((np.clip(values, -31, 31) & 63).astype(np.uint8)[:, None], axis=1)[:, 2:]
    return np.packbits(bits.reshape(-1)).tobytes()


def decode_packed():
    """LLRs of six bits: LLR_COMPRESSION."""
    for number, name, e, snr_db in ((37, "bg1_z30_rv1_packed", 1980, 1.0),
                                    (43, "bg2_z52_rv2_lbrm_packed", 910, 4.0)):
        case = nr.known("nr_rate_match")[number]
        block = nr.bits_of(case["info"], case["k_prime"])
        bits = nr.sent(case, block, case["rv"], e)
        llrs = np.clip(nr.llrs_received(bits, snr_db, rng_of(name)), -31, 31)
        decode_one(name, source("nr_rate_match", case, noise(snr_db)), case, block, llrs, bits,
                   case["rv"], ["LLR_COMPRESSION"], data={"input": packed(llrs), "output": block})


def decode_what_fails():
    case = nr.known("nr_tb_chain")[9]  # a right code word whose CRC is another one
    block = nr.bits_of(case["cbs"][0], case["k_prime"]).copy()
    block[17] ^= 1
    bits = nr.sent(case, block, 0, case["g"])
    decode_one("bg2_z64_wrong_crc16", source("nr_tb_chain", case, ", a bit of it another before it was encoded"),
               case, block, nr.llrs_received(bits, 7.0, rng_of("wrong_crc16")), bits, 0,
               ["CRC_TYPE_16_CHECK"], status="CRC")
    case = nr.known("nr_rate_match")[37]  # noise alone
    llrs = rng_of("noise").integers(-40, 41, case["e"])
    assert all(count is None for _, count in decoded(case, buffer(case, [(1, llrs, case["qm"])])))
    block = nr.bits_of(case["info"], case["k_prime"])
    decode_one("bg1_z30_noise", "Noise alone", case, block, llrs, None, 1, [], status="SYN", count=6)
    decode_one("bg1_z30_noise_crc24a", "Noise alone", case, block, llrs, None, 1, ["CRC_TYPE_24A_CHECK"],
               status="SYNCRC", count=6)


def harq_case(zc, filler, qm):
    k = nr.COLUMNS[1][0] * zc
    return {"bg": 1, "zc": zc, "filler": filler, "ncb": nr.n_of(1, zc), "qm": qm, "k_prime": k - filler}


def without_fillers(case, sums, reached):
    """As test-bbdev has soft bits: saturated, fillers left out, no more than was reached."""
    begin, end = nr.fillers(case["bg"], case["zc"], case["filler"])
    return np.clip(np.delete(sums, np.arange(begin, end)), -127, 127)[:reached]


def reached(case, rv, e):
    """Soft bits up to the last one of a transmission, fillers left out."""
    begin, _ = nr.fillers(case["bg"], case["zc"], case["filler"])
    k0 = nr.STARTS[1][rv] * case["ncb"] // nr.n_of(1, case["zc"]) * case["zc"]
    return min(case["ncb"] - case["filler"], (k0 if k0 <= begin else k0 - case["filler"]) + e)


def decode_harq():
    """Three transmissions of one code block: the first does not decode, nor do two, all of them do.
    Soft bits come with the operation and go back with it; in other files, and with other flags, they
    stay on the device."""
    for about, label, case, e, snr_db, compressed in (
            ("", "harq", harq_case(30, 20, 2), 704, 0.0, False),
            (", soft bits of six bits", "harq_6bit", harq_case(30, 0, 4), 720, -0.2, True)):
        rng = rng_of(label)
        block = rng.integers(0, 2, case["k_prime"]).astype(np.uint8)
        exact = np.zeros(case["ncb"], int)
        length = 0
        for step, rv in enumerate((0, 2, 3)):
            bits = nr.sent(case, block, rv, e)
            llrs = nr.llrs_received(bits, snr_db, rng)
            before = without_fillers(case, exact, length)
            exact = exact + buffer(case, [(rv, llrs, case["qm"])])
            results = decoded(case, exact)
            good = all_decode(results, block)
            assert good == (step == 2) and (good or all(count is None for _, count in results)), (
                label, step, [count for _, count in results])
            count = ceiling(results) if good else 6
            length = max(length, reached(case, rv, e))
            exact = np.clip(exact, -31, 31) if compressed else np.clip(exact, -127, 127)
            after = without_fillers(case, exact, length)
            if step:  # as they were given back, filled up with zeros to a multiple of 64
                before = np.pad(before, (0, -len(before) % 64))
            form = packed if compressed else np.asarray
            flags = ["HQ_COMBINE_IN_ENABLE"] * (step > 0) + ["HQ_COMBINE_OUT_ENABLE"]
            flags += ["HARQ_6BIT_COMPRESSION"] * compressed
            data = {"input": llrs, **({"harq_input": form(before)} if step else {}), "output": block,
                    "harq_output": form(after)}
            for name, more in ((label, []), (f"{label}_internal", INTERNAL[0 if step else 1:])):
                decode_one(f"{name}_{step}", f"Transmission {step} of rv 0, 2, 3{about}; {snr_db} dB a bit",
                           case, block, llrs, bits, rv, flags + more, data=data, count=count,
                           status="OK" if good else "SYN")


def loopback():
    """The device's HARQ memory, written and read by itself."""
    soft = rng_of("loopback").integers(-127, 128, 1536)
    fields = {"basegraph": 1, "z_c": 2, "n_cb": 132, "q_m": 2, "n_filler": 0, "rv_index": 0, **alone(132),
              **iterations(6)}
    for name, flag in (("in", INTERNAL[0]), ("out", INTERNAL[1])):
        vector(f"loopback_{name}", ["Random soft bits"], "DEC",
               {"harq_input": soft, "harq_output": soft}, fields,
               ["INTERNAL_HARQ_MEMORY_LOOPBACK", flag])


def decode_transport_blocks():
    case = nr.known("nr_tb_decode")[7]
    tb = nr.bits_of(case["tb"], case["a"])
    tb = np.concatenate([tb, nr.crc(tb, "24A")])
    blocks = [np.concatenate([part, nr.crc(part, "24B")]) for part in np.split(tb, case["c"])]
    llrs = nr.llrs_of(case["tx"][0]["llr"])
    parts = np.split(llrs, np.cumsum(case["e"])[:-1])
    count = max(ceiling_of(case, buffer(case, [(0, part, case["qm"])]), block)
                for part, block in zip(parts, blocks))
    bits = np.concatenate([nr.sent(case, block, 0, e) for block, e in zip(blocks, case["e"])])
    vector("tb_c2_z256_crc24b_dropped",
           [source("nr_tb_decode", case, ", its noise too"), wrong(llrs, bits)], "DEC",
           {"input": llrs, "output": tb}, {**code(case, 0), **together(case), **iterations(count)},
           ["ITERATION_STOP_ENABLE", "CRC_TYPE_24B_CHECK", "CRC_TYPE_24B_DROP"])
    # A small one of three code blocks, each in its mbuf, two lengths, CRCs kept.
    rng = rng_of("tb_c3")
    case = {"bg": 2, "zc": 52, "filler": 24, "ncb": 2000, "qm": 4, "k_prime": 496, "c": 3,
            "e": [1200, 1208, 1208]}
    blocks = [rng.integers(0, 2, case["k_prime"] - 24).astype(np.uint8) for _ in range(3)]
    blocks = [np.concatenate([block, nr.crc(block, "24B")]) for block in blocks]
    bits = [nr.sent(case, block, 2, e) for block, e in zip(blocks, case["e"])]
    parts = [nr.llrs_received(part, 2.5, rng) for part in bits]
    count = max(ceiling_of(case, buffer(case, [(2, part, case["qm"])]), block)
                for part, block in zip(parts, blocks))
    vector("tb_c3_bg2_z52_scattered",
           ["Three code blocks, an mbuf each; 2.5 dB a bit", wrong(np.concatenate(parts), np.concatenate(bits))],
           "DEC", {"input": parts, "output": b"".join(map(as_bytes, blocks))},
           {**code(case, 2), **together(case), **iterations(count)},
           ["ITERATION_STOP_ENABLE", "CRC_TYPE_24B_CHECK", "DEC_SCATTER_GATHER"])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    is_check = parser.parse_args().check
    print(f"{nr.check()} known answers hold")
    for make in (encode_rate_matched, encode_unfolded, encode_with_crc, encode_transport_blocks,
                 decode_rate_matched, decode_clean, decode_with_crc, decode_unfolded, decode_packed,
                 decode_what_fails, decode_harq, loopback, decode_transport_blocks):
        make()
    there = {path.name: path.read_text() for path in HERE.glob("*.data")}
    if is_check:
        differ = sorted(name for name in there.keys() | files.keys() if there.get(name) != files.get(name))
        print("\n".join(f"differs: {name}" for name in differ) or f"{len(files)} vectors are as written")
        return 1 if differ else 0
    for name in there.keys() - files.keys():
        (HERE / name).unlink()
    for name, text in files.items():
        (HERE / name).write_text(text)
    print(f"{len(files)} vectors, {sum(map(len, files.values()))} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
