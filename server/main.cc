// basebandd: wiring only.
//
// Exit codes: 0 drained after SIGTERM, SIGINT or at an admin's word; 1 the configuration is wrong;
// 2 could not start; 3 no device is left: all were lost, none comes back by itself, and a new
// process may find them well again; 130 a second signal cut the drain short.
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "kernels/base/periodic_thread.h"
#include "kernels/base/status_macros.h"
#include "kernels/base/steady_time.h"
#include "server/admin/admin_server.h"
#include "server/auth/security.h"
#include "server/batching/dispatcher.h"
#include "server/config/config.h"
#include "server/config/logging.h"
#include "server/device/create_devices.h"
#include "server/device/gpu_monitor.h"
#include "server/grpc/grpc_experiments.h"
#include "server/grpc/grpc_log.h"
#include "server/jobs/fault_injector.h"
#include "server/jobs/self_test.h"
#include "server/metrics/metrics.h"
#include "server/metrics/metrics_server.h"
#include "server/metrics_pages.h"
#include "server/operations/operations.h"
#include "server/part_options.h"
#include "server/process/device_supervisor.h"
#include "server/process/end_signals.h"
#include "server/process/freed_memory.h"
#include "server/process/lifecycle.h"
#include "server/process/memory_watch.h"
#include "server/process/process_tuning.h"
#include "server/process/systemd.h"
#include "server/process/usable_cores.h"
#include "server/rings/ring_server.h"
#include "server/service/server.h"
#include "server/shm/shared_regions.h"

