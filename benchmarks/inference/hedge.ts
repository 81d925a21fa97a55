import type { Deployment, HedgeSettings } from '../../src/inference/port/deployment.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { floats, functionModel, percentile, serve } from './serving.ts'

const SECONDS = 30
const STALLS = { runMs: 1, stallMs: 50, share: 0.02 }
/** So few that both workers seldom stall together. */
const PER_SECOND = 50

/** `hedge`: two workers that stall for 50 ms in 2 % of their runs, with and without a second try. */
export const hedgeBenchmark: Benchmark = {
  name: 'hedge',
  summary:
    'two workers that stall for 50 ms in 2 % of their runs: p99 with a second try after 5 ms',
  async run({ scale }) {
    const measured = async (hedge: HedgeSettings | undefined) => {
      const deployment: Deployment = {
        sloMs: 1000,
        workers: 2,
        maxBatchItems: 1,
        batching: { rule: 'none' },
        ...(hedge === undefined ? {} : { hedge }),
      }
      const model = functionModel('stalling', STALLS)
      await using served = await serve(model, deployment, [floats('x', [1])])
      const { times, answered, refused } = await served.openLoop(() => PER_SECOND, SECONDS * scale)
      const executions = served.statistics().items / (answered + refused)
      return { p99: percentile(times, 0.99), p50: percentile(times, 0.5), executions }
    }
    const alone = await measured(undefined)
    const hedged = await measured({ afterMs: 5 })
    return [
      {
        name: 'hedge-p99',
        value: hedged.p99,
        unit: 'ms',
        higher: false,
        targetRatio: 0.5,
        rival: alone.p99,
        rivalName: 'without a second try',
        details: { p50: hedged.p50 },
      },
      {
        name: 'hedge-executions',
        value: hedged.executions,
        unit: 'executions a request',
        target: 1.05,
        higher: false,
      },
    ]
  },
}
