import { ByteReader } from '../../core/byte-reader.ts'
import { ByteWriter } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'

/** A result of a window, on its way to a store. */
export interface WindowResult<K, R> {
  readonly key: K
  /** First millisecond of the window. */
  readonly start: number
  /** First millisecond after the window. */
  readonly end: number
  readonly result: R
}

/** The serializer of results of windows: the bytes of the key with their length, start, end, and the result. */
export function windowResultSerializer<K, R>(
  keys: Serializer<K>,
  results: Serializer<R>,
): Serializer<WindowResult<K, R>> {
  const key = new ByteWriter(64)
  return {
    id: `window-result/1(${keys.id},${results.id})`,
    write(value, writer) {
      key.reset()
      keys.write(value.key, key)
      writer.sized(key.toBytes())
      writer.int53(value.start)
      writer.int53(value.end)
      results.write(value.result, writer)
    },
    read(reader) {
      return {
        key: keys.read(new ByteReader(reader.sized())),
        start: reader.int53(),
        end: reader.int53(),
        result: results.read(reader),
      }
    },
  }
}
