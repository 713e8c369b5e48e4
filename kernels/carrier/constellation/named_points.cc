#include "kernels/carrier/constellation/named_points.h"

#include <cmath>
#include <cstdlib>
#include <iterator>

#include "kernels/carrier/constellation/tables.h"

namespace baseband::carrier {
namespace {

using Points = std::vector<std::complex<double>>;

constexpr double kPi = 3.14159265358979323846;

// 3GPP TS 38.211 clause 5.1: of a label's `bits` bits, the even ones of the order of transmission
// make I, the odd ones Q, each axis with its sign first, then the Gray-coded magnitude. (BPSK: the
// one bit makes both.)
double QamCoordinate(int label, int bits, int first) {
  double magnitude = 1.0;
  int step = 1;
  for (int bit = bits - 2 + first; bit > first; bit -= 2) {
    step *= 2;
    const bool inner = ((label >> (bits - 1 - bit)) & 1) == 0;
    magnitude = step - (inner ? magnitude : -magnitude);
  }
  const bool positive = ((label >> (bits - 1 - first)) & 1) == 0;
  return positive ? magnitude : -magnitude;
}

Points Qam(int bits) {
  Points points;
  for (int label = 0; label < 1 << bits; ++label) {
    points.emplace_back(QamCoordinate(label, bits, 0),
                        QamCoordinate(label, bits, bits == 1 ? 0 : 1));
  }
  return points;
}

// The square of `side` times `side` odd coordinates without its corners of `corner` times `corner`.
// No standard gives labels: the points are numbered row by row, from the least Q and I on.
Points CrossQam(int side, int corner) {
  Points points;
  for (int q = 1 - side; q < side; q += 2) {
    for (int i = 1 - side; i < side; i += 2) {
      const int full = side - 2 * corner;  // coordinates below this belong to no corner
      if (std::abs(i) < full || std::abs(q) < full) {
        points.emplace_back(i, q);
      }
    }
  }
  return points;
}

// EN 302 307-1 figure 10, Gray-coded: label to eighths of a turn.
Points EightPsk() {
  constexpr int kEighths[] = {1, 0, 4, 5, 2, 7, 3, 6};
  Points points;
  for (const int eighth : kEighths) {
    points.push_back(std::polar(1.0, eighth * kPi / 4));
  }
  return points;
}

// The bits of `label` without its mirror bits: the index into the listed quadrant.
int IndexListed(const Listing& listing, int label) {
  int index = 0;
  for (int bit = listing.bits - 1; bit >= 0; --bit) {
    if (bit != listing.mirror_i_bit && bit != listing.mirror_q_bit) {
      index = 2 * index + ((label >> bit) & 1);
    }
  }
  return index;
}

bool IsSet(int label, int bit) { return bit >= 0 && ((label >> bit) & 1) != 0; }

// All labels' points of a listing whose entry k lies at listed(k).
template <typename Listed>
Points Unfold(const Listing& listing, Listed listed) {
  Points points;
  for (int label = 0; label < 1 << listing.bits; ++label) {
    const std::complex<double> point = listed(IndexListed(listing, label));
    points.emplace_back(IsSet(label, listing.mirror_i_bit) ? -point.real() : point.real(),
                        IsSet(label, listing.mirror_q_bit) ? -point.imag() : point.imag());
  }
  return points;
}

Points ApskPoints(const ApskEntry& entry) {
  if (entry.rings == nullptr) {
    return Unfold(entry.points->listing, [&entry](int k) {
      const TabulatedPoint& point = entry.points->points[static_cast<size_t>(k)];
      return std::complex<double>(point.i, point.q);
    });
  }
  return Unfold(entry.rings->listing, [&entry](int k) {
    const RingPoint& point = entry.rings->points[static_cast<size_t>(k)];
    return std::polar(entry.radii[point.ring], point.angle * kPi / entry.rings->angle_unit);
  });
}

// Operating points. QPSK, 8PSK: rates 1/2 and 2/3 of EN 302 307-1 table 13. Else where simulated
// uncoded symbols are wrong one time in ten.
struct Modulation {
  const char* name;
  Points (*points)();
  double operating_snr_db;
};
const Modulation kModulations[] = {
    {"BPSK", [] { return Qam(1); }, -0.9},
    {"QPSK", [] { return Qam(2); }, 1.00},
    {"8PSK", EightPsk, 6.62},
    {"16QAM", [] { return Qam(4); }, 12.2},
    {"32QAM", [] { return CrossQam(6, 1); }, 15.4},
    {"64QAM", [] { return Qam(6); }, 18.8},
    {"128QAM", [] { return CrossQam(12, 2); }, 21.7},
    {"256QAM", [] { return Qam(8); }, 24.9},
    {"512QAM", [] { return CrossQam(24, 4); }, 27.9},
    {"1024QAM", [] { return Qam(10); }, 31.0},
};
constexpr int kNumModulations = static_cast<int>(std::size(kModulations));

const ApskEntry& ApskAt(int index) {
  return ApskEntries()[static_cast<size_t>(index - kNumModulations)];
}

}  // namespace

int NumNamedPoints() { return kNumModulations + static_cast<int>(ApskEntries().size()); }

std::string NameAt(int index) {
  return index < kNumModulations ? kModulations[index].name : ApskAt(index).name;
}

NamedPoints NamedPointsAt(int index) {
  if (index >= kNumModulations) {
    const ApskEntry& entry = ApskAt(index);
    return {entry.name, ApskPoints(entry), entry.threshold_db};
  }
  const Modulation& modulation = kModulations[index];
  return {modulation.name, modulation.points(), modulation.operating_snr_db};
}

}  // namespace baseband::carrier
