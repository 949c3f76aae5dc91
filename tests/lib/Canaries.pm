# Canaries.pm - values that must not come out, packets that carry them, and a search for
# them in every form, which shares nothing with `capture verify --canary`.
#
#	my $c = Canaries->new(7);
#	$c->word, mail, number(12), uuid, card, phone, name	a new canary each time
#	$c->save('canaries')
#	my $p = Pcap->new('x.pcap'); my $t = $p->talk(5432); $t->client($bytes), server, close
#	Canaries::found($list, $label, $bytes): "LABEL: word 12 as UTF-16", ...
package Canaries;
use strict;
use warnings;
use Math::BigInt;
use MIME::Base64;

sub new { my ($class, $seed) = @_; srand $seed; return bless { list => [] }, $class }

sub add { my ($self, $canary) = @_; push @{$self->{list}}, $canary; return $canary }
sub letters { join '', map { chr 97 + int rand 26 } 1 .. $_[0] }
# No two neighbours are equal, so that no part of it looks like another number.
sub digits { my $s = 1 + int rand 9; $s .= (substr($s, -1) + 1 + int rand 8) % 10 while length $s < $_[0]; $s }

sub word { $_[0]->add('Zeisig' . letters(9) . 'Vogel') }
sub mail { $_[0]->add(letters(9) . '.vogel@zeisig.example') }
sub number { $_[0]->add(digits($_[1])) }
sub card { my $d = '4' . digits(15); $_[0]->add($d); $_[1] ? join '-', unpack '(A4)*', $d : $d }
sub phone { $_[0]->add('+49 170 ' . digits(9)) }
sub name { $_[0]->add("\xc5\xbdofie" . letters(8) . " M\xc3\xbcllerov\xc3\xa1" . letters(6)) }
sub uuid {
	my $hex = join '', map { sprintf '%x', int rand 16 } 1 .. 32;
	substr($hex, 12, 1) = '4';
	substr($hex, 16, 1) = 'a';
	return $_[0]->add(join '-', unpack 'A8 A4 A4 A4 A12', $hex);
}

sub save {
	my ($self, $path) = @_;
	open my $f, '>:raw', $path or die "$path: $!";
	print $f "$_\n" for @{$self->{list}};
	close $f or die;
}

# ---- the search

sub aligned_base64 { # the letters that depend on the canary alone, $before bytes into a stream
	my ($bytes, $before) = @_;
	my $text = encode_base64(("\0" x $before) . $bytes, '');
	$text =~ s/=+$//;
	my $end = (length($bytes) + $before) % 3 ? length($text) - 1 : length $text;
	my $start = int(($before * 8 + 5) / 6);
	return substr $text, $start, $end - $start;
}

sub forms {
	my ($canary) = @_;
	my %forms = (plain => $canary, hex => unpack('H*', $canary));
	$forms{"base64/$_"} = aligned_base64($canary, $_) for 0 .. 2;
	(my $url = $canary) =~ s/([^A-Za-z0-9._~-])/sprintf '%%%02x', ord $1/ge;
	$forms{URL} = $url;
	(my $all = $canary) =~ s/(.)/sprintf '%%%02x', ord $1/gse;
	$forms{'URL of every byte'} = $all;
	my $wide = $canary;
	utf8::decode($wide);
	my @codes = map { ord } split //, $wide;
	$forms{'UTF-16LE'} = pack 'v*', @codes;
	$forms{'UTF-16BE'} = pack 'n*', @codes;
	$forms{JSON} = join '', map { $_ < 128 ? chr : sprintf '\\u%04x', $_ } @codes;
	$forms{JSON} = '' if $forms{JSON} eq $canary;
	$forms{escaped} = join '', map { sprintf '\\u%04x', $_ } @codes;
	if ($canary =~ /^[0-9a-f]{8}-/) {
		(my $hex = $canary) =~ tr/-//d;
		$forms{'bare uuid'} = $hex;
		$forms{'binary uuid'} = pack 'H*', $hex;
	}
	if ($canary =~ /^\d+$/) {
		my $n = Math::BigInt->new($canary);
		if ($n < Math::BigInt->new('18446744073709551616')) {
			my $eight = pack 'H*', sprintf '%016s', substr $n->as_hex, 2;
			$eight =~ s/ /0/g;
			my $hex = substr $n->as_hex, 2;
			$eight = pack 'H*', ('0' x (16 - length $hex)) . $hex;
			$forms{'8 bytes'} = $eight;
			$forms{'8 bytes, little'} = reverse $eight;
		}
		my $padded = ('0' x (-length($canary) % 4)) . $canary;
		$forms{'numeric'} = pack 'n*', unpack '(A4)*', $padded;
		my $grouped = reverse $canary;
		$grouped =~ s/(\d{3})(?=\d)/$1,/g;
		$forms{'with commas'} = reverse $grouped;
		$forms{'in fours'} = join '-', unpack '(A4)*', $canary;
	}
	delete @forms{ grep { length $forms{$_} < 4 } keys %forms };
	return \%forms;
}

