import type { Clock } from '../../core/clock.ts'
import type { Histogram } from '../../core/metrics.ts'
import type { SlotExchange } from './exchange.ts'
import { afterTurn, type LoopTurn } from './loop.ts'
import type { SlotQueries } from './queries.ts'
import type { SubtaskScheduler } from './scheduler.ts'

/** Length of a slice, after which the event loop turns. */
const SLICE_MS = 1
/**
 * Time spent per slice on queries: a quarter of that on records. While neither a record nor a scan waits it is a
 * whole slice, because reads that arrive during a scan must not wait for so long.
 */
const QUERY_MS = { shared: SLICE_MS / 4, alone: SLICE_MS } as const
/** Time spent per slice on copying state out. */
const SNAPSHOT_MS = 1

/** What a slot works on in its turns. */
export interface SlotWork {
  readonly clock: Clock
  readonly queries: Pick<SlotQueries, 'answer' | 'isWaiting' | 'hasScans'>
  readonly scheduler: Pick<SubtaskScheduler, 'process' | 'tick' | 'flush' | 'nextTickMs'>
  readonly exchange: Pick<SlotExchange, 'flush'>
  /** Copies state for checkpoints for at most this many ms; returns whether it copied some. */
  readonly copy: (budgetMs: number) => boolean
  /** Time from a request to wake the slot to its turn. */
  readonly latency: Histogram
}

/** One turn of a slot after the other: queries, a slice of records, a part of a snapshot, timers, output. */
export class SlotTurn {
  private readonly work: SlotWork
  private wakeAskedMs: number | undefined
  /** Whether the turn before had records or state to copy. */
  private wasBusy = true

  constructor(work: SlotWork) {
    this.work = work
  }

  /** The slot was asked to turn; the latency counts from the first request. */
  wakeAsked(): void {
    this.wakeAskedMs ??= this.work.clock.monotonicMs()
  }

  run(): LoopTurn {
    const { clock, queries, scheduler, exchange, copy, latency } = this.work
    const startMs = clock.monotonicMs()
    if (this.wakeAskedMs !== undefined) latency.observe(startMs - this.wakeAskedMs)
    this.wakeAskedMs = undefined
    queries.answer(this.wasBusy || queries.hasScans ? QUERY_MS.shared : QUERY_MS.alone)
    const worked = scheduler.process(startMs + SLICE_MS)
    const copied = copy(SNAPSHOT_MS)
    this.wasBusy = worked || copied
    const nowMs = clock.nowMs()
    scheduler.tick(nowMs, !worked)
    scheduler.flush(worked)
    exchange.flush()
    return afterTurn({
      worked: worked || queries.isWaiting,
      copied,
      nowMs,
      nextTickMs: scheduler.nextTickMs(nowMs),
    })
  }
}
