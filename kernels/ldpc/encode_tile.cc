// The parts of a table that tiles are encoded by.
#include <algorithm>
#include <cstring>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

#include "kernels/ldpc/encode_math.h"
#include "kernels/ldpc/encode_program.h"
#include "kernels/ldpc/encode_tile_math.h"

namespace baseband::ldpc {
namespace {

// Instructions of a warp, about: of a chunk of so many words, and of each segment of it.
constexpr int kChunkCost = 20;
int SegmentCost(int num_pairs, int chunk) { return 15 + num_pairs * (4 + 5 * chunk); }

// Of a group: whole chunks of rows, of which a chunk may be read from any bit below zc on.
int ExtendedRows(int zc, int chunk) { return (GroupWords(zc) + 2 * chunk - 1) / chunk * chunk; }

int PairsOf(size_t num_sources) { return static_cast<int>(num_sources + 1) / 2; }

// Of all of a code, without making it.
int CostOf(const Code& code, const EncodeProgram& program, int chunk) {
  const int zc = code.zc();
  const int kept_chunks = ExtendedRows(zc, chunk) / chunk;
  int cost = 0;
  std::vector<int> of_parity(static_cast<size_t>(code.rows()));
  for (const EncodeProgram::Sum& sum : program.sums) {
    const int of_sum = SegmentCost(PairsOf(static_cast<size_t>(sum.num_sources)), chunk);
    if (sum.is_kept()) cost += kept_chunks * (kChunkCost + of_sum);
    if (sum.parity == EncodeProgram::kNone) continue;
    of_parity[static_cast<size_t>(sum.parity)] = sum.is_kept() ? SegmentCost(1, chunk) : of_sum;
  }
  for (int first = 0; first < code.parity_bits(); first += 32 * chunk) {
    cost += kChunkCost;
    const int end = std::min(first + 32 * chunk, code.parity_bits());
    for (int g = first / zc; g * zc < end; ++g) cost += of_parity[static_cast<size_t>(g)];
  }
  return cost;
}

// With one choice of `chunk`.
class TileBuilder {
 public:
  TileBuilder(const Code& code, const EncodeProgram& program, int chunk)
      : code_(code), program_(program), zc_(code.zc()), chunk_(chunk) {
    extended_rows_ = ExtendedRows(zc_, chunk_);
    groups_at_ = chunk_ + 1;
    staging_at_ = groups_at_ + code.kb() * extended_rows_;
    const int kept_rows = (program.num_groups - code.kb()) * extended_rows_;
    const int staged_rows = zc_ % 32 == 0 ? 0 : (code.k() + 31) / 32 + 1;
    num_words_ = (staging_at_ + std::max(kept_rows, staged_rows)) * kRowWords;
    for (const EncodeProgram::Sum& sum : program.sums) {
      if (sum.is_kept()) AddKept(sum);
    }
    AddParity();
    PlaceTurned();
    // Among those that need no barrier between them the longest come first.
    std::stable_sort(items_.begin(), items_.end(), [](const Item& a, const Item& b) {
      return std::make_tuple(a.level, -a.cost) < std::make_tuple(b.level, -b.cost);
    });
    MakeProgram();
  }

  bool Fits() const { return shared_bytes() <= kMaxTileBytes; }

  void AppendTo(std::vector<uint32_t>* table) const {
    EncodeTileHeader header = header_;
    header.shared_bytes = static_cast<uint32_t>(shared_bytes());
    header.chunk = static_cast<uint32_t>(chunk_);
    header.extended_rows = static_cast<uint32_t>(extended_rows_);
    header.num_groups = static_cast<uint32_t>(code_.kb());
    header.groups_at = static_cast<uint32_t>(groups_at_);
    header.staging_at = static_cast<uint32_t>(staging_at_);
    header.turned_at = static_cast<uint32_t>(turned_at_);
    header.parity_words = static_cast<uint32_t>((code_.parity_bits() + 31) / 32);
    header.program_words = static_cast<uint32_t>(program_words_.size());
    header.program_at = AppendPart(program_words_, table);
    std::memcpy(table->data() + kTileHeaderAt, &header, sizeof(header));
  }

