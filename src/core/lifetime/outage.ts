import type { Clock } from '../clock.ts'
import { messageOf, type WeirError } from '../errors.ts'
import { waitEndNotice, waitNotice } from './wait.ts'

/** Time without an answer after which it is said, ms; each further notice comes after twice the time. */
const FIRST_NOTICE_MS = 3_000
/** Longest time between two notices, ms. */
const LONGEST_PAUSE_MS = 300_000

/** Takes the notices of outages (`waitIn`). */
export type OutageListener = (notice: WeirError) => void

/**
 * The time in which a service outside does not answer. It begins with the first attempt that fails, and ends with
 * one that succeeds.
 */
export class Outage {
  private readonly service: string
  private readonly clock: Clock
  private readonly say: OutageListener
  /** When it began, on both clocks; undefined while there is none. */
  private began: { readonly atMs: number; readonly monotonicMs: number } | undefined
  private nextNoticeMs = FIRST_NOTICE_MS

  /** `service`: what does not answer, for messages. `say` is called with growing pauses, and at the end. */
  constructor(service: string, clock: Clock, say: OutageListener) {
    this.service = service
    this.clock = clock
    this.say = say
  }

  /** How long it lasts, ms; 0 while there is none. */
  get lastsMs(): number {
    return this.began === undefined ? 0 : this.clock.monotonicMs() - this.began.monotonicMs
  }

  /** An attempt that began at a monotonic time has failed. */
  failed(startedMs: number, error: unknown): void {
    const { clock, service } = this
    const earlierMs = clock.monotonicMs() - startedMs
    this.began ??= { atMs: clock.nowMs() - earlierMs, monotonicMs: startedMs }
    if (this.lastsMs < this.nextNoticeMs) return
    const { atMs } = this.began
    const seconds = Math.round(this.nextNoticeMs / 1000)
    this.nextNoticeMs += Math.min(this.nextNoticeMs, LONGEST_PAUSE_MS)
    const why = messageOf(error)
    const message = `waiting for ${service} since ${timeOf(atMs)}, for ${seconds} s or more: ${why}; work goes on when it answers`
    this.say(waitNotice('CONNECTOR_FAILED', message, { waitsFor: service, why, sinceMs: atMs }))
  }

  /** An attempt has succeeded. */
  ended(): void {
    if (this.began === undefined) return
    const { service } = this
    const wasSaid = this.nextNoticeMs > FIRST_NOTICE_MS
    const since = timeOf(this.began.atMs)
    this.began = undefined
    this.nextNoticeMs = FIRST_NOTICE_MS
    if (!wasSaid) return
    const message = `${service} can be reached again, after a wait since ${since}`
    this.say(waitEndNotice('CONNECTOR_FAILED', message, service))
  }
}

/** A time of the day, UTC, to the second. */
function timeOf(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(11, 19)} UTC`
}
