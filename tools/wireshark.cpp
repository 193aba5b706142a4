// SPDX-License-Identifier: BSD-3-Clause
// softrnic wireshark: the plugin and its profile into the user's own Wireshark folders, and out.
#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "command_line.hpp"
#include "failure.hpp"
#include "subcommands.hpp"
#include "wireshark_folders.hpp"

namespace softrnic::tools {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

struct Options {
  std::vector<std::string> words;
  bool profile_only = false;
  bool force = false;
  bool json = false;
};

bool parse_options(int argc, char** argv, Options& options) {
  CommandLine line(
      "wireshark", "Usage: softrnic wireshark install|uninstall|status [OPTIONS]",
      "Puts the RoCE plugin and the profile \"RoCE\" into your own Wireshark folders,\n"
      "takes them out, or says what is there. Needs no privilege.",
      "  softrnic wireshark install\n"
      "  wireshark -C RoCE capture.pcapng\n");
  line.words("install|uninstall|status", 1, options.words);
  line.flag("profile-only", options.profile_only, "leave the plugin alone");
  line.flag("force", options.force, "replace or remove profile files that you have changed");
  line.flag("json", options.json, "print one JSON object instead of text");
  return line.parse(argc, argv);
}

std::optional<std::string> contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// Whether it is installed as it is to be.
bool same_contents(const WiresharkFile& file) {
  const std::optional<std::string> wanted =
      file.text.empty() ? contents(file.source) : std::optional(file.text);
  return wanted && wanted == contents(file.destination);
}

// "4.0" of "TShark (Wireshark) 4.0.17 (Git v4.0.17 ...)."; nothing when there is no Wireshark.
std::optional<std::string> installed_series() {
  for (const char* command : {"tshark --version 2>/dev/null", "wireshark --version 2>/dev/null"}) {
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(command, "r"), pclose);
    if (!pipe) continue;
    std::array<char, 256> line{};
    if (std::fgets(line.data(), line.size(), pipe.get()) == nullptr) continue;
    unsigned major = 0;
    unsigned minor = 0;
    const std::string text(line.data());
    const std::size_t at = text.find_first_of("0123456789");
    if (at == std::string::npos) continue;
    if (std::sscanf(text.c_str() + at, "%u.%u", &major, &minor) != 2) continue;
    return fmt::format("{}.{}", major, minor);
  }
  return std::nullopt;
}

void require_matching_wireshark() {
  const std::optional<std::string> series = installed_series();
  if (!series) {
    fail(
        "no Wireshark is in PATH: install it (Debian: apt install wireshark), or use "
        "--profile-only");
  }
  if (*series != SOFTRNIC_WIRESHARK_SERIES) {
    fail(
        "this Wireshark is {} and the plugin was built for {}: install the wireshark-dev of "
        "{} and build softrnic anew",
        *series, SOFTRNIC_WIRESHARK_SERIES, *series);
  }
}

void write_program(const std::string& text, const fs::path& path, std::error_code& error) {
  std::ofstream out(path, std::ios::binary);
  out << text << std::flush;
  if (!out) {
    error = std::make_error_code(std::errc::io_error);
    return;
  }
  fs::permissions(path, fs::perms(0755), error);
}

// Written beside its place and moved there, so that a Wireshark that starts meanwhile sees the old
// file or the new one.
void put_in_place(const WiresharkFile& file) {
  const fs::path& destination = file.destination;
  std::error_code error;
  fs::create_directories(destination.parent_path(), error);
  const fs::path fresh = destination.string() + fmt::format(".{}", getpid());
  if (!error && file.text.empty()) {
    fs::copy_file(file.source, fresh, fs::copy_options::overwrite_existing, error);
  } else if (!error) {
    write_program(file.text, fresh, error);
  }
  if (!error) fs::rename(fresh, destination, error);
  if (!error) return;
  std::error_code ignored;
  fs::remove(fresh, ignored);
  fail("cannot write {}: {}", destination.string(), error.message());
}

std::string state_of(const WiresharkFile& file) {
  if (!fs::exists(file.destination)) return "absent";
  if (file.source.empty() && file.text.empty()) return "present";
  return same_contents(file) ? "installed" : "different";
}

struct Step {
  fs::path path;
  std::string outcome;
};

