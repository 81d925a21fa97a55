import type { Benchmark } from '../harness/benchmark.ts'
import type { Throughput } from '../load/generator.ts'
import { bytesOf, servedShape } from '../load/model-shape.ts'
import { median } from '../load/statistics.ts'
import { percentilesOf, stretch, warmUp } from '../load/stretch.ts'
import { ServedModel } from '../served/model.ts'

const ROUNDS = 3

/** `predict-spilled`: uniform keys, a quarter of the state in memory, the rest in RocksDB. */
export const predictSpilledBenchmark: Benchmark = {
  name: 'predict-spilled',
  summary: 'uniform keys, row tables limited to a quarter of the state, the rest in RocksDB',
  async run({ scale, say, workspace }) {
    await workspace.stopServing()
    await workspace.stopRedis()
    const shape = servedShape(scale)
    const budget = Math.floor(bytesOf(shape) / 4)
    await using served = await ServedModel.start(await workspace.fresh(shape), {
      configuration: {
        'state.backend.type': 'rocksdb',
        'state.backend.memory.budget': String(budget),
        'execution.checkpointing.interval': '1 h',
      },
    })
    say('loading')
    await served.liveAtMs
    const ask = await served.predictor(workspace.schedule(shape, 'uniform'))
    await warmUp(ask)
    const rounds: Throughput[] = []
    for (let i = 0; i < ROUNDS; i++) {
      rounds.push(await stretch(ask))
      say(`round ${i + 1}: ${Math.round(rounds[i]!.perSecond)} predictions/s`)
    }
    return [
      {
        name: 'predict-spilled',
        value: median(rounds.map(({ perSecond }) => perSecond)),
        unit: 'predictions/s',
        target: 30_000,
        details: {
          ...shape,
          rounds: ROUNDS,
          budgetMb: Math.round(budget / 1e6),
          rowTableMb: Math.round((await served.metric('rowTableBytes')) / 1e6),
          ...percentilesOf(rounds),
        },
      },
    ]
  },
}
