import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import type { Burst } from './burst-thread.ts'

const MIB = 1024 * 1024

/** Asks a thread for the bytes that its heap holds. */
async function heldMib(thread: Worker): Promise<number> {
  thread.postMessage('held')
  const [bytes] = (await once(thread, 'message')) as [number]
  return bytes / MIB
}

it.each<[string, Burst, number]>([
  ['keeps little', { keptMib: 1, burstMib: 80, isSeen: false }, 40],
  ['keeps little, and that V8 saw with a burst,', { keptMib: 1, burstMib: 150, isSeen: true }, 40],
  [
    'keeps so much that a collection would stop it for long',
    { keptMib: 100, burstMib: 150, isSeen: true },
    130,
  ],
])(
  'a thread that %s gives the memory of a burst back while it is idle',
  async (_, workerData, mostMib) => {
    const thread = new Worker(new URL('burst-thread.ts', import.meta.url), { workerData })
    try {
      expect(await heldMib(thread)).toBeGreaterThan(0)
      await expect.poll(() => heldMib(thread), { interval: 100 }).toBeLessThan(mostMib)
    } finally {
      await thread.terminate()
    }
  },
)
