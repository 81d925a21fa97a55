import { ByteWriter } from '../../core/byte-writer.ts'
import type { Serializer } from '../../core/serializer.ts'
import { latin1Of } from '../../core/text/latin1.ts'

/** Whether a Map compares the key as its bytes compare: it takes -0 for 0. */
function isOwnName(key: unknown): boolean {
  return typeof key === 'string' || (typeof key === 'number' && !Object.is(key, -0))
}

/** Parts above which all are forgotten. */
const MOST_KEPT = 8192

/** Parts by their keys, which are equal where their bytes are. */
export class PartsByKey<P> {
  private readonly keySerializer: Serializer<unknown>
  /** By keys that a Map compares as their bytes compare. */
  private readonly byKey = new Map<unknown, P>()
  /** By the bytes of other keys, one character a byte. */
  private readonly byBytes = new Map<string, P>()
  private readonly key = new ByteWriter(64)
  /** The map and the name of the key that `find` searched last. */
  private lastMap: Map<unknown, P> = this.byKey
  private lastName: unknown

  constructor(keySerializer: Serializer<unknown>) {
    this.keySerializer = keySerializer
  }

  /** The part of a key. */
  find(key: unknown): P | undefined {
    if (isOwnName(key)) {
      this.lastMap = this.byKey
      this.lastName = key
    } else {
      this.lastMap = this.byBytes
      this.lastName = this.bytesOf(key)
    }
    return this.lastMap.get(this.lastName)
  }

  /** Gives a part to the key that `find` searched last. */
  put(part: P): void {
    this.lastMap.set(this.lastName, part)
  }

  /**
   * Forgets the parts if they are many. Else they are there for the next records of their keys, so that a part that waits
   * is no new object: those that are new when the engine collects garbage soon count as old.
   */
  trim(): void {
    if (this.byKey.size + this.byBytes.size <= MOST_KEPT) return
    this.byKey.clear()
    this.byBytes.clear()
  }

  private bytesOf(key: unknown): string {
    this.key.length = 0
    this.keySerializer.write(key, this.key)
    return latin1Of(this.key.bytes, this.key.length)
  }
}
