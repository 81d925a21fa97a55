import { WeirError } from '../../core/errors.ts'
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
  /** Of an answer in a sequence. */
  readonly parameters?: { readonly sequence_step: string }
}

/** The head of an answer of a model. */
export function answerHead(
  model_name: string,
  { modelVersion, sequenceStep }: Pick<InferenceResult, 'modelVersion' | 'sequenceStep'>,
): AnswerHead {
  const head = { model_name, model_version: String(modelVersion) }
  if (sequenceStep === undefined) return head
  return { ...head, parameters: { sequence_step: sequenceStep } }
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
    // The step of a sequence is another one each time.
    if (head.parameters !== undefined) return encode(head, wanted, request)
    if (known?.isBinary === request.isBinary && known.version === head.model_version) {
      const binary = wanted.map(bytesOfData)
      if (hasSizes(known, wanted, binary)) return { json: known.json, tensors: binary }
    }
    const answer = encode(head, wanted, request)
    if (answer.tensors.length === wanted.length) this.keep(head, wanted, { request, answer })
    return answer
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
  const wanted = tensors.map((tensor) => {
    const count = request.classesOf(tensor.name)
    return count === 0 ? tensor : classified(tensor, count)
  })
  const binary = wanted.filter(({ name }) => request.isBinary(name)).map(bytesOfData)
  let next = 0
  const outputs = wanted.map((tensor) => {
    const { name, datatype, shape } = tensor
    return request.isBinary(name)
      ? { name, datatype, shape, parameters: { binary_data_size: binary[next++]!.length } }
      : { name, datatype, shape, data: answeredElements(tensor, request) }
  })
  const id = request.id === undefined ? {} : { id: request.id }
  return { json: JSON.stringify({ ...head, ...id, outputs }), tensors: binary }
}

/** The elements of an output as the JSON of an answer has them. */
export function answeredElements(
  tensor: Tensor,
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
