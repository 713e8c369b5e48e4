#include "client/ctl/downconvert/downconvert_run.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/optional.h"
#include "client/ctl/common/interrupt.h"
#include "client/ctl/common/symbols.h"
#include "client/ctl/common/terminal.h"
#include "client/ctl/downconvert/downconvert_plot.h"
#include "client/ctl/downconvert/downconvert_transfer.h"
#include "kernels/base/steady_time.h"

namespace baseband::ctl {
namespace {

// The study oscillators know the signal from its beginning only, so that it goes in one piece.
constexpr int64_t kMaxStudySamples = int64_t{1} << 22;

double ToHertz(const v1::OscillatorFrequency& frequency, double sample_rate_hz) {
  return frequency.has_fraction()
             ? sample_rate_hz * static_cast<double>(frequency.fraction().num()) /
                   static_cast<double>(frequency.fraction().den())
             : frequency.hz();
}

class Runner {
 public:
  Runner(const GlobalFlags& flags, DownconvertRun& run)
      : run_(run),
        setup_(run.plan.setup),
        bar_(!flags.json),
        front_end_(run.file->samples().is_complex) {
    report_.input = run.input == "-" ? "standard input" : run.input;
    report_.format = run.file->samples().name();
    report_.wanted = run.wanted;
    report_.plan = run.plan;
    report_.totals.channels.resize(setup_.channels_size());
    for (int c = 0; c < setup_.channels_size(); ++c) {
      report_.totals.channels[c].path = run.files.path(c);
    }
    retunes_.resize(setup_.channels_size());
    for (const v1::Retune& retune : run.plan.retunes) {
      if (retune.channel() < retunes_.size()) {
        retunes_[retune.channel()].push_back(retune);
      }
    }
    if (run.plot != nullptr) {
      spectra_.emplace(run.file->wire_format(), run.plan, run.file->num_samples());
    }
  }

  // False: outcome() says why.
  bool Transfer(DownconvertTransfer* transfer, int64_t chunk, bool in_one_piece) {
    const absl::Time begin = SteadyNow();
    while (!guard_.interrupted()) {  // who ends a recording wants what there is of it
      if (transfer->full() && !Receive(transfer)) {
        return false;
      }
      absl::StatusOr<WidebandFile::Piece> piece = run_.file->Read(chunk);
      if (!piece.ok()) {
        return FailLocal(piece.status());
      }
      if (piece->bytes.empty()) {
        break;
      }
      if (in_one_piece && report_.totals.bytes > 0) {
        return FailLocal(absl::InvalidArgumentError(
            absl::StrCat("--nco methods for study take a signal in one piece, at most ", chunk,
                         " samples; ", report_.input, " has more")));
      }
      if (!run_.front_end.has_value() && report_.totals.samples < kMostFrontEndSamples) {
        front_end_.Add(WidebandToComplex(piece->bytes, run_.file->wire_format()));
      }
      if (spectra_.has_value()) {
        spectra_->AddInput(piece->bytes);
      }
      const int64_t samples =
          static_cast<int64_t>(piece->bytes.size()) / run_.file->wire_format().bytes;
      report_.totals.bytes += static_cast<int64_t>(piece->bytes.size());
      report_.totals.samples += samples;
      report_.totals.end = piece->index + samples;
      if (!Check(transfer->Send(piece->index, std::move(piece->bytes)))) {
        return false;
      }
      ShowProgress(begin);
    }
    while (transfer->in_flight() > 0) {
      if (!Receive(transfer)) {
        return false;
      }
    }
    if (report_.totals.bytes == 0) {
      return FailLocal(absl::InvalidArgumentError(absl::StrCat(report_.input, " is empty")));
    }
    if (!Check(transfer->Finish())) {
      return false;
    }
    report_.front_end = run_.front_end.has_value() ? *run_.front_end : front_end_.Result();
    report_.totals.wall = SteadyNow() - begin;
    return true;
  }

  DownconvertOutcome Finish() {
    bar_.Clear();
    run_.files.Describe(report_.totals.descriptions, report_.input);
    if (spectra_.has_value()) {
      run_.plot->Write(RenderSvg(spectra_->Finish(report_)));
    }
    return {run_.outputs.Commit(), /*is_local=*/true, guard_.interrupted(), std::move(report_)};
  }

  DownconvertOutcome outcome() const { return {status_, is_local_, guard_.interrupted(), report_}; }

 private:
  bool Check(const absl::Status& status) {
    status_.Update(status);
    return status.ok();
  }
  bool FailLocal(const absl::Status& status) {
    is_local_ = true;
    return Check(status);
  }

  bool Receive(DownconvertTransfer* transfer) {
    const absl::StatusOr<v1::DownconvertResponse> response = transfer->Receive();
    if (!response.ok()) {
      return Check(response.status());
    }
    DownconvertTotals& totals = report_.totals;
    const bool first = totals.messages == 0;
    if (first) {
      totals.descriptions.assign(response->descriptions().begin(), response->descriptions().end());
    }
    if (response->channels_size() != setup_.channels_size() ||
        static_cast<int>(totals.descriptions.size()) != setup_.channels_size()) {
      return Check(absl::InternalError("the server's channels are not those of the request"));
    }
    ++totals.messages;
    totals.gaps += response->gap() > 0 ? 1 : 0;
    totals.missing += static_cast<int64_t>(response->gap());
    totals.kernel_us += response->timing().kernel_us();
    absl::string_view rest = response->payload();
    for (int c = 0; c < setup_.channels_size(); ++c) {
      const v1::ChannelOutput& output = response->channels(c);
      const uint64_t sample_bytes = BytesPerSample(setup_.channels(c).output());
      if (output.count() > rest.size() / sample_bytes) {
        return Check(absl::InternalError("the server's payload is shorter than it says"));
      }
      const absl::string_view samples = rest.substr(0, output.count() * sample_bytes);
      rest.remove_prefix(samples.size());
      NoteCaptures(c, output, first || response->gap() > 0);
      totals.channels[c].samples += static_cast<int64_t>(output.count());
      totals.channels[c].saturated += static_cast<int64_t>(output.saturated());
      run_.files.Write(c, samples);
      if (spectra_.has_value()) {
        spectra_->AddOutput(c, samples);
      }
    }
    return run_.outputs.status().ok() || FailLocal(run_.outputs.status());
  }

