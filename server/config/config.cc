#include "server/config/config.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "common/manual/manual.h"
#include "kernels/base/nearest.h"
#include "kernels/base/status_macros.h"
#include "server/config/config_file.h"
#include "server/config/settings.h"

namespace baseband::server {
namespace {

constexpr absl::string_view kEnvironmentPrefix = "BASEBANDD_";

constexpr char kMetricsListen[] = "--metrics-listen";

constexpr char kFooter[] =
    R"(Each flag can also be set in the environment and in the file that --config names:
--max-streams is BASEBANDD_MAX_STREAMS there and max_streams = VALUE here. Flags win over
the environment, the environment over the file.
Numbers take k, M and G, or Ki, Mi and Gi; durations have a unit: 500us, 5ms, 30s, 10min.
An address that other hosts can reach is refused without --tls-cert and --tls-key, unless
--allow-plaintext-network says that the network is trusted.
Exit codes: 0 drained, 1 wrong settings, 2 could not start, 3 no device is left (all were lost:
start it again), 130 a second signal cut the drain short.)";

std::vector<std::string> KnownNames() {
  std::vector<std::string> names = SettingNames();
  names.insert(names.begin(), "config");
  return names;
}

// The setting max_streams is the flag --max-streams.
std::string FlagName(absl::string_view setting) {
  return absl::StrCat("--", absl::StrReplaceAll(setting, {{"_", "-"}}));
}

bool IsKnown(const std::string& name) {
  const std::vector<std::string> names = KnownNames();
  return std::find(names.begin(), names.end(), name) != names.end();
}

std::string EnvironmentName(absl::string_view name) {
  return absl::StrCat(kEnvironmentPrefix, absl::AsciiStrToUpper(name));
}

// ------------------------------------------------------------------------------- command line

// --lanes=1..32    Batches in flight on each GPU [4]
class HelpFormatter : public CLI::Formatter {
 public:
  HelpFormatter() { column_width(38); }
  std::string make_option_opts(const CLI::Option* option) const override {
    const std::string value = option->get_type_name();
    return value.empty() ? "" : absl::StrCat("=", value);
  }
  std::string make_option_desc(const CLI::Option* option) const override {
    const std::string standard = option->get_default_str();
    return absl::StrCat(option->get_description(),
                        standard.empty() ? "" : absl::StrCat(" [", standard, "]"));
  }
};

struct Flags {
  Given given;
  std::string config_file;
  bool check_config = false;
  std::string output;  // of --help, --version and --manual
};

// The arguments as CLI11 wants them: last one first, and with a value where ours need none. An
// empty value would be taken for one that follows; --metrics-listen= means off.
std::vector<std::string> Arguments(int argc, const char* const* argv) {
  std::vector<std::string> arguments(argv + std::min(argc, 1), argv + argc);
  for (std::string& argument : arguments) {
    if (argument == absl::StrCat(kMetricsListen, "=")) argument += "off";
    for (const Setting& setting : Settings()) {
      if (setting.is_switch && argument == FlagName(setting.name)) argument += "=true";
    }
  }
  std::reverse(arguments.begin(), arguments.end());
  return arguments;
}

absl::Status UnknownArgument(const std::string& argument) {
  if (!absl::StartsWith(argument, "-")) {
    return absl::InvalidArgumentError(
        absl::StrCat("unexpected argument '", argument, "': basebandd takes flags only"));
  }
  const std::string flag = argument.substr(0, argument.find('='));
  std::vector<std::string> known = {"--help", "--version", "--manual", "--check-config"};
  for (const std::string& name : KnownNames()) known.push_back(FlagName(name));
  return absl::InvalidArgumentError(
      absl::StrCat("unknown flag ", flag, WhereToLook(NearName(flag, known))));
}

// What CLI11 would tell in words of its own, or not mind: flags that lack a value, which it takes
// from a flag behind them, and such as take none.
absl::Status CheckValues(int argc, const char* const* argv) {
  std::map<std::string, std::string> values = {{"--config", "FILE"}};
  for (const Setting& setting : Settings()) {
    if (!setting.is_switch) values[FlagName(setting.name)] = setting.value;
  }
  const std::set<std::string> without = {"--help", "--version", "--check-config"};
  for (int i = 1; i < argc; ++i) {
    const std::pair<std::string, std::string> parts =
        absl::StrSplit(argv[i], absl::MaxSplits('=', 1));
    const auto& [flag, value] = parts;
    const bool has_sign = absl::StrContains(argv[i], '=');
    if (has_sign && without.count(flag) > 0) {
      return absl::InvalidArgumentError(absl::StrCat(flag, " takes no value, and has ", value));
    }
    const auto found = values.find(flag);
    if (found == values.end()) continue;
    if (has_sign ? value.empty() && flag != kMetricsListen
                 : i + 1 == argc || absl::StartsWith(argv[i + 1], "--")) {
      return absl::InvalidArgumentError(absl::StrCat(flag, " needs a value, ", found->second));
    }
    if (!has_sign) ++i;
  }
  return absl::OkStatus();
}

absl::StatusOr<Flags> ReadFlags(int argc, const char* const* argv) {
  BASEBAND_RETURN_IF_ERROR(CheckValues(argc, argv));
  CLI::App app(
      "basebandd: a gRPC server for LDPC codes, carrier recovery, down-conversion and searches for "
      "a\n"
      "minimum, on GPUs or the CPU.\n",
      "basebandd");
  app.formatter(std::make_shared<HelpFormatter>());
  app.footer(kFooter);
  app.set_version_flag("--version", absl::StrCat("basebandd ", std::string(Version())));
  AddManualFlag(&app, /*section=*/8, std::string(Version()));
  app.allow_extras();
  Flags flags;
  app.add_flag(
      "--check-config", flags.check_config,
      "Print the configuration these flags, environment and file amount to, and exit: with 1\n"
      "if they are wrong, or files of certificates and tokens or cores that they name");
  CLI::Option* const config =
      app.add_option("--config", flags.config_file, "A file of settings: INI or TOML");
  config->type_name("FILE");
  const Config defaults;
  for (const Setting& setting : Settings()) {
    CLI::Option* const option =
        app.add_option(FlagName(setting.name), flags.given[setting.name], setting.help);
    option->type_name(setting.value)->allow_extra_args(false);
    option->default_str(absl::StrJoin(setting.get(defaults), " "));
  }
  try {
    app.parse(Arguments(argc, argv));
  } catch (const CLI::CallForHelp&) {
    flags.output = app.help();
  } catch (const ManualWanted& manual) {
    flags.output = manual.what();
  } catch (const CLI::CallForVersion& version) {
    flags.output = absl::StrCat(version.what(), "\n");
  } catch (const CLI::Error& error) {
    return absl::InvalidArgumentError(error.what());
  }
  if (const std::vector<std::string> extras = app.remaining(); !extras.empty()) {
    return UnknownArgument(extras.front());
  }
  for (const Setting& setting : Settings()) {
    if (app.count(FlagName(setting.name)) == 0) flags.given.erase(setting.name);
  }
  return flags;
}

// -------------------------------------------------------------------------------- environment

bool IsFromKubernetes(absl::string_view name) {
  return name == "PORT" || absl::StartsWith(name, "PORT_") || absl::StartsWith(name, "SERVICE_");
}

absl::StatusOr<Given> ReadEnvironment(const char* const* environment) {
  Given given;
  for (; environment != nullptr && *environment != nullptr; ++environment) {
    absl::string_view entry = *environment;
    if (!absl::ConsumePrefix(&entry, kEnvironmentPrefix)) continue;
    const std::pair<absl::string_view, absl::string_view> parts =
        absl::StrSplit(entry, absl::MaxSplits('=', 1));
    if (IsFromKubernetes(parts.first)) continue;
    const std::string name = absl::AsciiStrToLower(parts.first);
    if (!IsKnown(name) || parts.first != absl::AsciiStrToUpper(name)) {
      const std::string near = NearName(name, KnownNames());
      return absl::InvalidArgumentError(
          absl::StrCat("unknown environment variable ", kEnvironmentPrefix, parts.first,
                       WhereToLook(near.empty() ? near : EnvironmentName(near))));
    }
    given[name] = {std::string(parts.second)};
  }
  for (const Setting& setting : Settings()) {
    const auto found = given.find(setting.name);
    if (setting.repeats && found != given.end()) {
      found->second = absl::StrSplit(found->second[0], ',');
    }
  }
  return given;
}

// ----------------------------------------------------------------------------------- together

// Sets what `given` names and `config` has not got from a stronger place, and notes the place.
absl::Status Apply(const Given& given, const std::function<std::string(const std::string&)>& title,
                   const std::string& place, Config* config,
                   std::map<std::string, std::string>* places) {
  for (const Setting& setting : Settings()) {
    const auto found = given.find(setting.name);
    if (found == given.end()) continue;
    const std::string name = title(setting.name);
    if (found->second.size() != 1 && (!setting.repeats || found->second.empty())) {
      return absl::InvalidArgumentError(absl::StrCat(
          name, " has ", found->second.size(), " values (", absl::StrJoin(found->second, " "),
          "); it takes one", setting.name == "device" ? ", in quotes if it has a comma" : ""));
    }
    BASEBAND_RETURN_IF_ERROR(setting.set(name, found->second, config));
    (*places)[setting.name] = absl::StrCat(place, name);
  }
  return absl::OkStatus();
}

std::string Print(const Config& config, const std::map<std::string, std::string>& places) {
  std::string text = absl::StrCat("# Effective configuration of basebandd ", Version(), "\n");
  for (const Setting& setting : Settings()) {
    std::vector<std::string> values = setting.get(config);
    for (std::string& value : values) {
      if (setting.is_text) value = absl::StrCat("\"", value, "\"");
    }
    if (const auto place = places.find(setting.name); place != places.end()) {
      absl::StrAppend(&text, "# from ", place->second, "\n");
    }
    const std::string joined = absl::StrJoin(values, ", ");
    absl::StrAppend(&text, setting.name, " = ",
                    setting.repeats ? absl::StrCat("[", joined, "]") : joined, "\n");
  }
  return text;
}

// That `effective`, read as a file, says what `config` does.
absl::Status CheckPrintable(const std::string& effective, const Config& config) {
  BASEBAND_ASSIGN_OR_RETURN(Given given, ReadConfigText("that would be printed", effective));
  for (const Setting& setting : Settings()) {
    const std::vector<std::string> values = setting.get(config);
    if (given[setting.name] != values) {
      return absl::InvalidArgumentError(absl::StrCat(setting.name, " ",
                                                     absl::CHexEscape(absl::StrJoin(values, " ")),
                                                     " cannot be written as a line of a file"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view Version() { return BASEBAND_VERSION; }

absl::StatusOr<Command> ParseCommandLine(int argc, const char* const* argv,
                                         const char* const* environment) {
  BASEBAND_ASSIGN_OR_RETURN(Flags flags, ReadFlags(argc, argv));
  Command command;
  if (!flags.output.empty()) {
    command.action = Command::Action::kPrint;
    command.output = std::move(flags.output);
    return command;
  }
  BASEBAND_ASSIGN_OR_RETURN(Given from_environment, ReadEnvironment(environment));
  std::string path = flags.config_file;
  if (const auto found = from_environment.find("config"); found != from_environment.end()) {
    if (path.empty()) path = found->second[0];
  }
  BASEBAND_ASSIGN_OR_RETURN(const Given from_file, ReadConfigFile(path));

  // Weakest first, so that the stronger overwrite.
  std::map<std::string, std::string> places;
  Config& config = command.config;
  const auto in_file = [&path](const std::string& name) { return absl::StrCat(path, ": ", name); };
  const auto as_variable = [](const std::string& name) { return EnvironmentName(name); };
  const auto as_flag = [](const std::string& name) { return FlagName(name); };
  BASEBAND_RETURN_IF_ERROR(Apply(from_file, in_file, "file ", &config, &places));
  BASEBAND_RETURN_IF_ERROR(Apply(from_environment, as_variable, "environment ", &config, &places));
  BASEBAND_RETURN_IF_ERROR(Apply(flags.given, as_flag, "flag ", &config, &places));
  BASEBAND_RETURN_IF_ERROR(CheckTogether(config));
  command.effective = Print(config, places);
  if (flags.check_config) {
    BASEBAND_RETURN_IF_ERROR(CheckPrintable(command.effective, config));
    command.action = Command::Action::kCheck;
    command.output = command.effective;
  }
  return command;
}

}  // namespace baseband::server
