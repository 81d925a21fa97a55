import type { ModelSignature } from './signature.ts'
import type { Tensor } from './tensor.ts'

/** What a request of OpenAI's interface asks for, as its path has it. */
export const OPENAI_OPERATIONS = ['chat/completions', 'completions'] as const

/** One of {@link OPENAI_OPERATIONS}. */
export type OpenAiOperation = (typeof OPENAI_OPERATIONS)[number]

const text = (name: string) => ({ name, datatype: 'BYTES', shape: [1], itemAxis: null }) as const

/**
 * The tensors of a model that speaks OpenAI's interface: an operation, the request as JSON, and in each part a piece of the
 * answer as JSON. A module with them may be asked at `/v1`, too.
 */
export const OPENAI_SIGNATURE = {
  inputs: [text('openai_operation'), text('openai_request')],
  outputs: [text('openai_answer')],
} as const satisfies ModelSignature

const LENGTH_BYTES = 4

/** A tensor of one text. */
export function textTensor(name: string, value: string): Tensor {
  const bytes = Buffer.from(value, 'utf8')
  const data = Buffer.alloc(LENGTH_BYTES + bytes.length)
  data.writeUInt32LE(bytes.length)
  data.set(bytes, LENGTH_BYTES)
  return { name, datatype: 'BYTES', shape: [1], data }
}

/** The text of a tensor that has one. */
export const textOf = ({ data }: Pick<Tensor, 'data'>): string =>
  new TextDecoder().decode(data.subarray(LENGTH_BYTES))
