/*
 * Memory of the last uses of tokens, which threads share: 64 bytes for each record, in their order.
 *
 *   0  last use, seconds since 1970, 32 bits; 0 for never
 *   4  bytes of the address, 8 bits
 *   5  address as text, at most 59 bytes
 */
const SLOT_BYTES = 64
const ADDRESS_AT = 5
const MOST_ADDRESS = SLOT_BYTES - ADDRESS_AT
const WORDS_A_SLOT = SLOT_BYTES / 4

/** Where a request came from: a socket is one. */
export interface RequestSource {
  readonly remoteAddress?: string | undefined
}

/** Last use of a token, to the second. */
export interface TokenUse {
  /** Index of its record. */
  readonly index: number
  /** ms since 1970. */
  readonly lastMs: number
  /** Address that it came from; empty where it is not known. */
  readonly address: string
}

/** Memory for the uses of so many tokens. */
export function usesMemory(records: number): SharedArrayBuffer {
  return new SharedArrayBuffer(records * SLOT_BYTES)
}

/** When each token was used last, and from where. A use costs a comparison but once a second. */
export class TokenUses {
  private readonly seconds: Uint32Array
  private readonly bytes: Uint8Array

  constructor(memory: SharedArrayBuffer) {
    this.seconds = new Uint32Array(memory)
    this.bytes = new Uint8Array(memory)
  }

  /** Notes a use at `nowMs` (since 1970) of the token with a record. */
  note(index: number, nowMs: number, source: RequestSource | undefined): void {
    const word = index * WORDS_A_SLOT
    const now = Math.floor(nowMs / 1000)
    const before = this.seconds[word]
    if (before === undefined || before === now) return
    // One thread a second writes the address, so that two never write into one.
    if (Atomics.compareExchange(this.seconds, word, before, now) === before) {
      this.writeAddress(index * SLOT_BYTES, source?.remoteAddress ?? '')
    }
  }

  /** The uses of the tokens that were used. */
  read(): readonly TokenUse[] {
    const uses: TokenUse[] = []
    for (let index = 0; index * WORDS_A_SLOT < this.seconds.length; index++) {
      const at = index * SLOT_BYTES
      const lastMs = Atomics.load(this.seconds, index * WORDS_A_SLOT) * 1000
      if (lastMs === 0) continue
      const length = Math.min(this.bytes[at + 4]!, MOST_ADDRESS)
      const text = this.bytes.slice(at + ADDRESS_AT, at + ADDRESS_AT + length)
      uses.push({ index, lastMs, address: new TextDecoder().decode(text) })
    }
    return uses
  }

  private writeAddress(at: number, address: string): void {
    const text = new TextEncoder().encode(address.slice(0, MOST_ADDRESS)).subarray(0, MOST_ADDRESS)
    this.bytes.set(text, at + ADDRESS_AT)
    this.bytes[at + 4] = text.length
  }
}
