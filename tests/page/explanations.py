# SPDX-License-Identifier: BSD-3-Clause
"""Explanations that no small capture gives: many connections, every mark, names that bite.

Everything is drawn from a seed, so that the same seed gives the same explanation.
"""

import random

KINDS = ["request", "response", "ack", "credit", "retransmission", "lost", "nak", "rnr", "refused",
         "duplicate", "ecn", "cnp", "gap", "late", "bad_icrc"]
PLAIN = KINDS[:4]
COLUMNS = ["t_ns", "requester", "psn", "psns", "mark", "frame"]
OPCODES = ["RDMA WRITE First", "RDMA WRITE Middle", "RDMA WRITE Last", "Acknowledge",
           "RDMA READ Request", "RDMA READ Response Middle", "SEND Only"]
WRITE_MIDDLE, ACKNOWLEDGE, READ_REQUEST, READ_RESPONSE = 1, 3, 4, 5
LADDER = 40  # packets

HOSTILE = "</script><script>window.bitten=1</script><img src=x onerror=window.bitten=1>\"'&{{data}}"


def percentiles(samples):
    ordered = sorted(samples)

    def at(share):
        return ordered[min(int(len(ordered) * share), len(ordered) - 1)]
    return {"samples": len(ordered), "min": ordered[0], "p50": at(.5), "p90": at(.9),
            "p99": at(.99), "p999": at(.999), "max": ordered[-1],
            "mean": sum(ordered) / len(ordered)}


def histogram(samples):
    buckets = {}
    for sample in samples:
        lower = 1
        while lower * 1.25 <= sample:
            lower = lower * 1.25
        buckets[lower] = buckets.get(lower, 0) + 1
    return [[int(lower), count] for lower, count in sorted(buckets.items())]


class Story:
    """The packets of one connection: WRITEs with a loss now and then, and READs the other way."""

    def __init__(self, rng, begins, packets):
        self.rng, self.now, self.frame = rng, begins, 1
        self.points, self.entries, self.losses, self.carried = [], [], [], []
        self.counts = {name: 0 for name in KINDS}
        self.latencies = []
        self.write(packets)

    def put(self, kind, sender, requester, psn, opcode, text=None, span=1):
        mark = "request" if kind == "lost" else kind
        self.points.append([self.now, requester, psn, span, mark, self.frame])
        self.counts[kind] += 1
        if kind in ("request", "retransmission", "response", "lost"):
            self.carried.append((self.now, sender))
        if len(self.entries) < LADDER:
            entry = {"frame": self.frame, "t_ns": self.now, "from": sender,
                     "opcode": OPCODES[opcode], "psn": 0x1000 + psn, "relative_psn": psn,
                     "bytes": 1024 if opcode in (0, 1, 2) else 0}
            if opcode == ACKNOWLEDGE:
                entry["answer"] = "NAK: PSN sequence error" if kind == "nak" else "ACK"
            if kind == "retransmission":
                entry["repetition"] = 1
            if text:
                entry["sentence"] = text
            self.entries.append(entry)
        self.frame += 1

    def write(self, packets):
        psn, read = 0, 0
        while len(self.points) < packets:
            began, lost_at = self.now, None
            size = self.rng.randint(4, 12)
            lost = self.rng.randrange(size - 1) if self.rng.random() < .2 else None
            for index in range(size):
                marked = self.rng.random() < .02
                kind = "lost" if index == lost else "ecn" if marked else "request"
                lost_at = (self.frame, self.now) if kind == "lost" else lost_at
                self.put(kind, 0, 0, psn + index, min(index, 1))
                self.now += self.rng.randint(800, 1600)
                if marked:
                    self.put("cnp", 1, 0, psn + index, ACKNOWLEDGE, "Slow down")
            if lost is not None:
                self.now += 4000
                nak_frame, nak_at = self.frame, self.now
                self.put("nak", 1, 0, psn + lost, ACKNOWLEDGE,
                         f"The receiver misses PSN {0x1000 + psn + lost}")
                self.now += 6000
                self.losses.append({
                    "from": 0, "cause": "nak", "psn": 0x1000 + psn + lost, "packets": 1,
                    "packets_again": size - lost, "rounds": 1, "gave_up": False,
                    "lost_frame": lost_at[0], "shown_frame": None, "cause_frame": nak_frame,
                    "again_frame": self.frame, "last_frame": self.frame + size - lost - 1,
                    "lost_at_ns": lost_at[1], "noticed_after_ns": nak_at - lost_at[1],
                    "reacted_after_ns": 6000, "time_lost_ns": self.now - lost_at[1]})
                for index in range(lost, size):
                    self.put("retransmission", 0, 0, psn + index, WRITE_MIDDLE, "Sent again")
                    self.now += self.rng.randint(800, 1600)
            self.now += 3000
            self.put("ack", 1, 0, psn + size - 1, ACKNOWLEDGE)
            self.put("credit", 1, 0, psn + size + 16, ACKNOWLEDGE)
            psn += size
            self.latencies.append(self.now - began)
            if self.rng.random() < .3:
                self.put("request", 1, 1, read, READ_REQUEST, span=4)
                for index in range(4):
                    self.now += 1200
                    self.put("response", 0, 1, read + index, READ_RESPONSE)
                read += 4
            if self.rng.random() < .05:
                self.put("rnr", 1, 0, psn, ACKNOWLEDGE, "No receive is posted: wait 0.64 ms")
                self.now += 640_000
            self.now += self.rng.randint(2000, 20000)


