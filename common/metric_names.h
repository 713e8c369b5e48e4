// Every metric of basebandd: its name, its labels, what it says. Who moves, reads or shows one
// takes it from here: the server, `basebandctl top` and the load tester as C++; the tests of rules,
// dashboards, runbook and guides as text, each line of this form. Label values are small closed
// sets.
//
//   page[metric::kQueueBytes.name]
//
// Names follow https://prometheus.io/docs/practices/naming: the unit is the last word, in base
// units; `_total` ends counters, and nothing else. Words are not shortened, but for those that the
// field knows by their letters (EVM, TLS, GPU, ECC, PCIe, XID).
#ifndef BASEBAND_COMMON_METRIC_NAMES_H_
#define BASEBAND_COMMON_METRIC_NAMES_H_

namespace baseband::metric {

struct Metric {
  const char* name;
  const char* labels;  // their names, separated by blanks
  const char* help;
};

// ------------------------------------------------------------------------------------- requests
// A stream is a request, as long as it lasts; but what a Submit stream brings counts, message by
// message, as requests of the operations it names.
inline constexpr Metric kRequests = {"baseband_requests_total", "rpc code",
                                     "Requests that have ended, by canonical gRPC code."};
inline constexpr Metric kUnserved = {
    "baseband_requests_unserved_total", "rpc reason",
    "Requests that ended otherwise than with OK, each by one reason."};
inline constexpr Metric kRequestDuration = {
    "baseband_request_duration_seconds", "rpc",
    "Time from the last byte of a request until its answer was handed over to gRPC."};
// h2d and d2h, host to device and back, are what CUDA and Timing of the answers call them.
inline constexpr Metric kStage = {
    "baseband_stage_duration_seconds", "rpc stage",
    "Time that a served request spent in each stage; stages on the device are those of its batch."};
inline constexpr Metric kRequestsInFlight = {"baseband_requests_in_flight", "rpc",
                                             "Requests that have arrived and have not ended yet."};
inline constexpr Metric kRequestBytes = {"baseband_request_bytes_total", "rpc",
                                         "Bytes of the request messages that have arrived."};
inline constexpr Metric kUnread = {
    "baseband_unread_requests_total", "rpc",
    "Requests that were refused by their headers, before their message was read, as it would have"
    " been late."};
inline constexpr Metric kUnreadBytes = {"baseband_unread_request_bytes_total", "rpc",
                                        "Bytes of the messages of those, as announced."};
inline constexpr Metric kBytesInVain = {
    "baseband_request_bytes_in_vain_total", "rpc",
    "Bytes of request messages that were read, had nothing wrong with them and were not served."};
// state: waiting, for its turn; reading, what is on its way; overdue, what takes much longer than it
// should
inline constexpr Metric kMessageReads = {
    "baseband_message_reads", "state",
    "Requests whose large message is not there yet: it waits to be read, or is read."};
inline constexpr Metric kReadRate = {
    "baseband_read_bytes_per_second", "",
    "Bytes of large request messages that can be read in a second, as learned; 0 while unknown."};
inline constexpr Metric kReadAhead = {
    "baseband_read_ahead_seconds", "",
    "How many seconds of reading large request messages begin at a time: 1 ms where somebody had "
    "less than 8 ms for an answer of late, or high priority, up to 4 ms where nobody had less than "
    "32 ms."};
inline constexpr Metric kResponseBytes = {
    "baseband_response_bytes_total", "rpc",
    "Bytes of the response messages that were handed over to gRPC."};
// way: in_place, read by devices where gRPC received it (--grpc-pinned-share); gathered, copied
// before
inline constexpr Metric kPayloadBytes = {
    "baseband_payload_bytes_total", "way",
    "Bytes of payload that came in messages, by the way they went to a device."};
// direction: in, of requests; out, of responses
inline constexpr Metric kSharedMemoryBytes = {
    "baseband_shared_memory_bytes_total", "direction",
    "Bytes of payload that lay in memory shared with clients, in place of messages."};
inline constexpr Metric kSharedMemoryRegions = {
    "baseband_shared_memory_regions", "",
    "Regions of memory shared with clients, also those that were freed and are still used."};
inline constexpr Metric kRings = {"baseband_rings", "",
                                  "Rings in memory shared with clients, by which requests come."};
inline constexpr Metric kDeadlines = {
    "baseband_deadlines_total", "rpc outcome",
    "Accepted requests that had a deadline; met if their result was handed over before it."};

// -------------------------------------------------------------------------------------- schedule
inline constexpr Metric kDeviceSeconds = {
    "baseband_device_seconds_total", "priority",
    "Time of the devices, by class of request; batches in flight together share it."};
// client: the first names seen, and "other" for the rest
inline constexpr Metric kClientDeviceSeconds = {"baseband_client_device_seconds_total", "client",
                                                "Time of the devices, by client."};
inline constexpr Metric kQueueAge = {
    "baseband_queue_oldest_age_seconds", "priority",
    "Time that the oldest request has waited for a lane, pieces of long searches aside; 0 if none "
    "waits."};
inline constexpr Metric kQueueRequests = {"baseband_queue_requests", "rpc",
                                          "Requests that wait for a lane."};
inline constexpr Metric kQueueBytes = {
    "baseband_queue_bytes", "",
    "Bytes that wait for a lane, of requests or of their larger replies."};
inline constexpr Metric kQueueCapacityRequests = {"baseband_queue_capacity_requests", "",
                                                  "Most requests that may wait for a lane."};
inline constexpr Metric kQueueCapacityBytes = {"baseband_queue_capacity_bytes", "",
                                               "Most of those bytes that may wait for a lane."};
inline constexpr Metric kPrediction = {
    "baseband_prediction_ratio", "priority",
    "Time from a request's acceptance to the end of its work, over what was predicted then."};

// --------------------------------------------------------------------------------------- batches
inline constexpr Metric kBatches = {"baseband_batches_total", "rpc",
                                    "Batches that a device has finished."};
inline constexpr Metric kBatchBlocks = {"baseband_batch_blocks", "rpc",
                                        "Code blocks or frames of a batch."};
inline constexpr Metric kBatchRequests = {"baseband_batch_requests", "rpc",
                                          "Requests that shared a batch."};

// ---------------------------------------------------------------------------------------- coding
inline constexpr Metric kCodeBlocks = {"baseband_code_blocks_total", "rpc family",
                                       "Code blocks that were encoded or decoded."};
// Eight bits each: whoever wants bits multiplies, as with network interfaces.
inline constexpr Metric kInformationBytes = {
    "baseband_information_bytes_total", "rpc",
    "Bytes of information encoded, and of code blocks that decoded; fillers not counted."};
inline constexpr Metric kTransportBlocks = {
    "baseband_transport_blocks_total", "rpc",
    "Blocks of 5G shared channels that were encoded or decoded."};
inline constexpr Metric kTransportBlockCrcFailures = {
    "baseband_transport_block_crc_failures_total", "",
    "Decoded blocks of 5G shared channels whose CRC does not hold."};
inline constexpr Metric kHarqTransmissions = {
    "baseband_harq_transmissions_total", "outcome",
    "Decoded transmissions whose soft bits the server was to hold, by what came of that."};
inline constexpr Metric kDecodeIterations = {"baseband_decode_iterations", "",
                                             "Iterations that a decoded code block took."};
inline constexpr Metric kDecodeParityFailures = {
    "baseband_decode_parity_failures_total", "",
    "Decoded code blocks whose decisions fail a parity check, but for right ones that their CRC "
    "may "
    "stop."};

// --------------------------------------------------------------------------------------- carrier
inline constexpr Metric kCarrierFrames = {
    "baseband_carrier_frames_total", "lock",
    "Frames whose carrier was looked for, by what came of it."};
inline constexpr Metric kCarrierSymbols = {"baseband_carrier_symbols_total", "",
                                           "Symbols of the frames whose carrier was looked for."};
inline constexpr Metric kTimingFrames = {
    "baseband_timing_frames_total", "lock",
    "Frames of samples whose symbol timing was looked for, by what came of it."};
inline constexpr Metric kCarrierEvm = {
    "baseband_carrier_evm_ratio", "",
    "EVM of a locked frame: rms distance to the nearest point, over the points' rms."};

// ----------------------------------------------------------------------------------- downconvert
inline constexpr Metric kDownconvertSamples = {
    "baseband_downconvert_samples_total", "direction",
    "Wideband samples that came in, history not counted, and samples of all channels that went "
    "out."};
inline constexpr Metric kDownconvertChannels = {"baseband_downconvert_channels", "",
                                                "Channels of a piece of a wideband signal."};
inline constexpr Metric kDownconvertSaturations = {
    "baseband_downconvert_saturations_total", "",
    "Values of I and Q that did not fit their int16 output."};
inline constexpr Metric kDownconvertGaps = {"baseband_downconvert_gaps_total", "",
                                            "Places where samples of a stream were missing."};

// -------------------------------------------------------------------------------------- minimize
inline constexpr Metric kSearchedPoints = {"baseband_minimize_points_total", "",
                                           "Points of grids that were evaluated."};
inline constexpr Metric kPrograms = {
    "baseband_minimize_programs_total", "cache",
    "Searches, by whether the code of their functional was there (hit) or was compiled (miss)."};

// ---------------------------------------------------------------------------------------- memory
inline constexpr Metric kMemoryLimit = {
    "baseband_memory_limit_bytes", "",
    "What the process, or its control group, may take; 0: nobody says."};
inline constexpr Metric kMemoryUsed = {"baseband_memory_used_bytes", "",
                                       "What of it is taken, as the limit counts."};
inline constexpr Metric kMemoryStep = {
    "baseband_memory_step", "",
    "What the server does about scarce memory: 0 nothing, 1 drops caches, 2 refuses requests of"
    " priority low, 3 refuses all and accepts no connections."};

// ---------------------------------------------------------------------------------------- access
inline constexpr Metric kOpenConnections = {"baseband_open_connections", "",
                                            "Connections that are open."};
inline constexpr Metric kMaxConnections = {"baseband_max_connections", "",
                                           "Most connections that may be open."};
inline constexpr Metric kConnectionsRefused = {
    "baseband_connections_refused_total", "",
    "Connections that were closed at once: max_connections were open, or no descriptor was left."};
inline constexpr Metric kStrangersEnded = {
    "baseband_strangers_ended_total", "",
    "Connections that were closed for what was sent from there before anybody had shown that he may"
    " call."};
inline constexpr Metric kCertificateExpiry = {
    "baseband_tls_certificate_expiry_timestamp_seconds", "",
    "Time when the certificate in use expires, in seconds since 1970; 0 without TLS."};
inline constexpr Metric kReloadFailures = {
    "baseband_reload_failures_total", "",
    "Times that changed certificates or tokens were wrong, and the old ones were kept."};

// --------------------------------------------------------------------------------------- devices
inline constexpr Metric kLaneBusy = {"baseband_lane_busy_seconds_total", "device lane",
                                     "Time that a lane had a batch in hand."};
inline constexpr Metric kDeviceInfo = {"baseband_device_info", "device kind name",
                                       "A device in use; the value is always 1."};
inline constexpr Metric kDeviceHealthy = {
    "baseband_device_healthy", "device",
    "1 if the device has passed its known-answer self-test and was not lost since, else 0."};
inline constexpr Metric kDevicesLost = {"baseband_devices_lost_total", "device reason",
                                        "Times that a device was taken out of service, by why."};
inline constexpr Metric kDeviceResets = {
    "baseband_device_resets_total", "device",
    "Times that a device which had faulted was reset, passed its self-test, and came back."};
inline constexpr Metric kQuarantined = {
    "baseband_quarantined_fingerprints", "",
    "Kinds of request that are refused for a while: one of each ran on a device that faulted."};
inline constexpr Metric kDeviceObjectBytes = {
    "baseband_device_object_bytes", "device",
    "Bytes of what lives on the device between requests: the past of streams, searches' tables."};
inline constexpr Metric kDeviceObjects = {"baseband_device_objects", "device",
                                          "Objects that live on the device between requests."};
inline constexpr Metric kDeviceObjectsDropped = {
    "baseband_device_objects_dropped_total", "device reason",
    "Objects that went before their users were done with them, by why."};
inline constexpr Metric kPoolUsedBytes = {"baseband_pool_used_bytes", "pool",
                                          "Bytes of a memory pool that are in use."};
inline constexpr Metric kPoolCapacityBytes = {
    "baseband_pool_capacity_bytes", "pool",
    "Bytes of a memory pool, all of them reserved at the start."};

// ------------------------------------------------------------------------------------------ GPUs
// What the driver says. A series of which it says nothing is not shown.
inline constexpr Metric kGpuMonitorUp = {
    "baseband_gpu_monitor_up", "",
    "1 if the driver tells of every GPU in use, 0 if it does not or there is none."};
inline constexpr Metric kGpuUtilization = {
    "baseband_gpu_utilization_ratio", "device",
    "Part of the driver's last sample, of up to 1 s, in which some kernel ran."};
inline constexpr Metric kGpuMemoryUsed = {"baseband_gpu_memory_used_bytes", "device",
                                          "Bytes of the GPU's memory that are in use, by anybody."};
inline constexpr Metric kGpuMemoryCapacity = {"baseband_gpu_memory_capacity_bytes", "device",
                                              "Bytes of the GPU's memory."};
inline constexpr Metric kGpuTemperature = {"baseband_gpu_temperature_celsius", "device",
                                           "Temperature of the GPU's core."};
inline constexpr Metric kGpuPower = {"baseband_gpu_power_watts", "device",
                                     "Power that the GPU draws."};
inline constexpr Metric kGpuPowerLimit = {
    "baseband_gpu_power_limit_watts", "device",
    "Power that the GPU may draw: the driver keeps it below."};
inline constexpr Metric kGpuClock = {"baseband_gpu_clock_hertz", "device clock",
                                     "Clocks of the GPU, as they are now."};
inline constexpr Metric kGpuThrottled = {
    "baseband_gpu_throttled", "device reason",
    "1 if clocks are lower because the GPU is hot (thermal), is at its power limit (power), or it "
    "or its power supply brakes hard (hardware), else 0."};
inline constexpr Metric kGpuEccErrors = {
    "baseband_gpu_ecc_errors_total", "device kind",
    "Errors in the GPU's memories since the driver was loaded, by whether they were corrected."};
inline constexpr Metric kGpuPcieBytes = {
    "baseband_gpu_pcie_bytes_per_second", "device direction",
    "Bytes a second on the PCIe link into and out of the GPU, over the last 20 ms."};
inline constexpr Metric kGpuPcieReplays = {"baseband_gpu_pcie_replays_total", "device",
                                           "Packets that the PCIe link had to repeat."};
inline constexpr Metric kGpuXidErrors = {
    "baseband_gpu_xid_errors_total", "device",
    "Errors of the GPU that the driver reported (XID) since this process was started."};

// --------------------------------------------------------------------------------------- process
inline constexpr Metric kBuildInfo = {"baseband_build_info", "version",
                                      "The program's version; the value is always 1."};
// The names that every Prometheus client library gives them.
inline constexpr Metric kProcessCpu = {"process_cpu_seconds_total", "",
                                       "User and system CPU time that was spent."};
inline constexpr Metric kProcessResident = {"process_resident_memory_bytes", "",
                                            "Resident memory of the process."};
inline constexpr Metric kProcessOpenFds = {"process_open_fds", "", "Descriptors that are open."};
inline constexpr Metric kProcessMaxFds = {"process_max_fds", "",
                                          "Most descriptors that may be open."};
inline constexpr Metric kProcessStart = {
    "process_start_time_seconds", "", "Time when the process was started, in seconds since 1970."};

}  // namespace baseband::metric

#endif  // BASEBAND_COMMON_METRIC_NAMES_H_
