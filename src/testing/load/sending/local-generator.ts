import { performance } from 'node:perf_hooks'
import type { Clock } from '../../../core/clock.ts'
import type { LoadGenerator, LoadRun } from '../port/generator.ts'
import type { KeySource } from '../port/key-source.ts'
import { type Load, type LoadShare, shareOfCount } from '../port/load.ts'
import type { LoadTarget } from '../port/target.ts'
import { LoadRecorder, type LoadWindow } from '../port/window.ts'
import { arrivalsOf, shareOfArrivals } from './arrivals.ts'
import { ClosedLoop } from './closed-loop.ts'
import type { LoadLoop, LoopParts, Pacer } from './loop.ts'
import { OpenLoop } from './open-loop.ts'

/** Most requests of one thread that wait for an answer in an open loop. */
const MAX_OUTSTANDING = 32_768

/** Parts of a generator. */
export interface LocalGeneratorOptions {
  readonly target: LoadTarget
  readonly keys: KeySource
  readonly clock: Clock
  readonly pacer: Pacer
  readonly share: LoadShare
  /** @default 32,768 */
  readonly maxOutstanding?: number
}

/** Sends requests from this thread: its share of a load. */
export class LocalGenerator implements LoadGenerator {
  private readonly options: LocalGeneratorOptions

  constructor(options: LocalGeneratorOptions) {
    this.options = options
  }

  async probe(tries: number): Promise<void> {
    const { target, keys } = this.options
    let first: Error | undefined
    for (let i = 0; i < tries; i++) {
      const outcome = await target.send(keys.next())
      if (outcome.kind === 'ok') return
      first ??= outcome.error
    }
    if (first !== undefined) throw first
  }

  async start(load: Load, limit = Number.POSITIVE_INFINITY): Promise<LoadRun> {
    return this.startAt(load, limit, this.options.clock.monotonicMs())
  }

  /** As `start`; the times of an open load count from `startMs`, monotonic ms. */
  startAt(load: Load, limit: number, startMs: number): LoadRun {
    const { target, keys, clock, pacer, share } = this.options
    if (load.kind === 'trace') keys.restart()
    const recorder = new LoadRecorder()
    const parts: LoopParts = { target, keys, recorder, clock, pacer }
    const own = shareOfLimit(load, limit, share)
    const loop =
      load.kind === 'concurrency'
        ? new ClosedLoop(parts, shareOfCount(load.callers, share), own)
        : new OpenLoop(parts, {
            arrivals: shareOfArrivals(arrivalsOf(load), share),
            startMs,
            limit: own,
            maxOutstanding: this.options.maxOutstanding ?? MAX_OUTSTANDING,
          })
    // Nothing is sent before the first time of an open load.
    const fromMs = load.kind === 'concurrency' ? 0 : startMs
    return new LocalRun(loop, { recorder, clock, fromMs })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.options.target[Symbol.asyncDispose]()
  }
}

/** The share of a number of requests; threads without a caller send none. */
function shareOfLimit(load: Load, limit: number, { thread, threads }: LoadShare): number {
  if (!Number.isFinite(limit)) return limit
  const asking = load.kind === 'concurrency' ? Math.min(threads, load.callers) : threads
  return thread < asking ? shareOfCount(limit, { thread, threads: asking }) : 0
}

class LocalRun implements LoadRun {
  readonly finished: Promise<void>
  private readonly loop: LoadLoop
  private readonly recorder: LoadRecorder
  private readonly clock: Clock
  private startMs: number
  private activeMs = performance.eventLoopUtilization().active

  /** `fromMs`: the first window starts then at the earliest. */
  constructor(
    loop: LoadLoop,
    { recorder, clock, fromMs }: Pick<LoopParts, 'recorder' | 'clock'> & { fromMs: number },
  ) {
    this.loop = loop
    this.recorder = recorder
    this.clock = clock
    this.startMs = Math.max(fromMs, clock.monotonicMs())
    this.finished = loop.finished
  }

  async take(): Promise<LoadWindow> {
    const nowMs = this.clock.monotonicMs()
    const { active } = performance.eventLoopUtilization()
    const window = this.recorder.take(nowMs - this.startMs, active - this.activeMs)
    this.startMs = nowMs
    this.activeMs = active
    return window
  }

  async stop(): Promise<LoadWindow> {
    this.loop.stop()
    await this.loop.finished
    return await this.take()
  }
}
