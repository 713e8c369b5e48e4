// That the GPU finds the same carrier as the CPU device where symbols are known, wherever they lie
// and whether or not they are what was sent.
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/gpu/carrier_gpu_fixture.h"
#include "tests/support/known_places.h"

namespace baseband::carrier {
namespace {

using ::baseband::testing::Blocks;
using ::baseband::testing::BothEnds;
using ::baseband::testing::CarrierFrame;
using ::baseband::testing::Header;
using ::baseband::testing::KnownPlaces;
using ::baseband::testing::MakeFrame;
using ::baseband::testing::Middle;
using ::baseband::testing::Pilots;
using ::baseband::testing::WithRandomOffset;

TEST_F(CarrierGpuTest, WithoutACoarseStageKnownSymbolsEqualTheCpu) {
  for (const char* const name : {"QPSK", "16APSK 3/5", "64QAM"}) {
    const ModelPtr model = MakeModel(name);
    for (const Fine fine : kFines) {
      SCOPED_TRACE(std::string(name) + ", fine " + std::to_string(static_cast<int>(fine)));
      Parameters parameters;
      parameters.coarse = Coarse::kNone;
      parameters.fine = fine;
      parameters.sweep_step = 1e-4;
      parameters.sweep_range = 1e-3;
      std::vector<Frame> frames;
      for (const int num_symbols : {16, 99, 301, 2001}) {
        frames.push_back(
            FrameOf(*model, parameters, num_symbols, frames.size() + 1, Pilots::kAll, 8.0));
      }
      CompareAll(*model, parameters, frames);
    }
  }
}

// Known symbols that are right, or other ones, in short frames and in those of many tiles.
TEST_F(CarrierGpuTest, WrongKnownSymbolsAreNotLockedAndRightOnesAre) {
  for (const char* const name : {"QPSK", "16QAM", "32APSK 3/4"}) {
    const ModelPtr model = MakeModel(name);
    for (const Fine fine : {Fine::kRemodulate, Fine::kPll}) {
      SCOPED_TRACE(std::string(name) + ", fine " + std::to_string(static_cast<int>(fine)));
      Parameters parameters;
      parameters.fine = fine;
      std::vector<Frame> frames;
      for (const int num_symbols : {500, 1000, 2048, 2049, 9000, 40000}) {
        for (const int count : {16, 40, 200}) {
          for (const size_t shift : {0, 1}) {
            CarrierFrame made = MakeFrame(WithRandomOffset(
                SpecAbove(*Constellation::FromName(name), num_symbols, 6.0, frames.size() + 1),
                fine == Fine::kPll ? 1e-4 : 0.1));
            made.known.assign(made.symbols.size(), Iq{});
            for (size_t k = 0; k < static_cast<size_t>(count); ++k) {
              made.known[2 * k] = made.sent[2 * k + shift];
            }
            frames.push_back(ToFrame(parameters, made));
          }
        }
      }
      const std::vector<Recovered> gpu = CompareAll(*model, parameters, frames);
      if (fine == Fine::kPll) continue;  // which judges none
      for (size_t i = 0; i < gpu.size(); ++i) {
        EXPECT_EQ(gpu[i].result.lock == Lock::kLocked, i % 2 == 0) << "frame " << i;
      }
    }
  }
}

// From one header to nearly all symbols, and far above the SNRs that there are tables for. Where
// their own line does not suit it is not asked for: of a lobe hundreds of bins wide either device's
// rounding chooses the greatest.
TEST_F(CarrierGpuTest, RightKnownSymbolsAreTheSameWhereverTheyLie) {
  for (const char* const name : {"QPSK", "16APSK 3/4", "64APSK 132/180"}) {
    const ModelPtr model = MakeModel(name);
    for (const KnownPlaces& places :
         {Header(1), Header(40), Header(300), Header(900), Middle(90), BothEnds(20), BothEnds(64),
          Blocks(36, 250), Blocks(4, 130), Blocks(1, 16)}) {
      for (const Coarse coarse : {Coarse::kPower, Coarse::kKnown}) {
        SCOPED_TRACE(std::string(name) + ", " + places.name + ", coarse " +
                     std::to_string(static_cast<int>(coarse)));
        Parameters parameters;
        parameters.coarse = coarse;
        std::vector<Frame> frames;
        std::vector<bool> suits;
        for (const int num_symbols : {1000, 2049, 9000}) {
          for (const double above_db : {6.0, 10.0, 20.0, 30.0, 40.0}) {
            const CarrierFrame made =
                MakeFrame(WithRandomOffset(SpecAbove(*Constellation::FromName(name), num_symbols,
                                                     above_db, frames.size() + 1),
                                           0.004),
                          places);
            const bool by_default = CoarseFor(*model, {}, made.known) == coarse;
            if (coarse == Coarse::kKnown && !by_default) continue;
            suits.push_back(by_default);
            frames.push_back(ToFrame(parameters, made));
          }
        }
        if (frames.empty()) continue;
        const std::vector<Recovered> gpu = CompareAll(*model, parameters, frames);
        for (size_t i = 0; i < gpu.size(); ++i) {
          EXPECT_TRUE(gpu[i].result.lock == Lock::kLocked || !suits[i]) << "frame " << i;
        }
      }
    }
  }
}

// What the amplitudes promise of data counts here: at a carrier that single ones cannot tell from
// the one in their reach, whether or not the SNR is told.
TEST_F(CarrierGpuTest, ACarrierBeyondTheReachOfSingleOnesIsTheSame) {
  for (const char* const name : {"QPSK", "16APSK 3/4"}) {
    const ModelPtr model = MakeModel(name);
    for (const bool expects : {false, true}) {
      for (const double reaches : {0.5, 1.5}) {
        SCOPED_TRACE(std::string(name) + (expects ? ", SNR told, " : ", ") +
                     std::to_string(reaches) + " of the reach");
        Parameters parameters;
        parameters.coarse = Coarse::kKnown;
        parameters.has_expected_snr = expects;
        parameters.expected_snr_db = 20.0F;
        std::vector<Frame> frames;
        for (const int num_symbols : {500, 1000, 2049, 9000}) {
          for (uint64_t seed = 1; seed <= 5; ++seed) {
            testing::FrameSpec spec =
                SpecAbove(*Constellation::FromName(name), num_symbols, 8.0, seed);
            spec.frequency = reaches * 0.5 / 16;
            frames.push_back(ToFrame(parameters, MakeFrame(spec, Blocks(1, 16))));
          }
        }
        for (const Recovered& recovered : CompareAll(*model, parameters, frames)) {
          EXPECT_EQ(recovered.result.lock == Lock::kLocked, reaches < 1.0);
        }
      }
    }
  }
}

}  // namespace
}  // namespace baseband::carrier
