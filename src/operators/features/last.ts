import type { OpenRow } from './row.ts'
import type { Tally } from './tally.ts'

/** Longest text in bytes of UTF-8. */
const MOST_BYTES = 1024
/** Before a value: its time (float64), its type (uint8), nothing (uint8) and its size in bytes (uint16). */
const HEAD = 12
const TYPE_AT = 8
const SIZE_AT = 10
const NUMBER_BYTES = 8
const TEXT = 1
const NUMBER = 2
const FALSE = 3
const TRUE = 4

/** A value that a row keeps. */
export type Kept = string | number | boolean

const encoder = new TextEncoder()
const decoder = new TextDecoder()
const scratch = new Uint8Array(MOST_BYTES)

/** The last values of a key by event time, newest first; of one time, the one that came last is newer. */
export class LastTally implements Tally<Kept, readonly Kept[]> {
  readonly layout = 'last'
  readonly mostBytes: number
  private readonly count: number
  private readonly windowMs: number

  constructor(count: number, windowMs: number) {
    this.count = count
    this.windowMs = windowMs
    this.mostBytes = count * (HEAD + MOST_BYTES)
  }

  check(input: unknown): string | undefined {
    const takes = `a text of at most ${MOST_BYTES} bytes, a finite number or a boolean`
    if (typeof input === 'number') return Number.isFinite(input) ? undefined : takes
    if (typeof input === 'boolean') return undefined
    if (typeof input !== 'string') return takes
    // A character has at most three bytes.
    const fits = input.length * 3 <= MOST_BYTES || encoder.encode(input).length <= MOST_BYTES
    return fits ? undefined : takes
  }

  add(row: OpenRow, feature: number, time: number, input: Kept): void {
    if (time < row.newest - this.windowMs) return
    const start = row.startOf(feature)
    const end = start + row.sizeOf(feature)
    let at = start
    let older = 0
    let newer = 0
    for (let place = start; place < end; place = next(row, place)) {
      if (row.view.getFloat64(place, true) > time) newer += 1
      else {
        older += 1
        at = next(row, place)
      }
    }
    if (newer >= this.count) return
    const size = sizeOfInput(input)
    row.insert(feature, at, HEAD + size)
    row.view.setFloat64(at, time, true)
    row.view.setUint8(at + TYPE_AT, typeOf(input))
    row.view.setUint8(at + TYPE_AT + 1, 0)
    row.view.setUint16(at + SIZE_AT, size, true)
    if (typeof input === 'number') row.view.setFloat64(at + HEAD, input, true)
    else if (typeof input === 'string') row.bytes.set(scratch.subarray(0, size), at + HEAD)
    for (let extra = older + newer + 1 - this.count; extra > 0; extra--) {
      row.remove(feature, start, next(row, start) - start)
    }
  }

  read(row: OpenRow, feature: number, at: number): readonly Kept[] {
    const values: Kept[] = []
    const start = row.startOf(feature)
    const end = start + row.sizeOf(feature)
    for (let place = start; place < end; place = next(row, place)) {
      if (row.view.getFloat64(place, true) >= at - this.windowMs) values.push(valueAt(row, place))
    }
    return values.reverse().slice(0, this.count)
  }
}

/** The place of the value behind the one at `place`. */
function next(row: OpenRow, place: number): number {
  return place + HEAD + row.view.getUint16(place + SIZE_AT, true)
}

/** Bytes of a value; those of a text are in `scratch` then. */
function sizeOfInput(input: Kept): number {
  if (typeof input === 'number') return NUMBER_BYTES
  return typeof input === 'string' ? encoder.encodeInto(input, scratch).written : 0
}

function typeOf(input: Kept): number {
  if (typeof input === 'string') return TEXT
  if (typeof input === 'number') return NUMBER
  return input ? TRUE : FALSE
}

function valueAt({ view, bytes }: OpenRow, place: number): Kept {
  const type = view.getUint8(place + TYPE_AT)
  const from = place + HEAD
  if (type === NUMBER) return view.getFloat64(from, true)
  if (type !== TEXT) return type === TRUE
  return decoder.decode(bytes.subarray(from, from + view.getUint16(place + SIZE_AT, true)))
}
