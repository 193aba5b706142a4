# SPDX-License-Identifier: BSD-3-Clause
"""The sample captures: the clean ones show not one remark, the faulty ones the planned fault."""

import functools

from case import FORWARD_LOOKING, case, sample_names


def at(name, *numbers):
    return [(number, name) for number in numbers]


# Every remark above chat, (frame, what). All other samples are clean.
FAULTY = {
    "cm-retry": at("retransmission_timeout", 2),
    "cnp": at("ecn_marked", 39) + at("cnp", 41) + at("rate_changed", 72),
    "credits": at("credits_exhausted", 5),
    "ghost": at("retransmission_timeout", 7) + at("duplicate_ack", 8),
    "loss-atomic-ack": at("retransmission_timeout", 3) + at("response_repeated", 4),
    "loss-ip-header": at("roce.icrc.bad", 3) + at("nak_psn_sequence", 6) + at(
        "retransmission_nak", 7, 8, 9),
    "loss-nak-itself": at("nak_psn_sequence", 6) + at("retransmission_timeout", 7, 8, 9, 10, 11),
    "loss-rnr-nak": at("rnr_nak", 3) + at("retransmission_timeout", 4, 5),
    "loss-transport-header": at("roce.icrc.bad", 3) + at("psn_gap", 4) + at(
        "nak_psn_sequence", 6) + at("retransmission_nak", 7, 8, 9),
    "nak-invalidated-key": at("nak_remote_access", 8),
    "partition-mismatch": at("retransmission_timeout", 2),
    "selective-repeat": at("selective_ack", 6) + at("retransmission_selective", 7),
    "duplicate": at("duplicate", 4),
    "ecn-marked": at("ecn_marked", 3),
    "loss-ack": at("retransmission_timeout", 3) + at("duplicate_ack", 4),
    "loss-icrc": at("roce.icrc.bad", 3) + at("nak_psn_sequence", 6) + at("retransmission_nak", 7, 8,
                                                                         9),
    "loss-nak": at("nak_psn_sequence", 6) + at("retransmission_nak", 7, 8, 9),
    "loss-psn-wrap": at("nak_psn_sequence", 6) + at("retransmission_nak", 7, 8, 9),
    "loss-read-response": at("retransmission_implied", 7) + at("response_repeated", 8, 9, 10),
    "loss-timeout": at("retransmission_timeout", 2),
    "nak-invalid-request": at("nak_invalid_request", 4),
    "nak-remote-access-read": at("nak_remote_access", 2),
    "nak-remote-access-write": at("nak_remote_access", 4),
    "nak-out-of-bounds": at("nak_remote_access", 6) + at("address_out_of_bounds", 6),
    "nak-remote-operational": at("nak_remote_operational", 2),
    "nak-unknown-key": at("nak_remote_access", 4) + at("key_unknown", 4),
    "nak-write-refused": at("nak_remote_access", 4) + at("write_refused", 4),
    "reorder": at("psn_gap", 3) + at("out_of_order", 4) + at("nak_psn_sequence", 6, 7) + at(
        "retransmission_nak", 8, 9),
    "retry-exceeded": at("retransmission_timeout", 2, 3, 4) + at("unanswered", 4),
    "rnr": at("rnr_nak", 3, 6, 9) + at("retransmission_rnr", 4, 5, 7, 8, 10, 11),
    "rnr-exceeded": at("rnr_nak", 2, 4, 6) + at("retransmission_rnr", 3, 5),
}


def remarks(look, name):
    look.expect_findings(name, FAULTY.get(name, []))


def same_in_both_passes(look, name):
    """Every field but those that look forward."""
    fields = sorted(set(look.shark.registered()) - FORWARD_LOOKING)
    path = look.capture(name)
    one = look.shark.fields(path, fields)
    two = look.shark.fields(path, fields, two_pass=True)
    for number, (first, second) in enumerate(zip(one, two), 1):
        for field, before, after in zip(fields, first, second):
            if before != after:
                look.complain(f"frame {number}: {field} is {before} in one pass, {after} with -2")
    if len(one) != len(two):
        look.complain(f"{len(one)} frames in one pass, {len(two)} with -2")


CASES = [
    *((f"{name}: {'the planned fault and nothing else' if name in FAULTY else 'not one remark'}",
       functools.partial(remarks, name=name)) for name in sample_names()),
    *((f"{name}: equal in one pass and with -2", functools.partial(same_in_both_passes, name=name))
      for name in sample_names()),
]


@case("every faulty sample is in the tree")
def listed(look):
    for name in FAULTY:
        if name not in sample_names():
            look.complain(f"there is no sample {name}")


@case("a two-pass look knows what comes later")
def forward(look):
    path = look.capture("loss-nak")
    names = ["roce.acked_in", "roce.message.completed_in", "roce.message.completion_time",
             "roce.message.state"]
    rows = look.shark.fields(path, names, two_pass=True)
    look.equal([row[0] for row in rows],
               [[frame] for frame in ("6", "6", "10", "10", "10")] + [[]] +
               [["10"]] * 3 + [[]], "acked in")
    look.equal([row[1] for row in rows[:5]], [["10"]] * 5, "completed in")
    look.equal([row[2] for row in rows[:5]], [["0.000030000"]] * 5, "completed after")
    look.equal([row[3] for row in rows[:5]], [["complete"]] * 5, "state")
