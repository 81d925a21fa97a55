import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { expect, it } from 'vitest'
import { sleep, systemClock } from '../../../src/core/clock.ts'
import { seededRandom } from '../../../src/core/random.ts'
import { ModelWorkers } from '../../../src/inference/engine/model-workers.ts'
import { hasRequests } from '../../../src/inference/queue/repair.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import type { AskingEnd, AskingStart } from './asking-thread.ts'

const PRODUCERS = 3
const KILLS = 20
const TASKS = 8

it('threads that are killed in any state lose no request and answer none twice', async () => {
  const seed = commitSeed()
  const random = seededRandom(seed)
  const source = {
    kind: 'function',
    module: join(import.meta.dirname, 'function-models.ts'),
    export: 'doubling',
  } as const
  const deployment = { sloMs: 100_000, workers: 3, maxAttempts: 1000, maxBatchItems: 16 }
  const workers = await ModelWorkers.start(source, deployment, {
    clock: systemClock,
    onMove() {},
  })
  const { memory, maxItems, signature } = workers
  const served = { id: { name: 'doubling', version: 1 }, signature, deployment }
  const requests = 400
  const threads = Array.from({ length: PRODUCERS }, (_, i) => {
    const model = { served, buffer: memory.buffer, maxItems }
    const start: AskingStart = { producer: i + 1, model, requests, seed: seed + i }
    return new Worker(join(import.meta.dirname, 'asking-thread.ts'), { workerData: start })
  })
  const ends = threads.map(
    (thread) =>
      new Promise<AskingEnd>((resolve, reject) => {
        thread.once('message', resolve).once('error', reject)
      }),
  )
  let isOver = false
  const all = Promise.all(ends).finally(() => {
    isOver = true
  })
  for (let kill = 0; kill < KILLS && !isOver; kill++) {
    await sleep(systemClock, random.below(30))
    const alive = workers.threads
    const killed = alive[random.below(alive.length)]
    killed?.abandon()
    await killed?.exited
  }
  const total = { right: 0, wrong: 0, givenUp: 0 }
  for (const { right, wrong, errors } of await all) {
    total.right += right
    total.wrong += wrong
    total.givenUp += errors['given up'] ?? 0
    expect(Object.keys(errors).filter((code) => code !== 'given up')).toEqual([])
  }
  expect(total.wrong).toBe(0)
  expect(total.right + total.givenUp).toBe(PRODUCERS * TASKS * requests)
  expect(workers.lost).toBeGreaterThan(0)
  // What was given up while a worker had it is freed at the end of the run; nothing else is left.
  expect(hasRequests(memory, systemClock.monotonicMs())).toBe(false)
  await workers.close()
})
