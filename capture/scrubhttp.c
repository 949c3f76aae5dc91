#include "capture/scrubhttp.h"

void scrubhttp_request(struct httpscrub *http, const struct raw_http *raw,
	struct rcap_writer *writer, struct request_record *q)
{
	struct httpscrub_request got;

	httpscrub_request(http, raw, &got);
	q->route = rcap_add_route(writer, PROTOCOL_HTTP, got.fingerprint, got.route);
	q->template_id = rcap_add_template(writer, got.template_text);
	q->flags |= got.flags;
	q->values = got.values;
	q->value_count = got.value_count;
	q->status = raw->status;
	q->grpc = raw->grpc;
}
