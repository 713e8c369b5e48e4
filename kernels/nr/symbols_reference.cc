#include "kernels/nr/symbols_reference.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <limits>

#include "kernels/nr/demap_math.h"

namespace baseband::nr::reference {
namespace {

template <typename T>
T ReadAs(const uint8_t* from) {
  T value;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

float ReadNumber(SymbolFormat format, const uint8_t* from, uint64_t i) {
  switch (format) {
    case SymbolFormat::kFloat32:
      return ReadAs<float>(from + 4 * i);
    case SymbolFormat::kFloat16:
      return FloatOfHalf(ReadAs<uint16_t>(from + 2 * i));
    case SymbolFormat::kInt16:
      return static_cast<float>(ReadAs<int16_t>(from + 2 * i));
    case SymbolFormat::kInt8:
      return static_cast<float>(ReadAs<int8_t>(from + i));
  }
  return 0.0f;
}

float VarianceOf(const DemapParameters& parameters, const uint8_t* noise, uint64_t place) {
  switch (parameters.noise_format) {
    case NoiseFormat::kOne:
      return parameters.noise_variance;
    case NoiseFormat::kFloat32:
      return ReadNumber(SymbolFormat::kFloat32, noise, place);
    case NoiseFormat::kFloat16:
      return ReadNumber(SymbolFormat::kFloat16, noise, place);
  }
  return 0.0f;
}

template <int kQm>
void DemapOne(bool log_sum, const DemapScale& scale, float t_i, float t_q, float gain,
              uint64_t index, int8_t* llr) {
  if (log_sum) {
    DemapSymbol<kQm, true>(scale, t_i, t_q, gain, index, llr);
  } else {
    DemapSymbol<kQm, false>(scale, t_i, t_q, gain, index, llr);
  }
}

// ln of the sum of exp(-x).
double LogSum(const std::vector<double>& exponents) {
  const double least = *std::min_element(exponents.begin(), exponents.end());
  double sum = 0.0;
  for (const double x : exponents) sum += std::exp(least - x);
  return std::log(sum) - least;
}

}  // namespace

std::vector<uint8_t> GoldSequence(uint32_t c_init, int64_t count) {
  constexpr size_t kSkip = 1600;  // N_C
  const size_t length = kSkip + static_cast<size_t>(count) + 31;
  std::vector<uint8_t> x1(length);
  std::vector<uint8_t> x2(length);
  x1[0] = 1;
  for (size_t n = 0; n < 31; ++n) x2[n] = c_init >> n & 1;
  for (size_t n = 0; n + 31 < length; ++n) {
    x1[n + 31] = x1[n + 3] ^ x1[n];
    x2[n + 31] = x2[n + 3] ^ x2[n + 2] ^ x2[n + 1] ^ x2[n];
  }
  std::vector<uint8_t> c(static_cast<size_t>(count));
  for (size_t n = 0; n < c.size(); ++n) c[n] = x1[n + kSkip] ^ x2[n + kSkip];
  return c;
}

std::complex<double> SymbolOf(int qm, const uint8_t* bits, int64_t index) {
  const auto s = [&](int i) { return 1 - 2 * bits[i]; };
  // On I with b = 0, on Q with b = 1.
  const auto axis = [&](int b) -> double {
    switch (qm) {
      case 2:
        return s(b);
      case 4:
        return s(b) * (2 - s(2 + b));
      case 6:
        return s(b) * (4 - s(2 + b) * (2 - s(4 + b)));
      case 8:
        return s(b) * (8 - s(2 + b) * (4 - s(4 + b) * (2 - s(6 + b))));
      default:
        return s(b) * (16 - s(2 + b) * (8 - s(4 + b) * (4 - s(6 + b) * (2 - s(8 + b)))));
    }
  };
  switch (qm) {
    case 1: {
      const std::complex<double> turn =
          index % 2 != 0 ? std::complex<double>(0, 1) : std::complex<double>(1, 0);
      return turn * std::complex<double>(s(0), s(0)) / std::sqrt(2.0);
    }
    case 2:
      return std::complex<double>(axis(0), axis(1)) / std::sqrt(2.0);
    case 4:
      return std::complex<double>(axis(0), axis(1)) / std::sqrt(10.0);
    case 6:
      return std::complex<double>(axis(0), axis(1)) / std::sqrt(42.0);
    case 8:
      return std::complex<double>(axis(0), axis(1)) / std::sqrt(170.0);
    default:
      return std::complex<double>(axis(0), axis(1)) / std::sqrt(682.0);
  }
}

std::vector<std::complex<double>> Modulate(int qm, const std::vector<uint8_t>& bits) {
  std::vector<std::complex<double>> symbols(bits.size() / static_cast<size_t>(qm));
  for (size_t i = 0; i < symbols.size(); ++i) {
    symbols[i] = SymbolOf(qm, bits.data() + i * static_cast<size_t>(qm), static_cast<int64_t>(i));
  }
  return symbols;
}

std::vector<double> NaturalLlrs(int qm, std::complex<double> y, double n0, int64_t index,
                                bool log_sum) {
  std::vector<double> llrs;
  for (int k = 0; k < qm; ++k) {
    std::vector<double> exponents[2];
    for (uint32_t symbol = 0; symbol < 1u << qm; ++symbol) {
      uint8_t bits[10];
      for (int i = 0; i < qm; ++i) bits[i] = symbol >> (qm - 1 - i) & 1;
      exponents[bits[k]].push_back(std::norm(y - SymbolOf(qm, bits, index)) / n0);
    }
    const auto value = [&](int bit) {
      const std::vector<double>& x = exponents[bit];
      return log_sum ? LogSum(x) : -*std::min_element(x.begin(), x.end());
    };
    llrs.push_back(value(0) - value(1));
  }
  return llrs;
}

int64_t Demap(const DemapParameters& parameters, const uint8_t* symbols, const uint8_t* noise,
              int64_t first, int64_t count, int8_t* llr) {
  const DemapScale scale = MakeDemapScale(parameters);
  int64_t unusable = 0;
  for (auto index = static_cast<uint64_t>(first); index < static_cast<uint64_t>(first + count);
       ++index, llr += parameters.qm) {
    const uint64_t place = PlaceOfSymbol(parameters.layout, index);
    const float i = ReadNumber(parameters.layout.format, symbols, 2 * place);
    const float q = ReadNumber(parameters.layout.format, symbols, 2 * place + 1);
    const float n0 = VarianceOf(parameters, noise, place);
    if (!IsFinite(i) || !IsFinite(q) || !IsVariance(n0)) {
      ++unusable;
      std::fill(llr, llr + parameters.qm, int8_t{0});
      continue;
    }
    const float t_i = ToLevel(scale, i);
    const float t_q = ToLevel(scale, q);
    const float gain = GainOf(scale, n0);
    switch (parameters.qm) {
      case 1:
        DemapOne<1>(parameters.log_sum, scale, t_i, t_q, gain, index, llr);
        break;
      case 2:
        DemapOne<2>(parameters.log_sum, scale, t_i, t_q, gain, index, llr);
        break;
      case 4:
        DemapOne<4>(parameters.log_sum, scale, t_i, t_q, gain, index, llr);
        break;
      case 6:
        DemapOne<6>(parameters.log_sum, scale, t_i, t_q, gain, index, llr);
        break;
      case 8:
        DemapOne<8>(parameters.log_sum, scale, t_i, t_q, gain, index, llr);
        break;
      default:
        DemapOne<10>(parameters.log_sum, scale, t_i, t_q, gain, index, llr);
        break;
    }
  }
  return unusable;
}

}  // namespace baseband::nr::reference
