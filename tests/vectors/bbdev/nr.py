"""38.212 with numpy, for generate.py: slow, obvious, and of nobody's kernels.

Letters are those of 38.212. Bits are numpy arrays of 0 and 1; `d` is the code word without its first
2 zc bits, fillers included. Everything here is held against the known answers of ../ldpc, made by
srsRAN_Project, before a vector is written: check().
"""
import functools
import json
import pathlib
import re

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
ANSWERS = HERE.parent / "ldpc"
LDPC = HERE.parents[2] / "kernels/ldpc"  # the numbers of its tables alone; check() proves them

CRC = {"24A": (24, 0x864CFB), "24B": (24, 0x800063), "16": (16, 0x1021)}
COLUMNS = {1: (22, 68), 2: (10, 52)}  # systematic, all
STARTS = {1: (0, 17, 33, 56), 2: (0, 13, 25, 43)}


def known(name):
    """The cases of a file of known answers by their number."""
    lines = (ANSWERS / f"{name}.jsonl").read_text().splitlines()
    return {case["case"]: case for case in map(json.loads, lines)}


def bits_of(text, count):
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), np.uint8))[:count]


def llrs_of(text):
    return np.frombuffer(bytes.fromhex(text), np.int8).astype(int)


def crc(bits, name):
    length, polynomial = CRC[name]
    register = 0
    for bit in bits:
        top = register >> (length - 1) & 1
        register = (register << 1) & ((1 << length) - 1)
        if top ^ int(bit):
            register ^= polynomial
    return np.array([register >> i & 1 for i in reversed(range(length))], np.uint8)


@functools.lru_cache
def lifted(bg, zc):
    """Rows of the base graph: [(column, shift)], shift in [0, zc)."""
    text = (LDPC / "tables_nr.cc").read_text()
    begin = text.index("kLiftingSizes[]")
    sizes = dict(map(int, pair) for pair in re.findall(
        r"\{(\d+), (\d+)\}", text[begin:text.index("};", begin)]))
    text = (LDPC / "tables_nr_graphs.h").read_text()
    begin = text.index(f"kNrBaseGraph{bg}[]")
    rows = {}
    for row, column, shifts in re.findall(r"\{(\d+), (\d+), \{([\d,]+)\}\}",
                                          text[begin:text.index("};", begin)]):
        shift = int(shifts.split(",")[sizes[zc]]) % zc
        rows.setdefault(int(row), []).append((int(column), shift))
    return [rows[row] for row in sorted(rows)]


def encode(bg, zc, bits):
    """All bits of the code word, punctured ones included; `bits`: K, fillers as zeros."""
    systematic, columns = COLUMNS[bg]
    rows = lifted(bg, zc)
    word = [None] * columns
    for column in range(systematic):
        word[column] = bits[column * zc:(column + 1) * zc]

    def total(row):  # of the blocks that are there
        out = np.zeros(zc, np.uint8)
        for column, shift in rows[row]:
            if word[column] is not None:
                out ^= np.roll(word[column], -shift)
        return out

    # The first four rows together leave of the parity's first column one circulant alone.
    left = [shift for row in range(4) for column, shift in rows[row] if column == systematic]
    odd, = [shift for shift in set(left) if left.count(shift) % 2]
    word[systematic] = np.roll(functools.reduce(np.bitwise_xor, map(total, range(4))), odd)
    waiting = list(range(len(rows)))
    while waiting:  # rows with one unknown give it
        for row in list(waiting):
            unknown = [entry for entry in rows[row] if word[entry[0]] is None]
            if len(unknown) < 2:
                for column, shift in unknown:
                    word[column] = np.roll(total(row), shift)
                assert not total(row).any()
                waiting.remove(row)
    return np.concatenate(word)


def n_of(bg, zc):
    return (66 if bg == 1 else 50) * zc


def fillers(bg, zc, filler):
    """Where in d the fillers lie: [begin, end)."""
    end = (COLUMNS[bg][0] - 2) * zc
    return end - filler, end


