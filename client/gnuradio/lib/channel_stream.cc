#include "client/gnuradio/lib/channel_stream.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "client/gnuradio/lib/failure.h"

namespace gr::baseband_offload {
namespace {

constexpr int64_t kOutputBytes = 8;  // complex float32
// Messages on their way: what DownconvertStream takes at most.
constexpr int kMostInFlight = 64;
// Of a filter's past, as DownconvertRequest has it.
constexpr uint64_t kMostHistoryBytes = 16 << 20;

}  // namespace

ChannelStream::ChannelStream(Client* client, const PipelineLimits& limits,
                             const v1::DownconvertSetup& setup, const Oscillators& oscillators,
                             int sample_bytes, std::function<void()> wake)
    : client_(client),
      limits_(limits),
      setup_(setup),
      sample_bytes_(sample_bytes),
      wake_(std::move(wake)),
      pause_(limits.first_pause),
      oscillators_(oscillators),
      reader_([this] { Read(); }) {}

ChannelStream::~ChannelStream() {
  std::shared_ptr<Stream> stream;
  {
    gr::thread::scoped_lock lock(mutex_);
    closed_ = true;
    stream = stream_;
    changed_.notify_all();
  }
  if (stream != nullptr) stream->Cancel();
  reader_.join();
}

int ChannelStream::InFlight() const {
  gr::thread::scoped_lock lock(mutex_);
  return static_cast<int>(pieces_.size() + outputs_.size());
}

bool ChannelStream::IsReady() const {
  gr::thread::scoped_lock lock(mutex_);
  return !outputs_.empty();
}

void ChannelStream::Wait() {
  gr::thread::scoped_lock lock(mutex_);
  while (outputs_.empty() && events_.empty()) changed_.wait(lock);
}

ChannelOutputs ChannelStream::Take() {
  gr::thread::scoped_lock lock(mutex_);
  ChannelOutputs outputs = std::move(outputs_.front());
  outputs_.pop_front();
  return outputs;
}

std::vector<PipelineEvent> ChannelStream::TakeEvents() {
  std::vector<PipelineEvent> events;
  gr::thread::scoped_lock lock(mutex_);
  events.swap(events_);
  return events;
}

void ChannelStream::Send(std::string samples, const std::vector<Retuning>& retunings) {
  Piece piece{next_sample_, std::move(samples), retunings};
  next_sample_ += SamplesOf(piece);
  gr::thread::scoped_lock lock(mutex_);
  for (const Retuning& retuning : retunings) oscillators_.Add(retuning);
  pieces_.push_back(std::move(piece));
  changed_.notify_all();
  WriteMore(&lock);
}

uint64_t ChannelStream::SamplesOf(const Piece& piece) const {
  return piece.samples.size() / static_cast<size_t>(sample_bytes_);
}

uint64_t ChannelStream::OutputsBefore(uint64_t sample, int channel) const {
  const v1::ChannelFilter& filter = setup_.channels(channel).filter();
  const uint64_t up = filter.up();
  const uint64_t down = filter.down();
  return sample / down * up + (sample % down * up + down - 1) / down;
}

uint64_t ChannelStream::MostHistory() const {
  return kMostHistoryBytes / static_cast<uint64_t>(sample_bytes_);
}

uint64_t ChannelStream::PastBegin() const {
  return pieces_.front().first_sample - past_.size() / static_cast<size_t>(sample_bytes_);
}

v1::DownconvertRequest ChannelStream::MessageOf(const Piece& piece) const {
  v1::DownconvertRequest message;
  message.set_first_sample(piece.first_sample);
  for (const Retuning& retuning : piece.retunings) {
    v1::Retune* retune = message.add_retunes();
    retune->set_channel(retuning.channel);
    retune->set_index(retuning.sample);
    retune->mutable_frequency()->mutable_fraction()->set_num(retuning.frequency);
    retune->mutable_frequency()->mutable_fraction()->set_den(kUnits);
    retune->set_mode(retuning.coherent ? v1::RETUNE_MODE_PHASE_COHERENT
                                       : v1::RETUNE_MODE_PHASE_CONTINUOUS);
  }
  message.set_payload(piece.samples);
  return message;
}

v1::DownconvertRequest ChannelStream::OpeningMessage() {
  Piece opening;
  opening.first_sample = PastBegin();
  opening.samples = past_ + pieces_.front().samples;
  v1::DownconvertSetup setup = setup_;
  opening.retunings = oscillators_.SetUp(opening.first_sample, &setup);
  const uint64_t end = pieces_.front().first_sample + SamplesOf(pieces_.front());
  for (const Retuning& retuning : oscillators_.known()) {
    if (retuning.sample < end) opening.retunings.push_back(retuning);
  }
  v1::DownconvertRequest message = MessageOf(opening);
  *message.mutable_setup() = std::move(setup);
  return message;
}

void ChannelStream::WriteMore(gr::thread::scoped_lock* lock) {
  const auto most = static_cast<size_t>(std::min(limits_.in_flight, kMostInFlight));
  while (!writing_ && stream_ != nullptr && written_ < std::min(most, pieces_.size())) {
    writing_ = true;
    const std::shared_ptr<Stream> stream = stream_;
    const v1::DownconvertRequest message =
        written_ == 0 && !has_answered_ ? OpeningMessage() : MessageOf(pieces_[written_]);
    ++written_;
    lock->unlock();
    const bool sent = stream->Write(message);
    lock->lock();
    writing_ = false;
    changed_.notify_all();
    if (!sent) {  // Read() finds out why
      // A wrong server may have answered it all the same.
      written_ -= std::min<size_t>(written_, 1);
      return;
    }
  }
}

void ChannelStream::Read() {
  gr::thread::scoped_lock lock(mutex_);
  for (;;) {
    while (!closed_ && pieces_.empty()) changed_.wait(lock);
    if (closed_) return;
    if (stream_ == nullptr) {
      ::baseband::client::StreamOptions options;
      options.response_timeout = limits_.timeout;
      options.max_in_flight = kMostInFlight;
      absl::StatusOr<std::unique_ptr<Stream>> opened = client_->OpenDownconvertStream(options);
      if (!opened.ok()) {
        OnEnd(opened.status(), &lock);
        continue;
      }
      stream_ = *std::move(opened);
      has_answered_ = false;
    }
    WriteMore(&lock);
    if (closed_) return;
    const std::shared_ptr<Stream> stream = stream_;
    v1::DownconvertResponse response;
    lock.unlock();
    const bool read = stream->Read(&response);
    absl::Status ended = read ? absl::OkStatus() : stream->Finish();
    lock.lock();
    if (closed_) return;
    if (read) ended = OnResponse(std::move(response));
    if (read && ended.ok()) continue;
    if (ended.ok()) ended = absl::UnavailableError("the server ended the stream");
    while (writing_) changed_.wait(lock);
    if (read) stream->Cancel();
    if (!read && written_ == 0 && has_answered_) {  // it ended while nothing was on its way
      stream_ = nullptr;
      continue;
    }
    OnEnd(ended, &lock);
  }
}

absl::Status ChannelStream::OnResponse(v1::DownconvertResponse response) {
  const int channels = setup_.channels_size();
  const uint64_t first = pieces_.front().first_sample;
  const uint64_t end = first + SamplesOf(pieces_.front());
  int64_t outputs = 0;
  bool is_right =
      written_ > 0 && response.next_sample() == end && response.channels_size() == channels;
  for (int i = 0; is_right && i < channels; ++i) {
    const v1::ChannelOutput& output = response.channels(i);
    is_right = output.count() <= response.payload().size() &&
               output.first_output() <= OutputsBefore(first, i) &&
               output.first_output() + output.count() == OutputsBefore(end, i);
    outputs += static_cast<int64_t>(output.count());
  }
  if (!is_right || outputs * kOutputBytes != static_cast<int64_t>(response.payload().size())) {
    return absl::DataLossError(absl::StrCat("the answer to ", channels, " channels up to sample ",
                                            end, " has ", response.channels_size(),
                                            " channels up to sample ", response.next_sample(),
                                            " in ", response.payload().size(), " bytes"));
  }
  if (failing_) {
    failing_ = false;
    events_.push_back({false, absl::OkStatus()});
  }
  pause_ = limits_.first_pause;
  has_answered_ = true;
  internal_errors_ = 0;

  ChannelOutputs done;
  done.samples = SamplesOf(pieces_.front());
  int64_t begin = 0;
  for (int i = 0; i < channels; ++i) {
    const v1::ChannelOutput& output = response.channels(i);
    ChannelOutputs::Part part;
    part.first_output = OutputsBefore(first, i);
    // Outputs of the past that a new stream was told came from the one before.
    const uint64_t known = part.first_output - output.first_output();
    part.begin = begin + static_cast<int64_t>(known);
    part.count = static_cast<int64_t>(output.count() - known);
    begin += static_cast<int64_t>(output.count());
    done.parts.push_back(part);
  }
  done.payload = std::move(*response.mutable_payload());
  for (const v1::ChannelDescription& description : response.descriptions()) {
    history_ = std::max(history_, std::min(description.transient(), MostHistory()));
  }
  Remember(std::move(pieces_.front().samples));
  pieces_.pop_front();
  --written_;
  oscillators_.Forget(end - past_.size() / static_cast<size_t>(sample_bytes_));
  outputs_.push_back(std::move(done));
  changed_.notify_all();
  // The scheduler's thread is not this one, and never waits for it with its lock held.
  wake_();
  return absl::OkStatus();
}

void ChannelStream::Remember(std::string samples) {
  // Before them oscillators settle.
  const uint64_t wanted = (history_ + 2) * static_cast<uint64_t>(sample_bytes_);
  if (samples.size() >= wanted) {
    past_ = samples.substr(samples.size() - wanted);
    return;
  }
  past_ += samples;
  if (past_.size() > wanted) past_.erase(0, past_.size() - wanted);
}

void ChannelStream::OnEnd(absl::Status error, gr::thread::scoped_lock* lock) {
  if (absl::IsInternal(error) && ++internal_errors_ >= kMostInternalErrors) {
    error = NotPassing(error);
  }
  const bool passing = IsPassing(error);
  if (passing && !failing_) {
    failing_ = true;
    events_.push_back({true, error});
  }
  stream_ = nullptr;
  if (!passing) {
    // What the server refused is the oldest message; the others may be right.
    GiveUp(1, error);
  } else if (!limits_.hold) {
    GiveUp(std::max<size_t>(written_, 1), error);
  }
  written_ = 0;
  changed_.notify_all();
  lock->unlock();
  wake_();
  lock->lock();
  if (!closed_ && limits_.hold) Pause(::baseband::client::RetryAfter(error), lock);
}

void ChannelStream::GiveUp(size_t pieces, const absl::Status& error) {
  uint64_t next = 0;
  for (size_t i = 0; i < pieces; ++i) {
    ChannelOutputs given_up;
    given_up.samples = SamplesOf(pieces_.front());
    given_up.error = error;
    next = pieces_.front().first_sample + given_up.samples;
    outputs_.push_back(std::move(given_up));
    pieces_.pop_front();
  }
  // Behind the gap the filters begin anew, with the next sample; before it oscillators settle.
  past_.assign(next % 2 == 0 ? static_cast<size_t>(sample_bytes_) : 0, '\0');
  internal_errors_ = 0;
}

void ChannelStream::Pause(absl::Duration least, gr::thread::scoped_lock* lock) {
  const absl::Duration pause = std::max(pause_, least);
  pause_ = std::min(2 * pause_, limits_.max_pause);
  const auto until = boost::chrono::steady_clock::now() +
                     boost::chrono::microseconds(absl::ToInt64Microseconds(pause));
  while (!closed_ && changed_.wait_until(*lock, until) != boost::cv_status::timeout) {
  }
}

}  // namespace gr::baseband_offload
