import { hash } from 'node:crypto'
import { WeirError } from '../../core/errors.ts'
import { kindOf, wholeNumber } from '../../core/options/kinds.ts'
import type { OptionShape } from '../../core/options/shape.ts'
import type { SourcePosition } from '../../core/position.ts'
import { type ModelTopicRecord, valueBytesOf } from '../../models/topic/record.ts'

/** Which observations are the same event, sent more than once by a producer that sends at least once. */
export interface SameEventOptions {
  /**
   * What names the event of a record: `header:NAME`, the value of that header, or `line`, the text of the record. A record
   * without the header is an event of its own. @default each record is one
   */
  readonly eventId?: string | undefined
  /** The newest events of a partition that a record is compared with. @default 10,000 */
  readonly eventWindow?: number | undefined
}

const HEADER = 'header:'

/** What names an event, in words. */
export const EVENT_ID = 'line or header:NAME'

/** Whether a text says what names an event. */
export function isEventId(text: string): boolean {
  return text === 'line' || (text.startsWith(HEADER) && text.length > HEADER.length)
}

/** Most events of a partition that are remembered. */
export const MOST_EVENTS = 10_000_000

/** The options of `SeenEvents`. */
export const SAME_EVENT: OptionShape<SameEventOptions> = {
  eventId: kindOf<string>(EVENT_ID, (value) => typeof value === 'string' && isEventId(value)),
  eventWindow: wholeNumber({ min: 1, max: MOST_EVENTS }),
}

/** These options alone, of a job that has others. */
export function sameEventOf({ eventId, eventWindow }: SameEventOptions): SameEventOptions {
  return { eventId, eventWindow }
}

const DEFAULT_WINDOW = 10_000
/** A longer id is remembered by its SHA-256. */
const MOST_ID_BYTES = 64
const FORMAT = 1
const HEADER_BYTES = 5
/** Bytes of an event without its id. */
const EVENT_BYTES = 9

/**
 * The newest events of each partition of observations: an observation whose event came at a lower offset is a repetition. An
 * observation that is read again, after a restart or by another version, has the offset that it had, and is none.
 */
export class SeenEvents {
  /** Name of the header, in UTF-8; undefined for the whole line. */
  private readonly header: Uint8Array | undefined
  private readonly window: number
  private readonly partitions = new Map<number, RecentEvents>()

  /** `restored`: entries of `snapshot`, of this and other subtasks. Throws UNSUPPORTED_VERSION. */
  constructor(
    eventId: string,
    window: number = DEFAULT_WINDOW,
    restored: readonly Uint8Array[] = [],
  ) {
    const isLine = eventId === 'line'
    this.header = isLine ? undefined : new TextEncoder().encode(eventId.slice(HEADER.length))
    this.window = window
    for (const entry of restored) this.restore(entry)
  }

  /** Whether the event of a record came before; remembers it. */
  isRepeated(record: ModelTopicRecord, { partition, offset }: SourcePosition): boolean {
    const id = this.idOf(record)
    return id !== undefined && this.of(partition).isRepeated(id, offset)
  }

  /** Forgets the events of a partition that are named by their line, for lines of one user. */
  forget(partition: number, isOwn: (line: Uint8Array) => boolean): void {
    if (this.header !== undefined) return
    this.partitions.get(partition)?.drop((id) => isOwn(Buffer.from(id, 'latin1')))
  }

  /** Entries of operator state of redistribution `union`. `partitions`: those that the subtask reads. @default all */
  snapshot(partitions: Iterable<number> = this.partitions.keys()): Uint8Array[] {
    return [...partitions].flatMap((partition) => {
      const events = this.partitions.get(partition)
      return events === undefined ? [] : [encodeEvents(partition, events)]
    })
  }

  private of(partition: number): RecentEvents {
    let events = this.partitions.get(partition)
    if (events === undefined) {
      events = new RecentEvents(this.window)
      this.partitions.set(partition, events)
    }
    return events
  }

