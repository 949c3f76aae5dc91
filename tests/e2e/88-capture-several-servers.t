#!/bin/bash
# A capture of several Postgres servers names each of them, and replay refuses each.
. "$(dirname "$0")/../lib/tap.sh"
lib=$(cd "$(dirname "$0")/../lib" && pwd)
dir=$(tap_dir)
at_exit "rm -rf '$dir'"
cd "$dir" || bail "no folder"
perl "$lib/pgpcap.pl" 10.0.0.2:5432 10.0.0.3:5432 10.0.0.2:5433 10.0.0.3:5432 >all.pcap
perl "$lib/pgpcap.pl" 10.0.0.2:5432 >one.pcap
head -c 32 /dev/urandom >key && chmod 600 key

"$REPROD" capture -q --key key all.pcap -o all.rcap >out 2>err
is $? 0 "several servers are captured" || diag <err
"$REPROD" capture -q --key key one.pcap -o one.rcap && "$REPROD" capture merge all.rcap one.rcap -o both.rcap >/dev/null 2>err
is $? 0 "and merged" || diag <err

refused() { # FILE ADDRESS PORT
	"$REPROD" replay "$1" --target "host=$2 hostaddr=$2 port=$3 dbname=d user=u" >out 2>err
	is $? 5 "$1: replay refuses $2:$3" || diag <err
	like "$(cat err)" "the target is the captured server itself" "as the captured one"
}
refused one.rcap 10.0.0.2 5432
for f in all.rcap both.rcap; do
	refused $f 10.0.0.2 5432
	refused $f 10.0.0.3 5432
	refused $f 10.0.0.2 5433
done
done_testing
