import { missingEnd, TERMINATOR } from './composite-key.ts'

/** Part of a composite key, unescaped, in an array of its length that is used again. */
class ReusedPart {
  bytes: Uint8Array = new Uint8Array(0)
  private memory = new Uint8Array(64)
  /** Views of the first bytes of the memory, by their number, so that no part needs a new one. */
  private views: Uint8Array[] = []

  /** Reads the part of `text`, one character a byte, that begins at `start`; returns its end. */
  read(text: string, start: number): number {
    this.reserve(text.length)
    const { memory } = this
    let length = 0
    for (let i = start; i + 1 < text.length; i++) {
      const byte = text.charCodeAt(i)
      if (byte === 0 && text.charCodeAt(++i) === TERMINATOR) {
        this.bytes = this.views[length] ??= memory.subarray(0, length)
        return i + 1
      }
      memory[length++] = byte
    }
    throw missingEnd()
  }

  private reserve(length: number): void {
    if (length <= this.memory.length) return
    this.memory = new Uint8Array(length * 2)
    this.views = []
  }
}

/**
 * Reads the key and the namespace of composite keys that are text, one character a byte: a timer that fires needs no
 * memory for them.
 */
export class PrefixReader {
  private readonly keyPart = new ReusedPart()
  private readonly namespacePart = new ReusedPart()

  /** The last key; overwritten by the next `read`. */
  get key(): Uint8Array {
    return this.keyPart.bytes
  }

  /** The last namespace; overwritten by the next `read`. */
  get namespace(): Uint8Array {
    return this.namespacePart.bytes
  }

  /** Reads the composite key that begins at `start`. Throws MALFORMED_DATA when a terminator is missing. */
  read(text: string, start: number): void {
    this.namespacePart.read(text, this.keyPart.read(text, start))
  }
}
