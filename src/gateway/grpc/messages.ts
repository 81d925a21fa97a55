import { WeirError } from '../../core/errors.ts'
import { classified } from '../inference/classification.ts'
import type { InferenceRequest, ModelRequests } from '../inference/message.ts'
import { type AnswerHead, wantedOutputs } from '../inference/model-answers.ts'
import { bytesOfData, type Tensor } from '../inference/tensor.ts'

/** A parameter as the decoder gives it: the name of the field that is set, and that field. */
export interface Parameter {
  readonly choice?: string
  readonly bool_param?: boolean
  readonly int64_param?: string
  readonly uint64_param?: string
  readonly string_param?: string
  readonly double_param?: number
}

type Parameters = Readonly<Record<string, Parameter>>

/** Fields of `InferTensorContents`, which has the elements of a tensor that is not raw. */
interface Contents {
  readonly [field: string]: readonly unknown[]
}

/** Tensor of a request or an answer; 64-bit numbers are digits. */
interface WireTensor {
  readonly name: string
  readonly datatype: string
  readonly shape: readonly (string | number)[]
  readonly parameters?: Parameters
  readonly contents?: Contents | null
}

/** `ModelInferRequest` as the decoder gives it. */
export interface InferMessage {
  readonly model_name: string
  readonly model_version: string
  readonly id: string
  readonly parameters: Parameters
  readonly inputs: readonly WireTensor[]
  readonly outputs: readonly { readonly name: string; readonly parameters: Parameters }[]
  readonly raw_input_contents: readonly Buffer[]
}

/** `ModelInferResponse` as the encoder takes it. */
export interface InferReply {
  readonly model_name: string
  readonly model_version: string
  readonly id: string
  readonly parameters?: Parameters
  readonly outputs: readonly WireTensor[]
  readonly raw_output_contents: readonly Uint8Array[]
}

/** The request of a message, whose tensors refer to its bytes. Throws INVALID_ARGUMENT. */
export function requestOf(message: InferMessage, requests: ModelRequests): InferenceRequest {
  const { raw_input_contents: raw, inputs, outputs, id } = message
  if (raw.length > 0 && raw.length !== inputs.length) {
    const text = `raw_input_contents has ${raw.length} tensors, the request ${inputs.length} inputs; give all of them as raw bytes, or none`
    throw new WeirError('INVALID_ARGUMENT', text)
  }
  return requests.readParts(
    {
      ...(id === '' ? {} : { id }),
      parameters: valuesOf(message.parameters),
      inputs: inputs.map((input, i) => inputOf(input, raw[i])),
      outputs: outputs.map(({ name, parameters }) => ({ name, parameters: valuesOf(parameters) })),
    },
    raw,
  )
}

/** The input as the protocol has it over HTTP. */
function inputOf({ name, datatype, shape, parameters = {}, contents }: WireTensor, raw?: Buffer) {
  const head = { name, datatype, shape: shape.map(Number) }
  const values = valuesOf(parameters)
  if (raw !== undefined) {
    return { ...head, parameters: { ...values, binary_data_size: raw.length } }
  }
  const filled = Object.entries(contents ?? {}).filter(([, elements]) => elements.length > 0)
  const [field, elements = []] = filled[0] ?? []
  if (filled.length > 1) {
    const fields = filled.map(([one]) => one).join(' and ')
    throw new WeirError('INVALID_ARGUMENT', `input "${name}" has ${fields}; give one of them`)
  }
  return { ...head, parameters: values, data: elements.map((one) => elementOf(field, one)) }
}

/** An element as JSON has it, where whole numbers of 64 bits are exact. */
function elementOf(field: string | undefined, element: unknown): unknown {
  if (field === 'int64_contents' || field === 'uint64_contents') return BigInt(element as string)
  return Buffer.isBuffer(element) ? element.toString('utf8') : element
}

function valuesOf(parameters: Parameters): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(parameters).map(([name, parameter]) => {
      const { choice, int64_param, uint64_param, double_param, bool_param, string_param } =
        parameter
      // An id of a sequence has all 64 bits.
      if (name === 'sequence_id') return [name, int64_param ?? uint64_param ?? string_param]
      if (choice === 'int64_param') return [name, Number(int64_param)]
      if (choice === 'uint64_param') return [name, Number(uint64_param)]
      return [name, bool_param ?? double_param ?? string_param]
    }),
  )
}

function parametersOf(values: NonNullable<AnswerHead['parameters']>): Parameters {
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => [name, parameterOf(value)]),
  )
}

function parameterOf(value: string | number | boolean): Parameters[string] {
  if (typeof value === 'string') return { string_param: value }
  return typeof value === 'number' ? { double_param: value } : { bool_param: value }
}

/** The answer with the outputs that the request wants, as raw bytes. Throws INVALID_ARGUMENT for unknown ones. */
export function replyOf(
  head: AnswerHead,
  outputs: readonly Tensor[],
  request: InferenceRequest,
): InferReply {
  const wanted = wantedOutputs(outputs, request.outputs).map((tensor) => {
    const count = request.classesOf(tensor.name)
    return count === 0 ? tensor : classified(tensor, count)
  })
  const { parameters, ...named } = head
  return {
    ...named,
    ...(parameters === undefined ? {} : { parameters: parametersOf(parameters) }),
    id: request.id ?? '',
    outputs: wanted.map(({ name, datatype, shape }) => ({ name, datatype, shape })),
    raw_output_contents: wanted.map(bytesOfData),
  }
}
