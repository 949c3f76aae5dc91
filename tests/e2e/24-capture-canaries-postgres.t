#!/bin/bash
# A canary in every place of the Postgres protocol, both ways, in text and in binary: none
# comes out of any command in any form, whatever the policy keeps elsewhere.
. "$(dirname "$0")/../lib/tap.sh"
. "$(dirname "$0")/../lib/canaries.sh"

dir=$(tap_dir)
cd "$dir" || exit 1
cat >make.pl <<'END_PERL'
use strict;
use warnings;
use Canaries;
my $c = Canaries->new(11);
my $p = Pcap->new('all.pcap');
sub m_ { my ($type, $body) = @_; $type . pack('N', 4 + length $body) . $body }
sub z { join '', map { "$_\0" } @_ }
sub n { pack 'n', $_[0] }
sub N4 { pack 'N', $_[0] }
sub counted { my ($v) = @_; defined $v ? N4(length $v) . $v : N4(0xffffffff) }
my $ready = m_('Z', 'I');
sub ready { m_('Z', $_[0]) }
sub w { $c->word }
sub startup { my ($minor, @pairs) = @_; my $body = N4(0x00030000 + $minor) . z(@pairs) . "\0"; N4(4 + length $body) . $body }
sub err { my ($type, %f) = @_; m_($type, join('', map { "$_$f{$_}\0" } sort keys %f) . "\0") }
sub columns { my @c = @_; m_('T', n(scalar @c) . join '', map { "$_->[0]\0" . pack 'NnNnNn', 0, 0, $_->[1], -1 & 0xffff, 0xffffffff, $_->[2] // 0 } @c) }
sub row { m_('D', n(scalar @_) . join '', map { counted($_) } @_) }
sub login {
	my ($minor) = @_;
	my $t = $p->talk(5432);
	$t->client(startup($minor // 0, user => w, database => w, application_name => w, options => '-c my.setting=' . w,
		replication_hint => w, '_pq_.' . 'x' => w, client_encoding => 'UTF8', TimeZone => 'Europe/Prague'));
	$t->server(m_('R', N4(10) . z('SCRAM-SHA-256', 'SCRAM-SHA-256-PLUS') . "\0"));
	my $first = 'n,,n=' . w . ',r=' . w;
	$t->client(m_('p', z('SCRAM-SHA-256') . counted($first)));
	$t->server(m_('R', N4(11) . 'r=' . w . ',s=' . w . ',i=4096'));
	$t->client(m_('p', 'c=biws,r=' . w . ',p=' . w));
	$t->server(m_('R', N4(12) . 'v=' . w) . m_('R', N4(0)) . m_('S', z(application_name => w))
		. m_('S', z(session_authorization => w)) . m_('S', z(server_version => '18.1'))
		. m_('S', z(w, w)) . m_('S', z(search_path => w))
		. m_('K', N4(4711) . ($minor ? pack('N', 4) . 'Zq7!' . w : N4(1918273645))) . $ready);
	return $t;
}

# Passwords in clear and as MD5; a refused start; encryption asked for; a cancel.
my $t = $p->talk(5432);
$t->client(startup(0, user => w, database => w));
$t->server(m_('R', N4(3)));
$t->client(m_('p', z(w)));
$t->server(err('E', S => 'FATAL', V => 'FATAL', C => '28P01', M => 'password authentication failed for user "' . w . '"', R => w));
$t->close;
$t = $p->talk(5432);
$t->client(N4(8) . N4(80877103));
$t->server('N');
$t->client(startup(0, user => w, database => w));
$t->server(m_('R', N4(5) . 'salt'));
$t->client(m_('p', z('md5' . w)));
$t->server(m_('R', N4(0)) . $ready);
$t->client(m_('X', ''));
$t->close;
$t = $p->talk(5432);
my $key = w;
$t->client(N4(12 + length $key) . N4(80877102) . N4(4711) . $key);
$t->close;

$t = login(0);
sub simple {
	my ($text, @answer) = @_;
	$t->client(m_('Q', z($text)));
	$t->server(join('', @answer ? @answer : m_('C', z('SELECT 0'))) . $ready);
}
# Every kind of literal, and of value in it.
for my $v (w, w, $c->mail, $c->number(9), $c->number(10), $c->number(16), $c->number(19), $c->number(30), $c->uuid, $c->card, $c->phone, $c->name) {
	simple("select * from t where a = '$v' and b in ('$v', 'x$v') /* $v */ -- $v");
	simple("select E'\\\\$v', \$\$$v\$\$, \$q\$$v\$q\$, N'$v', U&'$v', '[$v,$v]', '{$v,\"$v\"}'::text[], '{\"a\": {\"b\": [\"$v\"]}}'::jsonb");
	simple("insert into t (a, b) values ('$v', '$v'), ('$v', null) on conflict (a) do update set b = '$v' returning a");
	simple("set my.x = '$v'; notify chan, '$v'; select pg_notify('chan', '$v'); comment on table t is '$v'");
	simple("prepare transaction '$v'");
	simple("commit prepared '$v'");
	simple("rollback prepared '$v'");
	simple("copy t from program 'cat $v'");
	simple("copy t (a) to '/tmp/$v' with (format csv, null '$v', delimiter '|')");
	simple("select '$v");
	simple("do \$\$ begin perform '$v'; end \$\$");
	simple("create role r password '$v' valid until '2030-01-01'");
	simple("alter system set primary_conninfo = 'host=$v password=$v'");
	simple("explain (analyze) select * from t where a like '%$v%' or a ~ '^$v' or a similar to '$v|b'");
	simple("call p('$v', \$\$$v\$\$); execute q('$v'); declare cc cursor for select '$v'; fetch 5 from cc");
	simple("select date_trunc('$v', now()), extract('$v' from now()), set_config('my.x', '$v', true), interval '$v', to_char(now(), '$v')");
	# What reads like a name is one behind these; anything else is no name anywhere.
	my $data = "$v 1+1 a1b2c3d4e5";
	simple("select '$data'::regclass, nextval('$data'), set_config('$data', '', true), x->'$data', x->>'$data', x #> '{$data}', x ? '$data', x \@> '{\"$data\": \"$v\"}' from t");
	simple("select json_table(x, '\$.a ? (\@ == \"$v\")' columns (b text path '\$.$v')) from t", err('E', S => 'ERROR', C => '42601', M => 'syntax error at or near "' . $v . '"', P => 20));
}
for my $number ($c->number(9), $c->number(12), $c->number(18), $c->number(25)) {
	simple("select * from t where id = $number or id in ($number, $number) or x < -$number.$number limit 5 offset 7");
	simple("update t set a = $number\:\:bigint, b = 0x" . sprintf('%x', 987654321) . ", c = $number" . "e5 where id = any (array[$number])");
}
# Errors and notices with values in every field; answers of every kind.
simple('select 1', err('N', S => 'NOTICE', C => '00000', M => w, D => w, H => w, W => w, q => w, p => '3'),
	err('E', S => w, V => 'ERROR', C => '23505', M => 'duplicate key "' . w . '"', D => 'Key (mail)=(' . $c->mail . ') already exists. ' . $c->number(12),
		H => w, W => 'COPY t, line 1: "' . w . '"', q => 'select ' . w, s => w, t => w, c => w, d => w, n => w, F => w, R => w));
simple('select 1', err('E', S => 'ERROR', C => substr(w, 0, 5), M => w));
simple('select 1', m_('A', N4(17) . z(w, w)), m_('S', z(application_name => w)), m_('C', z('SELECT ' . w)));
simple('select a, b, c from t returning', columns([ w, 25 ], [ 'b', 20, 1 ], [ 'c', 2950, 1 ]),
	row(w, pack('q>', $c->number(15)), pack('H*', $c->uuid =~ tr/-//dr)), row($c->mail, undef, ''), m_('C', z('SELECT 2')));
simple('insert into t default values returning id', columns([ 'id', 20 ], [ 'u', 2950 ]), row($c->number(11), $c->uuid), m_('C', z('INSERT 0 1')));
simple("listen \"" . 'chan' . "\"", m_('A', N4(17) . z('chan', w)), m_('C', z('LISTEN')));

# Binds: text and binary, of all types, known and unknown.
sub extended {
	my ($oid, $format, $value) = @_;
	my ($portal, $statement) = (w, w);
	$t->client(m_('P', z($statement, 'select * from t where c = $1 and d = \'' . w . '\'') . n(1) . N4($oid))
		. m_('D', 'S' . z($statement))
		. m_('B', z($portal, $statement) . n(1) . n($format) . n(1) . counted($value) . n(0))
		. m_('D', 'P' . z($portal)) . m_('E', z($portal) . N4(10)) . m_('C', 'P' . z($portal)) . m_('C', 'S' . z($statement)) . m_('S', ''));
	$t->server(m_('1', '') . m_('t', n(1) . N4($oid)) . columns([ w, 25 ]) . m_('2', '') . columns([ w, 25 ]) . row(w) . m_('s', '')
		. m_('3', '') . m_('3', '') . ready('I'));
}
sub array { my ($oid, @v) = @_; pack('NNNNN', 1, 0, $oid, scalar @v, 1) . join '', map { counted($_) } @v }
sub int8 { pack 'q>', $_[0] }
sub uuid { pack 'H*', $_[0] =~ tr/-//dr }
sub numeric { my $d = $_[0]; $d = ('0' x (-length($d) % 4)) . $d; my @g = unpack '(A4)*', $d; pack('nnnn', scalar @g, $#g, 0, 0) . pack 'n*', @g }
for my $oid (0, 25, 1043, 1042, 19, 705, 142, 17, 18, 114, 600, 628, 790, 1560, 1562, 3614, 3615, 4072, 2249, 2205, 1790, 99999, 16385, 2281) {
	for my $v (w, $c->mail, $c->uuid) {
		extended($oid, 0, $v);
		extended($oid, 1, $v);
	}
}
extended(3802, 1, "\1" . '{"' . w . ' 1+1": {"x": ["' . w . '", ' . $c->number(12) . ']}}');
extended(114, $_, '{"a": "' . w . '", "' . $c->mail . '": {"b": ' . $c->number(17) . '}}') for 0, 1;
extended(20, 1, int8($c->number($_))) for 10 .. 18;
extended(23, 1, N4($c->number(9))), extended(26, 1, N4($c->number(9))), extended(28, 1, N4($c->number(9)));
extended(1700, 1, numeric($c->number($_))) for 9, 12, 16, 30;
extended(701, 1, pack 'd>', $c->number(15)), extended(700, 1, pack 'f>', $c->number(9));
extended(2950, 1, uuid($c->uuid)), extended(0, 1, uuid($c->uuid)), extended(0, 1, int8($c->number(18)));
extended(1016, 1, array(20, map { int8($c->number(16)) } 1 .. 3));
extended(1009, 1, array(25, w, $c->mail, undef, w));
extended(2951, 1, array(2950, map { uuid($c->uuid) } 1, 2));
extended(1231, 1, array(1700, numeric($c->number(20))));
extended(77777, 1, array(77776, w)), extended(2287, 1, array(2249, N4(1) . N4(25) . counted(w)));
extended(3926, 1, "\2" . counted(int8($c->number(15))) . counted(int8($c->number(15))));
extended(1009, 0, '{' . w . ',"' . w . ' x",' . $c->number(11) . '}'), extended(2287, 0, '{"(' . w . ',5)"}'), extended(3926, 0, '[' . $c->number(11) . ',' . $c->number(11) . ')');
# A type that lies about its length, a wrong format code, more formats than values.
extended(20, 1, w), extended(2950, 1, w), extended(1700, 1, w), extended(1009, 1, w), extended(3802, 1, w), extended(1184, 1, w), extended(25, 7, w);
$t->client(m_('P', z('', 'select $1, $2') . n(0)) . m_('B', z('', '') . n(3) . n(1) x 3 . n(2) . counted(w) . counted(w) . n(0)) . m_('E', z('') . N4(0)) . m_('S', ''));
$t->server(m_('1', '') . m_('2', '') . m_('C', z('SELECT 0')) . $ready);
# An error in the middle: what stands behind it is skipped.
$t->client(m_('P', z('', "select '" . w . "'") . n(0)) . m_('B', z('', '') . n(0) . n(1) . counted(w) . n(0)) . m_('E', z('') . N4(0))
	. m_('P', z(w, "update t set a = '" . w . "'") . n(0)) . m_('B', z(w, w) . n(0) . n(1) . counted(w) . n(0)) . m_('E', z(w) . N4(0)) . m_('S', ''));
$t->server(err('E', S => 'ERROR', C => '22P02', M => 'invalid input syntax: "' . w . '"', W => "unnamed portal parameter \$1 = '" . w . "'") . $ready);
# A statement that nobody saw being prepared.
$t->client(m_('B', z('', w) . n(1) . n(1) . n(2) . counted(w) . counted(int8($c->number(17))) . n(0)) . m_('E', z('') . N4(0)) . m_('S', ''));
$t->server(m_('2', '') . m_('C', z('SELECT 0')) . $ready);
# A text with a NUL too many, and one that is no UTF-8.
$t->client(m_('Q', "select '" . w . "'\0" . w . "\0"));
$t->server(m_('C', z('SELECT 0')) . $ready);
simple("select '\xff\xfe" . w . "\xc0'");

# COPY in and out: text, csv, binary, broken rows, a failure with a reason.
sub copy_in {
	my ($statement, $binary, @data) = @_;
	$t->client(m_('Q', z($statement)));
	$t->server(m_('G', pack('C', $binary) . n(2) . n($binary) . n($binary)));
	$t->client(join('', map { m_('d', $_) } @data) . m_('c', ''));
	$t->server(m_('C', z('COPY 2')) . $ready);
}
copy_in('copy t (a, b) from stdin', 0, w . "\t" . $c->number(14) . "\n", $c->mail . "\t\\N\n" . w, "half\t" . $c->uuid . "\n", w . '\\t' . w . "\t1\n", "\\.\n");
copy_in('copy t (a, b) from stdin with (format csv)', 0, w . ',"' . w . ' ""x"" ' . w . '"' . "\n", $c->mail . ",\"line\n" . w . "\"\n", w . ",\"never closed " . w . "\n");
copy_in('copy t from stdin (delimiter \'|\')', 0, w . '|' . $c->card(1) . "\n", w . "\n" . w . '|' . w . '|' . w . "\n");
my $sign = "PGCOPY\n\xff\r\n\0" . N4(0) . N4(0);
copy_in('copy t (a, b) from stdin (format binary)', 1, $sign . n(2) . counted(w) . counted(int8($c->number(15))), n(1) . counted(uuid($c->uuid)), "\xff\xff");
copy_in('copy t from stdin', 1, w, w);
$t->client(m_('Q', z('copy t from stdin')));
$t->server(m_('G', "\0" . n(1) . n(0)));
$t->client(m_('d', w . "\n") . m_('f', z(w)));
$t->server(err('E', S => 'ERROR', C => '57014', M => 'COPY from stdin failed: ' . w) . $ready);
$t->client(m_('Q', z('copy t to stdout')));
$t->server(m_('H', "\0" . n(1) . n(0)) . m_('d', w . "\t" . $c->mail . "\n") . m_('d', $c->number(13) . "\n") . m_('c', '') . m_('C', z('COPY 2')) . $ready);
# A function call.
$t->client(m_('F', N4(1598) . n(2) . n(0) . n(1) . n(2) . counted(w) . counted(int8($c->number(16))) . n(1)));
$t->server(m_('V', counted(w)) . $ready);
$t->client(m_('X', ''));
$t->close;

# Protocol 3.2 with a longer cancel key; a walsender; messages of no known type.
$t = login(2);
simple("select '" . w . "'");
$t->close;
$t = $p->talk(5432);
$t->client(startup(0, user => w, replication => 'database', database => w));
$t->server(m_('R', N4(0)) . $ready);
simple('START_REPLICATION SLOT "s" LOGICAL 0/0 (publication_names \'"' . w . '"\')', m_('W', "\0" . n(0)) . m_('d', 'w' . ("\0" x 24) . w) . m_('c', ''));
$t->close;
$t = login(0);
simple("select '" . w . "'", m_('~', w));
$t->client('~' . N4(4 + 20) . w . m_('Q', z("select '" . w . "'")));
$t->server(m_('C', z('SELECT 1')) . $ready);
# Joined in the middle; never answered.
my $late = $p->talk(5432);
$t->client(m_('Q', z("select '" . w . "'")));
$t->close;
$p->close;
$c->save('canaries');
END_PERL
perl -I"$canaries_lib" make.pl || bail "the packets were not made"

canaries_sound canaries all.pcap 8
canaries_try default canaries all.pcap
canaries_try permute canaries all.pcap --ids permute
echo '{"format": "reprod-policy", "version": 1, "columns": {"other.kept": "keep", "orders.status": "keep"}, "keep_words": ["open"]}' >keep.json
canaries_try keep canaries all.pcap --policy keep.json
echo '{"format": "sampling", "version": 1, "baseline": 1}' >sample.json
canaries_try sample canaries all.pcap --sample sample.json
[ "$(grep -c '"type":"request"' default.cat--values.txt)" -gt 300 ]
ok $? "the requests are there" || diag "$(wc -l <default.cat--values.txt)"

# The same through watch: counts, ring and incidents.
"$REPROD" capture watch --from all.pcap -o watched --breach '*:p99>1us' >watch.out 2>&1
is $? 0 "watched" || diag <watch.out
"$canaries_lib/find-canaries" canaries watch.out watched/* >watched.found
is $? 0 "nor is any in the files of a watch" || diag <watched.found

# The check can fail.
echo '{"format": "reprod-policy", "version": 1, "keep_digits": 1000, "columns": {"*": "keep"}}' >all.json
"$REPROD" capture all.pcap --policy all.json -o all.rcap -q
"$REPROD" capture verify all.rcap --canary canaries >verify.out 2>&1
is $? 1 "a policy that keeps all lets them out"
done_testing
