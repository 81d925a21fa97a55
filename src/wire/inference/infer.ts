import { WeirError } from '../../core/errors.ts'
import type { FrameWriter } from '../frame-writer.ts'
import {
  copyTensors,
  MAX_TENSORS,
  type RawTensor,
  readTensors,
  type TensorCursor,
  writeTensors,
} from './tensor.ts'

/** Tensors for a model, and the outputs that are wanted. */
export interface InferRequest {
  readonly inputs: readonly RawTensor[]
  /** Names of the wanted outputs; empty for all. */
  readonly outputs: readonly string[]
}

/** Flags of an INFER answer. */
const FLAG = { isDefault: 1, isCached: 2, isHedged: 4 } as const

/** Outputs of a model and how they came about. */
export interface InferAnswer {
  readonly outputs: readonly RawTensor[]
  /** The outputs are the default of the deployment, because of `reason`. */
  readonly isDefault: boolean
  /** The outputs are those of an equal request. */
  readonly isCached: boolean
  /** A second worker ran the request, too. */
  readonly isHedged: boolean
  /** Why the default answers: `shed`, `expired`, `full` or `failed`; empty otherwise. */
  readonly reason: string
  /** Time in the queue in microseconds. */
  readonly queueMicros: number
  /** Time of the run of the whole batch in microseconds. */
  readonly runMicros: number
  /** Items of that batch; 0 without a run. */
  readonly batchItems: number
}

/** An answer with the version that gave it. */
export interface RawInferResult extends InferAnswer {
  readonly modelVersion: number
}

/** An answer of a model in this process, which may be one of a sequence, or a decision: no frame has these. */
export interface LocalInferAnswer extends InferAnswer {
  readonly sequenceStep?: string
  /** Of a pipeline. */
  readonly decision?: PipelineDecision
}

/** What a pipeline decided for one request. */
export interface PipelineDecision {
  /** Id that a reward names. */
  readonly id: string
  /** The arm that answered, and its probability at the choice; absent where no arm answered alone. */
  readonly arm?: string
  readonly probability?: number
  /** Trust in the answer, 0 to 1; absent where its scores are no probabilities. */
  readonly confidence?: number
  /** Version of each model of the pipeline, by its reference. */
  readonly versions: Readonly<Record<string, number>>
}

/** A local answer with the version that gave it. */
export interface LocalInferResult extends LocalInferAnswer {
  readonly modelVersion: number
}

/** Appends the body of an INFER request. Throws INVALID_ARGUMENT, KEY_TOO_LONG. */
export function writeInferRequest(writer: FrameWriter, request: InferRequest): void {
  writer.uint16(request.outputs.length)
  for (const name of request.outputs) writer.key(name)
  writeTensors(writer, request.inputs)
}

/** Reads the body of an INFER request; the elements of its inputs stay in the frame. Throws PROTOCOL_ERROR. */
export function readInferRequest(cursor: TensorCursor): InferRequest {
  const count = cursor.uint16()
  if (count > MAX_TENSORS) {
    throw new WeirError('PROTOCOL_ERROR', `an INFER frame is malformed: it wants ${count} outputs`)
  }
  const outputs: string[] = []
  for (let i = 0; i < count; i++) outputs.push(cursor.text())
  return { outputs, inputs: readTensors(cursor) }
}

/** Largest number of a field of 32 bits. */
const MOST_U32 = 0xffffffff

/** Appends the value of an INFER answer. */
export function writeInferAnswer(writer: FrameWriter, answer: InferAnswer): void {
  writer.uint8(
    (answer.isDefault ? FLAG.isDefault : 0) |
      (answer.isCached ? FLAG.isCached : 0) |
      (answer.isHedged ? FLAG.isHedged : 0),
  )
  writer.key(answer.reason)
  writer.uint32(Math.min(Math.round(answer.queueMicros), MOST_U32))
  writer.uint32(Math.min(Math.round(answer.runMicros), MOST_U32))
  writer.uint32(Math.min(answer.batchItems, MOST_U32))
  writeTensors(writer, answer.outputs)
}

/** Reads the value of an INFER answer; nothing of it refers to the frame. Throws PROTOCOL_ERROR. */
export function readInferAnswer(cursor: TensorCursor): InferAnswer {
  const flags = cursor.bytes[cursor.take(1)]!
  return {
    isDefault: (flags & FLAG.isDefault) !== 0,
    isCached: (flags & FLAG.isCached) !== 0,
    isHedged: (flags & FLAG.isHedged) !== 0,
    reason: cursor.text(),
    queueMicros: cursor.uint32(),
    runMicros: cursor.uint32(),
    batchItems: cursor.uint32(),
    outputs: copyTensors(readTensors(cursor)),
  }
}
