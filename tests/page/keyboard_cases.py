# SPDX-License-Identifier: BSD-3-Clause
"""The page used by its keyboard and pointer, with real key presses."""

import explanations
from cases import case, small


def moved(before, after):
    return abs(before["from"] - after["from"]) > 1e-6 or abs(before["to"] - after["to"]) > 1e-6


@case("keyboard/Tab reaches everything, in order, and it shows")
def tab_order(bench):
    with bench.tab(bench.made_up(small())) as tab:
        seen = []
        for _ in range(90):
            tab.press("Tab")
            focus = tab.value("reading.focus()")
            if focus["what"] == "body":
                break
            seen.append(focus["where"])
            if not focus["ring"]:
                yield f"the focus on {focus['what']} '{focus['text']}' does not show"
            if not focus["seen"]:
                yield f"{focus['what']} '{focus['text']}' has the focus out of sight"
        order = list(dict.fromkeys(seen))
        wanted = ["a.skip", "header.page-head", "summary", "connections", "account", "sequence",
                  "throughput", "ladder", "latency", "losses"]
        if order != wanted:
            yield f"the order is {order}"


@case("keyboard/skip link")
def skip_link(bench):
    with bench.tab(bench.made_up(small())) as tab:
        tab.press("Tab", "Enter", "Tab")
        if tab.value("reading.focus()")["where"] != "connections":
            yield f"it leads to {tab.value('reading.focus()')}"


@case("keyboard/a worst moment moves the plots")
def moment(bench):
    explanation = small()
    with bench.tab(bench.made_up(explanation)) as tab:
        for number, wanted in enumerate(explanation["worst_moments"][:3], 1):
            tab.value(f"document.querySelector('.moments li:nth-child({number}) a').focus()")
            tab.press("Enter")
            view = tab.value("reading.view()")
            if not view["from"] < wanted["at_ns"] < view["to"]:
                yield f"moment {number} at {wanted['t_ns']} is not within {view}"
            if view["frame"] != str(wanted["frame"]):
                yield f"the cursor is on frame {view['frame']}, not {wanted['frame']}"
            if f"Connection {wanted['connection']}:" not in tab.value("reading.text('account-title')"):
                yield f"moment {number} shows another connection"
            if wanted["what"] not in tab.value("reading.text('sequence-readout')"):
                yield "the readout does not say what happened"
            if wanted["what"] not in tab.value("reading.text('spoken')"):
                yield "a screen reader is not told"
            focus = tab.value("reading.focus()")
            if focus["where"] != "sequence" or not focus["seen"]:
                yield f"the focus is on {focus}"
            if tab.value("location.hash") != f"#moment-{number}":
                yield "the address does not say the moment"
        yield from tab.complaints()
        bench.picture(tab, "moment")


@case("keyboard/time-sequence graph")
def sequence(bench):
    explanation = small()
    points = explanation["connections"][0]["sequence"]["points"]
    with bench.tab(bench.made_up(explanation)) as tab:
        tab.value("document.querySelector('#sequence-plot .stage').focus()")
        whole = tab.value("reading.view()")

        def frame():
            return tab.value("reading.view()")["frame"]
        tab.press("Home")
        if frame() != str(points[0][5]):
            yield f"Home leads to frame {frame()}"
        tab.press("ArrowRight", "ArrowRight")
        if frame() != str(points[2][5]):
            yield f"two steps lead to frame {frame()}, not {points[2][5]}"
        if f"Frame {points[2][5]}" not in tab.value("reading.text('sequence-readout')"):
            yield "the readout does not follow"
        tab.press("ArrowLeft")
        if frame() != str(points[1][5]):
            yield "one step back leads elsewhere"
        tab.press("End")
        if frame() != str(points[-1][5]):
            yield f"End leads to frame {frame()}"
        tab.press("Home", "ArrowDown")
        lost = {loss["lost_frame"] for loss in explanation["losses"] if loss["connection"] == 0}
        first_mark = next(point[5] for point in points
                          if point[4] not in explanations.PLAIN or point[5] in lost)
        if frame() != str(first_mark):
            yield f"the first mark is frame {first_mark}, not {frame()}"
        tab.press("+", "+")
        near = tab.value("reading.view()")
        if not near["to"] - near["from"] < (whole["to"] - whole["from"]) / 3:
            yield "+ does not zoom in"
        tab.press("ArrowRight", shift=True)
        if not moved(near, tab.value("reading.view()")):
            yield "Shift and an arrow do not move the view"
        tab.press("-")
        if not tab.value("reading.view()")["to"] - tab.value("reading.view()")["from"] \
                > (near["to"] - near["from"]) * 1.5:
            yield "- does not zoom out"
        tab.press("0")
        if moved(whole, tab.value("reading.view()")):
            yield "0 does not show all again"
        tab.press("Escape")
        if frame() != "":
            yield "Escape does not let go of the packet"
        tab.press("Escape")
        if tab.value("reading.focus()")["what"] != "body":
            yield "Escape does not let go of the plot"
        yield from tab.complaints()


