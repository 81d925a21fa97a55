import { bytesSerializer, type Serializer } from '../serializer.ts'
import { type PlainKey, readPlainKey, writePlainKey } from './plain-key.ts'

export type { PlainKey } from './plain-key.ts'

const plain: Serializer<PlainKey> = { id: 'key/1', write: writePlainKey, read: readPlainKey }

/** Serializer of keys of plain types, in the layout of `plain-key.ts`. Writing another type throws INVALID_ARGUMENT. */
export function plainKeySerializer<K extends PlainKey>(): Serializer<K> {
  return plain as unknown as Serializer<K>
}

/** Whether a serializer is that of plain types: equal keys have equal bytes. */
export function isPlainKeySerializer(serializer: Serializer<unknown>): boolean {
  return serializer === (plain as unknown)
}

/** Serializer of keys that are bytes, stored and hashed unchanged. */
export const rawKeySerializer: Serializer<Uint8Array> = bytesSerializer
