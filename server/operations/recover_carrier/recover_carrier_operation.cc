#include "server/operations/recover_carrier/recover_carrier_operation.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "kernels/base/status_macros.h"
#include "server/converters/group_conversion.h"
#include "server/operations/recover_carrier/carrier_models.h"
#include "server/operations/recover_carrier/carrier_parameters.h"
#include "server/operations/recover_carrier/recover_carrier.h"
#include "server/operations/recover_carrier/recover_carrier_metrics.h"
#include "server/operations/recover_carrier/request_pulses.h"

namespace baseband::server {
namespace {

constexpr double kMaxSymbolRateHz = 1e15;
constexpr double kMaxMerDb = 60.0;

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
    BASEBAND_ASSIGN_OR_RETURN(const FrameShape frame, FrameFromProto(message));
    BASEBAND_ASSIGN_OR_RETURN(const carrier::SampleFormat format,
                              FormatFromProto(message.format()));
    return GroupSize{message.count(), int64_t{frame.received} * carrier::BytesPerSymbol(format)};
  }

  absl::Status ReadGroup(int, const v1::CarrierGroup& message) {
    RecoverCarrierGroup group;
    BASEBAND_ASSIGN_OR_RETURN(const FrameShape frame, FrameFromProto(message));
    group.count = message.count();
    group.frame_symbols = frame.symbols;
    if (frame.has_timing) group.frame_samples = frame.received;
    group.timing = frame.timing;
    BASEBAND_ASSIGN_OR_RETURN(
        group.symbol_rate_hz,
        PositiveOr("symbol_rate_hz", message.symbol_rate_hz(), kMaxSymbolRateHz, 0.0));
    BASEBAND_ASSIGN_OR_RETURN(group.known, KnownFromProto(message.known(), group.frame_symbols));
    BASEBAND_ASSIGN_OR_RETURN(group.parameters, ParametersFromProto(message, frame.symbols));
    BASEBAND_RETURN_IF_ERROR(
        frame.has_timing ? timing::CheckParameters(group.parameters, frame.pulse, frame.timing,
                                                   frame.received, group.known)
                         : carrier::CheckParameters(group.parameters, frame.symbols, group.known));
    BASEBAND_RETURN_IF_ERROR(CheckRange("power", message.power(), 0, carrier::kMaxPower));
    BASEBAND_RETURN_IF_ERROR(AmplitudeFromProto(message.amplitude()).status());
    BASEBAND_RETURN_IF_ERROR(CheckPoints(message, group, nullptr).status());
    of_groups.push_back(std::move(group));
    RequestPulses::Named* pulse = nullptr;
    if (frame.has_timing) {
      BASEBAND_ASSIGN_OR_RETURN(pulse, pulses.Name(frame.pulse));
    }
    pulse_of.push_back(pulse);
    return absl::OkStatus();
  }

  // First that own points and own pulses are any, then how large the pulses will be: both take far
  // less than to make them and the models.
  static constexpr int kPlanRounds = 2;
  absl::StatusOr<bool> PlanGroup(int round, int index, const v1::CarrierGroup& message,
                                 const ContinueCheck* may_continue) {
    const auto g = static_cast<size_t>(index);
    if (round > 0) {
      if (pulse_of[g] == nullptr) return true;
      BASEBAND_RETURN_IF_ERROR(pulses.LayOut(pulse_of[g], may_continue));
      return true;
    }
    BASEBAND_ASSIGN_OR_RETURN(const bool has_points,
                              CheckPoints(message, of_groups[g], may_continue));
    if (!has_points || pulse_of[g] == nullptr) return has_points;
    return pulses.Check(pulse_of[g], may_continue);
  }

  absl::StatusOr<absl::optional<RecoverCarrierGroup>> MakeGroup(int index,
                                                                const v1::CarrierGroup& message,
                                                                const ContinueCheck* may_continue) {
    RecoverCarrierGroup& group = of_groups[static_cast<size_t>(index)];
    BASEBAND_ASSIGN_OR_RETURN(group.model,
                              models->FromProto(message.constellation(), message.amplitude(),
                                                message.power(), may_continue, own, client));
    if (group.model == nullptr) return absl::optional<RecoverCarrierGroup>();
    own.push_back(group.model);
    if (message.coarse() == v1::COARSE_METHOD_UNSPECIFIED && !group.known.empty()) {
      group.parameters.coarse = carrier::CoarseFor(*group.model, group.parameters, group.known);
    }
    if (RequestPulses::Named* const pulse = pulse_of[static_cast<size_t>(index)]) {
      BASEBAND_RETURN_IF_ERROR(timing::CheckParameters(*group.model, group.parameters, pulse->shape,
                                                       group.timing, group.frame_samples,
                                                       group.known));
      BASEBAND_ASSIGN_OR_RETURN(group.pulse, pulses.Make(pulse, may_continue));
    } else {
      BASEBAND_RETURN_IF_ERROR(carrier::CheckParameters(*group.model, group.parameters,
                                                        group.frame_symbols, group.known));
    }
    group.reach = carrier::ReachOf(*group.model, group.parameters, group.known);
    if (group.parameters.want_curve) {
      group.curve = carrier::CurveOf(*group.model, group.parameters, group.frame_symbols);
    }
    return absl::make_optional(std::move(group));
  }

  JobPtr MakeJob(const Message&, std::vector<RecoverCarrierGroup> groups) const {
    return std::make_unique<RecoverCarrierJob>(*operation, std::move(groups));
  }

