import {
  aFunction,
  count,
  either,
  kindOf,
  listOf,
  name,
  objectWith,
  oneOf,
  required,
  wholeNumber,
} from '../core/options/kinds.ts'
import { serializer } from '../core/options/ports.ts'
import { nested, type OptionShape } from '../core/options/shape.ts'
import type { Serializer } from '../core/serializer.ts'
import type { FailedRecord, RecordErrorPolicy } from '../operators/port/failed-record.ts'
import type { StreamOperator } from '../operators/port/operator.ts'
import type { OutputTag } from '../operators/port/output-tag.ts'
import type { HarnessSnapshot } from './harness-snapshot.ts'
import { MANUAL_CLOCK, type ManualClock } from './manual-clock.ts'

/** Keys of the records of keyed inputs. */
export interface HarnessKeys {
  /** Key selectors by input. An input without one is not keyed, such as a broadcast side. */
  readonly selectors: readonly (((value: never) => unknown) | undefined)[]
  readonly serializer: Serializer<unknown>
}

/** Options of a harness. */
export interface HarnessOptions {
  readonly operator: StreamOperator
  /** Without keys, the operator has no keyed state. */
  readonly keys?: HarnessKeys
  /** @default 'operator' */
  readonly name?: string
  readonly subtask?: number
  readonly parallelism?: number
  readonly maxParallelism?: number
  readonly clock?: ManualClock
  /** Snapshots of all former subtasks, in their order. */
  readonly restore?: readonly HarnessSnapshot[]
  /** What happens with a record at which the operator throws. @default `process` throws */
  readonly onError?: Exclude<RecordErrorPolicy, 'fail'>
}

/** The options of a harness. */
export const HARNESS: OptionShape<HarnessOptions> = {
  operator: required(objectWith('an operator', 'open', 'processElement')),
  keys: nested<HarnessKeys>({
    selectors: required(
      listOf(
        either(
          aFunction(),
          kindOf<undefined>('undefined', (value) => value === undefined),
        ),
      ),
    ),
    serializer: required(serializer<unknown>()),
  }),
  name,
  subtask: wholeNumber({ min: 0 }),
  parallelism: count,
  maxParallelism: count,
  clock: MANUAL_CLOCK,
  restore: listOf(objectWith<HarnessSnapshot>('a snapshot of a harness')),
  onError: either(oneOf('skip'), objectWith<OutputTag<FailedRecord<unknown>>>('an OutputTag')),
}