def selected(bg, zc, filler, n_cb, rv, e):
    """Which of d are sent, in the order of bit selection."""
    begin, end = fillers(bg, zc, filler)
    k0 = STARTS[bg][rv] * n_cb // n_of(bg, zc) * zc
    around = (k0 + np.arange(n_cb)) % n_cb
    around = around[(around < begin) | (around >= end)]
    return np.resize(around, e)


def interleaved(values, qm):
    return values.reshape(qm, -1).T.reshape(-1)


def deinterleaved(values, qm):
    return values.reshape(-1, qm).T.reshape(-1)


def llrs_received(bits, snr_db, rng):
    """BPSK with noise: round(4 ln(P(0) / P(1))), as in ../ldpc."""
    sigma2 = 10 ** (-snr_db / 10)
    y = 1.0 - 2.0 * bits + rng.standard_normal(len(bits)) * np.sqrt(sigma2)
    return np.clip(np.round(4 * 2 * y / sigma2), -127, 127).astype(int)


def decode(bg, zc, llrs, iterations, factor, is_8_bit=False):
    """Layered normalised min-sum in floating point, or with messages and sums of 8 bits; `llrs`: of d.
    The bits, K of them, and after how many iterations all parity checks held: None if they never did."""
    systematic, columns = COLUMNS[bg]
    rows = lifted(bg, zc)
    total = np.zeros((columns, zc))
    total[2:].flat[:len(llrs)] = llrs
    messages = [np.zeros((len(row), zc)) for row in rows]
    lanes = [(np.array([c for c, _ in row])[:, None],
              (np.arange(zc)[None] + np.array([s for _, s in row])[:, None]) % zc) for row in rows]

    def whole(values):
        return np.clip(np.rint(values), -127, 127) if is_8_bit else values

    def holds():
        hard = total < 0
        return not any(np.bitwise_xor.reduce(hard[lane]).any() for lane in lanes)

    for iteration in range(1, iterations + 1):
        for row, lane in enumerate(lanes):
            inward = whole(total[lane] - messages[row])
            size = np.abs(inward)
            order = np.sort(size, axis=0)
            smallest = np.where(size == order[0], order[1], order[0])
            sign = np.where(inward < 0, -1.0, 1.0)
            messages[row] = whole(factor * smallest) * sign * sign.prod(axis=0)
            total[lane] = whole(inward + messages[row])
        if holds():
            return (total[:systematic].reshape(-1) < 0).astype(np.uint8), iteration
    return (total[:systematic].reshape(-1) < 0).astype(np.uint8), None


def check():
    """Encoder, rate matching, interleaver and CRCs against all known answers."""
    cases = 0
    for line in (ANSWERS / "nr_encode.jsonl").read_text().splitlines():
        case = json.loads(line)
        k = COLUMNS[case["bg"]][0] * case["zc"]
        word = encode(case["bg"], case["zc"], bits_of(case["info"], k))
        assert (word == bits_of(case["codeword"], len(word))).all(), case
        cases += 1
    for case in known("nr_rate_match").values():
        assert (sent(case, bits_of(case["info"], case["k_prime"]), case["rv"], case["e"]) ==
                bits_of(case["out"], case["e"])).all(), case["case"]
        cases += 1
    for case in known("nr_tb_chain").values():
        tb = bits_of(case["tb"], case["a"])
        tb = np.concatenate([tb, crc(tb, "24A" if case["tb_crc_bits"] == 24 else "16")])
        out = []
        for part, text, e in zip(np.split(tb, case["c"]), case["cbs"], case["e"]):
            block = np.concatenate([part, crc(part, "24B")]) if case["c"] > 1 else part
            assert (block == bits_of(text, case["k_prime"])).all(), case["case"]
            out.append(sent(case, block, case["rv"], e))
        assert (np.concatenate(out) == bits_of(case["out"], case["g"])).all(), case["case"]
        cases += 1
    return cases


def sent(case, block, rv, e, bypass=False):
    """What is sent of a code block, K' bits with their CRC: e bits."""
    bg, zc = case["bg"], case["zc"]
    word = encode(bg, zc, np.concatenate([block, np.zeros(case["filler"], np.uint8)]))
    chosen = word[2 * zc:][selected(bg, zc, case["filler"], case["ncb"], rv, e)]
    return chosen if bypass else interleaved(chosen, case["qm"])
