# SPDX-License-Identifier: BSD-3-Clause
"""Reports cases in the Test Anything Protocol."""

import concurrent.futures
import os


class Skip(Exception):
    """The case cannot run here; says why."""


def _judge(body, expected_errors):
    """(complaints, reason of the skip or None)."""
    try:
        return [line for text in body() for line in str(text).splitlines()], None
    except Skip as skip:
        return [], str(skip)
    except expected_errors as error:
        return str(error).splitlines() or [type(error).__name__], None


def run(cases, filters=(), *, workers=1, expected_errors=(RuntimeError, ValueError)):
    """Runs the cases, each a (title, function that yields complaints); the exit status.

    A filter chooses the cases whose title contains it. Several workers run cases at the same time;
    the report keeps their order.
    """
    lowered = [text.lower() for text in filters]
    chosen = [case for case in cases
              if not lowered or any(text in case[0].lower() for text in lowered)]
    print(f"1..{len(chosen)}", flush=True)
    failed = False
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        jobs = [pool.submit(_judge, body, expected_errors) for _, body in chosen]
        try:
            for number, ((title, _), job) in enumerate(zip(chosen, jobs), 1):
                complaints, skipped = job.result()
                if skipped is not None:
                    print(f"ok {number} - {title} # SKIP {skipped}", flush=True)
                    continue
                print(f"{'not ok' if complaints else 'ok'} {number} - {title}", flush=True)
                for complaint in complaints:
                    print(f"# {complaint}", flush=True)
                failed = failed or bool(complaints)
        finally:
            for job in jobs:
                job.cancel()
    return 1 if failed else 0


def processors():
    return len(os.sched_getaffinity(0))
