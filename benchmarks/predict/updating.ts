import { setTimeout as pause } from 'node:timers/promises'
import type { Benchmark } from '../harness/benchmark.ts'
import type { Throughput } from '../load/generator.ts'
import { servedShape } from '../load/model-shape.ts'
import { median } from '../load/statistics.ts'
import { percentilesOf, stretch, warmUp } from '../load/stretch.ts'
import { RowUpdater } from '../served/row-updater.ts'

const ROUNDS = 3
const ROWS_PER_SECOND = 50_000
/** Time in which the updating process reaches its rate. */
const SETTLE_MS = 500

/** `predict-updating`: predictions with Zipf keys while rows are updated through the log. */
export const predictUpdatingBenchmark: Benchmark = {
  name: 'predict-updating',
  summary:
    'as predict-hot, while 50,000 rows/s are updated; at least 85 % of the rate without updates',
  async run({ scale, say, workspace }) {
    const shape = servedShape(scale)
    const served = await workspace.serve(shape)
    const ask = await served.predictor(workspace.schedule(shape, 'zipf'))
    await warmUp(ask)
    const quiet: Throughput[] = []
    const updating: Throughput[] = []
    const written: number[] = []
    const applied: number[] = []
    for (let i = 0; i < ROUNDS; i++) {
      quiet.push(await stretch(ask))
      await using updater = await RowUpdater.start(await workspace.model(shape), ROWS_PER_SECOND)
      await pause(SETTLE_MS)
      const before = await updater.report()
      const appliedBefore = await served.metric('numRecordsIn')
      updating.push(await stretch(ask))
      const after = await updater.report()
      const seconds = after.seconds - before.seconds
      written.push((after.rows - before.rows) / seconds)
      applied.push(((await served.metric('numRecordsIn')) - appliedBefore) / seconds)
      say(
        `round ${i + 1}: ${Math.round(updating[i]!.perSecond)} predictions/s at ${Math.round(written[i]!)} updates/s, ${Math.round(quiet[i]!.perSecond)} without`,
      )
    }
    const alone = median(quiet.map(({ perSecond }) => perSecond))
    return [
      {
        name: 'predict-updating',
        value: median(updating.map(({ perSecond }) => perSecond)),
        unit: 'predictions/s',
        targetRatio: 0.85,
        rival: alone,
        rivalName: 'without updates',
        details: {
          ...shape,
          rounds: ROUNDS,
          updatesPerSecond: Math.round(median(written)),
          appliedPerSecond: Math.round(median(applied)),
          ...percentilesOf(updating),
        },
      },
    ]
  },
}
