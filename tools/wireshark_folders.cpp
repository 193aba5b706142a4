// SPDX-License-Identifier: BSD-3-Clause
#include "wireshark_folders.hpp"

#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "failure.hpp"
#include "shell_quoting.hpp"

namespace softrnic::tools {

namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "softrnic.so";
constexpr const char* kExtcap = "softrnic";

// What the profile is made of; Wireshark adds files of its own to the folder.
constexpr const char* kProfileFiles[] = {"preferences", "colorfilters", "dfilter_buttons",
                                         "io_graphs"};

fs::path own_path() {
  std::error_code error;
  const fs::path command = fs::read_symlink("/proc/self/exe", error);
  if (error) fail("cannot tell where this command lies: is /proc mounted?");
  return command;
}

// What Wireshark calls for interfaces of ours.
std::string extcap_program() {
  return fmt::format("#!/bin/sh\nexec {} extcap \"$@\"\n", quoted_for_shell(own_path().string()));
}

fs::path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? fs::path() : fs::path(value);
}

// Until then it looked for programs of the user's own among the user's configuration.
bool before_wireshark_4_2() {
  unsigned major = 0;
  unsigned minor = 0;
  const bool known = std::sscanf(SOFTRNIC_WIRESHARK_SERIES, "%u.%u", &major, &minor) == 2;
  return known && (major < 4 || (major == 4 && minor < 2));
}

// Where a build leaves the plugin, from this command's folder.
fs::path source_folder() {
  const fs::path folder = (own_path().parent_path() / "../wireshark").lexically_normal();
  if (!fs::exists(folder / SOFTRNIC_WIRESHARK_SERIES / "epan" / kPlugin)) {
    fail(
        "the plugin is not in {}: build it with `cmake --build build/release --target "
        "softrnic_dissector`",
        folder.string());
  }
  return folder;
}

}  // namespace

std::vector<WiresharkFile> WiresharkFolders::files() const {
  std::vector<WiresharkFile> files{{plugin_source, plugin_folder / kPlugin, false}};
  for (const char* name : kProfileFiles) {
    files.push_back(
        {profile_source.empty() ? fs::path() : profile_source / name, profile_folder / name, true});
  }
  files.push_back({{}, extcap_folder / kExtcap, false, extcap_program()});
  return files;
}

WiresharkFolders wireshark_user_folders() {
  const fs::path home = from_environment("HOME");
  if (!home.is_absolute()) {
    fail("HOME is not set to an absolute path: set it, and Wireshark's folders follow");
  }
  fs::path configuration = from_environment("XDG_CONFIG_HOME");
  if (!configuration.is_absolute()) configuration = home / ".config";
  WiresharkFolders folders;
  folders.plugin_folder =
      home / ".local/lib/wireshark/plugins" / SOFTRNIC_WIRESHARK_SERIES / "epan";
  folders.profile_folder = configuration / "wireshark/profiles/RoCE";
  folders.extcap_folder = before_wireshark_4_2() ? configuration / "wireshark/extcap"
                                                 : home / ".local/lib/wireshark/extcap";
  return folders;
}

WiresharkFolders wireshark_folders() {
  WiresharkFolders folders = wireshark_user_folders();
  if (std::string_view(SOFTRNIC_WIRESHARK_SERIES).empty()) {
    fail("this softrnic was built without the plugin: configure it with SOFTRNIC_DISSECTOR=ON");
  }
  const fs::path source = source_folder();
  folders.plugin_source = source / SOFTRNIC_WIRESHARK_SERIES / "epan" / kPlugin;
  folders.profile_source = source / "profiles/RoCE";
  for (const WiresharkFile& file : folders.files()) {
    if (file.text.empty() && !fs::exists(file.source)) {
      fail("{} is missing: build softrnic anew", file.source.string());
    }
  }
  return folders;
}

}  // namespace softrnic::tools
