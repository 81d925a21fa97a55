import { messageOf, WeirError } from '../core/errors.ts'
import { isBag, text as someText } from '../core/options/kinds.ts'
import { checkArgument } from '../core/options/shape.ts'
import { describeValue } from '../core/text/describe-value.ts'
import { nearestWord } from '../core/text/nearest-word.ts'

/** A record that a source reads. */
export interface TimedRecord {
  readonly value: unknown
  /** The source's own timestamp, ms; the watermark strategy of the source sees it. @default none */
  readonly timestamp?: number
  /** Uid or name of the source. @default the only one of the job */
  readonly source?: string
}

/** A watermark of a source, beside those of its strategy. */
export interface TimedWatermark {
  readonly watermark: number
  /** Uid or name of the source. @default all */
  readonly source?: string
}

/** The wall clock of the job goes on to this time, ms; it begins at 0. */
export interface TimedClock {
  readonly clock: number
}

/** What happens to a job next, in a test. */
export type TimedEvent = TimedRecord | TimedWatermark | TimedClock

/** Fields of the forms of events; the first one of each is what tells them apart. */
const FORMS = [['value', 'timestamp', 'source'], ['watermark', 'source'], ['clock']] as const

const TIMES: readonly string[] = ['timestamp', 'watermark', 'clock']

const TAKES =
  'an event is { value, timestamp?, source? }, { watermark, source? } or { clock }, with times in whole ms'

/** The events of a text with one JSON object a line; empty lines are left out. Throws INVALID_ARGUMENT with the line. */
export function parseTimedEvents(text: string): TimedEvent[] {
  checkArgument('parseTimedEvents', 'text', someText, text)
  return text.split('\n').flatMap((line, i) => {
    if (line.trim() === '') return []
    const place = `line ${i + 1}`
    let event: unknown
    try {
      event = JSON.parse(line)
    } catch (error) {
      throw new WeirError('INVALID_ARGUMENT', `${place} is no JSON: ${messageOf(error)}`)
    }
    requireTimedEvent(event, place)
    return [event]
  })
}

/** Throws INVALID_ARGUMENT that begins with `place` where the value is no event. */
export function requireTimedEvent(event: unknown, place: string): asserts event is TimedEvent {
  const problem = problemOf(event)
  if (problem !== undefined) {
    throw new WeirError('INVALID_ARGUMENT', `${place} ${problem}; ${TAKES}`)
  }
}

function problemOf(event: unknown): string | undefined {
  if (!isBag(event)) return `is ${describeValue(event)}`
  const form = FORMS.find(([first]) => Object.hasOwn(event, first))
  if (form === undefined) return `has neither value nor watermark nor clock`
  const fields: readonly string[] = form
  const unknown = Object.keys(event).find((field) => !fields.includes(field))
  if (unknown !== undefined) {
    const nearest = nearestWord(unknown, fields)
    const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
    return `has a field "${unknown}" beside "${form[0]}"${hint}`
  }
  const wrong = TIMES.find((field) => event[field] !== undefined && !isTime(event[field]))
  if (wrong !== undefined) return `has a wrong ${wrong}: ${describeValue(event[wrong])}`
  const { source } = event as { readonly source?: unknown }
  if (source === undefined || typeof source === 'string') return undefined
  return `has a wrong source: ${describeValue(source)}`
}

function isTime(value: unknown): boolean {
  return Number.isSafeInteger(value)
}
