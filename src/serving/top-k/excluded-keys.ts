const encoder = new TextEncoder()

/** A hash of the key that begins at `at`. */
export function hashOfKey(bytes: Uint8Array, at: number, length: number): number {
  let hash = 0
  for (let i = at; i < at + length; i++) hash = (Math.imul(hash, 31) + bytes[i]!) | 0
  return hash
}

/** The keys that a top-k query leaves out. A pass looks for some hundred rows of each query, so a look makes no text. */
export class ExcludedKeys {
  private readonly byHash = new Map<number, Uint8Array[]>()

  constructor(keys: readonly string[]) {
    for (const key of keys) {
      const bytes = encoder.encode(key)
      const hash = hashOfKey(bytes, 0, bytes.length)
      const same = this.byHash.get(hash)
      if (same === undefined) this.byHash.set(hash, [bytes])
      else same.push(bytes)
    }
  }

  /** Whether the key that begins at `at` is left out. */
  has(bytes: Uint8Array, at: number, length: number): boolean {
    if (this.byHash.size === 0) return false
    const found = this.byHash.get(hashOfKey(bytes, at, length))
    return found?.some((key) => isKey(key, bytes, at, length)) === true
  }
}

function isKey(key: Uint8Array, bytes: Uint8Array, at: number, length: number): boolean {
  return key.length === length && key.every((byte, i) => byte === bytes[at + i])
}
