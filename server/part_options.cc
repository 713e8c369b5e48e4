#include "server/part_options.h"

#include <spdlog/spdlog.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/device/read_arena.h"
#include "server/process/freed_memory.h"
#include "server/process/usable_cores.h"
#include "server/read_malloc.h"

namespace baseband::server {

DeviceOptions ToDeviceOptions(const Config& config, const OperationTable& operations) {
  // Descriptors of the largest batch, and room for the tables of many codes.
  constexpr int64_t kDescriptorBytes = 32;
  constexpr int64_t kTableBytes = 16 << 20;
  DeviceOptions options;
  options.selection = config.device;
  options.cuda_lanes = config.lanes;
  options.cpu_threads = config.cpu_threads > 0 ? config.cpu_threads : UsableCores();
  options.standby_cpu = config.standby_cpu;
  options.lane.input_bytes = MibToBytes(config.lane_input_mib);
  options.lane.output_bytes = MibToBytes(config.lane_output_mib);
  options.lane.control_bytes =
      kTableBytes +
      kDescriptorBytes * std::max(config.max_batch_blocks, config.max_blocks_per_request);
  options.objects.max_bytes = MibToBytes(config.object_mib);
  options.objects.max_bytes_per_owner = MibToBytes(config.client_object_mib);
  options.objects.time_to_live = config.object_lifetime;
  options.spin = config.completion != Completion::kBlock;
  options.resident = config.completion == Completion::kResident;
  options.cuda_workspace_bytes = operations.cuda_workspace_bytes();
  options.prepare_cuda = [&operations] { return operations.PrepareCuda(); };
  return options;
}

absl::Status StartReadArena(const Config& config, const Devices& devices) {
  const int64_t bytes = MibToBytes(config.grpc_mib) / 100 * config.grpc_pinned_share;
  if (bytes == 0 || !HasReadMalloc() || !HasGpu(devices)) return absl::OkStatus();
  BASEBAND_ASSIGN_OR_RETURN(std::shared_ptr<HostPool> pool, CreateHostPool(devices, bytes));
  // For good: whatever has a block of it gives it back when it likes.
  const auto& memory = *new std::shared_ptr<HostPool>(std::move(pool));
  ReadArena::SetOfProcess(new ReadArena(memory->region()));
  return absl::OkStatus();
}

DispatcherOptions ToDispatcherOptions(const Config& config, const OperationTable& operations,
                                      const LaneCapacity& lane) {
  DispatcherOptions options;
  options.operations = &operations;
  options.limits.lane = lane;
  options.limits.max_blocks = config.max_batch_blocks;
  options.limits.max_requests = config.max_batch_requests;
  options.limits.max_queue_delay = config.max_queue_delay;
  options.low_share = config.low_share / 100.0;
  options.share_weights = {config.client_share.begin(), config.client_share.end()};
  options.queue_requests = config.queue_requests;
  options.queue_bytes = MibToBytes(config.queue_mib);
  options.watchdog = config.watchdog;
  return options;
}

std::shared_ptr<MemorySteps> MakeMemorySteps(const Config& config, Metrics& metrics) {
  const int64_t limit = MibToBytes(config.memory_mib);
  const MemoryUse use = ReadMemoryUse(limit);
  auto steps = std::make_shared<MemorySteps>(use.limit, use.used);
  const int shared_mib = config.shm_listen.empty() ? 0 : config.shm_mib;
  const int64_t needed = use.used + MibToBytes(config.grpc_mib) + MibToBytes(shared_mib);
  if (use.limit > 0 && use.limit < needed) {
    const std::string shared =
        shared_mib == 0 ? ""
                        : absl::StrCat(", clients that share memory ", shared_mib, " (--shm-mib)");
    spdlog::warn("memory: {} of {} MiB are in use, and gRPC may take {} more (--grpc-mib){}: {}",
                 use.used >> 20, use.limit >> 20, config.grpc_mib, shared,
                 use.limit <= use.used
                     ? "nothing can be given up before the system ends this process"
                 : shared_mib == 0 ? "messages alone can make it scarce"
                                   : "messages and shared memory can make it scarce");
  }
  metrics.BeforeScrape([steps, limit](Metrics& sampled) {
    sampled.SetMemory(steps->limit(), ReadMemoryUse(limit).used, static_cast<int>(steps->step()));
  });
  return steps;
}

MemoryWatch::Options ToMemoryWatchOptions(const Config& config, const OperationCaches& caches,
                                          HostPool& staging, HostPool& reply,
                                          std::shared_ptr<AwaitedMessages> awaited) {
  MemoryWatch::Options options;
  options.used = [limit = MibToBytes(config.memory_mib)] { return ReadMemoryUse(limit).used; };
  options.free = &FreedBytes;
  options.drop_caches = [caches, &staging, &reply] {
    caches.codes->DropUnused();
    caches.models->DropUnused();
    caches.filters->DropUnused();
    staging.GiveBack();
    reply.GiveBack();
  };
  options.end_late = [awaited = std::move(awaited), stall = config.stall](absl::Time now) {
    awaited->EndLate(now - stall);
  };
  options.give_back = &GiveBackFreed;
  options.warn = [](const std::string& line) { spdlog::warn("{}", line); };
  return options;
}

}  // namespace baseband::server
