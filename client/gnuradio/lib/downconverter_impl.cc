#include "client/gnuradio/lib/downconverter_impl.h"

#include <gnuradio/block_detail.h>
#include <gnuradio/buffer_reader.h>
#include <gnuradio/io_signature.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "client/gnuradio/lib/samples.h"
#include "client/gnuradio/lib/waker.h"

namespace gr::baseband_offload {
namespace {

// In a message: of a channel the server takes no more.
constexpr size_t kMostRetunes = 4096;

int BytesOf(wideband_format format) {
  switch (format) {
    case wideband_format::sc16:
      return 4;
    case wideband_format::sc8:
      return 2;
    default:
      return 8;
  }
}

v1::WidebandFormat ToProto(wideband_format format) {
  switch (format) {
    case wideband_format::sc16:
      return v1::WIDEBAND_FORMAT_COMPLEX_INT16;
    case wideband_format::sc8:
      return v1::WIDEBAND_FORMAT_COMPLEX_INT8;
    default:
      return v1::WIDEBAND_FORMAT_COMPLEX_FLOAT32;
  }
}

void Check(const downconvert_options& options) {
  if (!(options.sample_rate_hz > 0)) {
    throw std::invalid_argument("sample_rate_hz " + std::to_string(options.sample_rate_hz) +
                                " is not above 0");
  }
  CheckRange("sample_rate_hz", options.sample_rate_hz, 0, 1e15);
  CheckRange("frequencies_hz' size", static_cast<double>(options.frequencies_hz.size()), 1, 1024);
  for (const double frequency : options.frequencies_hz) {
    CheckRange("frequencies_hz' entry", frequency, -options.sample_rate_hz, options.sample_rate_hz);
  }
  CheckRange("up", options.up, 1, 4096);
  CheckRange("down", options.down, 1, 4096);
  CheckRange("taps' size", static_cast<double>(options.taps.size()), 0, 65536);
  if (!options.taps.empty()) return;
  const double half =
      options.sample_rate_hz / 2 * std::min(1.0, static_cast<double>(options.up) / options.down);
  if (!(options.pass_edge_hz > 0)) {
    throw std::invalid_argument("pass_edge_hz " + std::to_string(options.pass_edge_hz) +
                                " is not above 0, and there are no taps");
  }
  CheckRange("pass_edge_hz", options.pass_edge_hz, 0, half);
  CheckRange("ripple_db", options.ripple_db, 5e-7, 3);
  CheckRange("attenuation_db", options.attenuation_db, 20, 140);
}

v1::DownconvertSetup SetupOf(const downconvert_options& options) {
  v1::DownconvertSetup setup;
  setup.set_sample_rate_hz(options.sample_rate_hz);
  setup.set_format(ToProto(options.input));
  for (size_t i = 0; i < options.frequencies_hz.size(); ++i) {
    v1::DownconvertChannel* channel = setup.add_channels();
    channel->set_output(v1::SAMPLE_FORMAT_FLOAT32);
    v1::ChannelFilter* filter = channel->mutable_filter();
    filter->set_up(static_cast<uint32_t>(options.up));
    filter->set_down(static_cast<uint32_t>(options.down));
    if (!options.taps.empty()) {
      filter->mutable_taps()->Add(options.taps.begin(), options.taps.end());
      continue;
    }
    filter->mutable_mask()->set_pass_edge_hz(options.pass_edge_hz);
    filter->mutable_mask()->set_stop_edge_hz(options.stop_edge_hz);
    filter->mutable_mask()->set_ripple_db(options.ripple_db);
    filter->mutable_mask()->set_attenuation_db(options.attenuation_db);
  }
  return setup;
}

void CheckType(const char* name, const pmt::pmt_t& value, bool is_right, const char* what) {
  if (is_right) return;
  throw std::invalid_argument(std::string(name) + " " + pmt::write_string(value) + " is not " +
                              what);
}

// Of a retuning: all are known, and "freq" is there.
void CheckKeys(const pmt::pmt_t& fields) {
  for (pmt::pmt_t keys = pmt::dict_keys(fields); pmt::is_pair(keys); keys = pmt::cdr(keys)) {
    const std::string key = pmt::write_string(pmt::car(keys));
    if (key != "freq" && key != "chan" && key != "sample" && key != "mode") {
      throw std::invalid_argument("unknown key " + key + ": there are freq, chan, sample and mode");
    }
  }
  if (!pmt::dict_has_key(fields, pmt::mp("freq"))) throw std::invalid_argument("freq is missing");
}

downconvert_options Checked(const downconvert_options& options) {
  Check(options);
  return options;
}

// As many as request_kib holds, and as bring no more than four times that, or 16 MiB, of outputs.
int SamplesOfMessage(const downconvert_options& options, const connection& server) {
  const int64_t bytes = int64_t{server.request_kib} * 1024;
  const int64_t outputs = std::max<int64_t>(4 * bytes, 16 << 20);
  const int64_t outputs_of_up = int64_t{sizeof(gr_complex)} *
                                static_cast<int64_t>(options.frequencies_hz.size()) * options.up;
  const int64_t most =
      std::min(bytes / BytesOf(options.input), outputs * options.down / outputs_of_up);
  return static_cast<int>(std::max<int64_t>(most, 1));
}

}  // namespace

downconverter_impl::downconverter_impl(const downconvert_options& options, const connection& server)
    : gr::block("downconverter", gr::io_signature::make(1, 1, BytesOf(options.input)),
                gr::io_signature::make(static_cast<int>(options.frequencies_hz.size()),
                                       static_cast<int>(options.frequencies_hz.size()),
                                       sizeof(gr_complex))),
      options_(Checked(options)),
      limits_(LimitsOf(server)),
      sample_bytes_(BytesOf(options.input)),
      max_samples_(SamplesOfMessage(options_, server)),
      client_(Connect(server)),
      status_(this, d_logger, server),
      setup_(SetupOf(options)) {
  for (const double frequency : options.frequencies_hz) {
    frequencies_.push_back(ToUnits(frequency, options.sample_rate_hz));
  }
  set_relative_rate(static_cast<uint64_t>(options.up), static_cast<uint64_t>(options.down));
  set_tag_propagation_policy(TPP_DONT);
  message_port_register_in(pmt::mp("command"));
  set_msg_handler(pmt::mp("command"), [this](const pmt::pmt_t& message) { OnCommand(message); });
}

downconvert_counts downconverter_impl::counts() const {
  downconvert_counts counts;
  counts.taken = taken_;
  counts.done = done_;
  counts.dropped = status_.dropped();
  counts.retunes = retunes_;
  return counts;
}

bool downconverter_impl::start() {
  const size_t channels = frequencies_.size();
  pending_.clear();
  last_retune_.assign(channels, 0);
  heard_.assign(channels, {});
  ready_.reset();
  dropped_before_.assign(channels, 0);
  refused_ = false;
  origin_ = nitems_read(0);
  stream_ = std::make_unique<ChannelStream>(
      client_.get(), limits_, setup_, Oscillators(frequencies_), sample_bytes_, WakerOf(this));
  return gr::block::start();
}

bool downconverter_impl::stop() {
  if (stream_ != nullptr) status_.Lose(taken_ - done_ - status_.dropped());
  stream_.reset();
  return gr::block::stop();
}

void downconverter_impl::OnCommand(const pmt::pmt_t& message) {
  try {
    Retuning wanted = Parse(message);
    if (stream_ != nullptr) {
      wanted.sample = std::max(wanted.sample, origin_ + stream_->next_sample());
    }
    // Of the same sample the last one counts; what was for later stays.
    commands_.erase(std::remove_if(commands_.begin(), commands_.end(),
                                   [&](const Retuning& other) {
                                     return other.channel == wanted.channel &&
                                            other.sample == wanted.sample;
                                   }),
                    commands_.end());
    const auto later = std::find_if(commands_.begin(), commands_.end(), [&](const Retuning& other) {
      return other.sample > wanted.sample;
    });
    commands_.insert(later, wanted);
  } catch (const std::exception& error) {
    status_.RefuseCommand(pmt::write_string(message) + ": " + error.what());
  }
}

Retuning downconverter_impl::Parse(const pmt::pmt_t& message) const {
  pmt::pmt_t fields = message;
  if (pmt::is_pair(message) && pmt::is_symbol(pmt::car(message))) {
    fields = pmt::dict_add(pmt::make_dict(), pmt::car(message), pmt::cdr(message));
  }
  if (!pmt::is_dict(fields)) throw std::invalid_argument("neither a pair nor a dictionary");
  CheckKeys(fields);
  const auto field = [&](const char* name, const pmt::pmt_t& otherwise) {
    return pmt::dict_ref(fields, pmt::mp(name), otherwise);
  };
  const pmt::pmt_t freq = field("freq", pmt::PMT_NIL);
  CheckType("freq", freq, pmt::is_real(freq) || pmt::is_integer(freq), "a number");
  const double frequency = pmt::to_double(freq);
  CheckRange("freq", frequency, -options_.sample_rate_hz, options_.sample_rate_hz);
  const pmt::pmt_t chan = field("chan", pmt::from_long(0));
  CheckType("chan", chan, pmt::is_integer(chan), "a long");
  const long channel = pmt::to_long(chan);
  CheckRange("chan", static_cast<double>(channel), 0, static_cast<double>(frequencies_.size()) - 1);
  const pmt::pmt_t sample = field("sample", pmt::from_uint64(0));
  CheckType("sample", sample,
            pmt::is_uint64(sample) || (pmt::is_integer(sample) && pmt::to_long(sample) >= 0),
            "a uint64");
  const pmt::pmt_t how = field("mode", pmt::mp("continuous"));
  CheckType("mode", how, pmt::is_symbol(how), "a symbol");
  const std::string mode = pmt::symbol_to_string(how);
  if (mode != "continuous" && mode != "coherent") {
    throw std::invalid_argument("mode '" + mode + "' is neither continuous nor coherent");
  }
  Retuning retuning;
  retuning.channel = static_cast<uint32_t>(channel);
  retuning.sample = pmt::to_uint64(sample);
  retuning.frequency = ToUnits(frequency, options_.sample_rate_hz);
  retuning.coherent = mode == "coherent";
  return retuning;
}

void downconverter_impl::Append(const void* in, int samples) {
  if (options_.input == wideband_format::fc32) {
    AppendSamples(static_cast<const gr_complex*>(in), samples, &pending_);
  } else {
    pending_.append(static_cast<const char*>(in),
                    static_cast<size_t>(samples) * static_cast<size_t>(sample_bytes_));
  }
  taken_ += static_cast<uint64_t>(samples);
}

void downconverter_impl::SendPending() {
  if (pending_.empty() || !stream_->HasRoom()) return;
  const uint64_t begin = stream_->next_sample();
  const uint64_t end = begin + pending_.size() / static_cast<size_t>(sample_bytes_);
  std::vector<Retuning> now;
  std::vector<Retuning> later;
  for (const Retuning& command : commands_) {
    Retuning retuning = command;
    // Sample 0 has the setup's; a channel has one new frequency a sample.
    uint64_t& last = last_retune_[retuning.channel];
    retuning.sample -= std::min(retuning.sample, origin_);
    retuning.sample = std::max({retuning.sample, begin, uint64_t{1}, last});
    if (retuning.sample >= end || now.size() == kMostRetunes) {
      later.push_back(command);
      continue;
    }
    last = retuning.sample + 1;
    now.push_back(retuning);
    frequencies_[retuning.channel] = retuning.frequency;
    heard_[retuning.channel].push_back(
        {stream_->OutputsBefore(retuning.sample, static_cast<int>(retuning.channel)),
         ToHz(retuning.frequency, options_.sample_rate_hz)});
  }
  commands_.swap(later);
  retunes_ += now.size();
  stream_->Send(std::exchange(pending_, std::string()), now);
}

int downconverter_impl::Gather(const uint8_t* in, int available) {
  int used = 0;
  for (;;) {
    SendPending();
    const int gathered = static_cast<int>(pending_.size()) / sample_bytes_;
    const int samples = std::min(available - used, max_samples_ - gathered);
    if (samples == 0) return used;
    Append(in + int64_t{used} * sample_bytes_, samples);
    used += samples;
  }
}

void downconverter_impl::forecast(int, gr_vector_int& required) {
  status_.Report(stream_->TakeEvents());
  const bool is_input_done = detail()->input(0)->done();
  const bool has_work = refused_ || ready_ || stream_->IsReady() ||
                        (is_input_done && (!pending_.empty() || stream_->InFlight() > 0));
  required[0] = has_work ? 0 : 1;
}

bool downconverter_impl::HasOutputs() {
  while (!ready_ && stream_->IsReady()) {
    ChannelOutputs outputs = stream_->Take();
    if (outputs.error.ok()) {
      done_ += outputs.samples;
      ready_ = std::move(outputs);
      return true;
    }
    refused_ = status_.GiveUp(outputs.samples, outputs.error);
    for (uint64_t& dropped : dropped_before_) dropped += outputs.samples;
    if (refused_) return false;
  }
  return ready_.has_value();
}

void downconverter_impl::PutTags(size_t channel, uint64_t offset, uint64_t first_output,
                                 int count) {
  const auto port = static_cast<unsigned>(channel);
  std::deque<Heard>& heard = heard_[channel];
  while (!heard.empty() && heard.front().output < first_output + static_cast<uint64_t>(count)) {
    const uint64_t behind = heard.front().output - std::min(first_output, heard.front().output);
    add_item_tag(port, offset + behind, pmt::mp("freq"),
                 pmt::from_double(heard.front().frequency_hz), alias_pmt());
    heard.pop_front();
  }
  if (dropped_before_[channel] > 0) {
    add_item_tag(port, offset, pmt::mp("dropped"), pmt::from_uint64(dropped_before_[channel]),
                 alias_pmt());
    dropped_before_[channel] = 0;
  }
}

bool downconverter_impl::Put(gr_vector_void_star& outputs, std::vector<int>* produced, int room) {
  bool is_over = true;
  bool any = false;
  for (size_t i = 0; i < frequencies_.size(); ++i) {
    ChannelOutputs::Part& part = ready_->parts[i];
    int& at = (*produced)[i];
    const int count = static_cast<int>(std::min<int64_t>(part.count, room - at));
    if (count > 0) {
      std::memcpy(static_cast<gr_complex*>(outputs[i]) + at,
                  ready_->payload.data() + part.begin * int64_t{sizeof(gr_complex)},
                  static_cast<size_t>(count) * sizeof(gr_complex));
      PutTags(i, nitems_written(static_cast<unsigned>(i)) + static_cast<uint64_t>(at),
              part.first_output, count);
      part.first_output += static_cast<uint64_t>(count);
      part.begin += count;
      part.count -= count;
      at += count;
      any = true;
    }
    is_over = is_over && part.count == 0;
  }
  if (is_over) ready_.reset();
  return any || is_over;
}

int downconverter_impl::general_work(int noutput_items, gr_vector_int& ninput_items,
                                     gr_vector_const_void_star& inputs,
                                     gr_vector_void_star& outputs) {
  if (refused_) return WORK_DONE;
  const int used = Gather(static_cast<const uint8_t*>(inputs[0]), ninput_items[0]);
  if (used == 0 && !ready_ && stream_->InFlight() > 0) stream_->Wait();
  status_.Report(stream_->TakeEvents());
  std::vector<int> produced(frequencies_.size());
  while (!refused_ && HasOutputs() && Put(outputs, &produced, noutput_items)) {
  }
  SendPending();
  consume(0, used);
  for (size_t i = 0; i < produced.size(); ++i) produce(static_cast<int>(i), produced[i]);
  return WORK_CALLED_PRODUCE;
}

downconverter::sptr downconverter::make(const downconvert_options& options,
                                        const connection& server) {
  return gnuradio::make_block_sptr<downconverter_impl>(options, server);
}

}  // namespace gr::baseband_offload
