#!/bin/bash
# Every folder <command>/<case>/ here is one case: cmd is a shell line, run in a
# copy of the folder with reprod on PATH; out, err and code (absent: empty, empty,
# 0) are what it must give. UPDATE=1 rewrites them; the commit shows the change.
here=$(cd "$(dirname "$0")" && pwd)
. "$here/../lib/tap.sh"

bin=$TEST_TMPDIR/golden-bin
mkdir -p "$bin"
ln -sf "$REPROD" "$bin/reprod"
PATH=$bin:$PATH

keep_or_remove() { # FILE NEW
	if [ -s "$2" ]; then cp "$2" "$1"; else rm -f "$1"; fi
}

same() { # EXPECTED ACTUAL (an absent EXPECTED is empty)
	if [ -e "$1" ]; then diff -u "$1" "$2"; else diff -u /dev/null "$2"; fi
}

run_case() { # DIR NAME
	local work=$TEST_TMPDIR/golden-case got=$TEST_TMPDIR/golden-got why='' code
	rm -rf "$work" "$got"
	mkdir -p "$got"
	cp -R "$1" "$work"
	(cd "$work" && bash ./cmd) >"$got/out" 2>"$got/err" </dev/null
	code=$?
	: >"$got/code"
	[ "$code" -eq 0 ] || echo "$code" >"$got/code"
	if [ -n "${UPDATE:-}" ]; then
		for f in out err code; do keep_or_remove "$1/$f" "$got/$f"; done
	fi
	for f in out err code; do
		why+=$(same "$1/$f" "$got/$f")
	done
	[ -z "$why" ]
	ok $? "$2" || printf '%s\n' "$why" | diag
}

for cmd in "$here"/*/*/cmd; do
	[ -e "$cmd" ] || continue
	dir=${cmd%/cmd}
	run_case "$dir" "${dir#"$here"/}"
done
done_testing