namespace baseband::server {
namespace {

constexpr int kExitConfiguration = 1;
constexpr int kExitStart = 2;
constexpr int kExitNoDevice = 3;
constexpr int kExitCutShort = 130;

// When no device is left: for clients to get the answers that there are, and to be told.
constexpr absl::Duration kLastDrain = absl::Seconds(3);
// For the driver to answer what it was asked of the GPUs; it takes some 50 ms.
constexpr absl::Duration kDriverPatience = absl::Seconds(1);
// So much later than the end of a drain the process ends, whatever still runs on a device.
constexpr absl::Duration kGrace = absl::Seconds(2);

// Null: there is no GPU.
std::unique_ptr<GpuMonitor> MonitorGpus(absl::Span<Device* const> devices, const Metrics& metrics) {
  GpuMonitorOptions options;
  for (const Device* device : devices) {
    if (!device->pci_bus_id().empty()) options.gpus.push_back({device->id(), device->pci_bus_id()});
  }
  if (options.gpus.empty()) return nullptr;
  options.info = [](const std::string& line) { spdlog::info("{}", line); };
  options.warn = [](const std::string& line) { spdlog::warn("{}", line); };
  return std::make_unique<GpuMonitor>(std::move(options), metrics.gpu_readings());
}

// True if at least one device passed.
bool TestDevices(const std::vector<std::unique_ptr<Device>>& devices,
                 const OperationTable& operations, HostPool& staging, HostPool& reply) {
  bool any = false;
  for (const std::unique_ptr<Device>& device : devices) {
    const absl::Status status = RunSelfTest(*device, operations, staging, reply);
    if (status.ok()) {
      spdlog::info("{}: {}, {} lanes, self-test passed", device->id(), device->name(),
                   device->lanes().size());
    } else {
      spdlog::error("{}: {}", device->id(), status.ToString());
    }
    device->set_healthy(status.ok());
    any |= status.ok();
  }
  return any;
}

// Without destructors, which would wait for what is stuck.
[[noreturn]] void EndProcess(int exit_code) {
  spdlog::default_logger()->flush();
  _exit(exit_code);
}

// The same in a while, whatever the others wait for.
void EndProcessIn(absl::Duration time, int exit_code) {
  std::thread([time, exit_code] {
    absl::SleepFor(time);
    spdlog::warn("ending with work in hand that does not end");
    EndProcess(exit_code);
  }).detach();
}

// What becomes of devices that are lost.
DeviceSupervisorOptions ToSupervisorOptions(const Config& config, const OperationTable& operations,
                                            std::vector<Device*> devices,
                                            std::shared_ptr<HostPool> staging,
                                            std::shared_ptr<HostPool> reply) {
  DeviceSupervisorOptions options;
  options.devices = std::move(devices);
  options.max_resets_per_hour = config.max_device_resets_per_hour;
  options.self_test = [&operations, staging, reply](Device& device) {
    return RunSelfTest(device, operations, *staging, *reply);
  };
  options.end_process = [] {
    EndProcessIn(kLastDrain + kGrace, kExitNoDevice);
    EndSignals::Send(EndSignals::Cause::kNoDevice);
  };
  options.info = [](const std::string& line) { spdlog::info("{}", line); };
  options.error = [](const std::string& line) { spdlog::error("{}", line); };
  return options;
}

// Waits until the process is told to end, then drains; a second signal ends it at once.
void ServeUntilEnd(const EndSignals& signals, const Config& config, Lifecycle& lifecycle,
                   Systemd& systemd, RegionServer* regions, Server& server) {
  const EndSignals::End end = signals.Await();
  const absl::Duration timeout = end.cause == EndSignals::Cause::kNoDevice
                                     ? std::min(kLastDrain, config.drain_timeout)
                                     : config.drain_timeout;
  const std::string draining =
      absl::StrCat(end.why, ": draining, for at most ", absl::ToInt64Seconds(timeout), " s");
  lifecycle.SetDraining();
  spdlog::info("{}", draining);
  systemd.Stopping(draining, timeout + 2 * kGrace);
  // Its thread may outlive spdlog's registry.
  signals.AwaitSecond(
      end.cause,
      [log = spdlog::default_logger()](const std::string& name) {
        log->info("{}: it drains already; one more ends it at once", name);
      },
      [] { _exit(kExitCutShort); });
  // A batch that is long, or stuck, holds what ends in order, and says nothing of either.
  EndProcessIn(timeout + kGrace, lifecycle.has_no_device() ? kExitNoDevice : 0);
  server.Shutdown(timeout, [regions] {
    if (regions != nullptr) regions->SetRingHost(nullptr);
  });
}

// Wraps the batches and the pools of a server that injects faults; null: it does not.
std::unique_ptr<FaultInjector> WrapForFaults(const Config& config, DispatcherOptions* dispatcher,
                                             CallEnvironment* environment) {
  if (!config.allow_fault_injection) return nullptr;
  spdlog::warn("faults may be injected: --allow-fault-injection is not for production");
  auto faults = std::make_unique<FaultInjector>();
  dispatcher->make_batch = [f = faults.get()](std::vector<JobPtr> jobs, Device& device) {
    return f->MakeBatch(std::move(jobs), device);
  };
  environment->staging = faults->Wrap(std::move(environment->staging));
  environment->reply = faults->Wrap(std::move(environment->reply));
  return faults;
}

absl::Status Serve(const Command& command, const EndSignals& signals) {
  const Config& config = command.config;
  const OperationCaches caches;
  OperationTable operations = MakeOperations(caches);
  Metrics metrics(Version(), operations.counted());
  BASEBAND_ASSIGN_OR_RETURN(const std::unique_ptr<Security> security,
                            Security::Create(config, &metrics));
  Lifecycle lifecycle;
  Systemd systemd;
  systemd.Status("starting: making the devices ready");
  // Before the devices, which take their time: whoever probes learns that the server starts.
  BASEBAND_ASSIGN_OR_RETURN(std::unique_ptr<MetricsServer> metrics_server,
                            StartMetricsPages(config, metrics, *security, lifecycle));
  const DeviceOptions device_options = ToDeviceOptions(config, operations);
  BASEBAND_ASSIGN_OR_RETURN(const Devices created, CreateDevices(device_options));
  if (!created.no_cuda_because.empty()) {
    spdlog::warn("running on the CPU device: {}", created.no_cuda_because);
  }
  BASEBAND_ASSIGN_OR_RETURN(const std::shared_ptr<HostPool> staging,
                            CreateHostPool(created, MibToBytes(config.staging_mib)));
  BASEBAND_ASSIGN_OR_RETURN(const std::shared_ptr<HostPool> reply,
                            CreateHostPool(created, MibToBytes(config.reply_mib)));
  BASEBAND_RETURN_IF_ERROR(StartReadArena(config, created));
  if (!TestDevices(created.devices, operations, *staging, *reply)) {
    return absl::InternalError("no device passed its self-test");
  }
  if (const std::string where = WhereNotResident(device_options, created); !where.empty()) {
    spdlog::warn("--completion=resident has no effect on {}", where);
  }
  std::vector<Device*> devices;
  for (const std::unique_ptr<Device>& device : created.devices) {
    devices.push_back(device.get());
  }

  const std::shared_ptr<MemorySteps> memory = MakeMemorySteps(config, metrics);
  // Before whatever uses the memory.
  BASEBAND_ASSIGN_OR_RETURN(const SharedRegions regions,
                            StartRegions(config, &security->access(), devices, &metrics, memory));
  CallEnvironment environment;
  environment.regions = regions.table.get();
  environment.staging = staging;
  environment.reply = reply;
  DispatcherOptions dispatcher_options =
      ToDispatcherOptions(config, operations, device_options.lane);
  DeviceSupervisor supervisor(ToSupervisorOptions(config, operations, devices, staging, reply),
                              &lifecycle);
  dispatcher_options.on_loss = [&](Device& lost, DeviceLoss cause, const std::string& why) {
    supervisor.OnLoss(lost, cause, why);
  };
  dispatcher_options.on_loss_end = [&](Device& lost) { supervisor.OnLossEnd(lost); };
  const std::unique_ptr<FaultInjector> faults =
      WrapForFaults(config, &dispatcher_options, &environment);
  Dispatcher dispatcher(dispatcher_options, devices, &metrics);
  supervisor.Connect(&dispatcher);
  const auto disconnect = absl::MakeCleanup([&] { (void)supervisor.Stop(); });
  const int staging_number = metrics.AddPool("staging", staging->capacity());
  const int reply_number = metrics.AddPool("reply", reply->capacity());
  metrics.BeforeScrape([&](Metrics& sampled) {
    dispatcher.SampleGauges();
    sampled.SetPoolUsed(staging_number, staging->used());
    sampled.SetPoolUsed(reply_number, reply->used());
  });
  // A scrape asks the dispatcher and the pools: the page goes before them.
  const auto end_pages = absl::MakeCleanup([&] { metrics_server.reset(); });

  FlightRecorder recorder(config.slow);
  environment.dispatcher = &dispatcher;
  environment.recorder = &recorder;
  environment.metrics = &metrics;
  environment.operations = &operations;
  environment.caches = caches;
  environment.limits.max_blocks_per_request = config.max_blocks_per_request;
  environment.limits.max_input_bytes = MibToBytes(config.lane_input_mib);
  environment.limits.max_joined_blocks =
      std::min(config.max_batch_requests, config.max_batch_blocks);
  environment.limits.max_search = config.max_search;
  environment.submit_window = {config.submit_requests, MibToBytes(config.submit_mib)};
  environment.max_stall = config.stall;
  environment.memory = memory;
  MemoryWatch memory_watch(
      ToMemoryWatchOptions(config, caches, *staging, *reply, environment.awaited), *memory);
  const PeriodicThread look(MemoryWatch::kInterval, [&] {
    const absl::Time now = SteadyNow();
    memory_watch.Look(now);
    environment.awaited->EndOverdue(now);
  });
  // Before the server: an address that cannot be had is told of before anybody is served.
  std::unique_ptr<AdminServer> admin;
  if (!config.admin_listen.empty()) {
    BASEBAND_ASSIGN_OR_RETURN(admin, AdminServer::Listen(config, *security, metrics));
  }
  BASEBAND_ASSIGN_OR_RETURN(const std::unique_ptr<Server> server,
                            Server::Start(config, *security, environment, devices));
  BASEBAND_ASSIGN_OR_RETURN(const std::unique_ptr<RingServer> rings,
                            StartRings(config, server->environment(), regions.server.get()));
  supervisor.Tell([&server](bool serves) { server->SetServing(serves); });
  const auto tell_no_more = absl::MakeCleanup([&] { supervisor.Tell(nullptr); });
  if (admin != nullptr) {
    const auto drain = [&lifecycle] {
      return !lifecycle.is_draining() && EndSignals::Send(EndSignals::Cause::kAdmin);
    };
    AdminServer::Options options = {command.effective, drain,        &dispatcher,
                                    &recorder,         faults.get(), {}};
    for (const Device* device : devices) options.devices.push_back(device->id());
    BASEBAND_RETURN_IF_ERROR(admin->Start(std::move(options)));
  }
  for (const std::string& address : server->addresses()) {
    spdlog::info("serving at {}", address);
  }
  if (admin != nullptr) spdlog::info("administration at {}", admin->address());
  const std::unique_ptr<GpuMonitor> gpu_monitor = MonitorGpus(devices, metrics);
  lifecycle.SetServing();
  systemd.Ready(absl::StrCat("serving at ", absl::StrJoin(server->addresses(), ", ")),
                [&] { return lifecycle.WhyNotLive().empty(); });
  ServeUntilEnd(signals, config, lifecycle, systemd, regions.server.get(), *server);
  spdlog::info("drained");
  admin.reset();
  if (lifecycle.has_no_device()) EndProcess(kExitNoDevice);
  const bool reset_hangs = !supervisor.Stop();
  const bool driver_is_stuck = gpu_monitor != nullptr && !gpu_monitor->Stop(kDriverPatience);
  if (dispatcher.HasStuckLane() || driver_is_stuck || reset_hangs) EndProcess(0);
  return absl::OkStatus();
}

}  // namespace
}  // namespace baseband::server

