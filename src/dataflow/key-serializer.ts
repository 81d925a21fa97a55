import { type PlainKey, readPlainKey, writePlainKey } from '../core/formats/plain-key.ts'
import { bytesSerializer, type Serializer } from '../core/serializer.ts'
import { refusePromise } from '../operators/port/refuse-promise.ts'

export type { PlainKey } from '../core/formats/plain-key.ts'

const plain: Serializer<PlainKey> = {
  id: 'key/1',
  write(value, writer) {
    if (typeof value === 'object') refusePromise(value, 'the function of keyBy')
    writePlainKey(value, writer)
  },
  read: readPlainKey,
}

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
