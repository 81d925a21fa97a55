import { mkdtempSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { WeirClient } from '../../src/client/weir-client.ts'
import { EmbeddedLog } from '../../src/connectors/log/embedded-log.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { quantile, rounded } from '../load/statistics.ts'
import { LEARNING_SHAPE, OBSERVATIONS, prepareLearning, startLearning } from './run.ts'

const RATINGS = 500
const PACE_MS = 5
const encoder = new TextEncoder()

async function rowOf(client: WeirClient, key: string): Promise<Float32Array> {
  const [answer] = await client.rows('ALS_MODEL', [key])
  if (answer!.ok) return answer!.value
  throw answer!.error
}

/** Queries a row until it differs from `before`. */
async function untilChanged(client: WeirClient, key: string, before: Float32Array): Promise<void> {
  for (;;) {
    const row = await rowOf(client, key)
    if (row.some((value, i) => value !== before[i])) return
  }
}

/** `learn-latency`: the time from appending a rating until queries return new rows of user and item. */
export const learnLatencyBenchmark: Benchmark = {
  name: 'learn-latency',
  summary: 'time from appending a rating until queries over the network return both new rows',
  async run({ scale, say, scratch }) {
    const directory = join(mkdtempSync(join(scratch, 'latency-log-')), 'log')
    const place = { logDirectory: directory }
    const shape = { ...LEARNING_SHAPE, users: 20_000, items: 5_000 }
    await prepareLearning(place, shape, 0)
    await using run = await startLearning(scratch, place)
    const client = await WeirClient.connect({ port: run.job.port })
    const log = await EmbeddedLog.open(directory)
    const producer = log.producer(OBSERVATIONS)
    const user: number[] = []
    const item: number[] = []
    const count = Math.max(50, Math.round(RATINGS * scale))
    for (let i = 0; i < count + 20; i++) {
      const keys = [`${1 + (i % 20_000)}-U`, `${1 + ((i * 7) % 5000)}-I`] as const
      const [u, q] = await Promise.all(keys.map((key) => rowOf(client, key)))
      const line = `${keys[0].slice(0, -2)},${keys[1].slice(0, -2)},${1 + (i % 5)}`
      producer.send(encoder.encode(keys[0]), encoder.encode(line), 0)
      await producer.flush()
      const start = performance.now()
      const since = (): number => performance.now() - start
      const [userMs, itemMs] = await Promise.all([
        untilChanged(client, keys[0], u!).then(since),
        untilChanged(client, keys[1], q!).then(since),
      ])
      // The first ratings run code that is not compiled yet.
      if (i < 20) continue
      user.push(userMs)
      item.push(itemMs)
      await pause(PACE_MS)
    }
    await client.close()
    await log.close()
    const of = (values: number[], q: number): number => rounded(quantile(values, q))
    say(`user p50 ${of(user, 0.5)} ms, item p50 ${of(item, 0.5)} ms, p99 ${of(item, 0.99)} ms`)
    const details = { ratings: count, userP50Ms: of(user, 0.5), userP99Ms: of(user, 0.99) }
    return [
      {
        name: 'learn-latency-p50',
        value: of(item, 0.5),
        unit: 'ms until queries return both new rows',
        target: 10,
        higher: false,
        details,
      },
      {
        name: 'learn-latency-p99',
        value: of(item, 0.99),
        unit: 'ms',
        target: 50,
        higher: false,
      },
    ]
  },
}
