import { openInferenceEngine } from '../../src/inference/engine/engine.ts'
import type { InferenceEngine } from '../../src/inference/port/engine.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { costing, floats, percentile } from './serving.ts'

const SECONDS = 20
const COST = { fixedMs: 4, itemMs: 1 }
const LARGEST = 32
/** Requests a second of the neighbour, one by one. */
const PER_SECOND = 100
/** Requests to the flooded model, in times of its capacity. */
const FLOOD = 20
const INPUTS = [floats('x', [1])]
const FLOODED = { name: 'flooded', version: 1 }
const NEIGHBOUR = { name: 'neighbour', version: 1 }

/** Times of the neighbour's answers, ascending, with so many requests a second to the flooded model. */
async function timesOf(engine: InferenceEngine, flood: number, seconds: number): Promise<number[]> {
  const times: number[] = []
  const startedAt = performance.now()
  const pending = new Set<Promise<void>>()
  const send = (ask: () => Promise<void>): void => {
    const asked = ask().finally(() => pending.delete(asked))
    pending.add(asked)
  }
  const ask = async (): Promise<void> => {
    const before = performance.now()
    await engine.infer({ model: NEIGHBOUR, inputs: INPUTS })
    times.push(performance.now() - before)
  }
  let [sent, flooded] = [0, 0]
  for (let now = startedAt; now - startedAt < seconds * 1000; now = performance.now()) {
    for (; sent < ((now - startedAt) * PER_SECOND) / 1000; sent++) send(ask)
    for (; flooded < ((now - startedAt) * flood) / 1000; flooded++) {
      send(async () => {
        await engine.infer({ model: FLOODED, inputs: INPUTS }).catch(() => {})
      })
    }
    await new Promise((resolve) => setTimeout(resolve, 1))
  }
  await Promise.all(pending)
  return times.sort((a, b) => a - b)
}

/** `flooded-neighbour`: one model gets twenty times what it can answer; the answers of another one. */
export const floodBenchmark: Benchmark = {
  name: 'flooded-neighbour',
  summary: 'p99 of one model while another one of the process gets twenty times its capacity',
  async run({ scale }) {
    await using engine = openInferenceEngine()
    for (const id of [FLOODED, NEIGHBOUR]) {
      await engine.load(id, costing(COST), { sloMs: 1000, maxBatchItems: LARGEST })
    }
    const capacity = (1000 * LARGEST) / (COST.fixedMs + COST.itemMs * LARGEST)
    const alone = await timesOf(engine, 0, SECONDS * scale)
    const beside = await timesOf(engine, FLOOD * capacity, SECONDS * scale)
    return [
      {
        name: 'flooded-neighbour',
        value: percentile(beside, 0.99),
        unit: 'ms',
        higher: false,
        rival: percentile(alone, 0.99),
        rivalName: 'without the flood',
        targetRatio: 2,
        details: { p50: percentile(beside, 0.5), p50Alone: percentile(alone, 0.5) },
      },
    ]
  },
}
