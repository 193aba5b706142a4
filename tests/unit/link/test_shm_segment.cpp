// SPDX-License-Identifier: BSD-3-Clause
// What may be found where a segment should be.
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fcntl.h>
#include <catch2/catch.hpp>
#include <filesystem>
#include <fstream>

#include "link/file_descriptor.hpp"
#include "link/shm_layout.hpp"
#include "unit/link/exchange.hpp"
#include "unit/link/shm_scene.hpp"

namespace softrnic::link {
namespace {

using namespace test;
using Catch::Matchers::Contains;

void write_file(const std::string& path, const void* bytes, std::size_t size) {
  std::ofstream(path, std::ios::binary)
      .write(static_cast<const char*>(bytes), static_cast<std::streamsize>(size));
  ::chmod(path.c_str(), 0600);
}

// Holds a port's lock of a file, as a living process does.
class Holder {
 public:
  explicit Holder(const std::string& path) : file_(::open(path.c_str(), O_RDWR | O_CLOEXEC)) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 16;
    lock.l_len = 1;
    REQUIRE(::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0);
  }

 private:
  FileDescriptor file_;
};

TEST_CASE("Only names that are file names, and nothing else, name a segment or a host") {
  ShmScene scene;
  for (const std::string name : {"", ".", "..", ".lab", "a/b", "../lab", "lab:0", "a b", "a\n"}) {
    CHECK_THAT(ShmScene::refusal({.segment = name, .host = "", .mtu = 0}),
               Contains("cannot name a segment"));
  }
  CHECK_THAT(ShmScene::refusal({.segment = std::string(65, 'x'), .host = "", .mtu = 0}),
             Contains("cannot name a segment"));
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = std::string(32, 'x'), .mtu = 0}),
             Contains("cannot name a host"));
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 100}), Contains("MTU"));
  CHECK(open_link("shm:lab,host=b").value()->capabilities().identity->host == "b");
  for (const char* text : {"shm:lab,", "shm:lab,host=", "shm:lab,host=a b", "shm:lab,mtu=9"}) {
    CHECK_FALSE(open_link(text).has_value());
  }
}

TEST_CASE("A foreign file of a segment's name is refused and left alone") {
  ShmScene scene;
  const std::string path = scene.path() + "/lab";
  const std::string text(5000, 'x');
  write_file(path, text.data(), text.size());
  CHECK(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}) ==
        "shm:lab: " + path + " is no segment: remove it, or choose another name");
  CHECK(std::filesystem::file_size(path) == 5000);
  std::filesystem::remove(path);
  std::filesystem::create_directory(path);
  CHECK_FALSE(open_shm({.segment = "lab", .host = "", .mtu = 0}).has_value());
  std::filesystem::remove(path);
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}),
             Contains("is no segment"));
}

TEST_CASE("Links and what others may write are refused") {
  ShmScene scene;
  const std::string path = scene.path() + "/lab";
  REQUIRE(::symlink("/dev/null", path.c_str()) == 0);
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}),
             Contains("symbolic link"));
  std::filesystem::remove(path);
  write_file(path, "", 0);
  ::chmod(path.c_str(), 0606);
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}), Contains("other users"));
  std::filesystem::remove(path);

  ::chmod(scene.path().c_str(), 0755);
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}), Contains("other users"));
  ::chmod(scene.path().c_str(), 0700);
  const std::string alias = scene.path() + "-link";
  REQUIRE(::symlink(scene.path().c_str(), alias.c_str()) == 0);
  ::setenv("SOFTRNIC_SHM_DIR", alias.c_str(), 1);
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}),
             Contains("no directory of its own"));
  std::filesystem::remove(alias);
  ::setenv("SOFTRNIC_SHM_DIR", "/proc/none/there", 1);
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}),
             Contains("/proc/none/there"));
}

TEST_CASE("Another user's directory is refused") {
  if (::geteuid() != 0) {
    WARN("skipped: only root can give a directory away");
    return;
  }
  ShmScene scene;
  REQUIRE(::chown(scene.path().c_str(), 65534, 65534) == 0);
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}),
             Contains("belongs to another user"));
}

TEST_CASE("A segment of another version is refused while it is in use, and replaced when not") {
  ShmScene scene;
  const std::string path = scene.path() + "/lab";
  const shm::Preamble preamble{shm::kMagic, shm::kFormat + 1, 1500};
  write_file(path, &preamble, sizeof(preamble));
  {
    const Holder somebody(path);
    CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}),
               Contains("another version"));
  }
  CHECK(ShmScene::open()->capabilities().mtu == shm::kDefaultMtu);
  CHECK(scene.empty());
}

TEST_CASE("A damaged segment is refused while it is in use, and replaced when not") {
  for (const std::uint32_t mtu : {0u, 1500u, 0xffffffffu}) {
    ShmScene scene;
    const std::string path = scene.path() + "/lab";
    const shm::Preamble preamble{shm::kMagic, shm::kFormat, mtu};
    write_file(path, &preamble, sizeof(preamble));
    {
      const Holder somebody(path);
      CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}),
                 Contains("is damaged"));
    }
    CHECK(ShmScene::open()->capabilities().mtu == shm::kDefaultMtu);
  }
}

TEST_CASE("What programs that were killed have left of other segments is removed") {
  ShmScene scene;
  const shm::Preamble preamble{shm::kMagic, shm::kFormat, 1500};
  write_file(scene.path() + "/old", &preamble, sizeof(preamble));
  REQUIRE(::mkfifo((scene.path() + "/old:3").c_str(), 0600) == 0);
  write_file(scene.path() + "/busy", &preamble, sizeof(preamble));
  write_file(scene.path() + "/mine", "notes", 5);
  const Holder somebody(scene.path() + "/busy");
  const auto port = ShmScene::open();
  CHECK_FALSE(std::filesystem::exists(scene.path() + "/old"));
  CHECK_FALSE(std::filesystem::exists(scene.path() + "/old:3"));
  CHECK(std::filesystem::exists(scene.path() + "/busy"));
  CHECK(std::filesystem::exists(scene.path() + "/mine"));
}

TEST_CASE("A segment holds 128 ports, and says so to the next") {
  ShmScene scene;
  std::vector<std::unique_ptr<Link>> ports;
  for (int i = 0; i < 128; ++i) ports.push_back(ShmScene::open());
  CHECK_THAT(ShmScene::refusal({.segment = "lab", .host = "", .mtu = 0}), Contains("it is full"));
  const Bytes bytes = ethernet(wire::MacAddress::broadcast(), station(1), 60, 1);
  send(*ports.front(), bytes);
  for (std::size_t i = 1; i < ports.size(); ++i) REQUIRE(receive(*ports[i]) == Frames{bytes});
  ports.pop_back();
  CHECK(ShmScene::open()->capabilities().identity->host == "host128");
  ports.clear();
  CHECK(scene.empty());
}

}  // namespace
}  // namespace softrnic::link
