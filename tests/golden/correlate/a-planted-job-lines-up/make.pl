# Ten hours, 6 requests a second: a job each half an hour bites when the table is bloated.
# There is a hole without traffic, an hour with little of it, and one lonely slow request.
use strict;
use warnings;
srand(4);
my $t0 = 1796040000;
open my $jobs, ">", "jobs.jsonl" or die;
open my $metric, ">", "bloat.csv" or die;
print $metric "t,name,value\n";
my (@bites, @length);
for my $run (0 .. 19) {
	my $at = $t0 + $run * 1800 + 300;
	$length[$run] = 40 + int rand 60;
	$bites[$run] = $run * 7 % 3 > 0;
	printf $jobs qq({"t": %d, "t_end": %d, "kind": "job", "name": "refresh", "dose": %d}\n), $at, $at + $length[$run],
		$length[$run] * 100;
	printf $jobs qq({"t": %d, "kind": "job", "name": "report"}\n), $at + 1000 + int rand 200;
	printf $metric "%d,n_dead_tup.orders,%d\n", $at - 300 + $_ * 60, ($bites[$run] ? 15e5 : 7e5) + rand 1e5 for 0 .. 29;
}
printf $jobs qq({"t": %d, "kind": "deploy", "name": "v7"}\n), $t0 + 14000;
print "t,route,ms\n";
for (my $t = 0; $t < 36000; $t += -log(1 - rand) / ($t > 25200 && $t < 28800 ? 0.5 : 6)) {
	next if $t > 16500 && $t < 18300;
	my $run = int $t / 1800;
	my $in = $t - $run * 1800 - 300;
	my $ms = 8 * exp(rand() + rand() + rand() - 1.5);
	$ms *= 12 if $bites[$run] && $in >= 0 && $in < $length[$run] && rand() < 0.4;
	printf "%.3f,GET /orders?page=<n>,%.3f\n", $t0 + $t, $ms;
	printf "%.3f,GET /health,%.3f\n", $t0 + $t, 1 + rand if rand() < 0.1;
}
printf "%d,GET /orders?page=<n>,4000\n", $t0 + 12000;
