import { setImmediate as nextTurn } from 'node:timers/promises'
import { WeirError } from '../../core/errors.ts'
import type { PipelineDecision } from '../../wire/inference/infer.ts'
import { classified } from './classification.ts'
import type { InferenceRequest } from './message.ts'
import type { InferenceResult } from './model.ts'
import { bytesOfData, jsonOfData, type Tensor } from './tensor.ts'

/** An inference answer on the wire: JSON, and the tensors that follow it as bytes. */
export interface EncodedAnswer {
  readonly json: string
  readonly tensors: readonly Uint8Array[]
}

/** What an answer says before its outputs. */
export interface AnswerHead {
  readonly model_name: string
  readonly model_version: string
  /** Of an answer in a sequence, and of a pipeline. */
  readonly parameters?: Readonly<Record<string, string | number | boolean>>
}

/** The head of an answer of a model. */
export function answerHead(
  model_name: string,
  {
    modelVersion,
    sequenceStep,
    decision,
    reason = '',
  }: Pick<InferenceResult, 'modelVersion' | 'sequenceStep' | 'decision' | 'reason'>,
): AnswerHead {
  const head = { model_name, model_version: String(modelVersion) }
  if (decision !== undefined) return { ...head, parameters: decisionParameters(decision, reason) }
  if (sequenceStep === undefined) return head
  return { ...head, parameters: { sequence_step: sequenceStep } }
}

/** A decision as parameters, which are texts, numbers and booleans in this protocol. */
function decisionParameters(
  { id, arm, probability, confidence, versions }: PipelineDecision,
  reason: string,
): NonNullable<AnswerHead['parameters']> {
  return {
    decision: id,
    ...(arm === undefined ? {} : { arm }),
    ...(probability === undefined ? {} : { probability }),
    ...(confidence === undefined ? {} : { confidence }),
    is_default: reason !== '',
    ...(reason === '' ? {} : { reason }),
    versions: Object.entries(versions)
      .map(([model, version]) => `${model}=${version}`)
      .join(', '),
  }
}

/** An answer whose outputs were all bytes. */
interface KnownAnswer {
  readonly version: string
  /** Of the request; requests with the same JSON share it. */
  readonly isBinary: InferenceRequest['isBinary']
  readonly outputs: readonly Tensor[]
  readonly sizes: readonly number[]
  readonly json: string
}

/** Elements that become JSON in one turn of the event loop: about 3 ms. */
const TURN_ELEMENTS = 32 * 1024

/**
 * Writes the answers of one model. The JSON in front of outputs that are all bytes is the same for each request of a client,
 * so the last one is kept.
 */
export class ModelAnswers {
  private known: KnownAnswer | undefined

  /** The answer with the outputs that the request wants. Throws INVALID_ARGUMENT for unknown ones. */
  write(head: AnswerHead, tensors: readonly Tensor[], request: InferenceRequest): EncodedAnswer {
    const wanted = wantedOutputs(tensors, request.outputs)
    const { known } = this
    // The step of a sequence is another one each time, and so is a decision.
    if (head.parameters !== undefined) return encode(head, wanted, request)
    if (known?.isBinary === request.isBinary && known.version === head.model_version) {
      const binary = wanted.map(bytesOfData)
      if (hasSizes(known, wanted, binary)) return { json: known.json, tensors: binary }
    }
    const answer = encode(head, wanted, request)
    if (answer.tensors.length === wanted.length) this.keep(head, wanted, { request, answer })
    return answer
  }

  /**
   * As `write`. Many elements become JSON over several turns of the event loop, so that other requests are answered
   * meanwhile. Throws or rejects with INVALID_ARGUMENT.
   */
  writeInTurns(
    head: AnswerHead,
    tensors: readonly Tensor[],
    request: InferenceRequest,
  ): EncodedAnswer | Promise<EncodedAnswer> {
    const isLarge = tensors.some(
      ({ name, shape }) =>
        !request.isBinary(name) && shape.reduce((all, size) => all * size, 1) > TURN_ELEMENTS,
    )
    if (!isLarge) return this.write(head, tensors, request)
    return encodeInTurns(head, wantedOutputs(tensors, request.outputs), request)
  }

  private keep(
    { model_version: version }: AnswerHead,
    outputs: readonly Tensor[],
    { request, answer }: { readonly request: InferenceRequest; readonly answer: EncodedAnswer },
  ): void {
    const { isBinary, classesOf } = request
    if (outputs.some(({ name }) => classesOf(name) > 0)) return
    const sizes = answer.tensors.map(({ length }) => length)
    this.known = { version, isBinary, outputs, sizes, json: answer.json }
  }
}

