# sniff.sh - for tests that capture live: source it before everything else.
#
# Root captures on the host's loopback. Anybody else gets a network namespace of his
# own, where he may: the test starts again inside it.

if [ "$(id -u)" != 0 ] && [ -z "${SNIFF_NAMESPACE:-}" ]; then
	SNIFF_NAMESPACE=1 exec unshare --user --map-current-user --net --keep-caps -- "$0" "$@"
fi
[ -z "${SNIFF_NAMESPACE:-}" ] || ip link set lo up

# sniff_start FILE ARGUMENT...: capture in the background until sniff_stop
sniff_start() {
	local file=$1
	shift
	"$REPROD" capture "$@" -o "$file" >"$file.out" 2>"$file.err" &
	sniff_pid=$!
	# The file is made after the sockets are open.
	wait_until 10 sniff_is_on "$file" || { diag <"$file.err"; return 1; }
}
sniff_is_on() { [ -s "$1" ]; }
# TERM: a shell's background jobs ignore INT.
sniff_stop() { # returns the exit code
	kill -TERM "$sniff_pid"
	wait "$sniff_pid"
}

tcpdump_start() { # FILE PORT
	tcpdump -i lo -s0 -U --immediate-mode -B 65536 -Z "$(id -un)" -w "$1" "tcp port $2" 2>"$1.err" &
	tcpdump_pid=$!
	wait_until 10 grep -qs listening "$1.err" || { diag <"$1.err"; return 1; }
}
tcpdump_stop() { # FILE SIZE-STAYS: waits until the last packets were handed over
	local before=-1 now
	now=$(stat -c %s "$1")
	while [ "$now" != "$before" ]; do
		before=$now
		sleep 0.3
		now=$(stat -c %s "$1")
	done
	kill -TERM "$tcpdump_pid"
	wait "$tcpdump_pid"
}

# A sanitizer takes memory and time of its own, and makes mlock() do nothing.
is_sanitized() { grep -qa __asan_init "$REPROD"; }

# sniff_get FILE DOTTED: a value out of a JSON document, by our own reader's layout
sniff_get() { # FILE.json KEY: the first number behind "KEY":
	grep -m1 "\"$2\":" "$1" | tr -dc '0-9\n'
}
