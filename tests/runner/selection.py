# SPDX-License-Identifier: BSD-3-Clause
"""Which tests were asked for on the command line."""


class Selection:
    """Filters are parts of a case's full name, group/program/case; none means everything."""

    def __init__(self, filters, groups):
        self.filters = [text.lower() for text in filters]
        self._groups = groups

    def wants_group(self, group):
        """Whether a case of this group can match: a filter that begins with a group's name and a
        slash, or is one, speaks of that group alone."""
        named = [text.split("/", 1)[0] for text in self.filters]
        return not self.filters or any(name not in self._groups or name == group
                                        for name in named)

    def wants(self, name):
        return not self.filters or any(self._matches(text, name.lower())
                                        for text in self.filters)

    def _matches(self, text, name):
        head = text.split("/", 1)[0]
        return name.startswith(text) if head in self._groups else text in name

    def is_partial(self, name):
        """Whether some cases under this program's name may be left out."""
        return not self.wants(name + "/")
