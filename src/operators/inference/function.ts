import { asWeirError, type ErrorCode, isWeirError, WeirError } from '../../core/errors.ts'
import { wireAnswer } from '../../inference/engine/wire-answer.ts'
import type { InferAnswer } from '../../inference/port/request.ts'
import type { Tensor } from '../../inference/port/tensor.ts'
import {
  type InferResult,
  type InputTensor,
  outputTensorOf,
  rawTensorOf,
} from '../../wire/inference/typed-tensor.ts'
import type { AsyncFunction } from '../async/function.ts'
import type { OutputTag } from '../port/output-tag.ts'

/** A record that the model did not answer. */
export interface FailedInference<IN> {
  readonly value: IN
  readonly code: ErrorCode
  readonly message: string
}

/** What the requests of an operator are made of, and what becomes of their answers. */
export interface InferFunctionOptions<IN, OUT> {
  /** Name of the model, or a name and an alias: `ranker@stable`. */
  readonly model: string
  readonly inputs: (value: IN) => readonly InputTensor[]
  readonly result: (value: IN, answer: InferResult) => OUT
  readonly deadlineMs: number
  readonly onFailure?: ((value: IN, error: WeirError) => OUT) | undefined
  readonly failures?: OutputTag<FailedInference<IN>> | undefined
}

/** A result for a side output. */
export class SideResult {
  readonly tag: string
  readonly value: unknown

  constructor(tag: string, value: unknown) {
    this.tag = tag
    this.value = value
  }
}

/** Errors that pass while a model is swapped, or while its queue is full. */
const PASSING: ReadonlySet<ErrorCode> = new Set([
  'MODEL_NOT_LOADED',
  'OVERLOADED',
  'WORKER_LOST',
  'REMOTE_MODEL_FAILED',
])

/** Whether the same request may be answered a moment later. */
export function passes(error: unknown): boolean {
  return isWeirError(error) && PASSING.has(error.code)
}

/** Asks a model about each record. Errors of the user's functions fail the job, whatever becomes of the model's. */
export class InferFunction<IN, OUT> implements AsyncFunction<IN, OUT | SideResult> {
  private readonly options: InferFunctionOptions<IN, OUT>
  private readonly ask: (inputs: readonly Tensor[], deadlineMs: number) => Promise<InferAnswer>

  constructor(options: InferFunctionOptions<IN, OUT>, ask: InferFunction<IN, OUT>['ask']) {
    this.options = options
    this.ask = ask
  }

  async asyncInvoke(value: IN): Promise<readonly (OUT | SideResult)[]> {
    const { inputs, result, deadlineMs } = this.options
    const tensors = inputs(value).map(rawTensorOf)
    let answer: InferAnswer
    try {
      answer = await this.ask(tensors, deadlineMs)
    } catch (error) {
      if (passes(error)) throw error
      return this.otherwise(value, asWeirError(error, 'MODEL_FAILED'))
    }
    return [result(value, resultOf(answer))]
  }

  timeout(value: IN): readonly (OUT | SideResult)[] {
    const { model, deadlineMs } = this.options
    const sentence = `the model ${model} did not answer a record within ${deadlineMs} ms: allow more time (deadlineMs), give the model more workers, or say what becomes of such records (onFailure, failures)`
    return this.otherwise(value, new WeirError('DEADLINE_EXCEEDED', sentence))
  }

  private otherwise(value: IN, error: WeirError): readonly (OUT | SideResult)[] {
    const { onFailure, failures } = this.options
    if (onFailure !== undefined) return [onFailure(value, error)]
    if (failures === undefined) throw error
    const failed: FailedInference<IN> = { value, code: error.code, message: error.message }
    return [new SideResult(failures.id, failed)]
  }
}

function resultOf(answer: InferAnswer): InferResult {
  const { outputs, ...rest } = wireAnswer(answer, [])
  return { ...rest, modelVersion: answer.version, outputs: outputs.map(outputTensorOf) }
}
