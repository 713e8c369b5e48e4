#include "server/operations/recover_carrier/recover_carrier_operation.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/group_conversion.h"
#include "server/operations/recover_carrier/carrier_models.h"
#include "server/operations/recover_carrier/recover_carrier.h"
#include "server/operations/recover_carrier/recover_carrier_metrics.h"

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
  if (count > frame_symbols) {
    return absl::InvalidArgumentError(absl::StrCat(
        "known.values has ", count, " symbols, more than the frame's ", frame_symbols));
  }
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

// How a request becomes a RecoverCarrierJob.
struct RecoverCarrierTraits {
  using Message = v1::RecoverCarrierRequest;
  using Group = RecoverCarrierGroup;
  static constexpr char kName[] = "RecoverCarrierRequest";
  static constexpr char kBlocks[] = "frames";

  absl::StatusOr<GroupSize> SizeOf(int, const v1::CarrierGroup& message,
                                   const RequestLimits& limits) const {
    BASEBAND_RETURN_IF_ERROR(
        CheckRange("count", message.count(), 1, limits.max_blocks_per_request));
    BASEBAND_RETURN_IF_ERROR(CheckRange("frame_symbols", message.frame_symbols(),
                                        carrier::kMinSymbols, carrier::kMaxSymbols));
    BASEBAND_ASSIGN_OR_RETURN(const carrier::SampleFormat format,
                              FormatFromProto(message.format()));
    return GroupSize{message.count(),
                     int64_t{message.frame_symbols()} * carrier::BytesPerSymbol(format)};
  }

  absl::Status ReadGroup(int, const v1::CarrierGroup& message) {
    RecoverCarrierGroup group;
    group.count = message.count();
    group.frame_symbols = static_cast<int>(message.frame_symbols());
    BASEBAND_ASSIGN_OR_RETURN(
        group.symbol_rate_hz,
        PositiveOr("symbol_rate_hz", message.symbol_rate_hz(), kMaxSymbolRateHz, 0.0));
    BASEBAND_ASSIGN_OR_RETURN(group.known, KnownFromProto(message.known(), group.frame_symbols));
    BASEBAND_ASSIGN_OR_RETURN(group.parameters, ParametersFromProto(message, !group.known.empty()));
    BASEBAND_RETURN_IF_ERROR(
        carrier::CheckParameters(group.parameters, group.frame_symbols, group.known));
    BASEBAND_RETURN_IF_ERROR(CheckRange("power", message.power(), 0, carrier::kMaxPower));
    BASEBAND_RETURN_IF_ERROR(AmplitudeFromProto(message.amplitude()).status());
    BASEBAND_RETURN_IF_ERROR(CheckPoints(message, group, nullptr).status());
    of_groups.push_back(std::move(group));
    return absl::OkStatus();
  }

  absl::StatusOr<absl::optional<RecoverCarrierGroup>> MakeGroup(int index,
                                                                const v1::CarrierGroup& message,
                                                                const ContinueCheck* may_continue) {
    RecoverCarrierGroup& group = of_groups[static_cast<size_t>(index)];
    // Own points need only be there, which takes far less than their model does.
    BASEBAND_ASSIGN_OR_RETURN(const bool has_points, CheckPoints(message, group, may_continue));
    if (!has_points) return absl::optional<RecoverCarrierGroup>();
    BASEBAND_ASSIGN_OR_RETURN(group.model,
                              models->FromProto(message.constellation(), message.amplitude(),
                                                message.power(), may_continue, own));
    if (group.model == nullptr) return absl::optional<RecoverCarrierGroup>();
    own.push_back(group.model);
    BASEBAND_RETURN_IF_ERROR(
        carrier::CheckParameters(*group.model, group.parameters, group.frame_symbols, group.known));
    group.reach = carrier::ReachOf(*group.model, group.parameters, group.known);
    if (group.parameters.want_curve) {
      group.curve = carrier::CurveOf(*group.model, group.parameters, group.frame_symbols);
    }
    return absl::make_optional(std::move(group));
  }

  JobPtr MakeJob(std::vector<RecoverCarrierGroup> groups) const {
    return std::make_unique<RecoverCarrierJob>(*operation, std::move(groups));
  }

