import { workerData } from 'node:worker_threads'

/* Computes for a share of the time, a millisecond at a time, and touches nothing. */

const share = Math.min(1, workerData as number)
const nothing = new Int32Array(new SharedArrayBuffer(4))
for (;;) {
  const start = performance.now()
  while (performance.now() - start < 1) {}
  if (share < 1) Atomics.wait(nothing, 0, 0, 1 / Math.max(share, 1e-3) - 1)
}
