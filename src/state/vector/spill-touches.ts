const MULTIPLIER = 0x9e3779b1 | 0

/**
 * Tracks which spilled rows were asked for lately, so that only rows asked for twice come into memory.
 * It holds hashes of keys, each in the one place that follows from it, where a later hash overwrites
 * it. A false hit does no harm.
 */
export class SpillTouches {
  private readonly hashes: Int32Array
  private readonly shift: number

  /** Tracks a sixteenth of the rows in memory, so that a hot row is asked for again in time. */
  static forTable(rowsInMemory: number): SpillTouches {
    const bits = Math.floor(Math.log2(Math.max(rowsInMemory, 1) / 16))
    return new SpillTouches(Math.min(Math.max(bits, 4), 16))
  }

  /** Tracks at most `2 ** bits` rows, 1 <= bits <= 31. */
  constructor(bits: number) {
    this.hashes = new Int32Array(2 ** bits)
    this.shift = 32 - bits
  }

  get bytes(): number {
    return this.hashes.byteLength
  }

  /** Records that the row was asked for; whether it was before. It is then forgotten. */
  again(hash: number): boolean {
    const at = Math.imul(hash, MULTIPLIER) >>> this.shift
    const known = this.hashes[at] === hash
    this.hashes[at] = known ? 0 : hash
    return known
  }
}