sub load {
	my ($path) = @_;
	open my $f, '<:raw', $path or die "$path: $!";
	chomp(my @list = <$f>);
	my %by;
	for my $i (0 .. $#list) {
		my $forms = forms($list[$i]);
		for (keys %$forms) {
			my $bytes = lc $forms->{$_};
			push @{$by{ substr $bytes, 0, 4 }}, [ $bytes, 'line ' . ($i + 1) . " as $_" ];
		}
	}
	return \%by;
}

# Case is folded: tokens keep it, and a search that is too wide only finds more.
sub found {
	my ($set, $label, $bytes) = @_;
	my %seen;
	my $folded = lc $bytes;
	for my $at (0 .. length($folded) - 4) {
		my $candidates = $set->{ substr $folded, $at, 4 } or next;
		for (@$candidates) {
			$seen{"$label: $_->[1]"}++ if substr($folded, $at, length $_->[0]) eq $_->[0];
		}
	}
	return sort keys %seen;
}

# ---- packets

package Pcap;
use strict;
use warnings;

sub new {
	my ($class, $path) = @_;
	open my $f, '>:raw', $path or die "$path: $!";
	print $f pack 'VvvVVVV', 0xa1b2c3d4, 2, 4, 0, 0, 262144, 1;
	return bless { f => $f, us => 1767225600000000, port => 40000 }, $class;
}

sub talk {
	my ($self, $server_port) = @_;
	my $t = bless { pcap => $self, port => [ $self->{port}++, $server_port ], seq => [ 1000, 5000 ] }, 'Pcap::Talk';
	$t->segment(0, 0x02, '');
	$t->segment(1, 0x12, '');
	$t->segment(0, 0x10, '');
	return $t;
}

sub close { close $_[0]{f} or die }

package Pcap::Talk;
use strict;
use warnings;

sub segment {
	my ($t, $side, $flags, $payload) = @_;
	my $p = $t->{pcap};
	my @ip = ("\x0a\x00\x00\x07", "\x0a\x00\x00\x01");
	my $tcp = pack('nnNNCCnnn', @{$t->{port}}[ $side, 1 - $side ], $t->{seq}[$side],
		$flags & 0x10 ? $t->{seq}[ 1 - $side ] : 0, 5 << 4, $flags, 65535, 0, 0) . $payload;
	my $ip = pack('CCnnnCCn', 0x45, 0, 20 + length $tcp, 0, 0, 64, 6, 0) . $ip[$side] . $ip[ 1 - $side ];
	my $frame = ("\x02\0\0\0\0\1" x 2) . "\x08\x00" . $ip . $tcp;
	$t->{seq}[$side] += length($payload) + ($flags & 3 ? 1 : 0);
	$p->{us} += 250;
	my $f = $p->{f};
	print $f pack('VVVV', int($p->{us} / 1e6), $p->{us} % 1_000_000, length $frame, length $frame), $frame;
}

sub send {
	my ($t, $side, $bytes) = @_;
	$t->segment($side, 0x18, $_) for unpack '(a1400)*', $bytes;
	return $t;
}
sub client { $_[0]->send(0, $_[1]) }
sub server { $_[0]->send(1, $_[1]) }
sub close { my ($t) = @_; $t->segment(0, 0x11, ''); $t->segment(1, 0x11, ''); $t->segment(0, 0x10, '') }

1;
