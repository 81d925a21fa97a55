import type { KeyDistribution } from '../../src/testing/load/keys/id-drawer.ts'
import type { BenchmarkOptions, Figure } from '../harness/benchmark.ts'
import type { Throughput } from '../load/generator.ts'
import { servedShape } from '../load/model-shape.ts'
import { median } from '../load/statistics.ts'
import { OUTSTANDING, percentilesOf, stretch, warmUp } from '../load/stretch.ts'
import { redisPredictor } from '../rivals/redis-model.ts'

const ROUNDS = 3

/** Keys and targets of a throughput benchmark. */
export interface ThroughputGoal {
  readonly name: string
  readonly distribution: KeyDistribution
  readonly target: number
  readonly targetRatio?: number
}

/** Measures predictions per second of Weir and of Redis, in turn, with the same questions. */
export async function measureAgainstRedis(
  goal: ThroughputGoal,
  { scale, say, workspace }: BenchmarkOptions,
): Promise<Figure> {
  const shape = servedShape(scale)
  const served = await workspace.serve(shape)
  const schedule = workspace.schedule(shape, goal.distribution)
  const ask = await served.predictor(schedule)
  await warmUp(ask)
  const redis = await served.whilePaused(() => workspace.redisWith(shape))
  const askRedis =
    redis === undefined ? undefined : redisPredictor(redis.client, schedule, shape.factors)
  if (askRedis !== undefined) await served.whilePaused(() => warmUp(askRedis))
  const weir: Throughput[] = []
  const rival: Throughput[] = []
  for (let i = 0; i < ROUNDS; i++) {
    weir.push(await stretch(ask))
    if (askRedis !== undefined) rival.push(await served.whilePaused(() => stretch(askRedis)))
    const against = rival[i] === undefined ? '' : `, Redis ${Math.round(rival[i]!.perSecond)}`
    say(`round ${i + 1}: ${Math.round(weir[i]!.perSecond)} predictions/s${against}`)
  }
  return {
    name: goal.name,
    value: median(weir.map(({ perSecond }) => perSecond)),
    unit: 'predictions/s',
    target: goal.target,
    ...(goal.targetRatio === undefined ? {} : { targetRatio: goal.targetRatio }),
    ...(rival.length === 0
      ? {}
      : { rival: median(rival.map(({ perSecond }) => perSecond)), rivalName: 'Redis' }),
    details: { ...shape, rounds: ROUNDS, outstanding: OUTSTANDING, ...percentilesOf(weir) },
  }
}
