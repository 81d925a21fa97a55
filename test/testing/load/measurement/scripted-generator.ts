import type { Cancel, Clock } from '../../../../src/core/clock.ts'
import { WeirError } from '../../../../src/core/errors.ts'
import type { MeasureOptions } from '../../../../src/testing/load/measurement/measure-level.ts'
import type { LoadGenerator, LoadRun } from '../../../../src/testing/load/port/generator.ts'
import type { Load } from '../../../../src/testing/load/port/load.ts'
import { ANSWERED, outcomeOf } from '../../../../src/testing/load/port/target.ts'
import { LoadRecorder, type LoadWindow } from '../../../../src/testing/load/port/window.ts'

/** A clock whose waits end at once. */
export const INSTANT_CLOCK: Clock = {
  nowMs: () => 0,
  monotonicMs: () => 0,
  after: (_, callback): Cancel => {
    const immediate = setImmediate(callback)
    return () => clearImmediate(immediate)
  },
}

/** Options of a measurement, with perf_analyzer's defaults. */
export const OPTIONS: MeasureOptions = {
  intervalMs: 1000,
  windowRequests: 0,
  stabilityPercentage: 10,
  judged: 'mean',
  maxTrials: 10,
  latencyThresholdMs: undefined,
  warmupRequests: 0,
  requestCount: undefined,
  interrupted: new AbortController().signal,
  clock: INSTANT_CLOCK,
}

/** A window of a second with some answers of one latency. */
export function windowOf(answers: number, latencyMs: number, failures = 0): LoadWindow {
  const recorder = new LoadRecorder()
  for (let i = 0; i < answers; i++) {
    recorder.sent(0)
    recorder.ended(ANSWERED, latencyMs)
  }
  for (let i = 0; i < failures; i++) {
    recorder.sent(0)
    recorder.ended(outcomeOf(new WeirError('UNKNOWN_STATE', 'no such state')), 1)
  }
  return recorder.take(1000, 0)
}

/** A generator whose windows are computed: `windowOf` gives the window with a number, of a load. */
export class ScriptedGenerator implements LoadGenerator {
  readonly started: { readonly load: Load; readonly limit: number | undefined }[] = []
  stopped = 0
  /** What is answered after the last window. */
  tail: LoadWindow = windowOf(0, 0)
  private readonly windowOf: (number: number, load: Load) => LoadWindow

  constructor(windowOf: (number: number, load: Load) => LoadWindow) {
    this.windowOf = windowOf
  }

  async probe(): Promise<void> {}

  async start(load: Load, limit?: number): Promise<LoadRun> {
    this.started.push({ load, limit })
    let taken = 0
    return {
      finished: limit === undefined ? new Promise(() => {}) : Promise.resolve(),
      take: async () => this.windowOf(++taken, load),
      stop: async () => {
        this.stopped += 1
        return this.tail
      },
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}
