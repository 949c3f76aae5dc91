#include "core/model/sqlvalue.h"

bool sqlcompound_scrub(
	const struct sqlvalue *v, struct slice plain, struct buf *out, enum value_action *ret)
{
	(void)v;
	(void)plain;
	(void)out;
	(void)ret;
	return false;
}
