#!/bin/bash
# Events from what schedulers and deploys export; runs that are logged beat the schedule.
. "$(dirname "$0")/../lib/tap.sh"
dir=$(tap_dir)
cd "$dir" || exit 1

field() { # EXPRESSION of $d and the condition $c by ID
	perl -MJSON::PP -e 'local $/; my $d = decode_json(<STDIN>); my ($c) = grep { $_->{id} eq ($ARGV[1] // "") } @{$d->{conditions}};
		my $v = eval $ARGV[0]; die $@ if $@; print $v // "none";' "$@"
}
ids() { field 'join " ", sort grep { !/^traffic/ } map { $_->{id} } @{$d->{conditions}}'; }

# Two hours from 12:00 UTC, slow for a minute at :07 and :37, when the job really ran.
perl -e 'srand 1; print "t,route,ms\n";
	for my $i (0 .. 7199) { my $m = int($i / 60) % 30; printf "%d,GET /a,%.2f\n", 1796040000 + $i, ($m == 7 && $i % 3 == 0 ? 90 : 2) + rand }' >in.csv
# Two jobs of one name, of which the log tells the second only; the host's clock is Berlin's.
printf '20 * * * * /opt/report.sh weekly\n7,37 * * * * PW=hunter2 /opt/report.sh daily\n' >tab
perl -e 'for my $h (13, 14) { for my $m (7, 37) { printf "Nov 30 %02d:%02d:01 db CROND[%d]: (root) CMD (PW=hunter2 /opt/report.sh daily)\n", $h, $m, $h * 100 + $m;
	printf "Nov 30 %02d:%02d:40 db CROND[%d]: (root) CMDEND (PW=hunter2 /opt/report.sh daily)\n", $h, $m, $h * 100 + $m - 1 }
	printf "Nov 30 %02d:50:00 db kernel: eth0 up\n", $h }' >syslog
"$REPROD" correlate in.csv --events syslog --crontab tab --zone Europe/Berlin --json >a.json 2>err
is "$(cat err)" "" "nothing on stderr"
is "$(field '$c->{occurrences}{confirmed}' job:report.sh#2 <a.json)" 4 "the logged runs are the job's"
is "$(field '$c->{occurrences}{hit}' job:report.sh#2 <a.json)" 4 "and all hit"
is "$(field '$c->{occurrences}{times}[0]{start}' job:report.sh#2 <a.json)" 2026-11-30T12:07:01Z "in Berlin's time of this year"
is "$(ids <a.json)" "job:report.sh job:report.sh#2" "a schedule and its runs are one condition"
unlike "$(cat a.json)" hunter2 "nothing of a command but its name is kept"
"$REPROD" correlate in.csv --events syslog 2>err
is $? 3 "without --zone syslog is refused"
like "$(cat err)" 'hint: .*--zone' "with a hint"
"$REPROD" correlate in.csv --events syslog --zone America/New_York >text
like "$(cat text)" 'not the time of the traffic' "a wrong zone that misses the traffic is noted"

gzip -k syslog
"$REPROD" correlate in.csv --events syslog.gz --crontab tab --zone Europe/Berlin --json | sed 's/syslog\.gz/syslog/' >b.json
cmp -s a.json b.json
ok $? "packed tells the same"
head -c -40 syslog.gz >cut.gz
"$REPROD" correlate in.csv --events cut.gz --zone Europe/Berlin >text
like "$(cat text)" "'cut.gz' ends inside of its compressed data" "a cut one is said to be"
"$REPROD" correlate in.csv --events syslog --events syslog --zone Europe/Berlin --json >b.json
is "$(field '$c->{occurrences}{confirmed}' job:report.sh <b.json)" 4 "the same log twice counts once"
"$REPROD" correlate in.csv --events - --zone Europe/Berlin --json <syslog | field '$c->{occurrences}{confirmed}' job:report.sh >out
is "$(cat out)" 4 "and comes by stdin"

echo '[{"url": "u/deployments/1", "sha": "a", "environment": "prod", "created_at": "2026-11-30T12:30:00Z", "payload": "hunter2"}]' >deployments.json
echo '[{"state": "success", "created_at": "2026-11-30T12:33:00Z", "environment": "prod", "deployment_url": "u/deployments/1"}]' >statuses.json
echo '[{"time": 1796041000000, "timeEnd": 1796041001000, "tags": ["release"], "text": "hunter2"}]' >grafana.json
echo '[{"name": "main", "db": [], "backup": [{"timestamp": {"start": 1796043000, "stop": 1796043600}, "info": {"delta": 5}}]}]' >pgbackrest.json
printf 'jobid,jobname,command,start_time,end_time\n1,refresh,"select\n ""hunter2""",2026-11-30 12:01:00+00,2026-11-30 12:02:00+00\n' >pg_cron.csv
"$REPROD" correlate in.csv --events deployments.json --events statuses.json --events grafana:grafana.json --events pgbackrest.json \
	--events pg_cron.csv --json >a.json
is "$(ids <a.json)" "annotation:release backup:main deploy:prod job:refresh" "exports of every kind are told by their content"
is "$(field '$c->{occurrences}{times}[0]{end}' deploy:prod <a.json)" 2026-11-30T12:33:00Z "a deploy ends with its status"
unlike "$(cat a.json)" hunter2 "and free text is not kept"
head -c 100 deployments.json >cut.json
"$REPROD" correlate in.csv --events cut.json 2>err
is $? 3 "a document cut in its only object is refused"
like "$(cat err)" 'cut.json: line 1' "with its place"
printf 'binary\0' >bin
"$REPROD" correlate in.csv --events bin 2>err
is $? 3 "what is no text is refused"
done_testing
