#!/bin/bash
# What `make install` leaves in a package's tree is found there.
. "$(dirname "$0")/../lib/tap.sh"

dir=$(tap_dir)
tree=$(cd "$(dirname "$0")/../.." && pwd)
# `-o all`: what is under test is built already.
env -u MAKEFLAGS -u MFLAGS -u MAKELEVEL make -C "$tree" -o all install DESTDIR="$dir" PREFIX=/usr NO_DEPS=1 \
	BUILD="$(dirname "$TEST_OUT")" CONFIG="$(basename "$TEST_OUT")" >"$dir/log" 2>&1
is $? 0 "make install" || diag <"$dir/log"
is "$(env -u REPROD_SHARE "$dir/usr/bin/reprod" demo --list)" $'lock-job\nstale-statistics' "the incidents are listed"
for name in lock-job stale-statistics; do
	diff -r "$tree/demo/incidents/$name" "$dir/usr/share/reprod/demo/incidents/$name" >"$dir/log" 2>&1
	ok $? "$name is whole" || diag <"$dir/log"
done
is "$(env -u REPROD_SHARE "$dir/usr/bin/reprod" version | cut -c 1-7)" "reprod " "the program runs"
done_testing
