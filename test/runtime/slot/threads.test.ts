import { expect, it } from 'vitest'
import { THREAD_LIMITS } from '../../../src/core/sibling-module.ts'
import { startSlotThread } from '../../../src/runtime/slot/threads.ts'
import { startQueryWorker } from '../../../src/serving/threads/workers.ts'

it('the young generations of slots and query threads are bounded', async () => {
  const { worker: query, port } = startQueryWorker()
  const workers = [startSlotThread(0, new URL('./no-job.ts', import.meta.url).href), query]
  for (const worker of workers) worker.on('error', () => undefined)
  try {
    for (const { resourceLimits } of workers) expect(resourceLimits).toMatchObject(THREAD_LIMITS)
    expect(THREAD_LIMITS.maxYoungGenerationSizeMb).toBe(48)
  } finally {
    port.close()
    await Promise.all(workers.map((worker) => worker.terminate()))
  }
})
