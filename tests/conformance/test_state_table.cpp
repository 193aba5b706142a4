// SPDX-License-Identifier: BSD-3-Clause
// Every transition with every attribute for every type of queue pair (11.2.5.3): which are made,
// what each requires and takes, and that a refused change changes nothing.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <map>
#include <sstream>

#include "conformance/subject.hpp"
#include "transport/queue_pair_transition.hpp"

namespace softrnic::conformance {

using transport::AttributeMask;
using transport::ModifyError;
using transport::QueuePairAttributes;
using transport::QueuePairState;
using transport::QueuePairType;

namespace {

// The table once more, as a verbs user knows it: by ibv's states and attributes, and in small
// letters what is ours alone.
struct Row {
  const char* transition;
  const char* type;
  const char* required;
  const char* optional;
};

constexpr Row kTable[] = {
    {"RESET INIT", "RC", "PKEY_INDEX PORT ACCESS_FLAGS", ""},
    {"RESET INIT", "UC", "PKEY_INDEX PORT ACCESS_FLAGS", ""},
    {"RESET INIT", "UD", "PKEY_INDEX PORT QKEY", ""},
    {"RESET INIT", "XRC initiator", "PKEY_INDEX PORT ACCESS_FLAGS", ""},
    {"RESET INIT", "XRC target", "PKEY_INDEX PORT ACCESS_FLAGS", ""},
    {"INIT INIT", "RC", "", "PKEY_INDEX PORT ACCESS_FLAGS"},
    {"INIT INIT", "UC", "", "PKEY_INDEX PORT ACCESS_FLAGS"},
    {"INIT INIT", "UD", "", "PKEY_INDEX PORT QKEY"},
    {"INIT INIT", "XRC initiator", "", "PKEY_INDEX PORT ACCESS_FLAGS"},
    {"INIT INIT", "XRC target", "", "PKEY_INDEX PORT ACCESS_FLAGS"},
    {"INIT RTR", "RC", "AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER",
     "ALT_PATH ACCESS_FLAGS PKEY_INDEX selective_repeat advertise_credits"},
    {"INIT RTR", "UC", "AV PATH_MTU DEST_QPN RQ_PSN", "ALT_PATH ACCESS_FLAGS PKEY_INDEX"},
    {"INIT RTR", "UD", "", "PKEY_INDEX QKEY"},
    {"INIT RTR", "XRC initiator", "AV PATH_MTU DEST_QPN RQ_PSN",
     "ALT_PATH ACCESS_FLAGS PKEY_INDEX"},
    {"INIT RTR", "XRC target", "AV PATH_MTU DEST_QPN RQ_PSN MAX_DEST_RD_ATOMIC MIN_RNR_TIMER",
     "ALT_PATH ACCESS_FLAGS PKEY_INDEX"},
    {"RTR RTS", "RC", "TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC",
     "CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE honor_credits"},
    {"RTR RTS", "UC", "SQ_PSN", "CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE"},
    {"RTR RTS", "UD", "SQ_PSN", "CUR_STATE QKEY"},
    {"RTR RTS", "XRC initiator", "TIMEOUT RETRY_CNT RNR_RETRY SQ_PSN MAX_QP_RD_ATOMIC",
     "CUR_STATE ALT_PATH ACCESS_FLAGS PATH_MIG_STATE"},
    {"RTR RTS", "XRC target", "TIMEOUT SQ_PSN",
     "CUR_STATE ALT_PATH ACCESS_FLAGS MIN_RNR_TIMER PATH_MIG_STATE"},
    {"RTS RTS", "RC", "", "CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER"},
    {"RTS RTS", "UC", "", "CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE"},
    {"RTS RTS", "UD", "", "CUR_STATE QKEY"},
    {"RTS RTS", "XRC initiator", "", "CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE"},
    {"RTS RTS", "XRC target", "", "CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER"},
    {"RTS SQD", "RC", "", "EN_SQD_ASYNC_NOTIFY"},
    {"RTS SQD", "UC", "", "EN_SQD_ASYNC_NOTIFY"},
    {"RTS SQD", "UD", "", "EN_SQD_ASYNC_NOTIFY"},
    {"RTS SQD", "XRC initiator", "", "EN_SQD_ASYNC_NOTIFY"},
    {"RTS SQD", "XRC target", "", "EN_SQD_ASYNC_NOTIFY"},
    {"SQD RTS", "RC", "", "CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER"},
    {"SQD RTS", "UC", "", "CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE"},
    {"SQD RTS", "UD", "", "CUR_STATE QKEY"},
    {"SQD RTS", "XRC initiator", "", "CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE"},
    {"SQD RTS", "XRC target", "", "CUR_STATE ACCESS_FLAGS ALT_PATH PATH_MIG_STATE MIN_RNR_TIMER"},
    {"SQD SQD", "RC", "",
     "PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC MAX_DEST_RD_ATOMIC ALT_PATH "
     "ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER PATH_MIG_STATE"},
    {"SQD SQD", "UC", "", "AV ALT_PATH ACCESS_FLAGS PKEY_INDEX PATH_MIG_STATE"},
    {"SQD SQD", "UD", "", "PKEY_INDEX QKEY"},
    {"SQD SQD", "XRC initiator", "",
     "PORT AV TIMEOUT RETRY_CNT RNR_RETRY MAX_QP_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX "
     "PATH_MIG_STATE"},
    {"SQD SQD", "XRC target", "",
     "PORT AV TIMEOUT MAX_DEST_RD_ATOMIC ALT_PATH ACCESS_FLAGS PKEY_INDEX MIN_RNR_TIMER "
     "PATH_MIG_STATE"},
    {"SQE RTS", "UC", "", "CUR_STATE ACCESS_FLAGS"},
    {"SQE RTS", "UD", "", "CUR_STATE QKEY"},
};

// As <infiniband/verbs.h> numbers them.
const std::map<std::string, unsigned> kBits = {
    {"STATE", 0},
    {"CUR_STATE", 1},
    {"EN_SQD_ASYNC_NOTIFY", 2},
    {"ACCESS_FLAGS", 3},
    {"PKEY_INDEX", 4},
    {"PORT", 5},
    {"QKEY", 6},
    {"AV", 7},
    {"PATH_MTU", 8},
    {"TIMEOUT", 9},
    {"RETRY_CNT", 10},
    {"RNR_RETRY", 11},
    {"RQ_PSN", 12},
    {"MAX_QP_RD_ATOMIC", 13},
    {"ALT_PATH", 14},
    {"MIN_RNR_TIMER", 15},
    {"SQ_PSN", 16},
    {"MAX_DEST_RD_ATOMIC", 17},
    {"PATH_MIG_STATE", 18},
    {"CAP", 19},
    {"DEST_QPN", 20},
    {"selective_repeat", 28},
    {"advertise_credits", 29},
    {"honor_credits", 30},
};

constexpr QueuePairState kStates[] = {QueuePairState::reset,
                                      QueuePairState::init,
                                      QueuePairState::ready_to_receive,
                                      QueuePairState::ready_to_send,
                                      QueuePairState::send_queue_drain,
                                      QueuePairState::send_queue_error,
                                      QueuePairState::error};

constexpr QueuePairType kTypes[] = {QueuePairType::rc, QueuePairType::uc, QueuePairType::ud,
                                    QueuePairType::xrc_initiator, QueuePairType::xrc_target};

AttributeMask mask_of(const std::string& names) {
  std::istringstream words(names);
  AttributeMask mask = 0;
  for (std::string word; words >> word;) mask |= AttributeMask{1} << kBits.at(word);
  return mask;
}

struct Expected {
  AttributeMask required;
  AttributeMask optional;
};

std::optional<Expected> expected(QueuePairType type, QueuePairState from, QueuePairState to) {
  if (to == QueuePairState::reset || to == QueuePairState::error) return Expected{0, 0};
  const std::string wanted = fmt::format("{} {}", to_string(from), to_string(to));
  for (const Row& row : kTable) {
    if (row.transition == wanted && row.type == to_string(type)) {
      return Expected{mask_of(row.required), mask_of(row.optional)};
    }
  }
  return std::nullopt;
}

// Two sets of attributes that differ in everything that can differ.
QueuePairAttributes first_values() {
  QueuePairAttributes a;
  a.drained_event = false;
  a.remote_access = transport::kRemoteWrite;
  a.partition_key = 0xffff;
  a.queue_key = 0x11111111;
  a.path_mtu = 256;
  a.destination_qpn = 0x22;
  a.receive_psn = wire::Psn(500);
  a.max_dest_rd_atomic = 2;
  a.min_rnr_timer = 1;
  a.send_psn = wire::Psn(1000);
  a.max_rd_atomic = 3;
  a.timeout = 10;
  a.retry_count = 5;
  a.rnr_retry = 4;
  return a;
}

QueuePairAttributes second_values() {
  QueuePairAttributes a;
  a.drained_event = true;
  a.remote_access = transport::kRemoteRead | transport::kRemoteAtomic;
  a.partition_key = 0x8001;
  a.queue_key = 0x22222222;
  a.path_mtu = 512;
  a.destination_qpn = 0x33;
  a.receive_psn = wire::Psn(501);
  a.max_dest_rd_atomic = 4;
  a.min_rnr_timer = 2;
  a.send_psn = wire::Psn(1001);
  a.max_rd_atomic = 5;
  a.timeout = 11;
  a.retry_count = 6;
  a.rnr_retry = 3;
  a.selective_repeat = a.advertise_credits = true;
  a.honor_credits = false;
  return a;
}

// Each attribute as a number, by the bit that names it. AV, ALT_PATH and CAP are not the queue
// pair's; what a user believes the state to be is not kept.
std::map<unsigned, std::uint64_t> values(const QueuePairAttributes& a) {
  return {{2, a.drained_event},
          {3, a.remote_access},
          {4, a.partition_key},
          {5, a.port},
          {6, a.queue_key},
          {8, a.path_mtu},
          {9, a.timeout},
          {10, a.retry_count},
          {11, a.rnr_retry},
          {12, a.receive_psn.value()},
          {13, a.max_rd_atomic},
          {15, a.min_rnr_timer},
          {16, a.send_psn.value()},
          {17, a.max_dest_rd_atomic},
          {18, static_cast<unsigned>(a.migration_state)},
          {20, a.destination_qpn},
          {28, a.selective_repeat},
          {29, a.advertise_credits},
          {30, a.honor_credits}};
}

// Brings a fresh queue pair to a state, with the first values. False when its type has no such
// state.
bool bring_to(Subject& subject, QueuePairState state) {
  using enum QueuePairState;
  const QueuePairAttributes a = first_values();
  const auto go = [&](QueuePairState to) { REQUIRE(subject.qp().modify(to, a) == std::nullopt); };
  if (state == reset) return true;
  go(init);
  if (state == init) return true;
  if (state == error) {
    go(error);
    return true;
  }
  go(ready_to_receive);
  if (state == ready_to_receive) return true;
  go(ready_to_send);
  if (state == ready_to_send) return true;
  if (state == send_queue_drain) {
    go(send_queue_drain);
    return true;
  }
  subject.post(transport::SendOperation::send, 1, 0, 4, [](transport::SendRequest& request) {
    static const transport::Sge kNowhere{0, 4, 0};
    request.sges = {&kNowhere, 1};
    request.address_handle = 1;
  });
  CHECK(subject.transmit().empty());
  return subject.qp().state() == send_queue_error;
}

class Walk {
 public:
  Walk(QueuePairType type, QueuePairState from, QueuePairState to)
      : type_(type), from_(from), to_(to), expected_(expected(type, from, to)) {}