 private:
  static constexpr int kRowWords = static_cast<int>(kTileRowWords);
  static_assert(kMaxTileBytes / 4 <= 0xffff, "sources have 16 bits for a word");
  static constexpr int kParityLevel = std::numeric_limits<int>::max();

  struct Segment {
    int num_pairs() const { return PairsOf(sources.size()); }

    int begin = 0;
    std::vector<uint32_t> sources;
  };
  using Chunk = std::vector<Segment>;
  // What a warp makes in one go: a chunk that is kept, or an octet of the parity.
  struct Item {
    int level = 0;
    int to = 0;
    int cost = 0;
    std::vector<Chunk> chunks;
  };

  int shared_bytes() const { return 4 * (static_cast<int>(program_words_.size()) + num_words_); }
  int RowOf(int group) const { return groups_at_ + group * extended_rows_; }

  // `sources` rotated by `by`: what a chunk is from its bit `begin` on.
  Segment MakeSegment(const std::vector<EncodeProgram::Source>& sources, int by, int begin) const {
    Segment segment;
    segment.begin = begin;
    for (const EncodeProgram::Source& source : sources) {
      const int bit = ((source.shift + by) % zc_ + zc_) % zc_;
      const int at = (RowOf(source.group) + bit / 32) * kRowWords;
      segment.sources.push_back(static_cast<uint32_t>(at) << 16 | static_cast<uint32_t>(bit % 32));
    }
    return segment;
  }

  void AddItem(Item item) {
    for (const Chunk& chunk : item.chunks) {
      item.cost += kChunkCost;
      for (const Segment& segment : chunk) item.cost += SegmentCost(segment.num_pairs(), chunk_);
    }
    items_.push_back(std::move(item));
  }

  std::vector<EncodeProgram::Source> SourcesOf(const EncodeProgram::Sum& sum) const {
    const auto first = program_.sources.begin() + sum.first_source;
    return {first, first + sum.num_sources};
  }

  void AddKept(const EncodeProgram::Sum& sum) {
    for (int row = 0; row < extended_rows_; row += chunk_) {
      Item item;
      item.level = sum.level;
      item.to = (RowOf(sum.group) + row) * kRowWords;
      item.chunks.push_back({MakeSegment(SourcesOf(sum), 32 * row, 0)});
      AddItem(std::move(item));
    }
  }

  void AddParity() {
    parity_.resize(static_cast<size_t>(code_.rows()));
    for (const EncodeProgram::Sum& sum : program_.sums) {
      if (sum.parity == EncodeProgram::kNone) continue;
      std::vector<EncodeProgram::Source>& sources = parity_[static_cast<size_t>(sum.parity)];
      if (sum.is_kept()) {
        sources.resize(1);
        sources[0].group = static_cast<uint16_t>(sum.group);
      } else {
        sources = SourcesOf(sum);
      }
    }
    constexpr int kOctetBits = 32 * static_cast<int>(kTileOctet);
    for (int first = 0; first < code_.parity_bits(); first += kOctetBits) {
      Item item;
      item.level = kParityLevel;
      item.to = first / 32;
      for (int bit = first; bit < first + kOctetBits; bit += 32 * chunk_) {
        item.chunks.push_back(ParityChunk(bit));
      }
      AddItem(std::move(item));
    }
  }

  // From bit `first` of the parity on; bits past its end are zero.
  Chunk ParityChunk(int first) const {
    const int end = code_.parity_bits();
    const int last = first + 32 * chunk_;
    Chunk chunk;
    for (int g = first / zc_; g * zc_ < std::min(last, end); ++g) {
      chunk.push_back(MakeSegment(parity_[static_cast<size_t>(g)], first - g * zc_,
                                  std::max(g * zc_ - first, 0)));
    }
    if (end < last) chunk.push_back(MakeSegment({}, 0, std::max(end - first, 0)));
    return chunk;
  }