int main(int argc, char** argv) {
  using namespace baseband::server;  // NOLINT: main is this file's only other function
  const EndSignals signals;
  signal(SIGPIPE, SIG_IGN);
  KeepFreedMemory();
  AllowManyDescriptors();
  LockWithoutChecks();
  AskForDeviceQueues();
  ChooseGrpcExperiments();

  const absl::StatusOr<Command> command = ParseCommandLine(argc, argv, environ);
  if (!command.ok()) {
    std::fprintf(stderr, "basebandd: %s\n", std::string(command.status().message()).c_str());
    return kExitConfiguration;
  }
  std::fputs(command->output.c_str(), stdout);
  if (command->action == Command::Action::kPrint) return 0;
  const bool only_checks = command->action == Command::Action::kCheck;
  absl::Status possible = RunOn(command->config.cpus);  // before there are threads
  if (possible.ok() && only_checks) possible = CheckSecurityFiles(command->config);
  if (!possible.ok()) {
    std::fflush(stdout);  // what is wrong is read last
    std::fprintf(stderr, "basebandd: %s\n", std::string(possible.message()).c_str());
    return kExitConfiguration;
  }
  if (only_checks) return 0;
  SetUpLogging(command->config);
  RouteGrpcLog();
  if (const absl::Status status = Serve(*command, signals); !status.ok()) {
    spdlog::critical("{}", std::string(status.message()));
    return kExitStart;
  }
  return 0;
}
