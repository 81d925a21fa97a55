import { alsKey } from '../../src/models/als/row-key.ts'
import { ALS_MODEL } from '../../src/models/topic/als-serving-function.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { type Ask, measureSequential, measureThroughput } from '../load/generator.ts'
import { scaled } from '../load/model-shape.ts'
import { median, quantile, rounded } from '../load/statistics.ts'
import { askedUser, searchFaiss } from '../rivals/faiss.ts'

const ROUNDS = 3
const ALONE = 300
const OUTSTANDING = 16
const STRETCH_SECONDS = 3
const K = 10

/** `topk`: exact top-10 over 136,000 items of 100 factors, alone and 16 outstanding. */
export const topKBenchmark: Benchmark = {
  name: 'topk',
  summary: 'exact top-10 over 136,000 x 100: alone, and 16 outstanding, against faiss',
  async run({ scale, say, scratch, workspace }) {
    const shape = { users: scaled(20_000, scale), items: scaled(136_000, scale), factors: 100 }
    const served = await workspace.serve(shape)
    const client = await served.client()
    const ask: Ask = async (index) => {
      const user = alsKey(String(askedUser(index, shape.users) + 1), 'U')
      const answer = await client.topK(ALS_MODEL, user, { k: K, suffix: '-I' })
      if (!answer.ok) throw answer.error
    }
    await measureSequential(ask, ALONE)
    await measureThroughput(ask, OUTSTANDING, 1)
    const p50: number[] = []
    const p99: number[] = []
    const rates: number[] = []
    for (let i = 0; i < ROUNDS; i++) {
      const alone = await measureSequential(ask, ALONE)
      p50.push(quantile(alone, 0.5))
      p99.push(quantile(alone, 0.99))
      rates.push((await measureThroughput(ask, OUTSTANDING, STRETCH_SECONDS)).perSecond)
      say(`round ${i + 1}: p50 ${p50[i]!.toFixed(2)} ms, ${Math.round(rates[i]!)}/s`)
    }
    const faiss = await served.whilePaused(() =>
      searchFaiss({ shape, k: K, batch: OUTSTANDING, folder: scratch, say }),
    )
    const rivalName = `faiss ${faiss?.version}`
    const details = { ...shape, rounds: ROUNDS, k: K }
    return [
      {
        name: 'topk-alone-p50',
        value: median(p50),
        unit: 'ms',
        target: 2.3,
        higher: false,
        ...(faiss === undefined ? {} : { rival: faiss.p50Ms, rivalName }),
        details: { ...details, p99Ms: rounded(median(p99)) },
      },
      {
        name: 'topk-outstanding-16',
        value: median(rates),
        unit: 'requests/s',
        target: 1200,
        ...(faiss === undefined ? {} : { rival: faiss.perSecond, rivalName }),
        details: { ...details, outstanding: OUTSTANDING },
      },
    ]
  },
}
