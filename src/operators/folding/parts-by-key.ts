import { ByteWriter } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'
import { latin1Of } from '../../core/text/latin1.ts'
import { type NumberedPart, PartsByNumber } from './parts-by-number.ts'

/** Parts by their keys, which are equal where their bytes are. */
export class PartsByKey<P extends NumberedPart<P>> {
  private readonly keySerializer: Serializer<unknown>
  private readonly byNumber = new PartsByNumber<P>()
  private readonly byText = new Map<string, P>()
  /** By the bytes of other keys (fractions and NaN among them), one character a byte. */
  private readonly byBytes = new Map<string, P>()
  private readonly key = new ByteWriter(64)
  /** The map and the name of the key that `find` searched last; no map after a whole number. */
  private lastMap: Map<string, P> | undefined
  private lastName = ''

  constructor(keySerializer: Serializer<unknown>) {
    this.keySerializer = keySerializer
  }

  /** The part of a key. */
  find(key: unknown): P | undefined {
    // -0 has other bytes than 0, but equals it.
    if (Number.isSafeInteger(key) && !Object.is(key, -0)) {
      this.lastMap = undefined
      return this.byNumber.find(key as number)
    }
    const isText = typeof key === 'string'
    this.lastMap = isText ? this.byText : this.byBytes
    this.lastName = isText ? key : this.bytesOf(key)
    return this.lastMap.get(this.lastName)
  }

  /** Gives a part to the key that `find` searched last, which is its key. */
  put(part: P): void {
    if (this.lastMap === undefined) this.byNumber.put(part)
    else this.lastMap.set(this.lastName, part)
  }

  clear(): void {
    this.byNumber.clear()
    this.byText.clear()
    this.byBytes.clear()
  }

  private bytesOf(key: unknown): string {
    this.key.length = 0
    this.keySerializer.write(key, this.key)
    return latin1Of(this.key.bytes, this.key.length)
  }
}
