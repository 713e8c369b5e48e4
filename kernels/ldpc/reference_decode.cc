#include "kernels/ldpc/reference_decode.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

namespace baseband::ldpc::reference {
namespace {

// One parity check: its bits, and the message it last sent to each of them.
template <typename T>
struct Check {
  std::vector<int> bits;
  std::vector<T> messages;
};

template <typename T>
std::vector<Check<T>> ChecksOf(const Code& code) {
  std::vector<Check<T>> checks(static_cast<size_t>(code.parity_bits()));
  for (const Edge& edge : code.edges()) {
    for (int i = 0; i < code.zc(); ++i) {
      Check<T>& check = checks[static_cast<size_t>(edge.row * code.zc() + i)];
      check.bits.push_back(edge.column * code.zc() + (i + edge.shift) % code.zc());
      check.messages.push_back(T{0});
    }
  }
  return checks;
}

template <typename T>
bool ParityHolds(const std::vector<Check<T>>& checks, const std::vector<T>& app) {
  for (const Check<T>& check : checks) {
    int parity = 0;
    for (int bit : check.bits) parity ^= app[bit] < 0 ? 1 : 0;
    if (parity != 0) return false;
  }
  return true;
}

// Whether the first `count` bits, not all zeros, are a multiple of the CRC's polynomial: by
// division.
template <typename T>
bool CrcHolds(Crc crc, int count, const std::vector<T>& app) {
  const CrcPolynomial p = PolynomialOf(crc);
  const uint32_t whole = uint32_t{1} << p.bits | p.generator;
  uint32_t remainder = 0;
  bool any = false;
  for (int i = 0; i < count; ++i) {
    const bool bit = app[static_cast<size_t>(i)] < 0;
    any = any || bit;
    remainder = remainder << 1 | (bit ? 1 : 0);
    if ((remainder >> p.bits & 1) != 0) remainder ^= whole;
  }
  return any && remainder == 0;
}

bool IsFiller(const Code& code, int num_filler, int bit) {
  return bit >= code.k() - num_filler && bit < code.k();
}

template <typename T>
bool FillersAreZeros(const Code& code, int num_filler, const std::vector<T>& app) {
  for (int i = 0; i < code.n(); ++i) {
    if (IsFiller(code, num_filler, i) && app[i] < 0) return false;
  }
  return true;
}

// Runs the schedule. `rule(q)` turns the incoming messages of a check into the outgoing ones.
template <typename T, typename Rule>
DecodeResult Iterate(const Code& code, const DecodeParameters& parameters, int num_filler,
                     std::vector<Check<T>>& checks, const std::vector<T>& channel,
                     std::vector<T>& app, const Rule& rule) {
  const int num_bits = code.k() - num_filler;
  const auto holds = [&] {
    return ParityHolds(checks, app) && FillersAreZeros(code, num_filler, app);
  };
  app = channel;
  DecodeResult result;
  for (int iteration = 1; iteration <= parameters.max_iterations; ++iteration) {
    if (parameters.schedule == Schedule::kLayered) {
      for (Check<T>& check : checks) {
        std::vector<T> q;
        for (size_t i = 0; i < check.bits.size(); ++i) {
          q.push_back(app[check.bits[i]] - check.messages[i]);
        }
        check.messages = rule(q);
        for (size_t i = 0; i < check.bits.size(); ++i) {
          app[check.bits[i]] = q[i] + check.messages[i];
        }
      }
    } else {
      for (Check<T>& check : checks) {
        std::vector<T> q;
        for (size_t i = 0; i < check.bits.size(); ++i) {
          q.push_back(app[check.bits[i]] - check.messages[i]);
        }
        check.messages = rule(q);
      }
      app = channel;
      for (const Check<T>& check : checks) {
        for (size_t i = 0; i < check.bits.size(); ++i) app[check.bits[i]] += check.messages[i];
      }
    }
    result.iterations = static_cast<uint16_t>(iteration);
    if (!parameters.early_termination) continue;
    if (holds()) break;
    if (parameters.stop_crc.has_value() && CrcHolds(*parameters.stop_crc, num_bits, app)) break;
  }
  result.parity_ok = holds() ? 1 : 0;
  return result;
}

int Sign(double value) { return value < 0 ? -1 : 1; }

// r_e' of the integer engine, straight from its definition.
std::vector<int> MinSumRule(const std::vector<int>& q, const Engine& engine) {
  std::vector<int> out;
  for (size_t e = 0; e < q.size(); ++e) {
    int magnitude = engine.magnitude_limit;
    int sign = 1;
    for (size_t i = 0; i < q.size(); ++i) {
      if (i == e) continue;
      magnitude = std::min(magnitude, std::abs(q[i]));
      sign *= Sign(q[i]);
    }
    const bool heavy = q.size() >= 6;
    const int factor = heavy ? engine.heavy_factor : engine.factor;
    const int scaled = static_cast<int>(std::lround(magnitude * factor / 2048.0));
    out.push_back(sign * std::max(0, scaled - (heavy ? engine.offset : 0)));
  }
  return out;
}

double Limit(double value) {
  return std::clamp(value, -static_cast<double>(kSumProductLimit),
                    static_cast<double>(kSumProductLimit));
}

// 2 atanh(product of tanh(|q| / 2)), with x = exp(-|q|): tanh(|q| / 2) = (1 - x) / (1 + x). The
// product p is close to 1 for large |q|, so 1 - p is what is carried: 1 - tanh = 2 x / (1 + x).
std::vector<double> SumProductRule(const std::vector<double>& q) {
  std::vector<double> out;
  for (size_t e = 0; e < q.size(); ++e) {
    double one_minus_product = 0.0;
    int sign = 1;
    for (size_t i = 0; i < q.size(); ++i) {
      if (i == e) continue;
      const double x = std::exp(-std::fabs(Limit(q[i])));
      const double one_minus_tanh = 2.0 * x / (1.0 + x);
      one_minus_product += one_minus_tanh - one_minus_product * one_minus_tanh;
      sign *= Sign(q[i]);
    }
    // 2 atanh(p) = ln((1 + p) / (1 - p))
    const double magnitude = std::log((2.0 - one_minus_product) / one_minus_product);
    out.push_back(sign * Limit(magnitude));
  }
  return out;
}

// Channel LLRs of all code bits, before any scaling.
std::vector<int> Received(const Code& code, absl::Span<const int8_t> llr) {
  std::vector<int> received(static_cast<size_t>(code.n()), 0);
  const int first = code.punctured_columns() * code.zc();
  for (size_t i = 0; i < llr.size(); ++i) {
    received[first + static_cast<int>(i)] = std::max<int>(llr[i], -127);
  }
  return received;
}

template <typename T>
void Finish(const Code& code, int num_filler, double soft_scale, const std::vector<T>& app,
            Decoded& out) {
  out.app.assign(app.begin(), app.end());
  out.bits.assign(static_cast<size_t>(DecodedBytes(code, num_filler)), 0);
  for (int i = 0; i < code.k() - num_filler; ++i) {
    if (app[i] < 0) out.bits[i / 8] = static_cast<uint8_t>(out.bits[i / 8] | (0x80 >> (i % 8)));
  }
  for (T value : app) {
    const double soft = std::nearbyint(static_cast<double>(value) * soft_scale);
    out.soft.push_back(static_cast<int8_t>(std::clamp(soft, -127.0, 127.0)));
  }
}

}  // namespace

Decoded Decode(const Code& code, const DecodeParameters& parameters, int num_filler,
               absl::Span<const int8_t> llr) {
  const std::vector<int> received = Received(code, llr);
  Decoded out;
  if (parameters.algorithm == Algorithm::kSumProduct) {
    std::vector<double> channel;
    for (int i = 0; i < code.n(); ++i) {
      const double value = received[i] / static_cast<double>(parameters.llr_scale);
      channel.push_back(IsFiller(code, num_filler, i) ? kLlrMax : value);
    }
    std::vector<Check<double>> checks = ChecksOf<double>(code);
    std::vector<double> app;
    out.result = Iterate(code, parameters, num_filler, checks, channel, app, SumProductRule);
    Finish(code, num_filler, static_cast<double>(parameters.llr_scale), app, out);
    return out;
  }
  const Engine engine = MakeEngine(code, parameters);
  std::vector<int> channel;
  for (int i = 0; i < code.n(); ++i) {
    int value = received[i];
    if (engine.hard_input) value = value > 0 ? 1 : value < 0 ? -1 : 0;
    channel.push_back(IsFiller(code, num_filler, i) ? kLlrMax : value);
  }
  std::vector<Check<int>> checks = ChecksOf<int>(code);
  std::vector<int> app;
  out.result = Iterate(code, parameters, num_filler, checks, channel, app,
                       [&engine](const std::vector<int>& q) { return MinSumRule(q, engine); });
  Finish(code, num_filler, 1.0, app, out);
  return out;
}

std::vector<uint8_t> DecodeFloatMinSum(const Code& code, const Scaling& scaling, double llr_scale,
                                       int max_iterations, bool early_termination,
                                       absl::Span<const double> llr) {
  // As above, but in flat arrays: simulations need many thousands of words.
  const int zc = code.zc();
  std::vector<double> app(llr.begin(), llr.end());
  std::vector<double> messages(code.edges().size() * static_cast<size_t>(zc), 0.0);
  const float heavy_factor = scaling.heavy_factor > 0.0f ? scaling.heavy_factor : scaling.factor;
  const auto bit_of = [zc](const Edge& edge, int i) {
    const int j = i + edge.shift;
    return edge.column * zc + (j >= zc ? j - zc : j);
  };
  const auto update_row = [&](absl::Span<const Edge> row, double* row_messages) {
    const int degree = static_cast<int>(row.size());
    const double factor = static_cast<double>(degree >= 6 ? heavy_factor : scaling.factor);
    const double offset = degree >= 6 ? scaling.offset / llr_scale : 0.0;
    std::array<double, kMaxRowDegree> q;
    for (int i = 0; i < zc; ++i) {
      // The two smallest magnitudes serve all outgoing messages.
      double least = INFINITY, second = INFINITY;
      int sign = 1;
      for (int e = 0; e < degree; ++e) {
        q[e] = app[bit_of(row[e], i)] - row_messages[e * zc + i];
        const double magnitude = std::fabs(q[e]);
        second = std::min(second, std::max(least, magnitude));
        least = std::min(least, magnitude);
        sign *= Sign(q[e]);
      }
      for (int e = 0; e < degree; ++e) {
        const double magnitude = std::fabs(q[e]) == least ? second : least;
        const double message = sign * Sign(q[e]) * std::max(0.0, factor * magnitude - offset);
        row_messages[e * zc + i] = message;
        app[bit_of(row[e], i)] = q[e] + message;
      }
    }
  };
  const auto parity_holds = [&] {
    for (int r = 0; r < code.rows(); ++r) {
      for (int i = 0; i < zc; ++i) {
        int parity = 0;
        for (const Edge& edge : code.row(r)) parity ^= app[bit_of(edge, i)] < 0 ? 1 : 0;
        if (parity != 0) return false;
      }
    }
    return true;
  };
  for (int iteration = 0; iteration < max_iterations; ++iteration) {
    double* row_messages = messages.data();
    for (int r = 0; r < code.rows(); ++r) {
      update_row(code.row(r), row_messages);
      row_messages += code.row(r).size() * static_cast<size_t>(zc);
    }
    if (early_termination && parity_holds()) break;
  }
  std::vector<uint8_t> bits;
  for (double value : app) bits.push_back(value < 0 ? 1 : 0);
  return bits;
}

}  // namespace baseband::ldpc::reference
