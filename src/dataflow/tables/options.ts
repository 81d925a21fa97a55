import {
  aFunction,
  count,
  name,
  oneOf,
  positiveMilliseconds,
  required,
  wholeNumber,
} from '../../core/options/kinds.ts'
import { serializer } from '../../core/options/ports.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import { type OutputTag, outputTag } from '../../operators/port/output-tag.ts'
import type { Suppression } from '../../operators/tables/suppression.ts'

/** Options of a table. */
export interface TableOptions<T, K, V> {
  /** The key of a row. A record for which it returns null or undefined fails (`onError` of the table). */
  readonly keyOf: (record: T) => K
  /** The value of the row; null deletes the row, as a tombstone of a compacted topic does. @default the record */
  readonly rowOf?: (record: T) => V | null
  /** @default plain values: text, numbers, booleans and tuples of them */
  readonly keySerializer?: Serializer<K>
  /** Encodes the values of rows. @default MessagePack */
  readonly serializer?: Serializer<V>
  /**
   * `keyed`: each subtask has the rows of its keys, and a stream is partitioned by the key of the table. `global`: each
   * subtask has all rows, and a stream stays where it is. @default keyed
   */
  readonly scope?: 'keyed' | 'global'
  /**
   * Lets clients query the rows under this name. They are in state of their own, once and by key, whatever the scope and the
   * joins of the table. @default clients cannot query them
   */
  readonly queryableName?: string
  /** Name of the operator. @default Table */
  readonly name?: string
}

export const TABLE: OptionShape<TableOptions<unknown, unknown, unknown>> = {
  keyOf: required(aFunction()),
  rowOf: aFunction(),
  keySerializer: serializer<unknown>(),
  serializer: serializer<unknown>(),
  scope: oneOf('keyed', 'global'),
  queryableName: name,
  name,
}

/** Options of a join of a stream with a table. */
export interface TableJoinOptions<T = never> {
  /** `inner`: a record without a row has no result and is counted (`numRecordsWithoutRow`). @default inner */
  readonly type?: 'inner' | 'left'
  /**
   * `loaded`: no record of the stream is read before the table has reached the end that its sources had when the attempt
   * started, also after a restore. `nothing`: each record meets the rows that have come. `event-time`: each record meets the
   * version of its row that was valid at its event time, and waits until the watermarks of both say that it is known.
   * @default loaded
   */
  readonly wait?: 'loaded' | 'nothing' | 'event-time'
  /** With `event-time`, how long after the watermark a record waits for late changes, ms of event time. @default 0 */
  readonly graceMs?: number
  /**
   * With `event-time`, how long versions stay for records that come late, ms of event time behind the watermark and the
   * grace period. @default 0
   */
  readonly historyMs?: number
  /** With `event-time`, the side output of records that come later; without it they are counted as dropped. */
  readonly lateRecords?: OutputTag<T>
}

export const TABLE_JOIN: OptionShape<TableJoinOptions<unknown>> = {
  type: oneOf('inner', 'left'),
  wait: oneOf('loaded', 'nothing', 'event-time'),
  graceMs: wholeNumber({ min: 0 }),
  historyMs: wholeNumber({ min: 0 }),
  lateRecords: outputTag<unknown>(),
}

/** Options of a table that is made of other tables. */
export interface TableRowsOptions<V> {
  /** Encodes the values of its rows. @default MessagePack */
  readonly serializer?: Serializer<V>
}

export const TABLE_ROWS: OptionShape<TableRowsOptions<unknown>> = {
  serializer: serializer<unknown>(),
}

/** Options of `groupBy` of a table. */
export interface TableGroupOptions<G, W> {
  /** @default plain values: text, numbers, booleans and tuples of them */
  readonly keySerializer?: Serializer<G>
  /** Encodes what the rows add to their groups. @default MessagePack */
  readonly serializer?: Serializer<W>
}

export const TABLE_GROUP: OptionShape<TableGroupOptions<unknown, unknown>> = {
  keySerializer: serializer<unknown>(),
  serializer: serializer<unknown>(),
}

/** Options of `count` and `reduce` of a grouped table. */
export interface TableFoldOptions {
  /**
   * What becomes of the row of a group whose rows are all gone. `keep`: it stays, with what is left of its aggregate, such as
   * a count of 0, as in Kafka Streams. `delete`: it is deleted with its state, as in SQL. @default keep
   */
  readonly emptyGroups?: 'keep' | 'delete'
}

/** Options of an aggregate of a grouped table. */
export interface TableAggregateOptions<ACC, OUT = ACC> extends TableFoldOptions {
  /** Encodes the accumulator. @default MessagePack */
  readonly serializer?: Serializer<ACC>
  /** Encodes the rows of the result. @default MessagePack */
  readonly resultSerializer?: Serializer<OUT>
}

export const TABLE_FOLD: OptionShape<TableFoldOptions> = { emptyGroups: oneOf('keep', 'delete') }

export const TABLE_AGGREGATE: OptionShape<TableAggregateOptions<unknown, unknown>> = {
  ...TABLE_FOLD,
  serializer: serializer<unknown>(),
  resultSerializer: serializer<unknown>(),
}

/** Options of `untilTime`. */
export interface UntilTimeOptions {
  /** Most rows that a subtask holds; changes of further rows are sent at once. @default no limit */
  readonly maxRows?: number
}

const UNTIL_TIME: OptionShape<UntilTimeOptions> = { maxRows: count }

/**
 * Holds the changes of a row for `ms` of the wall clock, for `table.suppress`: from its first change to the one that is
 * sent. Throws INVALID_ARGUMENT.
 */
export function untilTime(ms: number, options: UntilTimeOptions = {}): Suppression {
  checkArgument('untilTime', 'ms', positiveMilliseconds, ms)
  checkOptions('untilTime', UNTIL_TIME, options)
  return { ms, maxRows: options.maxRows ?? Number.POSITIVE_INFINITY }
}
