const MULTIPLIER = 0x9e3779b1 | 0

/**
 * Remembers which spilled rows were asked for lately, so that only rows asked for twice come into
 * memory: hashes of their keys, each in the one place that its hash gives it, where a later one
 * overwrites it. A false memory does no harm.
 */
export class SpillTouches {
  private readonly hashes: Int32Array
  private readonly shift: number

  /** Remembers at most `2 ** bits` rows, 1 <= bits <= 31. */
  constructor(bits: number) {
    this.hashes = new Int32Array(2 ** bits)
    this.shift = 32 - bits
  }

  get bytes(): number {
    return this.hashes.byteLength
  }

  /** Notes that the row was asked for; whether it was before. It is forgotten then. */
  again(hash: number): boolean {
    const at = Math.imul(hash, MULTIPLIER) >>> this.shift
    const known = this.hashes[at] === hash
    this.hashes[at] = known ? 0 : hash
    return known
  }
}
