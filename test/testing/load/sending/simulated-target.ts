import type { KeySource } from '../../../../src/testing/load/port/key-source.ts'
import { LatencyHistogram } from '../../../../src/testing/load/port/latency-histogram.ts'
import type { Load, LoadShare } from '../../../../src/testing/load/port/load.ts'
import {
  ANSWERED,
  type LoadTarget,
  type Outcome,
} from '../../../../src/testing/load/port/target.ts'
import type { LoadWindow } from '../../../../src/testing/load/port/window.ts'
import { LocalGenerator } from '../../../../src/testing/load/sending/local-generator.ts'
import { ManualClock } from '../../../../src/testing/manual-clock.ts'

const KEYS: KeySource = { next: () => [{ user: '1', item: '2' }], restart() {} }

interface SimulationOptions {
  readonly maxOutstanding?: number
  readonly limit?: number
  readonly share?: LoadShare
  /** Time for which the generator gets no turn. */
  readonly pauseMs?: () => number
}

/** A server on a manual clock: it answers each request after the time that `serviceMs` gives for now. */
export class SimulatedTarget implements LoadTarget {
  readonly clock = new ManualClock()
  requests = 0
  private readonly serviceMs: (nowMs: number) => number
  private readonly outcome: Outcome

  constructor(serviceMs: (nowMs: number) => number, outcome: Outcome = ANSWERED) {
    this.serviceMs = serviceMs
    this.outcome = outcome
  }

  send(): Promise<Outcome> {
    this.requests += 1
    return new Promise((resolve) => {
      const { clock } = this
      clock.after(this.serviceMs(clock.monotonicMs()), () => resolve(this.outcome))
    })
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Lets `ms` pass, in steps that are shorter than any time of a test. */
  async pass(ms: number): Promise<void> {
    const stepMs = 0.5
    for (let passed = 0; passed < ms; passed += stepMs) {
      this.clock.advance(stepMs)
      await settled()
    }
  }

  /** Puts a load on the server for some time. Returns what happened until the last answer. */
  async underLoad(
    load: Load,
    ms: number,
    {
      pauseMs = () => 0,
      limit,
      share = { thread: 0, threads: 1 },
      ...options
    }: SimulationOptions = {},
  ): Promise<LoadWindow> {
    const { clock } = this
    const pacer = (delayMs: number, callback: () => void) =>
      clock.after(delayMs + pauseMs(), callback)
    const parts = { target: this, keys: KEYS, clock, pacer, share }
    const generator = new LocalGenerator({ ...parts, ...options })
    const run = await generator.start(load, limit)
    await this.pass(ms)
    const end = run.stop()
    let isOver = false
    void end.then(() => {
      isOver = true
    })
    while (!isOver) await this.pass(1)
    return await end
  }
}

/** Resolves after the continuations of answers. */
async function settled(): Promise<void> {
  for (let i = 0; i < 6; i++) await Promise.resolve()
}

/** The histogram of a window. */
export function latencyOf({ latency }: LoadWindow): LatencyHistogram {
  const histogram = new LatencyHistogram()
  histogram.add(latency)
  return histogram
}

/** A load at a constant rate. */
export const constantRate = (perSecond: number): Load => ({
  kind: 'rate',
  perSecond,
  distribution: 'constant',
  seed: 1,
})
