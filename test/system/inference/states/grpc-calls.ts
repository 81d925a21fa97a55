import {
  type ChannelCredentials,
  type Client,
  credentials,
  loadPackageDefinition,
  Metadata,
} from '@grpc/grpc-js'
import { fromJSON } from '@grpc/proto-loader'
import { SCHEMA } from '../../../../src/gateway/grpc/schema.ts'
import type { LocalGateway } from '../../../../src/gateway/local.ts'

/** A reply to a request. */
export interface Reply {
  readonly [field: string]: unknown
  readonly raw_output_contents: readonly Buffer[]
}

const definition = loadPackageDefinition(
  fromJSON(SCHEMA, { longs: String, defaults: true, oneofs: true }),
) as unknown as {
  readonly inference: {
    readonly GRPCInferenceService: new (
      address: string,
      security: unknown,
    ) => Client & Record<string, (...words: unknown[]) => { cancel(): void } & NodeJS.EventEmitter>
  }
}

/** A client by name: with TLS, @grpc/grpc-js gives an address as the server's name, which Node.js warns about (DEP0123). */
export const clientOf = (gateway: LocalGateway, security = credentials.createInsecure()) =>
  new definition.inference.GRPCInferenceService(`localhost:${gateway.grpcPort}`, security)

/** One call, with a bearer token and a deadline where they are given. */
export async function call(
  gateway: LocalGateway,
  method: string,
  message: object,
  {
    token,
    deadlineMs,
    security,
  }: { token?: string; deadlineMs?: number; security?: ChannelCredentials } = {},
): Promise<Reply> {
  const client = clientOf(gateway, security)
  const metadata = new Metadata()
  if (token !== undefined) metadata.set('authorization', `Bearer ${token}`)
  const options = deadlineMs === undefined ? {} : { deadline: Date.now() + deadlineMs }
  try {
    return await new Promise<Reply>((done, fail) => {
      client[method]!(message, metadata, options, (error: unknown, reply: Reply) =>
        error === null ? done(reply) : fail(error),
      )
    })
  } finally {
    client.close()
  }
}

/** Floats of 32 bits as bytes. */
export const floats = (...values: number[]): Buffer => Buffer.from(Float32Array.from(values).buffer)
export const floatsOf = (bytes: Buffer): number[] => [
  ...new Float32Array(Uint8Array.from(bytes).buffer),
]

/** A request with raw bytes. */
export const raw = (model_name: string, shape: number[], ...values: number[]) => ({
  model_name,
  id: 'a1',
  inputs: [{ name: 'x', datatype: 'FP32', shape }],
  raw_input_contents: [floats(...values)],
})

/** A request of `wordsModule`. */
export const words = (word: string, count: number) => ({
  model_name: 'words',
  inputs: [
    {
      name: 'text_input',
      datatype: 'BYTES',
      shape: [1],
      contents: { bytes_contents: [Buffer.from(word)] },
    },
    { name: 'count', datatype: 'INT32', shape: [1], contents: { int_contents: [count] } },
  ],
})

/** A reply of a stream. */
export interface StreamedReply {
  readonly error_message: string
  readonly infer_response: Reply & {
    readonly parameters: Readonly<Record<string, { readonly bool_param: boolean }>>
  }
}

/** A part of an answer: its id, the word, its number, and whether it is the last one of its request. */
export function partOf({ infer_response: { id, raw_output_contents, parameters } }: StreamedReply) {
  const [word, index] = raw_output_contents.length === 2 ? raw_output_contents : []
  return [
    id,
    word?.subarray(4).toString(),
    index?.readInt32LE(),
    parameters['triton_final_response']?.bool_param,
  ]
}
