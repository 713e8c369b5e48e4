// Every metric of basebandd: name (its unit is its last word), labels, meaning. Label values are
// small closed sets; what a set holds stands in metrics.h.
#ifndef BASEBAND_SERVER_METRICS_NAMES_H_
#define BASEBAND_SERVER_METRICS_NAMES_H_

namespace baseband::server::names {

struct Metric {
  const char* name;
  const char* help;
};

// ------------------------------------------------------------------------------------- requests
// {rpc, code}
inline constexpr Metric kRequests = {"baseband_requests_total",
                                     "Requests answered, by canonical gRPC code."};
// {rpc}
inline constexpr Metric kRequestDuration = {
    "baseband_request_duration_seconds",
    "From the last byte of a request to the hand-over of its answer to gRPC."};
inline constexpr Metric kRequestsInFlight = {"baseband_requests_in_flight",
                                             "Requests received and not yet answered."};
inline constexpr Metric kRequestBytes = {"baseband_request_bytes_total",
                                         "Bytes of request messages received."};
inline constexpr Metric kResponseBytes = {"baseband_response_bytes_total",
                                          "Bytes of response messages sent."};
// {rpc, stage}
inline constexpr Metric kStage = {
    "baseband_stage_seconds",
    "Time of a request in each stage; device stages are those of its whole batch."};
// {rpc, code}
inline constexpr Metric kRejected = {
    "baseband_rejected_total", "Requests refused before they were queued, by canonical gRPC code."};
// {rpc, cause}
inline constexpr Metric kDropped = {
    "baseband_dropped_total", "Requests that left the queue unlaunched: nobody waited any more."};

// {rpc, outcome}
inline constexpr Metric kDeadlines = {
    "baseband_deadlines_total",
    "Accepted requests that had a deadline: met if their result was handed over before it."};
// {cause}
inline constexpr Metric kRefused = {
    "baseband_refused_total", "Right requests refused for want of room, time or quota, by cause."};

// -------------------------------------------------------------------------------------- schedule
// {priority}
inline constexpr Metric kDeviceSeconds = {
    "baseband_device_seconds_total",
    "Time of the devices by class of request; batches in flight together share it."};
inline constexpr Metric kQueueAge = {
    "baseband_queue_oldest_age_seconds",
    "How long the oldest request has waited for a lane, pieces of long searches aside; 0: none."};
inline constexpr Metric kPrediction = {
    "baseband_prediction_ratio",
    "Time from acceptance to the end of the work, over what was predicted on acceptance."};
// {client}; the first names seen, and "other" for the rest
inline constexpr Metric kClientDeviceSeconds = {"baseband_client_device_seconds_total",
                                                "Time of the devices by client."};

// --------------------------------------------------------------------------------------- batches
// {rpc}
inline constexpr Metric kBatches = {"baseband_batches_total", "Batches finished by a device."};
inline constexpr Metric kBatchBlocks = {"baseband_batch_blocks",
                                        "Code blocks or frames in a batch."};
inline constexpr Metric kBatchRequests = {"baseband_batch_requests", "Requests in a batch."};
inline constexpr Metric kQueueDepth = {"baseband_queue_depth", "Requests waiting for a lane."};
// {}
inline constexpr Metric kQueueBytes = {"baseband_queue_bytes", "Payload waiting for a lane."};
inline constexpr Metric kQueueCapacityRequests = {"baseband_queue_capacity_requests",
                                                  "Most requests that may wait."};
inline constexpr Metric kQueueCapacityBytes = {"baseband_queue_capacity_bytes",
                                               "Most payload that may wait."};

// ---------------------------------------------------------------------------------------- coding
// {rpc, family}
inline constexpr Metric kCodeBlocks = {"baseband_code_blocks_total",
                                       "Code blocks encoded or decoded."};
// {rpc}
inline constexpr Metric kInformationBits = {
    "baseband_information_bits_total", "Information bits encoded or decoded, fillers not counted."};
// {}
inline constexpr Metric kDecodeIterations = {"baseband_decode_iterations",
                                             "Iterations a decoded code block took."};
inline constexpr Metric kDecodeParityFailures = {
    "baseband_decode_parity_failures_total",
    "Decoded code blocks whose decisions fail a parity check."};

// --------------------------------------------------------------------------------------- carrier
// {lock}
inline constexpr Metric kCarrierFrames = {
    "baseband_carrier_frames_total", "Frames whose carrier was looked for, by what came of it."};
// {}
inline constexpr Metric kCarrierSymbols = {"baseband_carrier_symbols_total",
                                           "Symbols of the frames whose carrier was looked for."};
inline constexpr Metric kCarrierEvm = {
    "baseband_carrier_evm_ratio",
    "EVM of locked frames: rms distance to the nearest point over the points' rms."};

// ----------------------------------------------------------------------------------- downconvert
// {direction}
inline constexpr Metric kDownconvertSamples = {
    "baseband_downconvert_samples_total",
    "Wideband samples taken in, history not counted; samples of all channels given out."};
// {}
inline constexpr Metric kDownconvertChannels = {"baseband_downconvert_channels",
                                                "Channels of a piece of a wideband signal."};
inline constexpr Metric kDownconvertSaturations = {
    "baseband_downconvert_saturations_total",
    "I and Q values that did not fit their int16 output."};
inline constexpr Metric kDownconvertGaps = {"baseband_downconvert_gaps_total",
                                            "Places where samples of a stream were missing."};

// -------------------------------------------------------------------------------------- minimize
// {}
inline constexpr Metric kSearchedPoints = {"baseband_minimize_points_total",
                                           "Points of grids that were evaluated."};
// {cache}
inline constexpr Metric kPrograms = {
    "baseband_minimize_programs_total",
    "Searches by whether the code of their functional was there (hit) or had to be compiled."};

// ---------------------------------------------------------------------------------------- access
// {reason}
inline constexpr Metric kDenied = {
    "baseband_denied_total", "Calls refused for who made them, before anything of them was read."};
// {}
inline constexpr Metric kConnections = {"baseband_connections", "Connections open."};
inline constexpr Metric kConnectionsCapacity = {"baseband_connections_capacity",
                                                "Most connections that may be open."};
inline constexpr Metric kConnectionsRefused = {
    "baseband_connections_refused_total",
    "Connections closed at once: there were max_connections, or no descriptor was left."};
inline constexpr Metric kCertificateExpiry = {
    "baseband_tls_certificate_expiry_timestamp_seconds",
    "When the certificate in use expires, in seconds since 1970; 0 without TLS."};
inline constexpr Metric kReloadFailures = {
    "baseband_reload_failures_total",
    "Times that changed certificates or tokens were wrong, and the old ones kept."};

// --------------------------------------------------------------------------------------- devices
// {device, lane}
inline constexpr Metric kLaneBusy = {"baseband_lane_busy_seconds_total",
                                     "Time a lane had a batch in hand."};
// {device, kind, name}
inline constexpr Metric kDeviceInfo = {"baseband_device_info", "A device in use; always 1."};
// {device}
inline constexpr Metric kDeviceHealthy = {
    "baseband_device_healthy",
    "1: the device passed its known-answer self-test and was not lost since; else 0."};
// {device, cause}
inline constexpr Metric kDeviceLost = {"baseband_device_lost_total",
                                       "Devices that get no more work, by why; once each."};
// {pool}
inline constexpr Metric kPoolUsedBytes = {"baseband_pool_used_bytes",
                                          "Bytes of a memory pool in use."};
inline constexpr Metric kPoolCapacityBytes = {"baseband_pool_capacity_bytes",
                                              "Bytes of a memory pool, reserved at start."};

// ------------------------------------------------------------------------------------------ GPUs
// What the driver says. A series of which it says nothing is not shown.
// {}
inline constexpr Metric kGpuMonitorUp = {
    "baseband_gpu_monitor_up",
    "1: the driver tells of every GPU in use; 0: it does not, or there is none."};
// {device}
inline constexpr Metric kGpuUtilization = {
    "baseband_gpu_utilization_ratio",
    "Part of the last sample of the driver's, up to 1 s, in which some kernel ran."};
inline constexpr Metric kGpuMemoryUsed = {"baseband_gpu_memory_used_bytes",
                                          "Memory of the GPU in use, by whomever."};
inline constexpr Metric kGpuMemoryTotal = {"baseband_gpu_memory_total_bytes", "Memory of the GPU."};
inline constexpr Metric kGpuTemperature = {"baseband_gpu_temperature_celsius",
                                           "Temperature of the GPU's core."};
inline constexpr Metric kGpuPower = {"baseband_gpu_power_watts", "Power the GPU draws."};
inline constexpr Metric kGpuPowerLimit = {"baseband_gpu_power_limit_watts",
                                          "Power the GPU may draw: the driver keeps it below."};
// {device, clock}
inline constexpr Metric kGpuClock = {"baseband_gpu_clock_hertz", "Clocks of the GPU, now."};
// {device, reason}
inline constexpr Metric kGpuThrottled = {
    "baseband_gpu_throttled",
    "1: clocks are lower, as the GPU is hot (thermal), at its power limit (power), or it or its "
    "power supply brake hard (hardware)."};
// {device, kind}
inline constexpr Metric kGpuEccErrors = {
    "baseband_gpu_ecc_errors_total",
    "Errors in the GPU's memories, corrected or not, since the driver was loaded."};
// {device, direction}
inline constexpr Metric kGpuPcieBytes = {
    "baseband_gpu_pcie_bytes_per_second",
    "Bytes on the PCIe link into and out of the GPU, over the last 20 ms."};
// {device}
inline constexpr Metric kGpuPcieReplays = {"baseband_gpu_pcie_replays_total",
                                           "Packets that the PCIe link had to repeat."};
inline constexpr Metric kGpuXidErrors = {
    "baseband_gpu_xid_errors_total",
    "Errors that the driver reported of the GPU (XID) since this process started."};

// --------------------------------------------------------------------------------------- process
// {version}
inline constexpr Metric kBuildInfo = {"baseband_build_info", "The program; always 1."};
// {}; the names every Prometheus client library gives them
inline constexpr Metric kProcessCpu = {"process_cpu_seconds_total",
                                       "User and system CPU time spent."};
inline constexpr Metric kProcessResident = {"process_resident_memory_bytes",
                                            "Resident memory size."};
inline constexpr Metric kProcessOpenFds = {"process_open_fds", "Open file descriptors."};
inline constexpr Metric kProcessMaxFds = {"process_max_fds", "Most file descriptors allowed."};
inline constexpr Metric kProcessStart = {"process_start_time_seconds",
                                         "Start of the process, in seconds since 1970."};

}  // namespace baseband::server::names

#endif  // BASEBAND_SERVER_METRICS_NAMES_H_