@case("keyboard/throughput, ladder, latency")
def other_plots(bench):
    explanation = small()
    with bench.tab(bench.made_up(explanation)) as tab:
        for plot, keys, wanted in (("throughput", ("ArrowRight", "ArrowRight"), "bit/s"),
                                   ("ladder", ("ArrowDown", "ArrowDown"), "Frame 2"),
                                   ("latency", ("ArrowRight", "ArrowRight"), "took no longer")):
            tab.value(f"document.querySelector('#{plot}-plot .stage').focus()")
            tab.press(*keys)
            text = tab.value(f"reading.text('{plot}-readout')")
            if wanted not in text:
                yield f"{plot}: no '{wanted}' in '{text}'"
            if tab.value("reading.text('spoken')") != text:
                yield f"{plot}: a screen reader hears '{tab.value('reading.text(`spoken`)')}'"
            tab.press("Escape")
            if tab.value(f"reading.text('{plot}-readout')"):
                yield f"{plot}: Escape does not let go"
        arrows = tab.value("""[...document.querySelectorAll('#ladder-plot .arrow')].map((arrow) => {
          const [, start, end] = /^M([\\d.]+) [\\d.]+L([\\d.]+) /.exec(arrow.getAttribute('d'));
          return Number(start) < Number(end) ? 0 : 1;
        })""")
        senders = [entry["from"] for entry in
                   explanation["connections"][0]["ladder"]]
        if arrows != senders:
            yield f"the ladder's arrows point {arrows} for senders {senders}"
        operation = explanation["connections"][0]["operations"][0]
        cells = tab.value("[...document.querySelectorAll('#latency-table td')]"
                          ".map((cell) => cell.textContent)")
        if not cells[0].startswith(f"{operation['operation'].upper()} from 10.0.0.1 ") \
                or cells[6] != str(operation["latency_ns"]["samples"]):
            yield f"the table of latencies says {cells}"
        tab.value("document.querySelector('#ladder-plot .stage').focus()")
        tab.press("ArrowDown", "ArrowDown", "ArrowDown", "Enter")
        if tab.value("reading.view()")["frame"] != "3":
            yield "Enter in the ladder does not lead to the packet in the graph"
        yield from tab.complaints()


@case("keyboard/table: sort, filter, choose")
def table(bench):
    explanation = small()
    payloads = sorted((sum(direction["payload_bytes"] for direction in one["directions"])
                       for one in explanation["connections"]), reverse=True)
    with bench.tab(bench.made_up(explanation)) as tab:
        tab.value("document.querySelectorAll('#connection-table th button')[7].focus()")
        for order in (payloads, payloads[::-1]):
            tab.press("Enter")
            column = [int(row[7]) for row in tab.value("reading.rows()")]
            if column != order:
                yield f"sorted by payload: {column}"
        direction = tab.value("document.querySelectorAll('#connection-table th')[7].ariaSort")
        if direction != "ascending":
            yield f"aria-sort says {direction}"
        tab.value("document.querySelector('#connection-filter').focus()")
        tab.press(*"0.3 rc")
        rows = tab.value("reading.rows()")
        if [row[0] for row in rows] != ["2"]:
            yield f"the filter leaves {[row[0] for row in rows]}"
        if "1 of 6" not in tab.value("reading.text('connection-filters')"):
            yield "it is not said how many are left"
        tab.press("Escape")
        if len(tab.value("reading.rows()")) != 6:
            yield "Escape does not end the filter"
        tab.value("document.querySelector('#connection-table a[tabindex=\"0\"]').focus()")
        tab.press("Home", "ArrowDown", "Enter")
        chosen = tab.value("document.querySelector('tr[aria-current]').dataset.connection")
        second = tab.value("reading.rows()")[1][0]
        if chosen != second:
            yield f"connection {chosen} is chosen, not {second}"
        if not tab.value("reading.text('account-title')").startswith(f"Connection {second}:"):
            yield "its account is not shown"
        if tab.value("document.activeElement.id") != "account-title":
            yield "the focus does not follow"
        yield from tab.complaints()