  private idOf(record: ModelTopicRecord): string | undefined {
    const { header } = this
    const value = header === undefined ? valueBytesOf(record) : record.header?.(header)
    return value === undefined || value === null ? undefined : textOf(value)
  }

  private restore(entry: Uint8Array): void {
    const events = this.of(viewOf(entry).getUint32(1, true))
    for (const { id, offset } of eventsIn(entry)) events.isRepeated(textOf(id), offset)
  }
}

/** The events of an entry of `SeenEvents.snapshot`: their ids, or the digests of long ones. Throws UNSUPPORTED_VERSION. */
export function* eventsIn(
  entry: Uint8Array,
): Generator<{ readonly id: Uint8Array; readonly offset: number }> {
  const view = viewOf(entry)
  for (let at = HEADER_BYTES; at < entry.length; ) {
    const end = at + EVENT_BYTES + view.getUint8(at + 8)
    yield { id: entry.subarray(at + EVENT_BYTES, end), offset: view.getFloat64(at, true) }
    at = end
  }
}

/** Throws UNSUPPORTED_VERSION. */
function viewOf(entry: Uint8Array): DataView {
  const view = new DataView(entry.buffer, entry.byteOffset, entry.byteLength)
  if (view.getUint8(0) === FORMAT) return view
  throw new WeirError('UNSUPPORTED_VERSION', `events of format ${view.getUint8(0)}`)
}

/** Events with the lowest offset that each had, the newest `window` of them. */
class RecentEvents {
  private readonly window: number
  private readonly offsets = new Map<string, number>()
  /** The ids in the order in which they came; the next one replaces the one at `next`. */
  private readonly ids: string[] = []
  private next = 0

  constructor(window: number) {
    this.window = window
  }

  isRepeated(id: string, offset: number): boolean {
    const before = this.offsets.get(id)
    if (before !== undefined && before < offset) return true
    this.offsets.set(id, offset)
    if (before === undefined) this.enter(id)
    return false
  }

  drop(isDropped: (id: string) => boolean): void {
    const kept = [...this].filter(([id]) => !isDropped(id))
    this.offsets.clear()
    this.ids.length = 0
    this.next = 0
    for (const [id, offset] of kept) this.isRepeated(id, offset)
  }

  private enter(id: string): void {
    const { ids, next, window } = this
    if (ids.length === window) this.offsets.delete(ids[next]!)
    ids[next] = id
    this.next = next + 1 === window ? 0 : next + 1
  }

  /** The oldest first. */
  *[Symbol.iterator](): Iterator<readonly [id: string, offset: number]> {
    const { ids, next } = this
    for (let n = 0; n < ids.length; n++) {
      const id = ids[(next + n) % ids.length]!
      yield [id, this.offsets.get(id)!]
    }
  }
}

/** The bytes of an id, or of its digest, one character a byte. */
function textOf(id: Uint8Array): string {
  if (id.length > MOST_ID_BYTES) return hash('sha256', id, 'binary')
  return Buffer.from(id.buffer, id.byteOffset, id.length).toString('latin1')
}

/** `| format u8, 1 | partition u32 | { offset f64 | length u8 | id } ... |`, the oldest event first. */
function encodeEvents(partition: number, events: RecentEvents): Uint8Array {
  const all = [...events]
  const length = all.reduce((sum, [id]) => sum + EVENT_BYTES + id.length, HEADER_BYTES)
  const bytes = Buffer.alloc(length)
  bytes.writeUInt8(FORMAT)
  bytes.writeUInt32LE(partition, 1)
  let at = HEADER_BYTES
  for (const [id, offset] of all) {
    bytes.writeDoubleLE(offset, at)
    bytes.writeUInt8(id.length, at + 8)
    at += EVENT_BYTES + bytes.write(id, at + EVENT_BYTES, 'latin1')
  }
  return bytes
}