  // In the place of the first kept sums, if the parity needs none of them.
  void PlaceTurned() {
    int first_needed = program_.num_groups;
    for (const std::vector<EncodeProgram::Source>& sources : parity_) {
      for (const EncodeProgram::Source& source : sources) {
        if (source.group >= code_.kb()) first_needed = std::min<int>(first_needed, source.group);
      }
    }
    turned_at_ = staging_at_ * kRowWords;
    if (RowOf(first_needed) * kRowWords - turned_at_ >= static_cast<int>(kTurnedWords)) return;
    turned_at_ = num_words_;
    num_words_ += static_cast<int>(kTurnedWords);
  }

  // Of the parity's chunks the last that all warps make together: those of octets that are fewer
  // than warps, where that takes less time than each octet by one warp.
  uint32_t SharedChunks(uint32_t num_chunks) const {
    const uint32_t of_octet = kTileOctet / static_cast<uint32_t>(chunk_);
    const uint32_t rest = num_chunks % (kTileWarps * of_octet);
    return rest > kTileWarps * (of_octet - 1) ? 0 : rest;
  }

  void MakeProgram() {
    std::vector<uint32_t> phases(kTilePhasesAt);
    std::vector<EncodeTileChunk> chunks;
    std::vector<EncodeTileSegment> segments;
    std::vector<uint32_t> sources;
    for (size_t i = 0; i < items_.size(); ++i) {
      const Item& item = items_[i];
      if (i > 0 && items_[i - 1].level != item.level) {
        phases.push_back(static_cast<uint32_t>(chunks.size()));
      }
      for (const Chunk& chunk : item.chunks) {
        EncodeTileChunk out{};
        out.to = static_cast<uint32_t>(item.to);
        out.others = static_cast<uint32_t>((chunk.size() - 1) << 16 | segments.size());
        for (const Segment& segment : chunk) {
          EncodeTileSegment entry{};
          entry.first_pair = static_cast<uint32_t>(sources.size() / 2);
          entry.num_pairs = static_cast<uint32_t>(segment.num_pairs());
          entry.begin = static_cast<uint32_t>(segment.begin);
          sources.insert(sources.end(), segment.sources.begin(), segment.sources.end());
          sources.resize((sources.size() + 1) / 2 * 2);  // with zeros
          if (&segment == chunk.data()) {
            out.first_pair = entry.first_pair;
            out.num_pairs = entry.num_pairs;
          } else {
            segments.push_back(entry);
          }
        }
        chunks.push_back(out);
      }
    }
    header_.num_phases = static_cast<uint32_t>(phases.size()) - kTilePhasesAt;
    const uint32_t first = phases.size() > kTilePhasesAt ? phases.back() : 0;
    phases[1] = static_cast<uint32_t>(chunks.size());
    phases[0] = phases[1] - SharedChunks(phases[1] - first);
    AppendPart(phases, &program_words_);
    header_.chunks_at = AppendPart(chunks, &program_words_);
    header_.segments_at = AppendPart(segments, &program_words_);
    header_.pairs_at = AppendPart(sources, &program_words_);
  }

  const Code& code_;
  const EncodeProgram& program_;
  const int zc_;
  const int chunk_;
  int extended_rows_ = 0;
  int groups_at_ = 0;
  int staging_at_ = 0;
  int num_words_ = 0;  // from row 0 on
  int turned_at_ = 0;
  std::vector<Item> items_;
  std::vector<std::vector<EncodeProgram::Source>> parity_;  // what each group is the sum of
  EncodeTileHeader header_{};
  std::vector<uint32_t> program_words_;
};

}  // namespace

void AppendTile(const Code& code, const EncodeProgram& program, std::vector<uint32_t>* table) {
  if (program.sources.size() > kMaxCopiedSources) return;
  std::vector<std::pair<int, int>> choices;  // cost, chunk
  for (int chunk = 1; chunk <= std::min(4, GroupWords(code.zc())); chunk *= 2) {
    choices.emplace_back(CostOf(code, program, chunk), chunk);
  }
  std::sort(choices.begin(), choices.end());
  for (const auto& [cost, chunk] : choices) {
    const TileBuilder tile(code, program, chunk);
    if (tile.Fits()) return tile.AppendTo(table);
  }
}

}  // namespace baseband::ldpc
