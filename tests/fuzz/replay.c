/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a fuzz target over the files named, without libFuzzer: what was found once stays fixed in every `make
 * check`. */
#include "common/fd.h"
#include "common/strbuf.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int main(int argc, char **argv)
{
	for (int i = 1; i < argc; i++) {
		cleanup_strbuf struct strbuf data = STRBUF_INIT;
		struct error err = ERROR_INIT;

		if (fd_read_file(AT_FDCWD, argv[i], 1 << 24, &data, &err) < 0) {
			fprintf(stderr, "%s: %s\n", argv[i], err.text);
			return 1;
		}
		/* named first: the last line before a crash says which input did it */
		fprintf(stderr, "%s\n", argv[i]);
		LLVMFuzzerTestOneInput((const uint8_t *)data.buf, data.len);
	}
	return 0;
}