/** Whether outputs have the shapes and the bytes of a known answer; one version has them in one order. */
function hasSizes(
  { outputs, sizes }: KnownAnswer,
  wanted: readonly Tensor[],
  binary: readonly Uint8Array[],
): boolean {
  if (wanted.length !== outputs.length) return false
  for (let i = 0; i < wanted.length; i++) {
    const { shape } = wanted[i]!
    const known = outputs[i]!.shape
    if (binary[i]!.length !== sizes[i] || shape.length !== known.length) return false
    for (let d = 0; d < shape.length; d++) if (shape[d] !== known[d]) return false
  }
  return true
}

function encode(
  head: AnswerHead,
  tensors: readonly Tensor[],
  request: InferenceRequest,
): EncodedAnswer {
  const answered = answeredOutputs(tensors, request)
  const outputs = answered.map(({ tensor, bytes }) => {
    const output = outputHead(tensor, bytes)
    return bytes === undefined ? { ...output, data: answeredElements(tensor, request) } : output
  })
  const json = JSON.stringify({ ...head, ...idOf(request), outputs })
  return { json, tensors: bytesOf(answered) }
}

async function encodeInTurns(
  head: AnswerHead,
  tensors: readonly Tensor[],
  request: InferenceRequest,
): Promise<EncodedAnswer> {
  const answered = answeredOutputs(tensors, request)
  const outputs: string[] = []
  for (const { tensor, bytes } of answered) {
    const output = JSON.stringify(outputHead(tensor, bytes))
    const isJson = bytes === undefined
    outputs.push(isJson ? withData(output, await elementsInTurns(tensor, request)) : output)
  }
  const around = JSON.stringify({ ...head, ...idOf(request), outputs: [] })
  const json = `${around.slice(0, -']}'.length)}${outputs.join(',')}]}`
  return { json, tensors: bytesOf(answered) }
}

/** An output with its elements, which are JSON already. */
const withData = (output: string, elements: string): string =>
  `${output.slice(0, -1)},"data":[${elements}]}`

/** The elements of an output as JSON without the brackets. */
async function elementsInTurns(
  { datatype, data }: Tensor,
  request: InferenceRequest,
): Promise<string> {
  const parts: string[] = []
  for (let at = 0; at < data.length; at += TURN_ELEMENTS) {
    if (at > 0) await nextTurn()
    const part = { datatype, data: data.slice(at, at + TURN_ELEMENTS) }
    parts.push(JSON.stringify(answeredElements(part, request)).slice(1, -1))
  }
  return parts.join(',')
}

/** An output that the request wants, with its bytes where they follow the JSON. */
interface AnsweredOutput {
  readonly tensor: Tensor
  readonly bytes: Uint8Array | undefined
}

function answeredOutputs(
  tensors: readonly Tensor[],
  { classesOf, isBinary }: InferenceRequest,
): readonly AnsweredOutput[] {
  return tensors.map((output) => {
    const count = classesOf(output.name)
    const tensor = count === 0 ? output : classified(output, count)
    return { tensor, bytes: isBinary(output.name) ? bytesOfData(tensor) : undefined }
  })
}

/** What an answer says of an output before its elements. */
function outputHead({ name, datatype, shape }: Tensor, bytes: Uint8Array | undefined) {
  if (bytes === undefined) return { name, datatype, shape }
  return { name, datatype, shape, parameters: { binary_data_size: bytes.length } }
}

const bytesOf = (outputs: readonly AnsweredOutput[]): readonly Uint8Array[] =>
  outputs.flatMap(({ bytes }) => (bytes === undefined ? [] : [bytes]))

const idOf = ({ id }: InferenceRequest) => (id === undefined ? {} : { id })

/** The elements of an output as the JSON of an answer has them. */
export function answeredElements(
  tensor: Pick<Tensor, 'datatype' | 'data'>,
  { hasNulls }: Pick<InferenceRequest, 'hasNulls'>,
): readonly unknown[] {
  const elements = jsonOfData(tensor)
  if (!hasNulls || tensor.datatype === 'BYTES') return elements
  return elements.map((element) => (typeof element === 'string' ? null : element))
}

/** The outputs of these names, all without names. Throws INVALID_ARGUMENT for unknown ones. */
export function wantedOutputs(
  tensors: readonly Tensor[],
  names: readonly string[],
): readonly Tensor[] {
  if (names.length === 0) return tensors
  return names.map((name) => {
    const tensor = tensors.find((output) => output.name === name)
    if (tensor !== undefined) return tensor
    const known = tensors.map((output) => `"${output.name}"`).join(', ')
    throw new WeirError(
      'INVALID_ARGUMENT',
      `no output is named "${name}"; the outputs are ${known}`,
    )
  })
}