def connection(rng, number, packets, heavy=True):
    begins = rng.randint(0, 50_000)
    story = Story(rng, begins, packets)
    lost, again = story.counts["lost"], story.counts["retransmission"]
    one = {
        "id": number, "service": "rc", "version": "v2", "ip": 4,
        "ends": [{"address": f"10.0.{number // 200}.{number % 200 + 1}", "port": 49152 + number,
                  "qpn": 0x11 + number},
                 {"address": "10.1.0.2", "port": 4791, "qpn": 0x12 + number}],
        "begins_ns": begins, "ends_ns": story.now, "established": "seen", "ended": "open",
        "directions": [
            {"packets": story.counts["request"] + lost + again, "messages": len(story.latencies),
             "payload_bytes": 1024 * (story.counts["request"] + again),
             "goodput_bytes": 1024 * story.counts["request"], "path_mtu": 1024,
             "retransmitted_packets": again, "lost": lost, "duplicates": 0,
             "ecn_marked": story.counts["ecn"], "cnps": 0},
            {"packets": story.counts["ack"] + story.counts["nak"], "messages": 0,
             "payload_bytes": 0, "goodput_bytes": 0, "path_mtu": 1024,
             "retransmitted_packets": 0, "lost": 0, "duplicates": 0, "ecn_marked": 0,
             "cnps": story.counts["cnp"]}],
        "losses": {"packets": lost, "by_cause": {"nak": lost, "timeout": 0, "implied": 0,
                                                 "unknown": 0}},
        "rnr": {"naks": story.counts["rnr"], "waited_ns": 640_000 * story.counts["rnr"]},
        "naks": {"0x60": story.counts["nak"]} if story.counts["nak"] else {},
        "credits": {"told": 0}, "first_fault": None, "faults": story.counts["nak"],
        "findings": {"nak_psn_sequence": story.counts["nak"]} if story.counts["nak"] else {},
        "operations": [{"operation": "WRITE", "from": 0, "messages": len(story.latencies),
                        "bytes": 1024 * story.counts["request"],
                        "completed": len(story.latencies), "refused": 0, "unanswered": 0,
                        "latency_ns": percentiles(story.latencies)}],
    }
    if heavy:
        bins = 200
        width = max((story.now - begins) // bins, 1)
        carried = [[0] * (bins + 1), [0] * (bins + 1)]
        for t, sender in story.carried:
            carried[sender][(t - begins) // width] += 1024
        one["throughput"] = {"begins_ns": begins, "bin_ns": width, "bytes": carried}
        one["sequence"] = {"columns": COLUMNS, "points": story.points, "psn_base": [0x1000, 0xfffffe],
                           "left_out": 3 * packets if packets > 600 else 0}
        one["operations"][0]["histogram"] = histogram(story.latencies)
        one["ladder"] = story.entries
    return one, [{"connection": number, **loss} for loss in story.losses]


def explanation(seed, connections, packets, heavy=32, name="many.pcapng", total=None):
    rng = random.Random(seed)
    told = [connection(rng, number, packets if number < heavy else 30, number < heavy)
            for number in range(connections)]
    every = [one for one, _ in told]
    losses = [loss for _, some in told for loss in some]
    moments = []
    for loss in losses:
        if len(moments) < 5 and all(loss["connection"] != one["connection"] for one in moments):
            moments.append({"kind": "loss", "severity": "warning", "connection": loss["connection"],
                            "frame": loss["cause_frame"], "at_ns": loss["lost_at_ns"],
                            "time_lost_ns": loss["time_lost_ns"],
                            "what": f"The receiver missed PSN {loss['psn']} and said so",
                            "standard": "The sender goes back to the PSN of the NAK.",
                            "look_at": "Counters of the switches on the way."})
    fault = None
    if moments:
        fault = {"frame": moments[0]["frame"], "severity": "warning",
                 "at_ns": moments[0]["at_ns"], "connection": moments[0]["connection"],
                 "kind": "nak_psn_sequence", "sentence": "the receiver misses a packet"}
        every[moments[0]["connection"]]["first_fault"] = fault
    frames = sum(direction["packets"] for one in every for direction in one["directions"])
    return {"file": name, "complete": True, "frames": frames,
            "begins_ns": 1_700_000_000_000_000_000,
            "duration_ns": max((one["ends_ns"] for one in every), default=0),
            "traffic": {"roce_v1": 0, "roce_v2": frames, "arp": 0},
            "icrc": {"right": frames, "wrong": 0, "unverified": 0},
            "connection_count": total or connections, "faults": len(losses), "losses": losses,
            "findings": {}, "first_fault": fault, "worst_moments": moments, "connections": every}


if __name__ == "__main__":
    import json
    import sys
    print(json.dumps(explanation(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
