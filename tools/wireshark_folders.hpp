// SPDX-License-Identifier: BSD-3-Clause
// Where the Wireshark plugin and its profile lie: as built or installed, and in the user's folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace softrnic::tools {

// A file that belongs to the plugin, and where the user's Wireshark wants it.
struct WiresharkFile {
  std::filesystem::path source;
  std::filesystem::path destination;
  bool is_profile = false;  // users change these, so theirs win
  // What is in it, of a program that is made where it is installed; it has no source then.
  std::string text = {};
};

struct WiresharkFolders {
  std::filesystem::path plugin_source;   // softrnic.so
  std::filesystem::path profile_source;  // a folder
  std::filesystem::path plugin_folder;   // ~/.local/lib/wireshark/plugins/SERIES/epan
  std::filesystem::path profile_folder;  // ~/.config/wireshark/profiles/RoCE
  std::filesystem::path extcap_folder;   // ~/.config/wireshark/extcap, or as 4.2 has it

  std::vector<WiresharkFile> files() const;
};

// The plugin beside this command, as a build leaves it; the user's folders from HOME and
// XDG_CONFIG_HOME. Throws Failure, with what to do, when one of them is not to be found.
WiresharkFolders wireshark_folders();

// The user's folders alone, for taking away: needs no plugin.
WiresharkFolders wireshark_user_folders();

}  // namespace softrnic::tools
