import { requireArgument } from '../../core/errors.ts'
import type { InferenceRequest, ModelRequests } from '../inference/message.ts'
import type { InferenceModel } from '../inference/model.ts'
import { answeredElements } from '../inference/model-answers.ts'
import type { TensorMetadata } from '../inference/tensor.ts'
import type { AnswerPart } from './answers.ts'

type Json = Readonly<Record<string, unknown>>

/*
 * The form of Triton's generate extension: inputs and outputs are fields of one object, without datatypes and shapes.
 *
 *   {"text_input": "hello", "parameters": {...}}   ->   {"model_name": "m", "model_version": "1", "text_output": "world"}
 */

/** The request of a body. Throws INVALID_ARGUMENT for a field that is no input, UNKNOWN_OPTION for a parameter. */
export function generateRequest(
  body: Json,
  requests: ModelRequests,
  { inputs }: Pick<InferenceModel, 'inputs'>,
): InferenceRequest {
  const { id, parameters, ...fields } = withoutInputs(body, inputs)
  const [unknown] = Object.keys(fields)
  const known = inputs.map(({ name }) => name).join(', ')
  requireArgument(
    unknown === undefined,
    `no input is named "${unknown?.slice(0, 40)}"; the inputs are ${known}`,
  )
  const given = inputs.filter(({ name }) => Object.hasOwn(body, name))
  return requests.readParts(
    {
      ...(id === undefined ? {} : { id }),
      ...(parameters === undefined ? {} : { parameters }),
      inputs: given.map((input) => tensorOf(input, body[input.name])),
    },
    [],
  )
}

/** One part as an object of its outputs: an output of one element is that element, another one a list. */
export function generatedPart({ head, outputs, request }: AnswerPart): string {
  const values = outputs.map((tensor) => {
    const elements = answeredElements(tensor, request)
    return [tensor.name, elements.length === 1 ? elements[0] : elements] as const
  })
  const id = request.id === undefined ? {} : { id: request.id }
  return JSON.stringify({ ...Object.fromEntries(values), ...head, ...id })
}

function withoutInputs(body: Json, inputs: readonly TensorMetadata[]): Json {
  const isInput = (name: string): boolean => inputs.some((input) => input.name === name)
  return Object.fromEntries(Object.entries(body).filter(([name]) => !isInput(name)))
}

/** The input with the shape of its value; a value of fewer dimensions than the input has gets sizes of 1 before. */
function tensorOf({ name, datatype, shape: declared }: TensorMetadata, value: unknown): Json {
  const shape: number[] = []
  for (let level = value; Array.isArray(level); level = level[0]) shape.push(level.length)
  const missing = Math.max(0, declared.length - shape.length)
  const data = Array.isArray(value) ? value.flat(Infinity) : [value]
  return { name, datatype, shape: [...Array<number>(missing).fill(1), ...shape], data }
}
