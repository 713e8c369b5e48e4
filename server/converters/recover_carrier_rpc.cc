// RecoverCarrier between the wire and its job.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/rpc.h"
#include "server/operations/recover_carrier.h"

namespace baseband::server {
namespace {

constexpr double kMaxScale = 1e15;
constexpr double kMaxSymbolRateHz = 1e15;
constexpr float kInt16Scale = 1.0F / 32768.0F;
constexpr double kMinSnrDb = -30.0;
constexpr double kMaxExpectedSnrDb = 60.0;
constexpr double kMaxFrequency = 0.5;  // cycles per symbol: half a turn from symbol to symbol
constexpr double kMaxMerDb = 60.0;

absl::StatusOr<carrier::SampleFormat> FormatFromProto(v1::SampleFormat format) {
  switch (format) {
    case v1::SAMPLE_FORMAT_UNSPECIFIED:
    case v1::SAMPLE_FORMAT_FLOAT32:
      return carrier::SampleFormat::kFloat32;
    case v1::SAMPLE_FORMAT_FLOAT16:
      return carrier::SampleFormat::kFloat16;
    case v1::SAMPLE_FORMAT_INT16:
      return carrier::SampleFormat::kInt16;
    default:
      return CheckRange("format", format, 0, 3);
  }
}

absl::StatusOr<carrier::Coarse> CoarseFromProto(v1::CoarseMethod coarse, bool has_known) {
  switch (coarse) {
    case v1::COARSE_METHOD_UNSPECIFIED:
      return has_known ? carrier::Coarse::kKnown : carrier::Coarse::kPower;
    case v1::COARSE_METHOD_NONE:
      return carrier::Coarse::kNone;
    case v1::COARSE_METHOD_POWER:
      return carrier::Coarse::kPower;
    case v1::COARSE_METHOD_KNOWN_SYMBOLS:
      return carrier::Coarse::kKnown;
    default:
      return CheckRange("coarse", coarse, 0, 3);
  }
}

absl::StatusOr<carrier::Fine> FineFromProto(v1::FineMethod fine) {
  switch (fine) {
    case v1::FINE_METHOD_NONE:
      return carrier::Fine::kNone;
    case v1::FINE_METHOD_INTERPOLATE:
      return carrier::Fine::kInterpolate;
    case v1::FINE_METHOD_SWEEP:
      return carrier::Fine::kSweep;
    case v1::FINE_METHOD_UNSPECIFIED:
    case v1::FINE_METHOD_REMODULATE:
      return carrier::Fine::kRemodulate;
    case v1::FINE_METHOD_PLL:
      return carrier::Fine::kPll;
    default:
      return CheckRange("fine", fine, 0, 5);
  }
}

absl::StatusOr<carrier::Reference> ReferenceFromProto(v1::PhaseReference reference) {
  switch (reference) {
    case v1::PHASE_REFERENCE_UNSPECIFIED:
    case v1::PHASE_REFERENCE_FIRST:
      return carrier::Reference::kFirst;
    case v1::PHASE_REFERENCE_CENTRE:
      return carrier::Reference::kCentre;
    case v1::PHASE_REFERENCE_LAST:
      return carrier::Reference::kLast;
    default:
      return CheckRange("reference", reference, 0, 3);
  }
}

// `value` in [low, high]; NaN is in no range.
absl::Status CheckReal(absl::string_view field, double value, double low, double high) {
  if (!(value >= low && value <= high)) {
    return absl::InvalidArgumentError(
        absl::StrCat(field, " ", value, " is not in [", low, ", ", high, "]"));
  }
  return absl::OkStatus();
}

// A value for every symbol of the frame, (0, 0) where nothing is known.
absl::StatusOr<std::vector<carrier::Iq>> KnownFromProto(const v1::KnownSymbols& message,
                                                        int frame_symbols) {
  const int count = message.values_size() / 2;
  if (message.values_size() % 2 != 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("known.values has ", message.values_size(),
                     " numbers: I and Q of each symbol make it even"));
  }
  if (message.positions_size() != 0 && message.positions_size() != count) {
    return absl::InvalidArgumentError(absl::StrCat("known.positions has ", message.positions_size(),
                                                   " places for ", count, " values"));
  }
  if (count == 0) {
    return std::vector<carrier::Iq>();
  }
  BASEBAND_RETURN_IF_ERROR(CheckRange("the number of known.values", count, 1, frame_symbols));
  std::vector<carrier::Iq> known(static_cast<size_t>(frame_symbols));
  int64_t previous = -1;
  for (int i = 0; i < count; ++i) {
    const int64_t position = message.positions().empty() ? i : message.positions(i);
    if (position <= previous || position >= frame_symbols) {
      return absl::InvalidArgumentError(
          absl::StrCat("known.positions[", i, "] ", position, " is not in [", previous + 1, ", ",
                       frame_symbols - 1, "]: places ascend within the frame"));
    }
    previous = position;
    const carrier::Iq value = {message.values(2 * i), message.values(2 * i + 1)};
    if (!carrier::IsKnownMagnitude(value)) {
      return absl::InvalidArgumentError(
          absl::StrCat("known.values[", 2 * i, "], [", 2 * i + 1, "] (", value.i, ", ", value.q,
                       ") have a magnitude not in [", carrier::kMinKnownMagnitude, ", ",
                       carrier::kMaxKnownMagnitude, "], the rms of the points being 1"));
    }
    known[static_cast<size_t>(position)] = value;
  }
  return known;
}

absl::StatusOr<carrier::Parameters> ParametersFromProto(const v1::CarrierGroup& message,
                                                        bool has_known) {
  carrier::Parameters parameters;
  BASEBAND_ASSIGN_OR_RETURN(parameters.format, FormatFromProto(message.format()));
  const bool is_int16 = parameters.format == carrier::SampleFormat::kInt16;
  BASEBAND_ASSIGN_OR_RETURN(const double scale, PositiveOr("scale", message.scale(), kMaxScale,
                                                           is_int16 ? kInt16Scale : 1.0F));
  parameters.scale = static_cast<float>(scale);
  BASEBAND_ASSIGN_OR_RETURN(parameters.coarse, CoarseFromProto(message.coarse(), has_known));
  BASEBAND_ASSIGN_OR_RETURN(parameters.fine, FineFromProto(message.fine()));
  BASEBAND_ASSIGN_OR_RETURN(parameters.reference, ReferenceFromProto(message.reference()));
  BASEBAND_RETURN_IF_ERROR(CheckReal("max_frequency", message.max_frequency(), 0.0, kMaxFrequency));
  parameters.max_frequency = message.max_frequency();
  parameters.has_expected_snr = message.has_expected_snr_db();
  if (parameters.has_expected_snr) {
    BASEBAND_RETURN_IF_ERROR(
        CheckReal("expected_snr_db", message.expected_snr_db(), kMinSnrDb, kMaxExpectedSnrDb));
    parameters.expected_snr_db = message.expected_snr_db();
  }
  const v1::SweepOptions& sweep = message.sweep();
  parameters.sweep_range = sweep.range();
  if (sweep.step() != 0.0) {
    parameters.sweep_step = sweep.step();
  }
  BASEBAND_RETURN_IF_ERROR(
      CheckRange("sweep.guard_bins", sweep.guard_bins(), 0, carrier::kMaxGuardBins));
  parameters.sweep_guard_bins = static_cast<int>(sweep.guard_bins());
  parameters.sweep_interpolate = sweep.interpolate();
  if (message.pll().bandwidth() != 0.0F) {
    parameters.pll_bandwidth = message.pll().bandwidth();
  }
  if (message.pll().damping() != 0.0F) {
    parameters.pll_damping = message.pll().damping();
  }
  parameters.want_corrected = message.corrected();
  parameters.want_curve = message.curve();
  return parameters;
}

absl::StatusOr<RecoverCarrierGroup> GroupFromProto(const v1::CarrierGroup& message,
                                                   const RequestLimits& limits,
                                                   CarrierModels& models) {
  RecoverCarrierGroup group;
  BASEBAND_RETURN_IF_ERROR(CheckRange("count", message.count(), 1, limits.max_blocks_per_request));
  BASEBAND_RETURN_IF_ERROR(CheckRange("frame_symbols", message.frame_symbols(),
                                      carrier::kMinSymbols, carrier::kMaxSymbols));
  group.count = message.count();
  group.frame_symbols = static_cast<int>(message.frame_symbols());
  BASEBAND_ASSIGN_OR_RETURN(
      group.symbol_rate_hz,
      PositiveOr("symbol_rate_hz", message.symbol_rate_hz(), kMaxSymbolRateHz, 0.0));
  BASEBAND_ASSIGN_OR_RETURN(group.known, KnownFromProto(message.known(), group.frame_symbols));
  BASEBAND_ASSIGN_OR_RETURN(group.parameters, ParametersFromProto(message, !group.known.empty()));
  // Only where the power has to tell frequencies apart does the range choose it.
  const bool by_power = group.parameters.coarse == carrier::Coarse::kPower;
  BASEBAND_ASSIGN_OR_RETURN(
      group.model, models.FromProto(message.constellation(), message.amplitude(), message.power(),
                                    by_power ? group.parameters.max_frequency : 0.0));
  BASEBAND_RETURN_IF_ERROR(
      carrier::CheckParameters(*group.model, group.parameters, group.frame_symbols, group.known));
  if (group.parameters.want_curve) {
    group.curve = carrier::CurveOf(*group.model, group.parameters, group.frame_symbols);
  }
  return group;
}

absl::StatusOr<JobPtr> FromProto(const RequestView& request, const RequestLimits& limits,
                                 RequestCaches& caches) {
  v1::RecoverCarrierRequest message;
  if (!message.ParseFromString(request.header())) {
    return absl::InvalidArgumentError("the request is not a well-formed RecoverCarrierRequest");
  }
  BASEBAND_RETURN_IF_ERROR(CheckNumGroups(message.groups_size()));
  std::vector<RecoverCarrierGroup> groups;
  int64_t frames = 0;
  int64_t payload_bytes = 0;
  for (int i = 0; i < message.groups_size(); ++i) {
    absl::StatusOr<RecoverCarrierGroup> group =
        GroupFromProto(message.groups(i), limits, caches.models);
    if (!group.ok()) {
      return InGroup(i, group.status());
    }
    frames += group->count;
    payload_bytes += group->count * group->frame_bytes();
    groups.push_back(*std::move(group));
  }
  BASEBAND_RETURN_IF_ERROR(CheckTotals("frames", frames, payload_bytes, request, limits));
  return std::make_unique<RecoverCarrierJob>(std::move(groups));
}

v1::CarrierLock LockToProto(carrier::Lock lock) {
  switch (lock) {
    case carrier::Lock::kLocked:
      return v1::CARRIER_LOCK_LOCKED;
    case carrier::Lock::kNoSignal:
      return v1::CARRIER_LOCK_NO_SIGNAL;
    case carrier::Lock::kNoPeak:
      return v1::CARRIER_LOCK_NO_PEAK;
    case carrier::Lock::kAmbiguous:
      return v1::CARRIER_LOCK_AMBIGUOUS;
    case carrier::Lock::kBadFit:
      return v1::CARRIER_LOCK_BAD_FIT;
  }
  return v1::CARRIER_LOCK_UNSPECIFIED;
}

void ResultToProto(const carrier::Result& result, double symbol_rate_hz,
                   v1::CarrierResult* message) {
  message->set_lock(LockToProto(result.lock));
  message->set_frequency(result.frequency);
  message->set_frequency_stddev(result.frequency_stddev);
  message->set_frequency_hz(result.frequency * symbol_rate_hz);
  message->set_frequency_stddev_hz(double{result.frequency_stddev} * symbol_rate_hz);
  message->set_phase(result.phase);
  message->set_phase_stddev(result.phase_stddev);
  message->set_ambiguity(result.ambiguity);
  message->set_resolution(result.resolved == carrier::Resolved::kKnownSymbols
                              ? v1::AMBIGUITY_RESOLUTION_KNOWN_SYMBOLS
                              : v1::AMBIGUITY_RESOLUTION_NONE);
  message->set_gain(result.gain);
  message->set_snr_db(result.snr_db);
  message->set_evm(result.evm);
  const double mer_db = result.evm > 0.0F ? -20.0 * std::log10(double{result.evm}) : kMaxMerDb;
  message->set_mer_db(static_cast<float>(std::min(mer_db, kMaxMerDb)));
  message->set_peak_ratio(result.peak_ratio);
  message->set_fit(result.fit);
  message->set_coarse_frequency(result.coarse_frequency);
}

// Names the first symbol of a frame that is none.
absl::Status BadSymbol(const RecoverCarrierGroup& group, int64_t frame, const uint8_t* symbols) {
  for (int n = 0; n < group.frame_symbols; ++n) {
    const carrier::Iq symbol = carrier::ReadSymbol(group.parameters, symbols, n);
    if (!(std::hypot(symbol.i, symbol.q) <= carrier::kMaxMagnitude)) {
      return absl::InvalidArgumentError(absl::StrCat("payload: symbol ", n, " of frame ", frame,
                                                     " is not finite, or larger than ",
                                                     carrier::kMaxMagnitude));
    }
  }
  return absl::InternalError(absl::StrCat("frame ", frame, " has a bad symbol that is not found"));
}

absl::StatusOr<grpc::ByteBuffer> ToProto(Job& base) {
  auto& job = static_cast<RecoverCarrierJob&>(base);
  v1::RecoverCarrierResponse header;
  SetTiming(job.times, header.mutable_timing());
  const uint8_t* symbols = job.input.data();
  int64_t frame = 0;
  for (int g = 0; g < static_cast<int>(job.groups().size()); ++g) {
    const RecoverCarrierGroup& group = job.groups()[static_cast<size_t>(g)];
    for (int64_t f = 0; f < group.count; ++f, ++frame, symbols += group.frame_bytes()) {
      const carrier::Result& result = job.results[static_cast<size_t>(frame)];
      if (result.bad_symbols != 0) {
        return BadSymbol(group, frame, symbols);
      }
      ResultToProto(result, group.symbol_rate_hz, header.add_frames());
      if (group.curve.num_points > 0) {
        v1::CarrierCurve& curve = *header.add_curves();
        curve.set_num_points(static_cast<uint32_t>(group.curve.num_points));
        const bool sweep = group.parameters.fine == carrier::Fine::kSweep;
        curve.set_begin(group.curve.begin + (sweep ? result.coarse_frequency : 0.0));
        curve.set_step(group.curve.step);
      }
    }
  }
  const BulkField curves = {v1::RecoverCarrierResponse::kCurvePointsFieldNumber,
                            job.curves_offset(), job.curves_bytes()};
  const BulkField payload = {v1::RecoverCarrierResponse::kPayloadFieldNumber, 0,
                             job.corrected_bytes()};
  return MakeReply(header, {curves, payload}, std::move(job.reply));
}

CarrierLock ToMetrics(carrier::Lock lock) { return static_cast<CarrierLock>(lock); }
static_assert(static_cast<int>(carrier::Lock::kBadFit) == static_cast<int>(CarrierLock::kBadFit));

void CountResults(const Job& base, Metrics& metrics) {
  const auto& job = static_cast<const RecoverCarrierJob&>(base);
  CarrierTally tally;
  const carrier::Result* result = job.results.data();
  for (const RecoverCarrierGroup& group : job.groups()) {
    for (int64_t f = 0; f < group.count; ++f, ++result) {
      tally.Add(ToMetrics(result->lock), group.frame_symbols, result->evm);
    }
  }
  metrics.ObserveCarrier(tally);
}

void Listen(AsyncService& service, const Listening& to) {
  service.RequestRecoverCarrier(to.context, to.request, to.responder, to.queue, to.queue, to.tag);
}

}  // namespace

const MethodDescriptor kRecoverCarrierRpc = {OperationKind::kRecoverCarrier,
                                             v1::RecoverCarrierRequest::kPayloadFieldNumber,
                                             Listen,
                                             FromProto,
                                             ToProto,
                                             CountResults};

}  // namespace baseband::server
