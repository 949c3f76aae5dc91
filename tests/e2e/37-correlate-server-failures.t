#!/usr/bin/env bash
# What goes wrong between us and a server is one line with its name, without credentials.
. "$(dirname "$0")/../lib/tap.sh"
lib=$(cd "$(dirname "$0")/../lib" && pwd)
dir=$(tap_dir)
cd "$dir" || exit 1
export HOME=$dir

setpriv --pdeathsig KILL -- perl "$lib/http-script" "$dir/port" "$dir/log" 2>/dev/null &
server=$!
disown
at_exit "kill -KILL $server 2>/dev/null"
wait_until 10 test -e port || bail "the scripted server did not start"
port=$(cat port)
at=127.0.0.1:$port
range='from=2026-11-30T12:00:00Z&to=2026-11-30T13:00:00Z'

# ask PLACE [OPTION...]: the error line and the hint; the exit code in $code
ask() {
	local place=$1
	shift
	out=$("$REPROD" correlate "prometheus:http://bob:hunter2@$at/$place?query=x_bucket&$range" "$@" 2>&1 >/dev/null)
	code=$?
	told+=$out
}
told=
while read -r place wanted words; do
	ask "$place"
	is $code "$wanted" "$place: exit code"
	like "$out" "$words" "$place: says why"
	like "$out" "http://$at" "$place: names the server"
	is "$(wc -l <<<"$out")" 2 "$place: one line and a hint"
done <<'PLACES'
status/401 4 status 401
status/403 4 header-file
status/404 4 status 404
status/500 4 status 500
status/400-error 3 no such function
html 3 web page
cut 3 no whole JSON document
short 4 broke the connection off
huge 3 larger than
away 4 sends us on to
PLACES
unlike "$told" 'hunter2|bob' "no credentials in any of them"

out=$("$REPROD" correlate "prometheus:http://$at/slow?query=x_bucket&$range&timeout=1s" 2>&1)
is $? 4 "a server that does not answer: exit code"
like "$out" "did not answer within 1 s" "and it is said"
out=$("$REPROD" correlate "prometheus:http://bob:hunter2@127.0.0.1:1/?query=x_bucket&$range" 2>&1)
is $? 4 "nobody there: exit code"
like "$out" "could not reach http://127.0.0.1:1" "and who is not there"
out=$("$REPROD" correlate "prometheus:http://bob:hun/ter2@$at/?query=x_bucket&$range" 2>&1)
is $? 2 "an address that is none is a usage error"
unlike "$out" 'ter2' "and does not show what may be a password"

cat >REPLY <<'JSON'
{"status": "success", "data": {"resultType": "matrix", "result": [
{"metric": {"__name__": "x_seconds_bucket", "le": "0.1", "handler": "/a"}, "values": [[1796040000, "0"], [1796040060, "70"]]},
{"metric": {"__name__": "x_seconds_bucket", "le": "+Inf", "handler": "/a"}, "values": [[1796040000, "0"], [1796040060, "100"]]}]}}
JSON
: >log
http_proxy=http://127.0.0.1:1 "$REPROD" correlate "prometheus:http://bob:hunter2@$at/here?query=x_bucket&$range" --json >a.json
is $? 0 "a redirect within the server is followed; a proxy is not used for loopback"
like "$(cat log)" '/here/.* Basic Ym9iOmh1bnRlcjI= ' "the URL's credentials are sent"
unlike "$(cat a.json)" 'hunter2|bob' "and are not in the document"
like "$(cat a.json)" "\"prometheus:http://$at/here\?query=x_bucket\"" "whose input still has a name"

printf '%s\n' '# tokens' "[elsewhere]" "X-Test: wrong" "[$at]" "Authorization: Bearer t0ken" >headers
: >log
"$REPROD" correlate "prometheus:http://$at/file?query=x_bucket&$range" --header-file headers >/dev/null
like "$(cat log)" '\| Bearer t0ken \|' "a header file gives the token"
unlike "$(cat log)" 'wrong' "and no other server's headers"
printf 'Authorization Bearer t0ken\n' >headers
out=$("$REPROD" correlate "prometheus:http://$at/file?query=x_bucket&$range" --header-file headers 2>&1)
is $? 2 "a line that is no header is refused"
like "$out" 'headers: line 1' "by its number"
unlike "$out" 't0ken' "without its text"
printf 'machine 127.0.0.1 login ann password s3cret\n' >.netrc
: >log
"$REPROD" correlate "prometheus:http://$at/file?query=x_bucket&$range" >/dev/null
like "$(cat log)" "Basic $(printf ann:s3cret | base64)" "netrc is used"
rm .netrc

# TLS: a certificate that nobody vouches for, then with its authority named.
openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 3650 -subj /CN=localhost \
	-addext 'subjectAltName=DNS:localhost' 2>/dev/null
mkdir -p api/v1 && cp REPLY api/v1/query_range
tls_is_up() { openssl s_client -connect "localhost:$tls" </dev/null >/dev/null 2>&1; }
for try in 1 2 3 4 5; do
	tls=$((20000 + (RANDOM * 32768 + RANDOM) % 40000))
	setpriv --pdeathsig KILL -- openssl s_server -accept "$tls" -cert cert.pem -key key.pem -WWW </dev/null >tls.log 2>&1 &
	tls_pid=$!
	at_exit "kill -KILL $tls_pid 2>/dev/null"
	disown
	wait_until 3 tls_is_up && break
done
out=$("$REPROD" correlate "prometheus:https://localhost:$tls/?query=x_bucket&$range" 2>&1)
is $? 4 "an unknown authority: exit code"
like "$out" "could not trust https://localhost:$tls" "and that it is not trusted"

# Grafana: 2,600 annotations, of which 1,100 end at the same instant.
perl -e 'print "$_ ", 1796040000000 + ($_ < 1100 ? 5000 : $_ * 1000), " ", 1796040000000 + ($_ < 1100 ? 5000 : $_ * 1000 + 500), "\n" for 0 .. 2599' >ANNOTATIONS
perl -e 'print "t,route,ms\n"; printf "%d,a,5\n", 1796040000 + $_ for 0 .. 3000' >a.csv
: >log
"$REPROD" correlate a.csv --events "grafana:http://bob:hunter2@$at/many" --json >a.json 2>err
ok $(($? == 2 || $? == 3 || $? == 4)) "annotations are read"
diag <err
is "$(perl -MJSON::PP -e 'local $/; print decode_json(<STDIN>)->{conditions}[0]{occurrences}{scheduled}' <a.json)" 1501 \
	"every instant once"
like "$(cat a.json)" '1099 events were given twice' "of 2,600 that came"
like "$(cut -d'|' -f1 log | tail -1)" 'limit=10000' "with a larger page where many end at once"
unlike "$(cat a.json err)" 'hunter2|secret words' "no password, no free text"
for place in html status/401 file; do
	"$REPROD" correlate a.csv --events "grafana:http://$at/$place" >/dev/null 2>err
	like "$?" '^[34]$' "$place: no annotations: exit code"
	like "$(cat err)" "http://$at" "$place: names the server"
done

done_testing