  // Asks a fresh queue pair in `from` for `to` with `named`, and checks what must come of it.
  void ask(AttributeMask named) const {
    INFO(fmt::format("{} {} -> {} naming {:#x}", to_string(type_), to_string(from_), to_string(to_),
                     named));
    Setup setup;
    setup.type = type_;
    setup.state = QueuePairState::reset;
    Subject subject(setup);
    REQUIRE(bring_to(subject, from_));
    REQUIRE(subject.qp().state() == from_);
    const auto before = values(subject.qp().attributes());

    QueuePairAttributes wanted = second_values();
    wanted.current_state = from_;
    const auto error = subject.qp().modify(to_, wanted, named);
    REQUIRE(error == outcome(named));
    REQUIRE(subject.qp().state() == (error ? from_ : to_));
    REQUIRE(values(subject.qp().attributes()) ==
            (error ? before : after(before, values(wanted), named)));
  }

  void walk() const {
    const AttributeMask required = expected_ ? expected_->required : 0;
    ask(required);
    ask(required | mask_of("STATE"));
    for (unsigned bit = 1; bit < 32; ++bit) {
      const AttributeMask one = AttributeMask{1} << bit;
      ask((required & one) != 0 ? required & ~one : required | one);
    }
    // All at once that may be named.
    if (expected_) ask((required | expected_->optional) & ~mask_of("ALT_PATH"));
  }

