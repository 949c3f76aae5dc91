# prove's usual output, and at the end the counts written to the file $TAP_COUNTS:
# "passed N", "failed N", then one line "skip WHERE: WHY" for each skip.
package Reprod::Formatter;
use strict;
use warnings;
use TAP::Formatter::Console;
use TAP::Formatter::File;

# As prove itself chooses: no moving ruler in a log.
our @ISA = (-t STDOUT ? 'TAP::Formatter::Console' : 'TAP::Formatter::File');

my %said;    # by test file: what failed, and the comments behind it

sub open_test {
	my ($self, $name, $parser) = @_;
	my $lines = $said{$name} = [];
	my $failing = 0;
	$parser->callback(test => sub {
		$failing = !$_[0]->is_ok;
		push @$lines, $_[0]->raw if $failing;
	});
	$parser->callback(comment => sub { push @$lines, '  ' . $_[0]->raw if $failing });
	return $self->SUPER::open_test($name, $parser);
}

sub skips_of {
	my ($name, $parser) = @_;
	return "$name: " . ($parser->skip_all || 'no reason given') if $parser->skip_all;
	return map { "$name: test $_" } $parser->skipped;
}

sub summary {
	my ($self, $aggregate, @rest) = @_;
	$self->SUPER::summary($aggregate, @rest);
	my $failed = 0;
	my @skips;
	for my $name (sort $aggregate->descriptions) {
		my ($parser) = $aggregate->parsers($name);
		my $bad = scalar $parser->failed;
		# A test that died, or promised more than it ran, counts once more.
		$bad++ if !$bad && $parser->has_problems;
		$failed += $bad;
		push @skips, skips_of($name, $parser);
	}
	for my $name (grep { @{ $said{$_} } } sort keys %said) {
		print "\n$name:\n";
		print "$_\n" for @{ $said{$name} };
	}
	my $file = $ENV{TAP_COUNTS} or return;
	open(my $to, '>', $file) or die "could not write $file: $!";
	print {$to} "passed ", scalar($aggregate->passed), "\nfailed $failed\n";
	print {$to} "skip $_\n" for @skips;
	close($to);
}

1;
