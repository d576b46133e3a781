/** Checks documents for tests in Python: a line is { claims, logs, checkpoints }, its answer the claims' outcomes. */

import { createInterface } from "node:readline";
import { checkClaims } from "../../static/js/lib/checking/claims.js";

for await (const line of createInterface({ input: process.stdin })) {
  const { claims, logs, checkpoints } = JSON.parse(line);
  process.stdout.write(`${JSON.stringify(checkClaims(claims, logs ?? {}, checkpoints ?? {}))}\n`);
}
