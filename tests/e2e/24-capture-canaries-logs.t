#!/bin/bash
# A canary in every field of Postgres logs (csvlog, jsonlog, stderr, wrapped), of access
# logs and of GoReplay files: none comes out of any command in any form.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/canaries.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
cat >make.pl <<'END_PERL'
use strict;
use warnings;
use Canaries;
use JSON::PP;
my $c = Canaries->new(23);
sub w { $c->word }
my $json = JSON::PP->new->latin1->canonical;
# {message, detail, ...} by session and line; what a log of any format says.
my @lines;
sub line { push @lines, { @_ } }
for my $v (w, $c->mail, $c->number(9), $c->number(16), $c->number(19), $c->uuid, $c->card, $c->phone, $c->name) {
	(my $q = $v) =~ s/'/''/g;
	line(message => "duration: 1.000 ms  statement: select * from t where a = '$q' /* $v */ -- $v\n\tand b in ('$q', E'$q\\n')");
	line(message => "duration: 2.500 ms  execute $v: select \$1, '$q', \$2", detail => "parameters: \$1 = '$q', \$2 = NULL");
	line(message => "duration: 0.100 ms  parse $v: select '$q'");
	line(message => "duration: 0.100 ms  bind $v/$v: select '$q'", detail => "Parameters: \$1 = '$q, ''$q'' \$2 = ''', \$2 = '$q...'");
	line(message => "duration: 1.000 ms  execute fetch from $v/$v: select '$q' where b = \$1", detail => "parameters: \$1 = '$q");
	line(message => "duration: 0.700 ms  statement: insert into t values ('$q', '{\"a\": \"$v\"}', '{$q}')");
	line(message => "duration: 0.700 ms  statement: copy t from program 'x $q'; notify c, '$q'; prepare p as select '$q'; execute p('$q')");
	line(message => "duration: 0.700 ms  statement: alter role x password '$q'");
	line(message => "duration: 0.700 ms  statement: select '$q");
	line(severity => 'ERROR', code => '23505', message => "duplicate key value violates unique constraint \"$v\"", detail => "Key (a)=($v) already exists.", hint => $v,
		context => "COPY t, line 1, column a: \"$v\"\nPL/pgSQL function f() line 3", internal => "select '$q'", query => "insert into t values ('$q')");
	line(severity => 'ERROR', code => '22P02', message => "invalid input syntax for type integer: \"$v\"", context => "unnamed portal with parameters: \$1 = '$q'", query => "select \$1 /* $v */");
	line(severity => 'FATAL', code => '28P01', message => "password authentication failed for user \"$v\"", detail => "Connection matched pg_hba.conf line 1: \"host $v\"");
	line(message => "connection authorized: user=$v database=$v application_name=$v");
	line(message => "connection received: host=$v port=4711");
	line(message => "disconnection: session time: 0:00:01.000 user=$v database=$v host=$v");
	line(message => "process 7 still waiting for ShareLock on transaction 5", detail => "Process holding the lock: 8. Wait queue: 7.", query => "select '$q'");
	line(message => "temporary file: path \"$v\", size 5", query => "select '$q'");
	line(message => "AUDIT: SESSION,1,1,READ,SELECT,,,\"select '$v'\",<none>");
	line(message => "duration: 3.000 ms  plan:\nQuery Text: select '$q'\nSeq Scan on t  (cost=0.00..1.00)\n  Filter: (a = '$q'::text)");
	line(message => "$v: $v");
}
my %session = (user => w, db => w, app => w, host => '10.9.' . '8.7:4711', id => '6a1b2c3d.1e2f', tag => 'SELECT');
sub stamp { sprintf '2026-01-01 00:%02d:%02d.%03d UTC', int($_[0] / 60), $_[0] % 60, 500 }
sub quoted { my ($s) = @_; return '' if !defined $s; $s =~ s/"/""/g; "\"$s\"" }
open my $csv, '>:raw', 'pg.csv' or die;
open my $js, '>:raw', 'pg.json' or die;
open my $err, '>:raw', 'pg.log' or die;
open my $cnpg, '>:raw', 'cnpg.json' or die;
for my $i (0 .. $#lines) {
	my %l = (severity => 'LOG', code => '00000', %{$lines[$i]});
	my $at = stamp($i);
	my $user = $i % 7 ? $session{user} : w;
	my @row = ($at, $user, $session{db}, 7, $session{host}, $session{id}, $i + 1, 'SELECT', stamp(0), '3/4', 0, @l{qw(severity code message detail hint internal)},
		undef, $l{context}, $l{query}, undef, undef, $session{app}, 'client backend', undef, '-12');
	print $csv join(',', map { quoted($_) } @row), "\n";
	my @names = qw(timestamp user dbname pid remote_host session_id line_num ps session_start vxid txid error_severity state_code message detail hint internal_query
		internal_position context statement cursor_position func_name application_name backend_type leader_pid query_id);
	my %j = map { $names[$_] => $row[$_] } grep { defined $row[$_] } 0 .. $#row;
	print $js $json->encode(\%j), "\n";
	print $cnpg $json->encode({ level => 'info', ts => '2026-01-01T00:00:00Z', logger => 'postgres', logging_pod => w, msg => 'record', record => { %j, log_time => $at, user_name => $user, database_name => $session{db},
		process_id => '7', connection_from => $session{host}, sql_state_code => $l{code}, query => $l{query} // '' } }), "\n";
	my $prefix = "$at [7] $user\@$session{db} $session{app} ";
	for ([ $l{severity} => $l{message} ], [ DETAIL => $l{detail} ], [ HINT => $l{hint} ], [ CONTEXT => $l{context} ], [ QUERY => $l{internal} ], [ STATEMENT => $l{query} ]) {
		next if !defined $_->[1];
		(my $text = $_->[1]) =~ s/\n/\n\t/g;
		print $err "$prefix$_->[0]:  $text\n";
	}
}
print $csv "half a line \"" . w . "\"\n", w, "\n";
print $js '{"timestamp": "' . w . "\n", w, "\n";
print $err w, "\n\t", w, "\n";
close $_ for $csv, $js, $err, $cnpg;

# Access logs.
open my $a, '>:raw', 'combined.log' or die;
open my $caddy, '>:raw', 'caddy.log' or die;
open my $nginx, '>:raw', 'nginx.log' or die;
open my $gor, '>:raw', 'requests.gor' or die;
my $n = 0;
for my $v (w, $c->mail, $c->number(9), $c->number(16), $c->uuid, $c->card, $c->phone, $c->name) {
	(my $e = $v) =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02X', ord $1/ge;
	for my $target ("/users/$e/orders?q=$e&$e=1#$e", "http://$e:$e\@$e.example/$e", "/$e;v=$e/a", '/a?b=' . '%' . join('%', unpack '(A2)*', unpack 'H*', $v), "/health?redirect=http%3A%2F%2F$e%2F%3Fx%3D$e") {
		my $s = sprintf '%02d', $n++ % 60;
		my $host = $n % 3 ? '10.1.2.3' : "$e.example";
		my $date = "01/Jan/2026:00:00:$s +0000";
		print $a "$host $e $e [$date] \"GET $target HTTP/1.1\" 200 512 \"http://$e/?$e\" \"$v/1.0\"\n";
		print $nginx "$host|$date|0.012|GET $target HTTP/1.1|200|512|$e|$v\n";
		print $caddy $json->encode({ level => 'info', ts => 1767225600 + $n, logger => $v, msg => 'handled request', request => { remote_ip => $host, remote_port => '1', client_ip => $v, proto => 'HTTP/1.1', method => 'GET', host => $v,
			uri => $target, headers => { 'User-Agent' => [ $v ], Cookie => [ $v ], Authorization => [ $v ], $e => [ $v ] } }, user_id => $v, duration => 0.01, size => 5, status => 200, resp_headers => { 'Set-Cookie' => [ $v ] } }), "\n";
		my $id = sprintf '%024x', $n;
		my $body = "{\"mail\": \"$v\", \"$v a1b2c3\": 1}";
		my $t = (1767225600 + $n) . '000000000';
		print $gor "1 $id $t 0\nPOST $target HTTP/1.1\r\nHost: $e.example\r\nCookie: a=$v\r\nAuthorization: Bearer $v\r\nX-Any: $v\r\nContent-Type: application/json\r\nContent-Length: " . length($body) . "\r\n\r\n$body\n\360\237\220\265\360\237\231\210\360\237\231\211\n";
		print $gor "2 $id $t 1000000\nHTTP/1.1 200 $e\r\nSet-Cookie: $v\r\nContent-Length: " . length($v) . "\r\n\r\n$v\n\360\237\220\265\360\237\231\210\360\237\231\211\n";
	}
}
print $a w, "\n", '10.1.2.3 - - [01/Jan/2026:00:00:59 +0000] "', w, "\" 400 5\n";
print $caddy '{"ts": "', w, "\"}\n", w, "\n";
print $nginx w, "\n";
print $gor w, "\n";
close $_ for $a, $caddy, $nginx, $gor;
$c->save('canaries');
END_PERL
perl -I"$canaries_lib" make.pl || bail "the logs were not made"

cat pg.csv combined.log cnpg.json requests.gor caddy.log >inputs
canaries_sound canaries inputs
for log in pg.csv pg.json pg.log cnpg.json; do
	canaries_try "of-$log" canaries "$log"
done
canaries_try permuted canaries pg.csv --ids permute
canaries_try of-combined canaries combined.log
canaries_try of-caddy canaries caddy.log
# shellcheck disable=SC2016 # nginx's variables
canaries_try of-nginx canaries nginx.log --log-format '$remote_addr|$time_local|$request_time|$request|$status|$bytes_sent|$http_referer|$http_user_agent'
canaries_try of-gor canaries requests.gor

for label in of-pg.csv of-pg.json of-pg.log of-cnpg.json of-combined of-caddy of-nginx of-gor; do
	[ "$(grep -c '"type":"request"' "$label.cat--values.txt")" -ge 40 ]
	ok $? "$label: the requests are there" || diag <"$label.show.txt"
done

# What is refused is not shown either.
head -c 300 pg.csv | tail -c 200 >bad.csv
for bad in bad.csv; do
	"$REPROD" capture -v -v "$bad" --format csvlog -o bad.rcap >bad.out 2>&1
	is $? 3 "half a line is refused"
done
"$canaries_lib/find-canaries" canaries bad.out >bad.found
is $? 0 "and not shown" || diag <bad.found
done_testing