 private:
  std::optional<ModifyError> outcome(AttributeMask named) const {
    if (!expected_) return ModifyError::illegal_transition;
    if ((named & expected_->required) != expected_->required) return ModifyError::missing_attribute;
    const AttributeMask taken =
        (expected_->required | expected_->optional | mask_of("STATE")) & ~mask_of("ALT_PATH");
    if ((named & ~taken) != 0) return ModifyError::refused_attribute;
    return std::nullopt;
  }

  std::map<unsigned, std::uint64_t> after(std::map<unsigned, std::uint64_t> values,
                                          const std::map<unsigned, std::uint64_t>& wanted,
                                          AttributeMask named) const {
    if (to_ == QueuePairState::reset) return conformance::values({});
    for (auto& [bit, value] : values) {
      if ((named >> bit & 1) != 0) value = wanted.at(bit);
    }
    // A datagram's MTU is the link's and comes with RTR, unnamed.
    if (to_ == QueuePairState::ready_to_receive && type_ == QueuePairType::ud) {
      values[8] = wanted.at(8);
    }
    return values;
  }

  QueuePairType type_;
  QueuePairState from_;
  QueuePairState to_;
  std::optional<Expected> expected_;
};

bool has_state(QueuePairType type, QueuePairState state) {
  return state != QueuePairState::send_queue_error || type == QueuePairType::uc ||
         type == QueuePairType::ud;
}

void walk_all(QueuePairType type) {
  for (const QueuePairState from : kStates) {
    if (!has_state(type, from)) continue;
    for (const QueuePairState to : kStates) Walk(type, from, to).walk();
  }
}

}  // namespace

TEST_CASE("11.2.5.3 RC: every transition with every attribute") {
  walk_all(QueuePairType::rc);
}

TEST_CASE("11.2.5.3 UC: every transition with every attribute") {
  walk_all(QueuePairType::uc);
}

TEST_CASE("11.2.5.3 UD: every transition with every attribute") {
  walk_all(QueuePairType::ud);
}

TEST_CASE("11.2.5.3 XRC initiator: every transition with every attribute") {
  walk_all(QueuePairType::xrc_initiator);
}

TEST_CASE("11.2.5.3 XRC target: every transition with every attribute") {
  walk_all(QueuePairType::xrc_target);
}

TEST_CASE("11.2.5.3 The table of every type, XRC's two ends among them") {
  for (const QueuePairType type : kTypes) {
    for (const QueuePairState from : kStates) {
      for (const QueuePairState to : kStates) {
        INFO(fmt::format("{} {} -> {}", to_string(type), to_string(from), to_string(to)));
        const auto wanted = expected(type, from, to);
        const auto given = transport::transition(type, from, to);
        REQUIRE(given.has_value() == wanted.has_value());
        if (!wanted) continue;
        CHECK(given->required == wanted->required);
        CHECK(given->optional == wanted->optional);
      }
    }
  }
}

TEST_CASE("11.2.5.3 A user who is mistaken about the present state is refused") {
  for (const QueuePairState from : {QueuePairState::ready_to_receive, QueuePairState::ready_to_send,
                                    QueuePairState::send_queue_drain}) {
    Setup setup;
    setup.state = QueuePairState::reset;
    Subject subject(setup);
    REQUIRE(bring_to(subject, from));
    QueuePairAttributes a = first_values();
    const AttributeMask named =
        expected(QueuePairType::rc, from, QueuePairState::ready_to_send)->required |
        mask_of("CUR_STATE");
    a.current_state = QueuePairState::send_queue_error;
    CHECK(subject.qp().modify(QueuePairState::ready_to_send, a, named) == ModifyError::wrong_state);
    CHECK(subject.qp().state() == from);
    a.current_state = from;
    CHECK(subject.qp().modify(QueuePairState::ready_to_send, a, named) == std::nullopt);
  }
}

TEST_CASE("11.2.5.3 Only what is named must be in its range") {
  const auto ask = [](AttributeMask named) {
    Setup setup;
    setup.state = QueuePairState::reset;
    Subject subject(setup);
    REQUIRE(bring_to(subject, QueuePairState::send_queue_drain));
    QueuePairAttributes bad;
    bad.remote_access = 1u << 31;
    bad.port = 2;
    bad.timeout = 32;
    bad.retry_count = bad.rnr_retry = 8;
    bad.max_rd_atomic = bad.max_dest_rd_atomic = 129;
    bad.min_rnr_timer = 32;
    bad.migration_state = transport::MigrationState::armed;
    const auto before = values(subject.qp().attributes());
    const auto error = subject.qp().modify(QueuePairState::send_queue_drain, bad, named);
    if (error) CHECK(values(subject.qp().attributes()) == before);
    return error;
  };
  for (const char* name :
       {"ACCESS_FLAGS", "PORT", "TIMEOUT", "RETRY_CNT", "RNR_RETRY", "MAX_QP_RD_ATOMIC",
        "MAX_DEST_RD_ATOMIC", "MIN_RNR_TIMER", "PATH_MIG_STATE"}) {
    INFO(name);
    CHECK(ask(mask_of(name)) == ModifyError::bad_attribute);
    CHECK(ask(mask_of(name) | mask_of("PKEY_INDEX")) == ModifyError::bad_attribute);
  }
  CHECK(ask(mask_of("PKEY_INDEX")) == std::nullopt);
}

}  // namespace softrnic::conformance