  // What a group asks of its constellation. False: that has to be made, and there is no
  // `may_continue` to ask.
  absl::StatusOr<bool> CheckPoints(const v1::CarrierGroup& message,
                                   const RecoverCarrierGroup& group,
                                   const ContinueCheck* may_continue) const {
    BASEBAND_ASSIGN_OR_RETURN(const carrier::ConstellationPtr points,
                              models->PointsOf(message.constellation(), may_continue));
    if (points == nullptr) return false;
    BASEBAND_RETURN_IF_ERROR(carrier::CheckMaxFrequency(*points, group.parameters, group.known));
    return true;
  }

  const Operation* operation;
  CarrierModels* models;
  std::vector<carrier::ModelPtr> own;          // of the groups so far
  std::vector<RecoverCarrierGroup> of_groups;  // as far as they are without their models
};

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

void CurveToProto(const RecoverCarrierGroup& group, const carrier::Result& result,
                  v1::CarrierCurve* message) {
  message->set_num_points(static_cast<uint32_t>(group.curve.num_points));
  const bool sweep = group.parameters.fine == carrier::Fine::kSweep;
  message->set_begin(group.curve.begin + (sweep ? result.coarse_frequency : 0.0));
  message->set_step(group.curve.step);
}

class RecoverCarrierOperation final : public Operation {
 public:
  explicit RecoverCarrierOperation(std::shared_ptr<CarrierModels> models)
      : Operation(Describe()), models_(std::move(models)) {}

  absl::StatusOr<Conversion> Convert(const Request& request, const RequestLimits& limits) override {
    return GroupConversion<RecoverCarrierTraits>::Convert(request, limits,
                                                          {this, models_.get(), {}, {}});
  }

  absl::StatusOr<Reply> ToReply(Job& base) override {
    auto& job = static_cast<RecoverCarrierJob&>(base);
    v1::RecoverCarrierResponse header;
    SetTiming(job.times, header.mutable_timing());
    const uint8_t* symbols = job.input.data();
    int64_t frame = 0;
    for (const RecoverCarrierGroup& group : job.groups()) {
      v1::CarrierReach* const reach = header.add_reaches();
      reach->set_max_frequency(group.reach.frequency);
      reach->set_modulo(group.reach.modulo);
      for (int64_t f = 0; f < group.count; ++f, ++frame, symbols += group.frame_bytes()) {
        const carrier::Result& result = job.results[static_cast<size_t>(frame)];
        if (result.bad_symbols != 0) {
          return BadSymbol(group, frame, symbols);
        }
        ResultToProto(result, group.symbol_rate_hz, header.add_frames());
        if (group.curve.num_points > 0) CurveToProto(group, result, header.add_curves());
      }
    }
    return Reply{header.SerializeAsString(),
                 {{v1::RecoverCarrierResponse::kCurvePointsFieldNumber, job.curves_offset(),
                   job.curves_bytes()},
                  {v1::RecoverCarrierResponse::kPayloadFieldNumber, 0, job.corrected_bytes()}},
                 std::move(job.reply)};
  }

  std::unique_ptr<OperationMetrics> MakeMetrics(prometheus::Registry& registry) const override {
    return std::make_unique<RecoverCarrierMetrics>(registry);
  }
  void CountResults(const Job& job, OperationMetrics& metrics) const override {
    static_cast<RecoverCarrierMetrics&>(metrics).Observe(
        static_cast<const RecoverCarrierJob&>(job));
  }

  std::unique_ptr<Batch> MakeBatch(std::vector<JobPtr> jobs) const override {
    return MakeRecoverCarrierBatch(std::move(jobs));
  }
  absl::Status PrepareCuda() const override { return PrepareRecoverCarrierCuda(); }
  absl::Status SelfTest(SelfTestBench& bench) const override {
    return TestRecoverCarrier(*this, bench);
  }

 private:
  static Description Describe() {
    Description description;
    description.name = "RecoverCarrier";
    description.payload_field = v1::RecoverCarrierRequest::kPayloadFieldNumber;
    description.submit_request_field = v1::SubmitRequest::kRecoverCarrierFieldNumber;
    description.submit_response_field = v1::SubmitResponse::kRecoverCarrierFieldNumber;
    description.cuda_workspace_bytes = kRecoverCarrierWorkspaceBytes;
    return description;
  }

  const std::shared_ptr<CarrierModels> models_;
};

}  // namespace

std::unique_ptr<Operation> MakeRecoverCarrierOperation(std::shared_ptr<CarrierModels> models) {
  return std::make_unique<RecoverCarrierOperation>(std::move(models));
}

}  // namespace baseband::server