void report(const Options& options, const std::vector<Step>& steps) {
  if (options.json) {
    Json root{{"wireshark", SOFTRNIC_WIRESHARK_SERIES}, {"files", Json::array()}};
    for (const Step& step : steps) {
      root["files"].push_back({{"path", step.path.string()}, {"outcome", step.outcome}});
    }
    fmt::print("{}\n", root.dump(2));
    return;
  }
  for (const Step& step : steps) fmt::print("{:<10}{}\n", step.outcome, step.path.string());
}

bool concerns(const Options& options, const WiresharkFile& file) {
  return file.is_profile || !options.profile_only;
}

std::string install_file(const Options& options, const WiresharkFile& file) {
  const std::string state = state_of(file);
  if (state == "installed") return "unchanged";
  if (state == "different" && file.is_profile && !options.force) return "kept";
  put_in_place(file);
  return state == "absent" ? "installed" : "replaced";
}

void install(const Options& options) {
  const WiresharkFolders folders = wireshark_folders();
  if (!options.profile_only) require_matching_wireshark();
  std::vector<Step> steps;
  for (const WiresharkFile& file : folders.files()) {
    if (concerns(options, file)) {
      steps.push_back({file.destination, install_file(options, file)});
    }
  }
  report(options, steps);
  if (options.json) return;
  for (const Step& step : steps) {
    if (step.outcome == "kept") {
      fmt::print("Files you have changed were kept: --force replaces them.\n");
      break;
    }
  }
  if (geteuid() == 0 && !options.profile_only) {
    fmt::print(
        "As root, Wireshark and tshark ignore plugins in a home folder: run them as yourself, or "
        "install for everybody with `cmake --install build/release --component wireshark`.\n");
    return;
  }
  fmt::print("Open a capture with it: wireshark -C RoCE FILE\n");
  if (!options.profile_only) {
    fmt::print("Every segment of shared memory is an interface of it, while somebody is on it.\n");
  }
}

std::string uninstall_file(const Options& options, const WiresharkFile& file) {
  if (!fs::exists(file.destination)) return "absent";
  const bool changed = file.is_profile && !file.source.empty() && !same_contents(file);
  if (changed && !options.force) return "kept";
  std::error_code error;
  fs::remove(file.destination, error);
  if (error) {
    fail("cannot remove {}: {}", file.destination.string(), error.message());
  }
  return "removed";
}

// Wireshark remembers window sizes in a profile; that alone is no reason to keep the folder.
void remove_if_deserted(const fs::path& folder) {
  std::error_code ignored;
  std::size_t others = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, ignored)) {
    if (entry.path().filename() != "recent") ++others;
  }
  if (others != 0) return;
  fs::remove(folder / "recent", ignored);
  fs::remove(folder, ignored);
}

void uninstall(const Options& options) {
  WiresharkFolders folders = wireshark_user_folders();
  try {
    folders = wireshark_folders();
  } catch (const Failure&) {
    // Without ours at hand nobody can tell whether theirs were changed: they go.
  }
  std::vector<Step> steps;
  for (const WiresharkFile& file : folders.files()) {
    if (concerns(options, file)) {
      steps.push_back({file.destination, uninstall_file(options, file)});
    }
  }
  remove_if_deserted(folders.profile_folder);
  std::error_code ignored;
  if (!options.profile_only) {
    fs::remove(folders.plugin_folder, ignored);  // only when empty
    fs::remove(folders.extcap_folder, ignored);
  }
  report(options, steps);
}

void show_status(const Options& options) {
  const WiresharkFolders folders = wireshark_folders();
  const std::optional<std::string> series = installed_series();
  std::vector<Step> steps;
  for (const WiresharkFile& file : folders.files()) {
    if (concerns(options, file)) steps.push_back({file.destination, state_of(file)});
  }
  report(options, steps);
  if (options.json) return;
  fmt::print("Wireshark: {}; the plugin was built for {}\n", series.value_or("none in PATH"),
             SOFTRNIC_WIRESHARK_SERIES);
}

}  // namespace

int run_wireshark(int argc, char** argv) {
  Options options;
  if (!parse_options(argc, argv, options)) return kSuccess;
  const std::string action = options.words.empty() ? "" : options.words.front();
  if (action == "install") {
    install(options);
  } else if (action == "uninstall") {
    uninstall(options);
  } else if (action == "status") {
    show_status(options);
  } else {
    fail_usage("{}: say install, uninstall or status", action.empty() ? "no action" : action);
  }
  return kSuccess;
}

}  // namespace softrnic::tools
