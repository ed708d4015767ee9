#!/bin/sh
# Not a link: perf would take the part of its name after "perf-" for a command.
exec /usr/lib/perf-flight/bin/perf "$@"
