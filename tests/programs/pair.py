# SPDX-License-Identifier: BSD-3-Clause
"""Two runs of one program, a server and its client, that meet at a TCP port."""

import dataclasses

from stage import check, free_port


@dataclasses.dataclass(frozen=True)
class Ends:
    """What the environment of each end says beyond the stage's."""
    title: str
    server: dict
    client: dict
    in_network: bool = False
    gid: int = 1  # RoCE v2


SAME_HOST = Ends("one NIC", {}, {})
TWO_HOSTS = Ends("two hosts", {}, {"SOFTRNIC_HOST": "b"})
SHM = (SAME_HOST, TWO_HOSTS)
UDP = tuple(Ends(title, {"SOFTRNIC_LINK": f"udp:{server}"}, {"SOFTRNIC_LINK": f"udp:{client}"},
                 in_network=True, gid=0)
            for title, server, client in (("udp v6", "fd00::2", "fd00::3"),
                                          ("udp v4", "127.0.0.2", "127.0.0.3")))


def start(stage, words, ends=SAME_HOST, client_words=(), **arguments):
    """Starts both, the client when the server listens."""
    port = free_port()
    words = [*words, "-p", port]
    if ends.in_network:
        stage.enter_network()
    server = stage.start(*words, **arguments, **ends.server)
    server.await_port(port)
    client = stage.start(*words, *client_words, "127.0.0.1", **arguments, **ends.client)
    return server, client


def finish(server, client):
    """Both must end well; what they printed."""
    statuses = client.finish(), server.finish()
    check(statuses == (0, 0), f"{server.told()}\n{client.told()}")
    return server.text(), client.text()


def run(stage, words, ends=SAME_HOST, **arguments):
    return finish(*start(stage, words, ends, **arguments))
