import type { Benchmark, Figure } from '../harness/benchmark.ts'
import { type Ask, measureSequential } from '../load/generator.ts'
import { servedShape } from '../load/model-shape.ts'
import { median, quantile, rounded } from '../load/statistics.ts'
import { redisPredictor } from '../rivals/redis-model.ts'

const ROUNDS = 5
const WARM_UP = 5000
const PREDICTIONS = 20_000

interface Latencies {
  readonly p50: number
  readonly p99: number
}

async function latenciesOf(ask: Ask): Promise<Latencies> {
  const all = await measureSequential(ask, PREDICTIONS)
  return { p50: quantile(all, 0.5), p99: quantile(all, 0.99) }
}

function medianOf(rounds: readonly Latencies[], what: keyof Latencies): number {
  return median(rounds.map((round) => round[what]))
}

/** The round in which Weir's p99 is the most of Redis's. */
function worstP99(weir: readonly Latencies[], redis: readonly Latencies[]): Figure {
  const ratios = weir.map(({ p99 }, i) => p99 / redis[i]!.p99)
  return {
    name: 'predict-sequential-p99-worst',
    value: Math.max(...ratios),
    unit: 'times Redis, in a round',
    target: 0.9,
    higher: false,
    details: { rounds: ratios.map(rounded).join(' ') },
  }
}

/** `predict-sequential`: predictions one after the other through the client over TCP. */
export const predictSequentialBenchmark: Benchmark = {
  name: 'predict-sequential',
  summary: 'predictions one after the other through the client over TCP, against Redis',
  async run({ scale, say, workspace }) {
    const shape = servedShape(scale)
    const served = await workspace.serve(shape)
    const schedule = workspace.schedule(shape, 'uniform')
    const ask = await served.predictor(schedule)
    await measureSequential(ask, WARM_UP)
    const redis = await served.whilePaused(() => workspace.redisWith(shape))
    const askRedis =
      redis === undefined ? undefined : redisPredictor(redis.client, schedule, shape.factors)
    const weir: Latencies[] = []
    const rival: Latencies[] = []
    if (askRedis !== undefined) {
      await served.whilePaused(() => measureSequential(askRedis, WARM_UP))
    }
    for (let i = 0; i < ROUNDS; i++) {
      weir.push(await latenciesOf(ask))
      if (askRedis !== undefined) {
        rival.push(await served.whilePaused(() => latenciesOf(askRedis)))
      }
      const against = rival[i] === undefined ? '' : `, Redis ${rival[i]!.p50.toFixed(4)} ms`
      say(`round ${i + 1}: p50 ${weir[i]!.p50.toFixed(4)} ms${against}`)
    }
    const details = { rounds: ROUNDS, predictions: PREDICTIONS, unit: 'ms' }
    const figures = (['p50', 'p99'] as const).map((what) => {
      const target = what === 'p99' ? 0.5 : rival.length > 0 ? medianOf(rival, 'p50') : undefined
      return {
        name: `predict-sequential-${what}`,
        value: medianOf(weir, what),
        unit: 'ms',
        higher: false,
        ...(target === undefined ? {} : { target: rounded(target) }),
        ...(rival.length === 0 ? {} : { rival: medianOf(rival, what), rivalName: 'Redis' }),
        details,
      }
    })
    return rival.length === 0 ? figures : [...figures, worstP99(weir, rival)]
  },
}
