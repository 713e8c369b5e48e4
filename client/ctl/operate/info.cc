// `info`: what the server says it can do.
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/ctl/carrier/constellations.h"
#include "client/ctl/common/command.h"
#include "client/ctl/common/terminal.h"
#include "google/protobuf/util/json_util.h"

namespace baseband::ctl {
namespace {

using AddRow = std::function<void(const char* name, const std::string& value)>;

// "int8 int16": names of the contract without what they all begin with.
template <typename Enums, typename Name>
std::string ShortNames(const Enums& values, absl::string_view prefix, const Name& name) {
  return absl::StrJoin(values, " ", [&](std::string* out, int value) {
    const std::string whole = name(value);
    absl::StrAppend(out, absl::AsciiStrToLower(absl::StripPrefix(whole, prefix)));
  });
}

void PrintSharedChannel(const v1::SharedChannelCapabilities& shared, const AddRow& row) {
  if (shared.max_tb_bytes() == 0) {
    return;  // an older server
  }
  row("5G blocks",
      absl::StrCat("up to ", shared.max_tb_bytes(), " bytes and ", shared.max_coded_bits(),
                   " coded bits, ", Plural(shared.max_layers(), "layer"), ", ",
                   absl::StrJoin(shared.qm(), " "), " bits a symbol"));
  const auto input = [](int value) {
    return v1::SharedChannelInput_Name(static_cast<v1::SharedChannelInput>(value));
  };
  const auto output = [](int value) {
    return v1::SharedChannelOutput_Name(static_cast<v1::SharedChannelOutput>(value));
  };
  row("received", ShortNames(shared.inputs(), "SHARED_CHANNEL_INPUT_", input));
  row("sent", ShortNames(shared.outputs(), "SHARED_CHANNEL_OUTPUT_", output));
  const auto stop = [](int value) { return v1::EarlyStop_Name(static_cast<v1::EarlyStop>(value)); };
  if (shared.early_stops_size() > 0) {
    row("early stop", ShortNames(shared.early_stops(), "EARLY_STOP_", stop));
  }
  row("HARQ", shared.harq_memory_bytes() == 0
                  ? "soft bits travel with the requests"
                  : absl::StrCat("soft bits travel with the requests, or the server holds up to ",
                                 HumanBytes(static_cast<double>(shared.harq_memory_bytes()))));
}

void PrintHuman(const std::string& target, const v1::GetCapabilitiesResponse& response) {
  const auto row = [](const char* name, const std::string& value) {
    absl::PrintF("%-12s %s\n", name, Wrap(value, 66, 13));
  };
  row("server", absl::StrCat("basebandd ", response.version(), " at ", target));
  for (const v1::DeviceCapabilities& device : response.devices()) {
    std::string memory;
    if (device.memory_bytes() > 0) {
      memory = absl::StrCat(", ", HumanBytes(static_cast<double>(device.memory_bytes())));
    }
    row("device",
        absl::StrCat(device.id(), ": ", device.name(), memory, ", ", Plural(device.lanes(), "lane"),
                     ", ", device.healthy() ? "healthy" : "NOT HEALTHY",
                     device.standby() ? ", on standby" : ""));
  }
  row("request",
      absl::StrCat("at most ", HumanBytes(static_cast<double>(response.max_request_bytes())),
                   " and ", Plural(response.max_blocks_per_request(), "code block")));
  row("queue",
      absl::StrCat("at most ", Plural(response.queue_capacity_requests(), "request"), " and ",
                   HumanBytes(static_cast<double>(response.queue_capacity_bytes()))));
  const v1::SharedMemoryCapabilities& shared = response.shared_memory();
  row("memory", shared.listen().empty()
                    ? "none is shared with clients of its host"
                    : absl::StrCat("up to ", HumanBytes(static_cast<double>(shared.max_bytes())),
                                   " shared with a client of its host, at ", shared.listen(),
                                   shared.max_ring_entries() == 0 ? "" : ", also for rings"));
  const v1::LdpcCapabilities& ldpc = response.ldpc();
  row("5G NR", absl::StrCat("base graphs 1 and 2, ", ldpc.nr_lifting_sizes_size(),
                            " lifting sizes: ", absl::StrJoin(ldpc.nr_lifting_sizes(), " ")));
  row("802.16e", absl::StrCat("rates ", absl::StrJoin(ldpc.wimax_rates(), " "), "; n ",
                              absl::StrJoin(ldpc.wimax_n(), " ")));
  row("802.11n", absl::StrCat("rates ", absl::StrJoin(ldpc.wifi_rates(), " "), "; n ",
                              absl::StrJoin(ldpc.wifi_n(), " ")));
  row("own codes", absl::StrCat("up to ", ldpc.max_custom_rows(), " rows, ",
                                ldpc.max_custom_columns(), " columns, Zc ", ldpc.max_custom_zc(),
                                ", ", ldpc.max_custom_blocks(), " blocks that are not zero"));
  row("LLR", absl::StrFormat("%d bits signed, recommended scale %g", ldpc.llr_bits(),
                             ldpc.recommended_llr_scale()));
  row("iterations", absl::StrCat("at most ", ldpc.max_iterations()));
  PrintSharedChannel(response.shared_channel(), row);
  const v1::CarrierCapabilities& carrier = response.carrier();
  if (carrier.constellations_size() == 0) {
    return;
  }
  const std::vector<std::string> names(carrier.constellations().begin(),
                                       carrier.constellations().end());
  std::string plain;  // those without a code rate share a line
  for (const std::string& group : GroupNames(names)) {
    if (!absl::StrContains(group, ' ')) {
      absl::StrAppend(&plain, plain.empty() ? "" : " ", group);
    }
  }
  row("carriers", plain);
  for (const std::string& group : GroupNames(names)) {
    if (absl::StrContains(group, ' ')) {
      row("", group);
    }
  }
  row("own points", absl::StrCat("up to ", carrier.max_points()));
  row("frames", absl::StrCat(carrier.min_frame_symbols(), " to ", carrier.max_frame_symbols(),
                             " symbols; power up to ", carrier.max_power(), ", sweeps of up to ",
                             carrier.max_sweep_bins(), " candidates"));
  if (carrier.has_timing()) {
    const v1::TimingCapabilities& timing = carrier.timing();
    row("or samples",
        absl::StrFormat("%d to %d a symbol, roll-off %g to %g, clock errors to %g",
                        timing.min_samples_per_symbol(), timing.max_samples_per_symbol(),
                        timing.min_roll_off(), timing.max_roll_off(), timing.max_clock_error()));
    if (timing.max_taps_reach() > 0) {
      row("own pulses", absl::StrFormat("up to %d taps a symbol, %d symbols to either side",
                                        timing.max_taps_per_symbol(), timing.max_taps_reach()));
    }
  }
}

class InfoCommand final : public Command {
 public:
  CLI::App* AddTo(CLI::App* app) override {
    CLI::App* command = app->add_subcommand(
        "info", "Shows the server's devices, limits, codes and constellations.");
    command->footer(
        "Examples:\n"
        "  basebandctl info\n"
        "  basebandctl info --json | jq .carrier.constellations");
    return command;
  }

  int Run(const GlobalFlags& flags) override {
    const Session session(flags);
    if (session.exit_code() != kOk) {
      return session.exit_code();
    }
    if (!flags.json) {
      PrintHuman(flags.target, session.capabilities());
      return kOk;
    }
    google::protobuf::util::JsonPrintOptions options;
    options.add_whitespace = true;
#if GOOGLE_PROTOBUF_VERSION >= 5026000  // 26 gave it another name
    options.always_print_fields_with_no_presence = true;
#else
    options.always_print_primitive_fields = true;
#endif
    options.preserve_proto_field_names = true;
    std::string json;
    if (!google::protobuf::util::MessageToJsonString(session.capabilities(), &json, options).ok()) {
      return Fail(absl::InternalError("the answer has no JSON form"), kRpcFailed);
    }
    std::fputs(json.c_str(), stdout);
    return kOk;
  }
};

}  // namespace

std::unique_ptr<Command> MakeInfoCommand() { return std::make_unique<InfoCommand>(); }

}  // namespace baseband::ctl
