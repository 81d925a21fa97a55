import { setTimeout as pause } from 'node:timers/promises'
import type { CheckpointStatistics } from '../../src/runtime/checkpoint/coordinator/statistics.ts'
import type { Benchmark } from '../harness/benchmark.ts'
import { type Ask, measureWhile } from '../load/generator.ts'
import { rowsOf, servedShape } from '../load/model-shape.ts'
import { median, quantile, rounded } from '../load/statistics.ts'
import type { ServedModel } from '../served/model.ts'
import { RowUpdater } from '../served/row-updater.ts'

const ROUNDS = 5
const DIRTY_SHARE = 0.01
/** Length of the two stretches that are compared, before and around the checkpoint. */
const STRETCH_MS = 1000

interface Stretch {
  readonly longestQueryMs: number
  readonly p99Ms: number
  /** Longest time in which a slot applied no record. */
  readonly gapMs: number
}

interface CheckpointRound {
  readonly durationMs: number
  readonly syncMs: number
  readonly sizeBytes: number
  readonly before: Stretch
  readonly during: Stretch
}

/** Asks for one prediction after the other until `isOver`; `ask` is warmed up. */
async function stretch(served: ServedModel, ask: Ask, isOver: () => boolean): Promise<Stretch> {
  await served.call('longestGap')
  const latencies = await measureWhile(ask, isOver)
  return {
    longestQueryMs: Math.max(...latencies),
    p99Ms: quantile(latencies, 0.99),
    gapMs: await served.call('longestGap'),
  }
}

async function round(served: ServedModel, ask: Ask): Promise<CheckpointRound> {
  const untilBefore = performance.now() + STRETCH_MS
  const before = await stretch(served, ask, () => performance.now() >= untilBefore)
  await served.call('longestGap')
  let isDone = false
  const taken = served.call('checkpoint').finally(() => {
    isDone = true
  })
  const untilDuring = performance.now() + STRETCH_MS
  const during = await stretch(served, ask, () => isDone && performance.now() >= untilDuring)
  const { statistics } = await taken
  return {
    durationMs: statistics.end_to_end_duration,
    syncMs: Math.max(...statistics.tasks.map(({ checkpoint }) => checkpoint.sync)),
    sizeBytes: statistics.checkpointed_size,
    before,
    during,
  }
}

/**
 * `checkpoint`: incremental checkpoints of 1 GB of state with 1 % dirty rows, while rows are updated and a
 * client asks for one prediction after the other.
 */
export const checkpointBenchmark: Benchmark = {
  name: 'checkpoint',
  summary: 'incremental checkpoint of 1 GB of state with 1 % dirty: duration and pauses',
  async run({ scale, say, workspace }) {
    await workspace.stopRedis()
    const shape = servedShape(scale)
    const served = await workspace.serve(shape)
    const ask = await served.predictor(workspace.schedule(shape, 'uniform'))
    const full = (await served.call('checkpoint')).statistics
    say(`full checkpoint: ${full.checkpointed_size} bytes in ${full.end_to_end_duration} ms`)
    const dirty = Math.round(rowsOf(shape) * DIRTY_SHARE)
    // Each of these rows is updated once a second, so all are dirty when the next checkpoint begins.
    await using _updater = await RowUpdater.start(await workspace.model(shape), dirty, dirty)
    await pause(STRETCH_MS)
    const rounds: CheckpointRound[] = []
    for (let i = 0; i <= ROUNDS; i++) {
      const result = await round(served, ask)
      // The first round also compiles code and stores earlier updates.
      if (i > 0) rounds.push(result)
      const { durationMs, before, during } = result
      say(
        `${i === 0 ? 'warm-up' : `round ${i}`}: ${durationMs} ms, gap ${during.gapMs.toFixed(1)} ms (${before.gapMs.toFixed(1)} before), longest query ${during.longestQueryMs.toFixed(1)} ms (${before.longestQueryMs.toFixed(1)} before)`,
      )
    }
    return figuresOf(rounds, dirty, full)
  },
}

function figuresOf(rounds: readonly CheckpointRound[], dirty: number, full: CheckpointStatistics) {
  const of = (what: (round: CheckpointRound) => number): number => median(rounds.map(what))
  const longestBefore = of(({ before }) => before.longestQueryMs)
  return [
    {
      name: 'checkpoint-duration',
      value: of(({ durationMs }) => durationMs) / 1000,
      unit: 's',
      target: 0.5,
      higher: false,
      details: {
        rounds: rounds.length,
        dirtyRows: dirty,
        fullMb: Math.round(full.checkpointed_size / 1e6),
        fullSeconds: full.end_to_end_duration / 1000,
        incrementMb: rounded(of(({ sizeBytes }) => sizeBytes) / 1e6),
      },
    },
    {
      name: 'checkpoint-processing-pause',
      value: of(({ during }) => during.gapMs),
      unit: 'ms',
      target: 20,
      higher: false,
      rival: of(({ before }) => before.gapMs),
      rivalName: 'without a checkpoint',
      details: { rounds: rounds.length, syncMs: rounded(of(({ syncMs }) => syncMs)) },
    },
    {
      name: 'checkpoint-query-longest',
      value: of(({ during }) => during.longestQueryMs),
      unit: 'ms',
      targetRatio: 1.3,
      higher: false,
      rival: longestBefore,
      rivalName: 'without a checkpoint',
      details: {
        rounds: rounds.length,
        p99Ms: rounded(of(({ during }) => during.p99Ms)),
        p99BeforeMs: rounded(of(({ before }) => before.p99Ms)),
      },
    },
  ]
}
