# tap.sh - source it in a bash test: ok, is, like, unlike, skip, diag, done_testing.
# Each prints one TAP line; is and like say what came when they fail. No plan is
# needed before; done_testing prints it and ends with the right exit code.
#
#   . "$(dirname "$0")/../lib/tap.sh"
#   out=$("$REPROD" version); ok $? "version ends with 0"
#   like "$out" '^reprod [0-9]' "and says it"
#   done_testing

set -u
: "${REPROD:?set REPROD to the binary under test, or run make check}"
# 755: as root, servers run as another user, who must reach it.
[ -n "${TEST_TMPDIR:-}" ] || { TEST_TMPDIR=$(mktemp -d /tmp/rt.XXXXXX) && chmod 755 "$TEST_TMPDIR"; }
export REPROD TEST_TMPDIR
tap_count=0
tap_failed=0

diag() { # text as arguments, or on stdin
	if [ $# -gt 0 ]; then printf '%s\n' "$*"; else cat; fi | sed 's/^/# /' | head -n "${DIAG_LINES:-60}"
}

ok() { # STATUS NAME
	tap_count=$((tap_count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $tap_count - $2"
		return 0
	fi
	tap_failed=$((tap_failed + 1))
	echo "not ok $tap_count - $2"
	return 1
}

is() { # GOT WANTED NAME
	[ "$1" = "$2" ]
	ok $? "$3" || { diag "got:    $1"; diag "wanted: $2"; return 1; }
}

like() { # GOT REGEX NAME (extended regular expression, on the text as a whole)
	[[ $1 =~ $2 ]]
	ok $? "$3" || { diag "got:            $1"; diag "does not match: $2"; return 1; }
}

unlike() { # GOT REGEX NAME
	! [[ $1 =~ $2 ]]
	ok $? "$3" || { diag "got:     $1"; diag "matches: $2"; return 1; }
}

# For tests that need what the machine may lack. CI fails on any skip.
skip() { # WHY NAME
	tap_count=$((tap_count + 1))
	echo "ok $tap_count - $2 # SKIP $1"
}

skip_all() { # WHY (before any test)
	echo "1..0 # SKIP $1"
	exit 0
}

# Ends the test now, as failed: for set-up that went wrong.
bail() { # WHY
	ok 1 "$1"
	done_testing
}

# Polls until the command succeeds, with a deadline; tests never sleep to wait.
wait_until() { # SECONDS COMMAND [ARG...]
	local until=$(($(date +%s%N) + ${1%.*} * 1000000000))
	shift
	until "$@"; do
		[ "$(date +%s%N)" -lt "$until" ] || return 1
		sleep 0.02
	done
}

# at_exit COMMAND...: run when the test ends, last one first.
tap_exit=()
at_exit() {
	tap_exit=("$*" "${tap_exit[@]+"${tap_exit[@]}"}")
}
tap_run_exit() {
	local status=$? command
	for command in "${tap_exit[@]+"${tap_exit[@]}"}"; do eval "$command"; done
	return $status
}
trap tap_run_exit EXIT
trap 'exit 130' INT TERM HUP

# A folder of this test's own, removed at its end; short, for sockets.
tap_dir() {
	local dir
	dir=$(mktemp -d "$TEST_TMPDIR/XXXXX") && chmod 755 "$dir" && echo "$dir"
}

done_testing() {
	echo "1..$tap_count"
	exit $((tap_failed > 0))
}
