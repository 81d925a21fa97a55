/** Names that are kept: a client mostly asks for one or two states. */
const KEPT = 4

/** A name as bytes and as text. */
interface Name {
  readonly bytes: Uint8Array
  readonly text: string
}

/**
 * The last names of states in the requests of a connection. Their text is decoded once: the objects of a
 * decoding in each of thousands of frames would hold up the thread's garbage collector.
 */
export class RecentNames {
  private readonly names: Name[] = []
  private oldest = 0

  /** The name in `bytes[at .. at + length)`; undefined when it is not a recent one. */
  find(bytes: Uint8Array, at: number, length: number): string | undefined {
    const { names } = this
    for (let i = 0; i < names.length; i++) {
      const { bytes: known, text } = names[i]!
      if (isAt(known, bytes, at, length)) return text
    }
    return undefined
  }

  /** Keeps a name instead of the oldest one. */
  add(bytes: Uint8Array, text: string): void {
    this.names[this.oldest] = { bytes, text }
    this.oldest = (this.oldest + 1) % KEPT
  }
}

function isAt(name: Uint8Array, bytes: Uint8Array, at: number, length: number): boolean {
  if (name.length !== length) return false
  for (let i = 0; i < length; i++) if (name[i] !== bytes[at + i]) return false
  return true
}
