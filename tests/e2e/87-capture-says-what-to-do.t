#!/bin/bash
# Outputs that cannot be: exit 4 from every subcommand that writes, with what to do.
. "$(dirname "$0")/../lib/tap.sh"
dir=$(tap_dir)
at_exit "rm -rf '$dir'"
cd "$dir" || bail "no folder"
echo '10.0.0.1 - - [30/Nov/2026:12:00:00 +0000] "GET / HTTP/1.1" 200 5 "-" "-"' >access.log
"$REPROD" capture -q access.log -o a.rcap || bail "no capture"

fails() { # EXIT REGEX ARGUMENT...
	local want=$1 regex=$2
	shift 2
	"$REPROD" capture "$@" >out 2>err
	is $? "$want" "$*" || diag <err
	like "$(cat err)" "$regex" "says what to do"
}
missing="could not create 'nodir/x'.*hint: make its folder first"
fails 4 "$missing" access.log -o nodir/x
for format in csv jsonl gor k6 vegeta wsesslog; do
	fails 4 "$missing" export a.rcap --to "$format" -o nodir/x
done
fails 4 "$missing" show a.rcap -o nodir/x
fails 4 "$missing" verify a.rcap -o nodir/x
fails 4 "$missing" merge a.rcap a.rcap -o nodir/x
fails 2 'hint: merge several first' export a.rcap a.rcap --to csv -o x
fails 2 'hint: name the file with -o' export a.rcap --to csv
fails 2 'hint: a port is a number' access.log --port http
done_testing
