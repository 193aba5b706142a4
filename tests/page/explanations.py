# SPDX-License-Identifier: BSD-3-Clause
"""Explanations that no small capture gives: many connections, every mark, names that bite.

Everything is drawn from a seed, so that the same seed gives the same explanation.
"""

import random

KINDS = ["request", "response", "ack", "credit", "retransmission", "lost", "nak", "rnr", "refused",
         "duplicate", "ecn", "cnp", "gap", "late", "bad_icrc"]
OPCODES = ["RDMA WRITE First", "RDMA WRITE Middle", "RDMA WRITE Last", "Acknowledge",
           "RDMA READ Request", "RDMA READ Response Middle", "SEND Only"]
KIND = {name: number for number, name in enumerate(KINDS)}
WRITE_MIDDLE, ACKNOWLEDGE, READ_REQUEST, READ_RESPONSE = 1, 3, 4, 5

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
    return [[int(lower), int(lower * 1.25), count] for lower, count in sorted(buckets.items())]


class Story:
    """The packets of one connection: WRITEs with a loss now and then, and READs the other way."""

    def __init__(self, rng, begins, packets):
        self.rng, self.now, self.frame = rng, begins, 1
        self.points, self.entries = [], []
        self.counts = {name: 0 for name in KINDS}
        self.latencies = []
        self.write(packets)

    def put(self, kind, sender, space, psn, opcode, text=None, span=1):
        self.points.append([self.now, KIND[kind], sender, space, psn, span, self.frame, opcode,
                            text])
        self.counts[kind] += 1
        if len(self.entries) < 40:
            outcome = {"lost": "lost", "retransmission": "retransmitted", "refused": "refused",
                       "duplicate": "duplicate"}.get(kind, "arrived")
            self.entries.append({"t": self.now, "from": sender, "frame": self.frame,
                                 "opcode": OPCODES[opcode], "psn": 0x1000 + psn, "psn_count": span,
                                 "outcome": outcome, "text": text or "",
                                 "bytes": 1024 if opcode in (0, 1, 2) else 0})
        self.frame += 1

    def write(self, packets):
        psn, read = 0, 0
        while len(self.points) < packets:
            began = self.now
            size = self.rng.randint(4, 12)
            lost = self.rng.randrange(size - 1) if self.rng.random() < .2 else None
            for index in range(size):
                marked = self.rng.random() < .02
                kind = "lost" if index == lost else "ecn" if marked else "request"
                self.put(kind, 0, 0, psn + index, min(index, 1),
                         "This packet did not arrive" if kind == "lost" else None)
                self.now += self.rng.randint(800, 1600)
                if marked:
                    self.put("cnp", 1, 0, psn + index, ACKNOWLEDGE, "Slow down")
            if lost is not None:
                self.now += 4000
                self.put("nak", 1, 0, psn + lost, ACKNOWLEDGE,
                         f"The receiver misses PSN {0x1000 + psn + lost}")
                self.now += 6000
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
        "naks": {"psn_sequence_error": story.counts["nak"]} if story.counts["nak"] else {},
        "credits": {}, "first_fault": None,
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
        for t, kind, sender, *_ in story.points:
            if KINDS[kind] in ("request", "retransmission", "response"):
                carried[sender][(t - begins) // width] += 1024
        one["throughput"] = {"begins_ns": begins, "bin_ns": width, "bytes": carried}
        one["sequence"] = {"kinds": KINDS, "opcodes": OPCODES, "psn_base": [0x1000, 0xfffffe],
                           "thinned": packets > 700, "packets": packets, "points": story.points}
        one["operations"][0]["histogram"] = histogram(story.latencies)
        one["ladder"] = [{"title": "beginning", "around_frame": None, "entries": story.entries}]
    return one


def explanation(seed, connections, packets, heavy=32, name="many.pcapng", total=None):
    rng = random.Random(seed)
    every = [connection(rng, number, packets if number < heavy else 30, number < heavy)
             for number in range(connections)]
    moments = []
    for one in every[:heavy]:
        points = one["sequence"]["points"]
        for index, point in enumerate(points):
            if KINDS[point[1]] == "nak":
                moments.append({"t_ns": points[index - 1][0], "until_ns": points[index + 3][0],
                                "frame": point[6], "connection": one["id"], "kind": "loss",
                                "sentence": point[8], "cost_ns": 25_000})
                break
    moments = [{"rank": rank + 1, **moment} for rank, moment in enumerate(moments[:5])]
    fault = None
    if moments:
        fault = {"frame": moments[0]["frame"], "t_ns": moments[0]["t_ns"], "severity": "warning",
                 "connection": moments[0]["connection"], "kind": "nak_psn_sequence",
                 "sentence": moments[0]["sentence"]}
        every[moments[0]["connection"]]["first_fault"] = fault
    frames = sum(direction["packets"] for one in every for direction in one["directions"])
    return {"file": name, "complete": True, "frames": frames,
            "begins_ns": 1_700_000_000_000_000_000,
            "duration_ns": max((one["ends_ns"] for one in every), default=0),
            "traffic": {"roce_v1": 0, "roce_v2": frames, "arp": 0},
            "icrc": {"right": frames, "wrong": 0, "unverified": 0},
            "connections_total": total or connections, "faults": len(moments),
            "findings": {}, "first_fault": fault, "worst_moments": moments, "connections": every}


if __name__ == "__main__":
    import json
    import sys
    print(json.dumps(explanation(int(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))))
