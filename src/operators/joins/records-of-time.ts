import { msgpackSerializer } from '../../core/formats/msgpack-serializer.ts'
import {
  copierOf,
  type EvolvingSerializer,
  type Serializer,
  type ValueCopier,
  withCopier,
} from '../../core/serializer.ts'

/** Records that state does not hold as themselves: several ones, or one that is no object. */
class RecordList<T> {
  readonly records: readonly T[]

  constructor(records: readonly T[]) {
    this.records = records
  }
}

/**
 * The records of one time, as the state of a join holds them. Most times have one, which is held without a list: each list
 * is one more object to make, to copy and to keep, for millions of records.
 */
export type RecordsOfTime<T> = T | RecordList<T>

/** The records of a time in the form for state; at least one. */
export function recordsOfTime<T>(records: readonly T[]): RecordsOfTime<T> {
  const [first] = records
  const isOneObject = records.length === 1 && typeof first === 'object' && first !== null
  return isOneObject ? first : new RecordList(records)
}

/** The records of a time, of which state holds some form. */
export function listOfTime<T>(held: RecordsOfTime<T>): readonly T[] {
  return held instanceof RecordList ? held.records : [held]
}

/** Serializer of the records of a time: a list in MessagePack, as former releases wrote it. */
export function recordsOfTimeSerializer<T>(): Serializer<RecordsOfTime<T>> {
  const lists = msgpackSerializer<readonly T[]>()
  const serializer: EvolvingSerializer<RecordsOfTime<T>> = {
    id: `records-of-time/1(${lists.id})`,
    write: (held, writer) => lists.write(listOfTime(held), writer),
    read: (reader) => recordsOfTime(lists.read(reader)),
    readerOf: (storedId) =>
      storedId === lists.id
        ? (reader) => recordsOfTime(lists.read(reader))
        : `the state of a join does not read ${storedId}`,
  }
  return withCopier(serializer, new RecordsCopier<T>(copierOf(lists)!))
}

/** Copies records with the copier of plain data. */
class RecordsCopier<T> implements ValueCopier<RecordsOfTime<T>> {
  readonly shares: boolean
  readonly sharer?: RecordsCopier<T>
  private readonly plain: ValueCopier<unknown>

  constructor(plain: ValueCopier<unknown>) {
    this.plain = plain
    this.shares = plain.shares
    if (plain.sharer !== undefined) this.sharer = new RecordsCopier(plain.sharer)
  }

  get bytes(): number {
    return this.plain.bytes
  }

  copy(held: RecordsOfTime<T>): RecordsOfTime<T> | undefined {
    if (!(held instanceof RecordList)) return this.plain.copy(held) as T | undefined
    const copy = this.plain.copy(held.records) as T[] | undefined
    return copy === undefined ? undefined : new RecordList(copy)
  }

  measure(held: RecordsOfTime<T>): number {
    return this.plain.measure(held instanceof RecordList ? held.records : held)
  }
}
