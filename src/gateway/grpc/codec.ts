import { fromJSON, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader'
import { SCHEMA, SERVICE, STREAM } from './schema.ts'
import { malformed, requireFewValues } from './value-limit.ts'

/** Reads the requests of a method and writes its answers. */
export interface Codec {
  /** The message of bytes. Throws FRAME_TOO_LARGE, MALFORMED_DATA. */
  decode(bytes: Uint8Array): never
  encode(answer: object): Uint8Array
}

/** Options of the decoder: numbers of 64 bits are digits, and fields that were not sent have their defaults. */
const DECODING = { longs: String, defaults: true, oneofs: true, arrays: true, objects: true }

/** The codecs of the methods, by name. */
export function codecsOf(): (method: string) => Codec {
  const definition = fromJSON(SCHEMA, DECODING)[SERVICE] as ServiceDefinition
  return (method) => codecOf(definition[method] as MethodDefinition<object, object>, method)
}

function codecOf(
  { requestDeserialize, responseSerialize }: MethodDefinition<object, object>,
  method: string,
): Codec {
  const request = method === STREAM ? 'ModelInferRequest' : `${method}Request`
  return {
    decode(bytes) {
      requireFewValues(request, bytes)
      try {
        return requestDeserialize(
          Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length),
        ) as never
      } catch (cause) {
        throw malformed(cause)
      }
    },
    encode: (answer) => responseSerialize(answer),
  }
}
