#include "replay/plan_item.h"

#include <stdlib.h>

#include "core/model/sqllex.h"

static const char *const skip_texts[SKIP_COUNT] = {
	[SKIP_NONE] = "none",
	[SKIP_EXTERNAL] = "external effect",
	[SKIP_TEXT_UNKNOWN] = "text unknown",
	[SKIP_UNLEXABLE] = "unreadable statement",
	[SKIP_SECRET] = "secret",
	[SKIP_VALUE_LOST] = "value lost",
	[SKIP_FETCH] = "portal fetch",
	[SKIP_FUNCTION] = "function call",
	[SKIP_COPY_ROWS] = "copy rows not kept",
	[SKIP_WALSENDER] = "replication session",
	[SKIP_ENCRYPTED] = "encrypted session",
	[SKIP_HTTP] = "http",
	[SKIP_TOO_LARGE] = "too large",
	[SKIP_RUN_ENDED] = "run ended",
};

const char *plan_skip_text(enum plan_skip skip)
{
	return skip_texts[skip];
}

static size_t bytes_of(const struct request_record *q)
{
	size_t sum = q->copy_data.n;

	for (size_t i = 0; i < q->value_count; i++)
		sum += q->values[i].bytes.n + 1;
	return sum;
}

/* Binds must end in NUL for libpq's text format. */
static void copy_value(struct value *v, char **at)
{
	if (v->bytes.n)
		memcpy(*at, v->bytes.p, v->bytes.n);
	(*at)[v->bytes.n] = '\0';
	v->bytes.p = *at;
	*at += v->bytes.n + 1;
}

struct plan_item *plan_item_new(const struct request_record *q)
{
	size_t values_size = q->value_count * sizeof(*q->values);
	size_t edges_size = q->edge_count * sizeof(*q->edges);
	size_t size = sizeof(struct plan_item) + values_size + edges_size + bytes_of(q);
	struct plan_item *item = malloc(size);

	if (!item)
		return NULL;
	*item = (struct plan_item){ .size_bytes = size, .q = *q, .think_ns = q->think_ns };
	item->kind = q->form == FORM_PREPARE ? PLAN_PREPARE : PLAN_REQUEST;
	struct value *values = (struct value *)(item + 1);
	struct edge *edges = (struct edge *)((char *)values + values_size);
	char *at = (char *)edges + edges_size;
	if (values_size)
		memcpy(values, q->values, values_size);
	if (edges_size)
		memcpy(edges, q->edges, edges_size);
	for (size_t i = 0; i < q->value_count; i++)
		copy_value(&values[i], &at);
	if (q->copy_data.n)
		memcpy(at, q->copy_data.p, q->copy_data.n);
	item->q.copy_data.p = at;
	item->q.values = values;
	item->q.edges = edges;
	return item;
}

struct plan_item *plan_item_close(uint64_t session)
{
	struct plan_item *item = malloc(sizeof(*item));

	if (item)
		*item = (struct plan_item){
			.kind = PLAN_CLOSE, .size_bytes = sizeof(*item), .q.session = session
		};
	return item;
}

static bool has_lost_value(const struct request_record *q)
{
	for (size_t i = 0; i < q->value_count; i++)
		if (q->values[i].flags & (VALUE_IS_CUT | VALUE_IS_UNKNOWN))
			return true;
	return false;
}

enum plan_skip plan_item_skip(const struct request_record *q, const struct plan_lane *lane)
{
	static const struct {
		uint32_t flag;
		enum plan_skip skip;
	} by_flag[] = {
		{ REQUEST_EXTERNAL, SKIP_EXTERNAL },
		{ REQUEST_SECRET, SKIP_SECRET },
		{ REQUEST_UNLEXABLE, SKIP_UNLEXABLE },
		{ REQUEST_TEXT_UNKNOWN, SKIP_TEXT_UNKNOWN },
		{ REQUEST_VALUE_LOST, SKIP_VALUE_LOST },
	};

	if (lane->flags & SESSION_WALSENDER)
		return SKIP_WALSENDER;
	if (lane->flags & SESSION_ENCRYPTED)
		return SKIP_ENCRYPTED;
	if (lane->protocol == PROTOCOL_HTTP || q->form == FORM_HTTP)
		return SKIP_HTTP;
	if (q->form == FORM_FUNCTION)
		return SKIP_FUNCTION;
	for (size_t i = 0; i < LENGTH(by_flag); i++)
		if (q->flags & by_flag[i].flag)
			return by_flag[i].skip;
	if (q->form == FORM_FETCH)
		return SKIP_FETCH;
	if (q->template_id == RCAP_OTHER)
		return SKIP_TEXT_UNKNOWN;
	if (has_lost_value(q))
		return SKIP_VALUE_LOST;
	if (q->form == FORM_COPY_IN && !q->copy_data.n && q->rows)
		return SKIP_COPY_ROWS;
	return SKIP_NONE;
}

char plan_item_verb(struct slice template_text)
{
	struct sqllex lex;
	struct sql_token t, second = { 0 };

	sqllex_init(&lex, template_text);
	if (sqllex_next(&lex, &t) != STEP_ITEM || t.kind != SQL_WORD)
		return 0;
	bool has_second = sqllex_next(&lex, &second) == STEP_ITEM && second.kind == SQL_WORD;
	if (sql_word_is(&t, "begin"))
		return 'B';
	if (sql_word_is(&t, "start"))
		return has_second && sql_word_is(&second, "transaction") ? 'B' : 0;
	if (sql_word_is(&t, "rollback")) {
		/* ROLLBACK TO stays inside; ROLLBACK PREPARED is outside anyway. */
		while (sql_word_is(&second, "work") || sql_word_is(&second, "transaction"))
			if (sqllex_next(&lex, &second) != STEP_ITEM)
				return 'C';
		return has_second && sql_word_is(&second, "to") ? 0 : 'C';
	}
	return sql_word_is(&t, "commit") || sql_word_is(&t, "end") || sql_word_is(&t, "abort") ? 'C'
											       : 0;
}
