import type { Benchmark, BenchmarkOptions } from '../harness/benchmark.ts'
import { rowsOf, servedShape } from '../load/model-shape.ts'
import { median, rounded } from '../load/statistics.ts'
import { ServedModel } from '../served/model.ts'

const ROUNDS = 3

interface LoadTimes {
  /** Seconds from RUNNING until the version was live. */
  readonly live: number
  /** Seconds from RUNNING until a checkpoint with every row was complete. */
  readonly durable: number
  readonly tableBytes: number
}

async function round({ scale, workspace }: BenchmarkOptions, shape = servedShape(scale)) {
  const model = await workspace.fresh(shape)
  await using served = await ServedModel.start(model, {
    configuration: {
      'state.backend.memory.budget': '8 gb',
      'execution.checkpointing.interval': '2 s',
    },
  })
  const [running, live] = await Promise.all([served.runningAtMs, served.liveAtMs])
  const { atMs } = await served.call('checkpoint')
  const times: LoadTimes = {
    live: (live - running) / 1000,
    durable: (atMs - running) / 1000,
    tableBytes: await served.metric('rowTableBytes'),
  }
  return times
}

/** `model-load`: model rows of 100 factors, from the log into checkpointed state. */
export const modelLoadBenchmark: Benchmark = {
  name: 'model-load',
  summary: 'model rows of 100 factors, from the log into checkpointed state',
  async run(options) {
    await options.workspace.stopServing()
    const rows = rowsOf(servedShape(options.scale))
    const times: LoadTimes[] = []
    for (let i = 0; i < ROUNDS; i++) {
      const { live, durable, tableBytes } = await round(options)
      times.push({ live, durable, tableBytes })
      options.say(
        `round ${i + 1}: live after ${live.toFixed(2)} s, in a checkpoint after ${durable.toFixed(2)} s`,
      )
    }
    return [
      {
        name: 'model-load',
        value: median(times.map(({ durable }) => rows / durable)),
        unit: 'rows/s',
        target: 300_000,
        details: {
          rows,
          rounds: ROUNDS,
          untilLive: rounded(median(times.map(({ live }) => rows / live))),
          rowTableMb: Math.round(times[0]!.tableBytes / 1e6),
        },
      },
    ]
  },
}
