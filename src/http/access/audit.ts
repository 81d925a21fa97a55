import { appendFileSync } from 'node:fs'
import type { Clock } from '../../core/clock.ts'
import { messageOf } from '../../core/errors.ts'
import { printable } from '../../core/text/printable.ts'
import { RateBucket } from './rate-bucket.ts'

/** How a change ended. `accepted`: it goes on after the answer, which names a trigger. */
export type AuditOutcome = 'done' | 'accepted' | 'refused' | 'failed'

/** A change that someone asked for through a port, or by the tokens file. */
export interface AuditEntry {
  /** Id of the token; `anonymous` where none is needed, `nobody` without a valid one. */
  readonly who: string
  /** Name of the token; may be empty. */
  readonly name: string
  /** Address that the request came from; empty for a change of the tokens file. */
  readonly from: string
  /** What was asked for: `submit`, `cancel`, `promote`. */
  readonly did: string
  /** What it was asked of: `job=als-serving`; may be empty. */
  readonly on: string
  readonly outcome: AuditOutcome
  /** HTTP status, or code of the error. */
  readonly status: string
}

/** Takes each entry. */
export type AuditSink = (entry: AuditEntry) => void

/** Options of `auditTrail`. */
export interface AuditTrailOptions {
  /** Takes the line: a sentence, or JSON. */
  readonly write: (line: string) => void
  /** Whether lines of `write` are JSON. @default false */
  readonly isJson?: boolean
  /** Every line is appended here, too, as JSON. The file is opened for each, so that it may be moved away. */
  readonly file?: string | undefined
  readonly clock: Clock
}

/** Refusals that are written at once, and each second after them: a client must not fill the disk. */
const REFUSALS = { perSecond: 1, burst: 20 }
const INFO = 30
const WARN = 40

/** A sink that writes one line for each entry, and of refusals at most one a second in the long run. */
export function auditTrail({ write, isJson = false, file, clock }: AuditTrailOptions): AuditSink {
  const refusals = new RateBucket(REFUSALS)
  let unwritten = 0
  const append = (line: string): void => {
    if (file === undefined) return
    try {
      appendFileSync(file, `${line}\n`, { mode: 0o600 })
    } catch (error) {
      write(`audit: warning: the line is not in ${printable(file)}: ${messageOf(error)}`)
    }
  }
  return (entry) => {
    if (entry.outcome === 'refused' && refusals.take(1, clock.monotonicMs()) > 0) {
      unwritten++
      return
    }
    const line = lineOf(entry, unwritten)
    const json = JSON.stringify({
      level: entry.outcome === 'refused' ? WARN : INFO,
      time: clock.nowMs(),
      name: 'weir',
      audit: { ...entry, ...(unwritten === 0 ? {} : { unwritten }) },
      msg: line,
    })
    unwritten = 0
    write(isJson ? json : line)
    append(json)
  }
}

function lineOf(
  { who, name, from, did, on, outcome, status }: AuditEntry,
  unwritten: number,
): string {
  const holder = name === '' ? who : `${who} (${printable(name)})`
  const place = from === '' ? '' : ` from ${printable(from)}`
  const object = on === '' ? '' : ` ${printable(on)}`
  const more = unwritten === 0 ? '' : `; ${unwritten} refusals before it are not written`
  return `audit: ${holder}${place}: ${did}${object}: ${outcome} (${status})${more}`
}
