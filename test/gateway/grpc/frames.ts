import { fromJSON, type MethodDefinition, type ServiceDefinition } from '@grpc/proto-loader'
import { SCHEMA, SERVICE } from '../../../src/gateway/grpc/schema.ts'

const DEFINITION = fromJSON(SCHEMA, { longs: String, defaults: true })[SERVICE] as ServiceDefinition

/** The codec of a method, for its client. */
export const methodOf = (name: string): MethodDefinition<object, Record<string, unknown>> =>
  DEFINITION[name] as MethodDefinition<object, Record<string, unknown>>

/** A message behind its head. */
export function framed(message: Uint8Array, isCompressed = false): Buffer {
  const head = Buffer.alloc(5)
  head[0] = isCompressed ? 1 : 0
  head.writeUInt32BE(message.length, 1)
  return Buffer.concat([head, message])
}

/** The request of a method in its frame. */
export const requestFrame = (name: string, message: object): Buffer =>
  framed(methodOf(name).requestSerialize(message))

/** A field of protobuf with bytes. */
export function field(number: number, ...bytes: readonly Uint8Array[]): Buffer {
  const all = Buffer.concat(bytes)
  return Buffer.concat([Buffer.of(number * 8 + 2), varint(all.length), all])
}

/** A number of protobuf. */
export function varint(value: number): Buffer {
  const bytes: number[] = []
  for (let left = value; ; left = Math.floor(left / 128)) {
    if (left < 128) return Buffer.of(...bytes, left)
    bytes.push((left % 128) + 128)
  }
}

/** A request for the prediction of one pair. */
export const INFER = {
  model_name: 'ALS_MODEL',
  id: 'a1',
  inputs: [
    {
      name: 'user',
      datatype: 'BYTES',
      shape: [1],
      contents: { bytes_contents: [Buffer.from('1')] },
    },
    {
      name: 'item',
      datatype: 'BYTES',
      shape: [1],
      contents: { bytes_contents: [Buffer.from('50')] },
    },
  ],
}
