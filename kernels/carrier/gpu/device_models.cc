#include "kernels/carrier/gpu/device_models.h"

#include <cstring>
#include <utility>
#include <vector>

#include "kernels/base/status_macros.h"
#include "kernels/cuda/status.h"

namespace baseband::carrier {
namespace {

// Arrays laid out one behind the other, each at a multiple of 256 bytes.
class Image {
 public:
  // Adds an array; `*where` will point at its copy on the device.
  template <typename T>
  void Add(const T* data, int64_t count, const T** where) {
    const size_t at = (bytes_.size() + 255) / 256 * 256;
    const auto size = static_cast<size_t>(count) * sizeof(T);
    bytes_.resize(at + size);
    if (size > 0) std::memcpy(bytes_.data() + at, data, size);
    places_.push_back({where, at});
  }
  const std::vector<uint8_t>& bytes() const { return bytes_; }
  void PointInto(const uint8_t* memory) const {
    for (const auto& [where, at] : places_) {
      const uint8_t* const place = memory + at;
      std::memcpy(where, &place, sizeof(place));
    }
  }

 private:
  std::vector<uint8_t> bytes_;
  std::vector<std::pair<void*, size_t>> places_;  // a pointer and what it will point at
};

Image ImageOf(const ModelView& from, ModelView* to) {
  *to = from;
  Image image;
  const int64_t num_nodes = int64_t{from.num_snrs} * from.side * from.side;
  image.Add(from.soft, num_nodes, &to->soft);
  image.Add(from.weight, int64_t{from.num_snrs} * kWeightNodes, &to->weight);
  image.Add(from.amplitude, int64_t{from.num_snrs} * kAmplitudeBins, &to->amplitude);
  image.Add(from.facts, from.num_snrs, &to->facts);
  const NearestView& nearest = from.nearest;
  const int64_t num_cells = int64_t{nearest.side} * nearest.side;
  image.Add(nearest.cells, num_cells, &to->nearest.cells);
  image.Add(nearest.more_begin, num_cells, &to->nearest.more_begin);
  image.Add(nearest.more, nearest.num_more, &to->nearest.more);
  image.Add(nearest.points, nearest.num_points, &to->nearest.points);
  return image;
}

}  // namespace

absl::StatusOr<DeviceModels> DeviceModels::Create() {
  DeviceModels models;
  BASEBAND_ASSIGN_OR_RETURN(models.stream_, cuda::Stream::Create());
  return models;
}

absl::StatusOr<ModelView> DeviceModels::Find(const Model& model) {
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (entry->id == model.id()) {
      entries_.splice(entries_.begin(), entries_, entry);
      return entry->view;
    }
  }
  Entry entry;
  entry.id = model.id();
  const Image image = ImageOf(model.view(), &entry.view);
  BASEBAND_ASSIGN_OR_RETURN(entry.memory, cuda::CreateDeviceBuffer<uint8_t>(image.bytes().size()));
  image.PointInto(entry.memory.data());
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaMemcpyAsync(entry.memory.data(), image.bytes().data(),
                                     image.bytes().size(), cudaMemcpyHostToDevice, stream_.get()),
                     "cudaMemcpyAsync"));
  BASEBAND_RETURN_IF_ERROR(
      cuda::ToStatus(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize"));
  entries_.push_front(std::move(entry));
  if (entries_.size() > kMaxDeviceModels) entries_.pop_back();
  return entries_.front().view;
}

}  // namespace baseband::carrier
