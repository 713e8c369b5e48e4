#!/usr/bin/env python3
"""Two outputs of OpenAirInterface's ldpctest or simulators: error_rates.py THEIRS OURS equal|no_worse [TRIALS]

The block error rates at the SNRs that both have may differ by three standard deviations of the difference, and
one block. TRIALS is how many blocks there were, for programs that print rates alone. Exit status 0: they do not differ by more, or, with no_worse, ours are not above theirs.
"""

import math
import re
import sys

# ldpctest: blocks; nr_ulsim, nr_dlsim: first transmissions.
_POINT = re.compile(r"SNR (-?[\d.]+)(?:, BLER [\d.]+|: n_errors) \((\d+)/(\d+)")
_RATE = re.compile(r"SNR (-?[\d.]+),(?: uncoded BER [\d.]+,)? BLER ([\d.]+)")  # nr_ulschsim, nr_dlschsim


def read_points(path, trials):
    with open(path, encoding="utf-8", errors="replace") as lines:
        text = lines.read()
    points = {round(float(snr), 3): (round(float(rate) * trials), trials) for snr, rate in _RATE.findall(text)}
    points.update({round(float(snr), 3): (int(wrong), int(sent)) for snr, wrong, sent in _POINT.findall(text)})
    return points


def largest_difference(theirs, ours):
    """Of both, sent alike: how many more than they may differ, at most 0 if they do not; and -1, 1 for who has more."""
    rate = (theirs[0] + ours[0]) / (theirs[1] + ours[1])
    deviation = math.sqrt(rate * (1 - rate) * (1 / theirs[1] + 1 / ours[1]))
    difference = ours[0] / ours[1] - theirs[0] / theirs[1]
    return abs(difference) - 3 * deviation - 1 / theirs[1], 1 if difference > 0 else -1


def main(theirs_path, ours_path, kind, trials="1"):
    theirs, ours = read_points(theirs_path, int(trials)), read_points(ours_path, int(trials))
    both = sorted(theirs.keys() & ours.keys())
    print(", ".join(f"{snr:g} dB {ours[snr][0]} of {ours[snr][1]} wrong, theirs {theirs[snr][0]}" for snr in both))
    if not both:
        print(f"no points: theirs {len(theirs)}, ours {len(ours)}")
        return 1
    for snr in both:
        excess, direction = largest_difference(theirs[snr], ours[snr])
        if excess > 0 and (kind == "equal" or direction > 0):
            print(f"at {snr:g} dB that is more than chance")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