@case("pointer/hover, drag, wheel, box")
def pointer(bench):
    with bench.tab(bench.made_up(small()), "#moment-1") as tab:
        box = tab.value("(() => { const b = document.querySelector('#sequence-plot .stage')"
                        ".getBoundingClientRect(); return [b.left, b.top, b.width, b.height]; })()")
        x, y = box[0] + box[2] / 2, box[1] + 150
        start = tab.value("reading.view()")
        tab.mouse("mousePressed", x, y, button="left", buttons=1, clickCount=1)
        tab.mouse("mouseMoved", x - 100, y, button="left", buttons=1)
        tab.mouse("mouseReleased", x - 100, y, button="left", clickCount=1)
        tab.settle()
        dragged = tab.value("reading.view()")
        if not dragged["from"] > start["from"]:
            yield "a drag to the left does not show what comes later"
        tab.mouse("mouseWheel", x, y, deltaX=0, deltaY=-400)
        tab.settle()
        wheeled = tab.value("reading.view()")
        if not wheeled["to"] - wheeled["from"] < dragged["to"] - dragged["from"]:
            yield "the wheel does not zoom"
        for kind, at in (("mousePressed", x - 100), ("mouseMoved", x + 100),
                         ("mouseReleased", x + 100)):
            tab.mouse(kind, at, y - 60 if kind == "mousePressed" else y + 60, button="left",
                      buttons=0 if kind == "mouseReleased" else 1, clickCount=1, modifiers=8)
        tab.settle()
        boxed = tab.value("reading.view()")
        if not boxed["to"] - boxed["from"] < (wheeled["to"] - wheeled["from"]) / 2:
            yield "a box does not zoom"
        tab.value("document.querySelector('#sequence-tools button:nth-child(5)').click()")
        tab.settle()
        place = tab.value("(() => { const p = document.querySelector('#sequence-plot .m-lost')"
                          ".getBoundingClientRect(); return [p.left + 6, p.top + p.height / 2]; })()")
        tab.mouse("mouseMoved", *place)
        tab.settle()
        if not tab.value("reading.view()")["frame"]:
            yield "no packet is read under the pointer"
        yield from tab.complaints()


@case("colours: the switch, and the system's choice")
def theme(bench):
    def ground(tab):
        return tab.value("getComputedStyle(document.body).backgroundColor")
    with bench.tab(bench.made_up(small())) as tab:
        light = ground(tab)
        tab.value("document.querySelector('#theme button:nth-child(3)').focus()")
        tab.press("Enter")
        dark = ground(tab)
        if dark == light:
            yield "the switch to dark changes nothing"
        if tab.value("document.querySelector('#theme [aria-pressed=true]').textContent") != "Dark":
            yield "the switch does not say what is on"
        tab.press("Tab", shift=True)
        tab.press("Enter")
        if ground(tab) != light:
            yield "there is no way back to light"
        tab.value("document.querySelector('#theme button').click()")
        tab.show(1280, 900, "dark")
        tab.settle()
        if ground(tab) != dark:
            yield "the system's dark is not followed"


@case("motion: the flight to a moment, and none where it is not wanted")
def motion(bench):
    explanation = small()
    wanted = explanation["worst_moments"][0]["at_ns"]
    path = bench.made_up(explanation)
    for preference in ("reduce", "no-preference"):
        with bench.tab(path, motion=preference) as tab:
            tab.value("""new Promise((done) => {
              document.querySelector('.moments a').click();
              const { from, to } = document.querySelector('#sequence-plot .stage').dataset;
              window.at_once = [Number(from), Number(to)];
              let last = '';
              const look = () => {
                const { from, to } = document.querySelector('#sequence-plot .stage').dataset;
                if (last === from + to) return done(1);
                last = from + to;
                setTimeout(look, 50);
              };
              setTimeout(look, 50);
            })""")
            view = tab.value("reading.view()")
            if not view["from"] < wanted < view["to"]:
                yield f"{preference}: the flight ends at {view}, not at {wanted}"
            at_once = tab.value("window.at_once")
            is_there = abs(at_once[0] - view["from"]) < 1
            if is_there != (preference == "reduce"):
                yield f"{preference}: the plot {'jumps' if is_there else 'flies'}"
