import { type PlainKey, plainKeySerializer } from '../core/formats/plain-key-serializer.ts'
import type { Serializer } from '../core/serializer.ts'
import type { BroadcastDescriptors } from '../dataflow/broadcast-stream.ts'
import { BroadcastProcessOperator } from '../operators/process/broadcast.ts'
import { CoProcessOperator } from '../operators/process/co-process.ts'
import type {
  BroadcastProcessFunction,
  CoProcessFunction,
  KeyedBroadcastProcessFunction,
  KeyedCoProcessFunction,
  KeyedProcessFunction,
  ProcessFunction,
} from '../operators/process/function.ts'
import { KeyedBroadcastProcessOperator } from '../operators/process/keyed-broadcast.ts'
import { KeyedCoProcessOperator } from '../operators/process/keyed-co-process.ts'
import { KeyedProcessOperator } from '../operators/process/keyed-process.ts'
import { ProcessOperator } from '../operators/process/process.ts'
import type { HarnessKeys } from './harness-options.ts'
import { OperatorHarness } from './operator-harness.ts'

/** A function that a key is taken from a record with. */
type Selector<T, K> = (value: T) => K

/**
 * Harnesses of process functions, under Flink's names. A key is one that `keyBy` takes without a serializer; for
 * other keys make an `OperatorHarness`.
 */
export const ProcessFunctionTestHarnesses = {
  forProcessFunction<IN, OUT>(tested: ProcessFunction<IN, OUT>): Promise<OperatorHarness<IN, OUT>> {
    return OperatorHarness.open({ operator: new ProcessOperator(tested) })
  },

  forKeyedProcessFunction<K extends PlainKey, IN, OUT>(
    tested: KeyedProcessFunction<K, IN, OUT>,
    keySelector: Selector<IN, K>,
  ): Promise<OperatorHarness<IN, OUT>> {
    const operator = new KeyedProcessOperator(tested, plainKeySerializer<K>(), true)
    return OperatorHarness.open({ operator, keys: keysOf(keySelector) })
  },

  /** The second input of `process` is `{ input: 1 }`. */
  forCoProcessFunction<IN1, IN2, OUT>(
    tested: CoProcessFunction<IN1, IN2, OUT>,
  ): Promise<OperatorHarness<IN1 | IN2, OUT>> {
    return OperatorHarness.open({ operator: new CoProcessOperator(tested) })
  },

  /** The second input of `process` is `{ input: 1 }`. */
  forKeyedCoProcessFunction<K extends PlainKey, IN1, IN2, OUT>(
    tested: KeyedCoProcessFunction<K, IN1, IN2, OUT>,
    keySelector1: Selector<IN1, K>,
    keySelector2: Selector<IN2, K>,
  ): Promise<OperatorHarness<IN1 | IN2, OUT>> {
    const operator = new KeyedCoProcessOperator(tested, plainKeySerializer<K>(), true)
    return OperatorHarness.open({ operator, keys: keysOf(keySelector1, keySelector2) })
  },

  /** The broadcast input of `process` is `{ input: 1 }`. */
  forBroadcastProcessFunction<IN, B, OUT>(
    tested: BroadcastProcessFunction<IN, B, OUT>,
    ...states: BroadcastDescriptors
  ): Promise<OperatorHarness<IN | B, OUT>> {
    return OperatorHarness.open({ operator: new BroadcastProcessOperator(tested, states) })
  },

  /** The broadcast input of `process` is `{ input: 1 }`. */
  forKeyedBroadcastProcessFunction<K extends PlainKey, IN, B, OUT>(
    tested: KeyedBroadcastProcessFunction<K, IN, B, OUT>,
    keySelector: Selector<IN, K>,
    ...states: BroadcastDescriptors
  ): Promise<OperatorHarness<IN | B, OUT>> {
    const options = { eventTime: true, states }
    const operator = new KeyedBroadcastProcessOperator(tested, plainKeySerializer<K>(), options)
    return OperatorHarness.open({ operator, keys: keysOf(keySelector) })
  },
} as const

function keysOf(...selectors: readonly ((value: never) => unknown)[]): HarnessKeys {
  return { selectors, serializer: plainKeySerializer() as Serializer<unknown> }
}
