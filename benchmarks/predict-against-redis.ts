import { type BenchmarkOptions, type Figure, median, quantile, rounded } from './benchmark.ts'
import type { KeyDistribution } from './key-schedule.ts'
import { type Ask, measureThroughput, type Throughput } from './load-generator.ts'
import { servedShape } from './model-shape.ts'
import { redisPredictor } from './redis-model.ts'

/** Predictions under way at a time. */
export const OUTSTANDING = 256
/** Seconds of a measured stretch. */
export const STRETCH_SECONDS = 3
const WARM_UP_SECONDS = 2
const ROUNDS = 3

/** What a benchmark of this kind asks for. */
export interface ThroughputGoal {
  readonly name: string
  readonly distribution: KeyDistribution
  readonly target: number
  readonly targetRatio?: number
}

/** Measures predictions per second, and Redis with the same questions in turn with it. */
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

/** One measured stretch of load. */
export function stretch(ask: Ask): Promise<Throughput> {
  return measureThroughput(ask, OUTSTANDING, STRETCH_SECONDS)
}

/** Load before anything is measured: code is compiled, connections are open. */
export function warmUp(ask: Ask): Promise<Throughput> {
  return measureThroughput(ask, OUTSTANDING, WARM_UP_SECONDS)
}

/** Percentiles of the latencies of all rounds. */
export function percentilesOf(rounds: readonly Throughput[]): Record<string, number> {
  const all = rounds.flatMap(({ sampledMs }) => sampledMs)
  return { p50Ms: rounded(quantile(all, 0.5)), p99Ms: rounded(quantile(all, 0.99)) }
}