  // What a group asks of its constellation. False: that has to be made, and there is no
  // `may_continue` to ask.
  absl::StatusOr<bool> CheckPoints(const v1::CarrierGroup& message,
                                   const RecoverCarrierGroup& group,
                                   const ContinueCheck* may_continue) const {
    BASEBAND_ASSIGN_OR_RETURN(const carrier::ConstellationPtr points,
                              models->PointsOf(message.constellation(), may_continue, client));
    if (points == nullptr) return false;
    BASEBAND_RETURN_IF_ERROR(carrier::CheckMaxFrequency(*points, group.parameters, group.known));
    return true;
  }

  const Operation* operation;
  CarrierModels* models;
  std::string client;
  RequestPulses pulses;
  std::vector<carrier::ModelPtr> own = {};           // of the groups so far
  std::vector<RecoverCarrierGroup> of_groups = {};   // as far as they are without their models
  std::vector<RequestPulses::Named*> pulse_of = {};  // by group; null: it has no timing
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

v1::TimingLock LockToProto(timing::Lock lock) {
  switch (lock) {
    case timing::Lock::kLocked:
      return v1::TIMING_LOCK_LOCKED;
    case timing::Lock::kNoSignal:
      return v1::TIMING_LOCK_NO_SIGNAL;
    case timing::Lock::kNoLine:
      return v1::TIMING_LOCK_NO_LINE;
    case timing::Lock::kTooShort:
      return v1::TIMING_LOCK_TOO_SHORT;
  }
  return v1::TIMING_LOCK_UNSPECIFIED;
}

void TimingToProto(const timing::Result& result, v1::TimingEstimate* message) {
  message->set_lock(LockToProto(result.lock));
  message->set_offset(result.offset);
  message->set_offset_stddev(result.offset_stddev);
  message->set_clock_error(result.clock_error);
  message->set_clock_error_stddev(result.clock_error_stddev);
  message->set_centre_stddev(result.centre_stddev);
  message->set_refined(result.refined != 0);
  message->set_line(result.line);
  message->set_spectrum_centre(result.spectrum_centre);
}

// `symbol_rate_hz` is that of the symbols as they are.
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

// The first symbol, or sample, of a frame whose magnitude is not at most `most`; -1: none is.
int FirstAbove(double most, const RecoverCarrierGroup& group, const uint8_t* received) {
  for (int n = 0; n < group.received(); ++n) {
    const carrier::Iq symbol = carrier::ReadSymbol(group.parameters, received, n);
    if (!(std::hypot(double{symbol.i}, double{symbol.q}) <= most)) return n;
  }
  return -1;
}

// Names the first symbol, or sample, of a frame that is none. It begins at `offset` of the payload.
absl::Status BadSymbol(const RecoverCarrierGroup& group, int64_t frame, int64_t offset,
                       const Payload& payload) {
  const Payload whole = payload.is_contiguous() ? payload : payload.Copy();
  const uint8_t* const received = whole.data() + offset;
  const char* const noun = group.has_timing() ? "sample" : "symbol";
  constexpr double kMost = carrier::kMaxMagnitude;
  int n = FirstAbove(kMost, group, received);
  // The devices compare squares in single precision: one at the limit may be above it to them.
  if (n < 0) n = FirstAbove(kMost * (1.0 - 0x1p-22), group, received);
  if (n < 0) return NotFoundAgain(absl::StrCat("a bad ", noun, " of frame ", frame), payload);
  const carrier::Iq symbol = carrier::ReadSymbol(group.parameters, received, n);
  return absl::InvalidArgumentError(
      absl::StrCat("payload: ", noun, " ", n, " of frame ", frame, " times its scale is (",
                   symbol.i, ", ", symbol.q, "): not finite, or not of a magnitude below ", kMost));
}

absl::Status BadFiltered(int64_t frame) {
  return absl::InvalidArgumentError(
      absl::StrCat("payload: frame ", frame,
                   " has symbols that are, behind the matched filter, of a magnitude above ",
                   carrier::kMaxMagnitude));
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
    const std::string client(request.client);
    return GroupConversion<RecoverCarrierTraits>::Convert(
        request, limits, {this, models_.get(), client, {models_->pulses(), client}});
  }

  absl::StatusOr<Reply> ToReply(Job& base) override {
    auto& job = static_cast<RecoverCarrierJob&>(base);
    v1::RecoverCarrierResponse header;
    SetTiming(job.times, header.mutable_timing());
    int64_t offset = 0;
    const timing::Result* timing = job.timings.data();
    int64_t frame = 0;
    for (const RecoverCarrierGroup& group : job.groups()) {
      v1::CarrierReach* const reach = header.add_reaches();
      reach->set_max_frequency(group.reach.frequency);
      reach->set_modulo(group.reach.modulo);
      reach->set_frame_symbols(static_cast<uint32_t>(group.frame_symbols));
      reach->set_coarse(CoarseToProto(group.parameters.coarse));
      for (int64_t f = 0; f < group.count; ++f, ++frame, offset += group.frame_bytes()) {
        const carrier::Result& result = job.results[static_cast<size_t>(frame)];
        if (result.bad_symbols != 0) {
          const bool is_filtered = group.has_timing() && timing->bad_samples == 0;
          return is_filtered ? BadFiltered(frame) : BadSymbol(group, frame, offset, job.input);
        }
        double symbol_rate_hz = group.symbol_rate_hz;
        if (group.has_timing()) {
          symbol_rate_hz /= 1.0 + timing->clock_error;
          TimingToProto(*timing++, header.add_timings());
        }
        ResultToProto(result, symbol_rate_hz, header.add_frames());
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
