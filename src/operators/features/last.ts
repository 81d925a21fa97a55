import type { FeatureRow } from './row.ts'
import type { Tally } from './tally.ts'

/** Longest value in bytes of JSON. */
const MOST_BYTES = 1024
/** Before a value: its time (float64) and its size in bytes (uint16). */
const HEAD = 10
const SIZE_AT = 8

/** A value that a row keeps. */
export type Kept = string | number | boolean

const encoder = new TextEncoder()
const decoder = new TextDecoder()

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
    const takes = `a text of at most ${MOST_BYTES - 2} bytes, a finite number or a boolean`
    if (typeof input === 'number') return Number.isFinite(input) ? undefined : takes
    if (typeof input === 'boolean') return undefined
    if (typeof input !== 'string') return takes
    return encoder.encode(JSON.stringify(input)).length <= MOST_BYTES ? undefined : takes
  }

  add(row: FeatureRow, feature: number, time: number, input: Kept): void {
    if (time < row.newest - this.windowMs) return
    const start = row.startOf(feature)
    const places = this.placesOf(row, feature)
    let older = places.length
    while (older > 0 && row.view.getFloat64(places[older - 1]!, true) > time) older -= 1
    const isFull = places.length >= this.count
    if (isFull && older === 0) return
    const value = encoder.encode(JSON.stringify(input))
    const at = places[older] ?? start + row.sizeOf(feature)
    row.insert(feature, at, HEAD + value.length)
    row.view.setFloat64(at, time, true)
    row.view.setUint16(at + SIZE_AT, value.length, true)
    row.bytes.set(value, at + HEAD)
    for (let extra = places.length + 1 - this.count; extra > 0; extra--) {
      row.remove(feature, start, HEAD + row.view.getUint16(start + SIZE_AT, true))
    }
  }

  read(row: FeatureRow, feature: number, at: number): readonly Kept[] {
    const values: Kept[] = []
    for (const place of this.placesOf(row, feature).slice(-this.count)) {
      if (row.view.getFloat64(place, true) < at - this.windowMs) continue
      const size = row.view.getUint16(place + SIZE_AT, true)
      const text = decoder.decode(row.bytes.subarray(place + HEAD, place + HEAD + size))
      values.unshift(JSON.parse(text) as Kept)
    }
    return values
  }

  /** Where the values are, oldest first. */
  private placesOf(row: FeatureRow, feature: number): readonly number[] {
    const places: number[] = []
    const start = row.startOf(feature)
    const end = start + row.sizeOf(feature)
    for (let at = start; at < end; at += HEAD + row.view.getUint16(at + SIZE_AT, true)) {
      places.push(at)
    }
    return places
  }
}
