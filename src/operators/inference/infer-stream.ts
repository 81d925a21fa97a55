import { requireArgument, type WeirError } from '../../core/errors.ts'
import {
  aFunction,
  count,
  name,
  oneOf,
  positiveMilliseconds,
  required,
} from '../../core/options/kinds.ts'
import { serializer } from '../../core/options/ports.ts'
import { checkArgument, checkOptions, type OptionShape } from '../../core/options/shape.ts'
import type { Serializer } from '../../core/serializer.ts'
import type { InferResult, InputTensor } from '../../wire/inference/typed-tensor.ts'
import type { StreamOperator } from '../port/operator.ts'
import { type OutputTag, outputTag } from '../port/output-tag.ts'
import type { FailedInference } from './function.ts'
import { InferOperator } from './operator.ts'

/** Options of `DataStream.infer`. */
export interface InferStreamOptions<IN, OUT> {
  /** The inputs of the model for a record, with an item axis of 1 as a rule. */
  readonly inputs: (value: IN) => readonly InputTensor[]
  /** The result of a record: `answer` has the outputs and the version that gave them. */
  readonly result: (value: IN, answer: InferResult) => OUT
  /**
   * `ordered`: results have the order of their records; `unordered`: only watermarks keep their place.
   * @default 'ordered'
   */
  readonly mode?: 'ordered' | 'unordered'
  /** Most records of a subtask that wait for the model. @default 100 */
  readonly capacity?: number
  /**
   * Longest time of a record, ms. The queue of a model serves the earliest deadline first, so requests of
   * clients with a shorter one go before the records of a job. @default 60000
   */
  readonly deadlineMs?: number
  /** The result of a record that the model refuses, or does not answer in time. @default the job fails */
  readonly onFailure?: (value: IN, error: WeirError) => OUT
  /** Side output of such records, in place of `onFailure`. */
  readonly failures?: OutputTag<FailedInference<IN>>
  /** Encodes the results where they cross slots. @default MessagePack */
  readonly serializer?: Serializer<OUT>
}

const INFER_STREAM: OptionShape<InferStreamOptions<unknown, unknown>> = {
  inputs: required(aFunction()),
  result: required(aFunction()),
  mode: oneOf('ordered', 'unordered'),
  capacity: count,
  deadlineMs: positiveMilliseconds,
  onFailure: aFunction(),
  failures: outputTag(),
  serializer: serializer<unknown>(),
}

const CAPACITY = 100
const DEADLINE_MS = 60_000

/** The side outputs of the operator of `DataStream.infer`, and what makes one for each subtask. */
export interface InferStream {
  readonly sideOutputs: readonly string[]
  readonly create: () => StreamOperator
}

/** Prepares the operators that ask a model; `records` encodes records in flight. Throws INVALID_ARGUMENT. */
export function inferStream<IN, OUT>(
  model: string,
  options: InferStreamOptions<IN, OUT>,
  records: Serializer<unknown>,
): InferStream {
  checkArgument('infer', 'model', name, model)
  checkOptions('infer', INFER_STREAM, options)
  const { mode = 'ordered', capacity = CAPACITY, deadlineMs = DEADLINE_MS } = options
  const { inputs, result, onFailure, failures } = options
  requireArgument(
    onFailure === undefined || failures === undefined,
    'infer takes onFailure or failures, not both',
  )
  const settings = { model, inputs, result, onFailure, failures, mode, capacity, deadlineMs }
  return {
    sideOutputs: failures === undefined ? [] : [failures.id],
    create: () => new InferOperator<IN, OUT>({ ...settings, serializer: records }),
  }
}
