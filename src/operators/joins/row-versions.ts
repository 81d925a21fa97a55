import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import {
  type EvolvingSerializer,
  int53Serializer,
  readerOfHolder,
  type Serializer,
  type ValueReader,
} from '../../core/serializer.ts'
import { MAX_TIMESTAMP, MIN_TIMESTAMP } from '../../core/time.ts'
import { type MapStateDescriptor, mapState } from '../../state/port/descriptors.ts'
import type { MapState } from '../../state/port/handles.ts'
import { type TimedSide, Times } from './timed-buffer.ts'

/*
 * A version of a row in state:
 *
 *   | 1 | row |    or, where the row was deleted:    | 0 |
 */

/** A version of a row; null where the row was deleted. */
export interface RowVersion<V> {
  readonly row: V | null
}

const DELETED: RowVersion<never> = { row: null }

/** The versions of the row of a key, by the event time from which each is valid. */
export function versionsState<V>(
  rows: Serializer<V> = msgpackSerializer<V>(),
): MapStateDescriptor<number, RowVersion<V>> {
  return mapState('row-versions', {
    keySerializer: int53Serializer,
    serializer: versionSerializer(rows),
  })
}

function versionSerializer<V>(rows: Serializer<V>): Serializer<RowVersion<V>> {
  const name = 'row-version/1'
  const wrap =
    (read: ValueReader<V>): ValueReader<RowVersion<V>> =>
    (reader) =>
      reader.uint8() === 0 ? DELETED : { row: read(reader) }
  const serializer: EvolvingSerializer<RowVersion<V>> = {
    id: `${name}(${rows.id})`,
    write({ row }, writer) {
      writer.uint8(row === null ? 0 : 1)
      if (row !== null) rows.write(row, writer)
    },
    read: wrap((reader) => rows.read(reader)),
    readerOf: (storedId) => readerOfHolder(rows, { name, storedId }, wrap),
  }
  return serializer
}

/**
 * The versions of rows by event time. A key keeps the newest one at or before the oldest time that can still be asked, and
 * all later ones; a deletion at that place goes, too.
 */
export class RowVersions<V> implements TimedSide {
  times = new Times()
  size = 0
  /** No version before this time is there for sure: an older one of some key is gone. */
  knownFrom: number
  private readonly state: MapState<number, RowVersion<V>>
  private readonly keptMs: number
  /** Whether all inputs have ended: a savepoint of the end keeps all versions for the job that goes on from it. */
  private isAtEnd = false

  /** A time can be asked until the watermark is `keptMs` after it. */
  constructor(state: MapState<number, RowVersion<V>>, keptMs: number, knownFrom: number) {
    this.state = state
    this.keptMs = keptMs
    this.knownFrom = knownFrom
  }

  /** The oldest time that can be asked when the watermark is there. */
  oldestAt(watermark: number): number {
    const isTime = watermark !== MIN_TIMESTAMP && watermark !== MAX_TIMESTAMP
    return isTime ? Math.max(this.knownFrom, watermark - this.keptMs) : this.knownFrom
  }

  /** Adds a version of the row of the selected key; of one time the last one counts. */
  set(time: number, row: V | null): void {
    if (this.times.add(time)) this.size += 1
    this.state.put(time, { row })
  }

  /** The row of the selected key as it was at a time; undefined where there was none. */
  at(time: number): V | undefined {
    const from = this.times.lastUpTo(time)
    return from === undefined ? undefined : (this.state.get(from)?.row ?? undefined)
  }

  /** That of the second one, which makes the first one needless. A deletion has a timer of its own: see `dueOf`. */
  get firstDue(): number {
    const { second } = this.times
    return second === Number.POSITIVE_INFINITY || this.isAtEnd
      ? Number.POSITIVE_INFINITY
      : this.dueOf(second)
  }

  /** When versions before this time, and a deletion at it, can go. */
  dueOf(time: number): number {
    return Math.min(time + this.keptMs, MAX_TIMESTAMP)
  }

  read(times: Times): void {
    for (const time of [...this.state.keys()].sort((a, b) => a - b)) {
      times.add(time)
      this.size += 1
    }
  }

  removeDue(moment: number, most: number): number {
    this.isAtEnd = moment === MAX_TIMESTAMP
    if (this.isAtEnd || most === 0) return 0
    const newest = this.times.lastUpTo(moment - this.keptMs)
    if (newest === undefined) return 0
    const removed = this.remove(newest - 1, most)
    const isLast = removed < most && this.isDeleted(newest)
    if (removed > 0 || isLast) this.knownFrom = Math.max(this.knownFrom, newest)
    return isLast ? removed + this.remove(newest, 1) : removed
  }

  private remove(last: number, most: number): number {
    const times = this.times.takeUpTo(last, most)
    for (const time of times) this.state.remove(time)
    this.size -= times.length
    return times.length
  }

  private isDeleted(time: number): boolean {
    return this.state.get(time)?.row === null
  }
}