  // For the metadata: where this output begins anew, and where its frequency changes.
  void NoteCaptures(int channel, const v1::ChannelOutput& output, bool anew) {
    const int64_t written = report_.totals.channels[channel].samples;
    const double centre = run_.plan.centre_hz.value_or(0);
    SigmfCapture capture;
    if (anew) {
      capture.sample_start = written;
      capture.global_index = static_cast<int64_t>(output.first_output());
      capture.frequency_hz = centre + Frequency(channel);
      run_.files.Note(channel, capture);
    }
    std::deque<v1::Retune>& retunes = retunes_[channel];
    const double factor = OutputsPerInput(setup_.channels(channel).filter());
    while (!retunes.empty()) {
      const auto place = std::max(
          output.first_output(),
          static_cast<uint64_t>(std::ceil(factor * static_cast<double>(retunes.front().index()))));
      if (place >= output.first_output() + output.count()) {
        return;
      }
      current_hz_.resize(retunes_.size());
      current_hz_[channel] = ToHertz(retunes.front().frequency(), setup_.sample_rate_hz());
      capture.sample_start = written + static_cast<int64_t>(place - output.first_output());
      capture.global_index = static_cast<int64_t>(place);
      capture.frequency_hz = centre + *current_hz_[channel];
      run_.files.Note(channel, capture);
      retunes.pop_front();
    }
  }

  double Frequency(int channel) const {
    return channel < static_cast<int>(current_hz_.size()) && current_hz_[channel].has_value()
               ? *current_hz_[channel]
               : report_.totals.descriptions[channel].frequency_hz();
  }

  void ShowProgress(absl::Time begin) {
    const double done = static_cast<double>(report_.totals.bytes);
    const int64_t all = run_.file->num_samples() * run_.file->wire_format().bytes;
    bar_.Show(all > 0 ? done / static_cast<double>(all) : -1,
              absl::StrFormat("%s, %.4g MB/s", HumanBytes(done),
                              1e-6 * done / absl::ToDoubleSeconds(SteadyNow() - begin)));
  }

  DownconvertRun& run_;
  const v1::DownconvertSetup& setup_;
  const InterruptGuard guard_;
  ProgressBar bar_;
  DownconvertReport report_;
  FrontEndMeter front_end_;
  absl::optional<DownconvertSpectra> spectra_;
  std::vector<std::deque<v1::Retune>> retunes_;     // by channel: those to come
  std::vector<absl::optional<double>> current_hz_;  // by channel, after a retune
  absl::Status status_;
  bool is_local_ = false;
};

}  // namespace

int64_t DefaultChunk(const v1::DownconvertSetup& setup, int bytes_per_sample,
                     const RequestLimits& limits) {
  double out_bytes = 0;
  for (const v1::DownconvertChannel& channel : setup.channels()) {
    out_bytes += OutputsPerInput(channel.filter()) * BytesPerSample(channel.output());
  }
  const double bytes = static_cast<double>(std::min<int64_t>(limits.bytes, 1 << 20));
  return std::max<int64_t>(
      256, static_cast<int64_t>(bytes / std::max(out_bytes, 1.0 * bytes_per_sample)));
}

DownconvertOutcome RunDownconvert(const Session& session, DownconvertRun* to_run) {
  const GlobalFlags& flags = session.flags();
  DownconvertRun& run = *to_run;
  const auto fail = [](const absl::Status& status, bool is_local) {
    DownconvertOutcome outcome;
    outcome.status = status;
    outcome.is_local = is_local;
    return outcome;
  };
  const v1::DownconvertSetup& setup = run.plan.setup;
  const int bytes_per_sample = run.file->wire_format().bytes;
  const bool study = std::any_of(
      setup.channels().begin(), setup.channels().end(),
      [](const v1::DownconvertChannel& channel) { return channel.nco() != v1::NCO_METHOD_EXACT; });
  const int64_t chunk = study           ? kMaxStudySamples
                        : run.chunk > 0 ? run.chunk
                                        : DefaultChunk(setup, bytes_per_sample, session.limits());
  std::unique_ptr<DownconvertTransfer> transfer;
  if (run.unary || study) {
    transfer = NewUnaryTransfer(session.client(), flags, run.plan, bytes_per_sample);
  } else {
    auto stream = NewStreamTransfer(session.client(), flags, run.plan);
    if (!stream.ok()) {
      return fail(stream.status(), false);
    }
    transfer = *std::move(stream);
  }
  Runner runner(flags, run);
  return runner.Transfer(transfer.get(), chunk, study) ? runner.Finish() : runner.outcome();
}

}  // namespace baseband::ctl
