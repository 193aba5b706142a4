// SPDX-License-Identifier: BSD-3-Clause
// A segment between processes: that die at any moment, that are many, that write where they should
// not.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bitset>
#include <catch2/catch.hpp>
#include <csignal>
#include <ctime>
#include <functional>
#include <random>
#include <thread>

#include "link/file_descriptor.hpp"
#include "link/shm_layout.hpp"
#include "link/shm_mirror.hpp"
#include "unit/link/exchange.hpp"
#include "unit/link/shm_scene.hpp"

namespace softrnic::link {
namespace {

using namespace test;
using wire::Instant;
using wire::MacAddress;

Instant clock_now() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant(std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec));
}

// Another process, which ends with what `body` returns.
class Child {
 public:
  explicit Child(const std::function<int()>& body) : pid_(::fork()) {
    if (pid_ == 0) ::_exit(body());
    REQUIRE(pid_ > 0);
  }
  ~Child() {
    if (pid_ > 0) kill();
  }
  Child(Child&& other) noexcept : pid_(std::exchange(other.pid_, -1)) {}
  Child& operator=(Child&&) = delete;

  void kill() {
    ::kill(pid_, SIGKILL);
    wait();
  }
  // Its exit status; -1 when a signal ended it.
  int wait() {
    int status = 0;
    ::waitpid(std::exchange(pid_, -1), &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

 private:
  pid_t pid_;
};

// Waits for frames without checks that a child's exit status cannot tell.
Frames take_all(Link& link) {
  Frames out;
  std::array<Frame*, 64> frames{};
  const std::size_t n = link.rx_burst(clock_now(), frames);
  for (std::size_t i = 0; i < n; ++i) out.push_back(flat(frames[i]->bytes()));
  link.rx_release(std::span(frames).first(n));
  return out;
}

bool try_send(Link& link, const Bytes& bytes) {
  Frame* frame = nullptr;
  if (link.tx_alloc({&frame, 1}) == 0) return false;
  const auto room = frame->append(bytes.size());
  std::copy(bytes.begin(), bytes.end(), room.front().begin());
  link.tx_push(clock_now(), {&frame, 1});
  return true;
}

std::unique_ptr<Link> open_or_null(const std::string& host) {
  auto link = open_shm({.segment = "lab", .host = host, .mtu = 0});
  return link ? std::move(link).value() : nullptr;
}

bool within(std::chrono::seconds patience, const std::function<bool()>& done) {
  const Instant end = clock_now() + patience;
  while (!done()) {
    if (clock_now() > end) return false;
  }
  return true;
}

// A byte from a child to its parent.
class Signal {
 public:
  Signal() { REQUIRE(::pipe(ends_.data()) == 0); }
  ~Signal() {
    for (const int end : ends_) ::close(end);
  }
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  bool give() const {
    const char byte = 1;
    return ::write(ends_[1], &byte, 1) == 1;
  }
  bool await() const {
    char byte = 0;
    return ::read(ends_[0], &byte, 1) == 1;
  }

 private:
  std::array<int, 2> ends_{};
};

TEST_CASE("Two processes exchange frames, every byte right") {
  ShmScene scene;
  const auto a = ShmScene::open("a");
  constexpr int kFrames = 20'000;
  const auto length_of = [](int n) { return static_cast<std::size_t>(14 + n * 37 % 4200); };
  const Signal ready;
  Child echo([&] {
    const auto b = open_or_null("b");
    if (b == nullptr || !ready.give()) return 1;
    for (int n = 0; n < kFrames;) {
      for (Bytes& bytes : take_all(*b)) {
        std::swap_ranges(bytes.begin(), bytes.begin() + 6, bytes.begin() + 6);
        while (!try_send(*b, bytes)) {
        }
        ++n;
      }
    }
    return 0;
  });
  REQUIRE(ready.await());
  int sent = 0, received = 0, wrong = 0;
  REQUIRE(within(std::chrono::seconds(60), [&] {
    if (sent < kFrames && sent - received < 64) {
      sent += try_send(*a, ethernet(station(9), a->capabilities().mac, length_of(sent), sent));
    }
    for (const Bytes& bytes : take_all(*a)) {
      wrong += bytes.size() != length_of(received) ||
               std::any_of(bytes.begin() + 12, bytes.end(),
                           [&](std::byte b) { return b != static_cast<std::byte>(received); });
      ++received;
    }
    return received == kFrames;
  }));
  CHECK(wrong == 0);
  CHECK(echo.wait() == 0);
}

// What a process does until it is killed.
int live_wildly(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::string host = random() % 2 == 0 ? "b" : "a";
  for (;;) {
    const auto link = open_or_null(host);
    if (link == nullptr) return 1;
    const auto lives = random() % 4 == 0 ? random() % 4 : ~std::uint64_t{0};
    std::array<Frame*, 16> kept{};
    std::size_t keeps = 0;
    for (std::uint64_t i = 0; i < lives; ++i) {
      link->rx_release(std::span(kept).first(keeps));
      keeps = link->rx_burst(clock_now(), kept);
      const MacAddress to = random() % 8 == 0 ? MacAddress::broadcast() : station(1);
      try_send(*link, ethernet(to, link->capabilities().mac, 14 + random() % 4000, 5));
    }
    link->rx_release(std::span(kept).first(keeps));
  }
}

TEST_CASE("Processes that are killed at any moment leave a segment that works, and then nothing") {
  const auto seed = std::random_device()();
  CAPTURE(seed);
  std::mt19937_64 random(seed);
  ShmScene scene;
  auto a = ShmScene::open("a");
  send(*a, ethernet(MacAddress::broadcast(), station(1), 60, 0));  // where station 1 lives
  for (int round = 0; round < 40; ++round) {
    CAPTURE(round);
    std::vector<Child> children;
    for (int i = 0; i < 3; ++i) {
      children.emplace_back([child_seed = random()] { return live_wildly(child_seed); });
    }
    for (std::uint64_t turns = random() % 20'000; turns > 0; --turns) {
      take_all(*a);
      if (turns % 16 == 0) {
        try_send(*a, ethernet(MacAddress::broadcast(), a->capabilities().mac, 900, 1));
      }
    }
    for (Child& child : children) child.kill();
    // The living find each other, and each other's frames.
    const auto c = ShmScene::open("c");
    const Bytes bytes = ethernet(c->capabilities().mac, a->capabilities().mac, 3000, round);
    REQUIRE(within(std::chrono::seconds(20), [&] {
      take_all(*a);
      try_send(*a, bytes);
      const Frames got = take_all(*c);
      return std::find(got.begin(), got.end(), bytes) != got.end();
    }));
  }
  // All that was lent to the dead has come back.
  REQUIRE(within(std::chrono::seconds(20), [&] {
    std::array<Frame*, 512> all{};
    const std::size_t n = a->tx_alloc(all);
    a->tx_cancel(std::span(all).first(n));
    take_all(*a);
    return n >= 500;
  }));
  a.reset();
  CHECK(scene.empty());
}

TEST_CASE("A segment whose processes were all killed is made anew") {
  ShmScene scene;
  for (int i = 0; i < 3; ++i) {
    const Signal ready;
    Child child([&] {
      const auto link = open_or_null("a");
      if (link == nullptr || !ready.give()) return 1;
      for (;;) ::pause();
    });
    REQUIRE(ready.await());
    child.kill();
    CHECK_FALSE(scene.empty());
    const auto link = ShmScene::open("", "lab", 1500u + static_cast<std::uint32_t>(i));
    CHECK(link->capabilities().mtu == 1500u + static_cast<std::uint32_t>(i));
  }
  CHECK(scene.empty());
}

// A number that processes count up together.
class SharedCount {
 public:
  SharedCount()
      : memory_(::mmap(nullptr, sizeof(std::atomic<int>), PROT_READ | PROT_WRITE,
                       MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {
    REQUIRE(memory_ != MAP_FAILED);
    count_ = new (memory_) std::atomic<int>(0);
  }
  ~SharedCount() { ::munmap(memory_, sizeof(std::atomic<int>)); }
  SharedCount(const SharedCount&) = delete;
  SharedCount& operator=(const SharedCount&) = delete;

  void add() const { ++*count_; }
  int value() const { return count_->load(); }

 private:
  void* memory_;
  std::atomic<int>* count_ = nullptr;
};

// Each goes on until all have heard all: what is sent to a process that does not run may be
// dropped, and none may end while another waits for it.
TEST_CASE("Fifty processes hear each other") {
  constexpr int kProcesses = 50;
  ShmScene scene;
  const SharedCount content;
  std::vector<Child> children;
  for (int i = 0; i < kProcesses; ++i) {
    children.emplace_back([i, &content] {
      const auto link = open_or_null("n" + std::to_string(i + 1));
      if (link == nullptr) return 1;
      const Bytes own = ethernet(MacAddress::broadcast(), link->capabilities().mac, 80, i);
      std::bitset<kProcesses> heard;
      heard.set(static_cast<std::size_t>(i));
      const bool all = within(std::chrono::seconds(90), [&] {
        try_send(*link, own);
        const bool was_content = heard.all();
        for (const Bytes& bytes : take_all(*link)) {
          heard.set(std::to_integer<std::size_t>(bytes[20]) % kProcesses);
        }
        if (heard.all() && !was_content) content.add();
        // Others shall have the processors.
        std::this_thread::yield();
        return content.value() == kProcesses;
      });
      return all ? 0 : 2;
    });
  }
  int failed = 0;
  for (Child& child : children) failed += child.wait() != 0;
  CHECK(failed == 0);
  CHECK(scene.empty());
}

TEST_CASE("The child of a fork leaves its parent's port alone") {
  ShmScene scene;
  auto a = ShmScene::open("a");
  const auto b = ShmScene::open("b");
  Child child([&] {
    a.reset();
    return 0;
  });
  CHECK(child.wait() == 0);
  const Bytes bytes = ethernet(a->capabilities().mac, b->capabilities().mac, 60, 1);
  send(*b, bytes);
  CHECK(receive(*a) == Frames{bytes});
}

// Writes random words where a process gone wrong may: the header, rings, marks of loans, buffers.
class Scribbler {
 public:
  Scribbler(const std::string& path, std::uint64_t seed) : random_(seed) {
    const FileDescriptor file(::open(path.c_str(), O_RDWR | O_CLOEXEC));
    size_ = shm::port_offset(shm::kDefaultMtu, 3);
    void* base = ::mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file.get(), 0);
    REQUIRE(base != MAP_FAILED);
    words_ = static_cast<std::uint64_t*>(base);
  }
  ~Scribbler() { ::munmap(words_, size_); }

  void scribble() {
    const std::size_t port = shm::port_offset(shm::kDefaultMtu, random_() % 3);
    std::size_t at = 0;
    switch (random_() % 6) {
      case 0:
        at = random_() % shm::kHeaderSize;
        break;
      case 1:  // what says who is there
        at = offsetof(shm::Header, ports) + random_() % (3 * sizeof(shm::PortRecord));
        break;
      case 2:
        at = offsetof(shm::Header, stations) + random_() % (shm::kStations * 8);
        break;
      case 3:
        at = port + random_() % (shm::kRing * 8);
        break;
      case 4:
        at = port + random_() % shm::kAreaSize;
        break;
      default:
        at = port + shm::kAreaSize + random_() % 100'000;
    }
    std::uint64_t& word = words_[at / 8];
    switch (random_() % 4) {
      case 0:
        word = random_();
        break;
      case 1:
        word = 0;
        break;
      case 2:
        word ^= std::uint64_t{1} << random_() % 64;
        break;
      default:
        word += random_() % 3 - 1;
    }
  }

 private:
  std::mt19937_64 random_;
  std::uint64_t* words_;
  std::size_t size_;
};

TEST_CASE("Whatever is written over a segment, nobody crashes, hangs or reads beyond a frame") {
  const auto first_seed = std::random_device()();
  for (std::uint64_t seed = first_seed; seed < first_seed + 12; ++seed) {
    CAPTURE(seed);
    ShmScene scene;
    std::mt19937_64 random(seed);
    std::vector<std::unique_ptr<Link>> links;
    links.push_back(ShmScene::open("a"));
    links.push_back(ShmScene::open(seed % 2 == 0 ? "a" : "b"));
    std::unique_ptr<ShmMirror> mirror = std::move(ShmMirror::open("lab")).value();
    const MacAddress macs[] = {links[0]->capabilities().mac, links[1]->capabilities().mac,
                               MacAddress::broadcast(), station(7)};
    {
      Scribbler scribbler(scene.path() + "/lab", seed);
      Instant now{std::chrono::seconds(1)};
      for (int i = 0; i < 12'000; ++i) {
        if (random() % 4 == 0) scribbler.scribble();
        Link& link = *links[random() % 2];
        now += std::chrono::microseconds(random() % 100);
        Frame* frame = nullptr;
        if (link.tx_alloc({&frame, 1}) == 1) {
          fill(*frame, ethernet(macs[random() % 4], macs[random() % 2], 14 + random() % 4200, 1));
          link.tx_push(now, {&frame, 1});
        }
        std::array<Frame*, 8> frames{};
        Link& other = *links[random() % 2];
        const std::size_t n = other.rx_burst(now, frames);
        for (std::size_t k = 0; k < n; ++k) {
          const std::size_t size = flat(frames[k]->bytes()).size();
          REQUIRE((size >= 14 && size <= shm::buffer_size(shm::kDefaultMtu)));
        }
        other.rx_release(std::span(frames).first(n));
        mirror->take(now, 8, [](const MirrorNote&, wire::ByteView frame_bytes) {
          REQUIRE(frame_bytes.size() <= shm::buffer_size(shm::kDefaultMtu));
        });
        if (i % 1000 == 0) mirror->stations();
        if (i % 3000 == 0) open_shm({.segment = "lab", .host = "c", .mtu = 0}).has_value();
      }
    }
    links.clear();
    mirror.reset();
    // Whatever it was, with its last port it is gone, and the next is a new one.
    CHECK(ShmScene::open("a")->capabilities().mac == macs[0]);
  }
}

TEST_CASE("Threads on one segment: nothing is lost, nothing is torn") {
  ShmScene scene;
  const auto a = ShmScene::open("a"), b = ShmScene::open("b");
  constexpr int kFrames = 20'000;
  // Each sends a window's frames and takes the other's.
  const auto talk = [](Link& own, const MacAddress& to, int& wrong) {
    int sent = 0, received = 0;
    while (sent < kFrames || received < kFrames) {
      while (sent < kFrames && sent - received < 100 &&
             try_send(own, ethernet(to, own.capabilities().mac, sent % 3 == 0 ? 60 : 2000, sent))) {
        ++sent;
      }
      const Frames got = take_all(own);
      for (const Bytes& bytes : got) {
        wrong += bytes.size() != (received % 3 == 0 ? 60u : 2000u) ||
                 bytes.back() != static_cast<std::byte>(received) ||
                 bytes[12] != static_cast<std::byte>(received);
        ++received;
      }
      if (got.empty()) std::this_thread::yield();
    }
  };
  int wrong_a = 0, wrong_b = 0;
  std::thread other([&] { talk(*b, a->capabilities().mac, wrong_b); });
  talk(*a, b->capabilities().mac, wrong_a);
  other.join();
  CHECK(wrong_a == 0);
  CHECK(wrong_b == 0);
}

}  // namespace
}  // namespace softrnic::link
