/**
 * The k best of a stream of scored rows. Of equal scores the smaller row number wins, so that the
 * result does not depend on the order of the offers.
 */
export class TopKHeap {
  /** How many are kept. */
  readonly k: number
  private readonly scores: Float64Array
  private readonly rows: Float64Array
  private size = 0

  /** `k` is at least 1. */
  constructor(k: number) {
    this.k = k
    this.scores = new Float64Array(k)
    this.rows = new Float64Array(k)
  }

  /** What a score must reach to have a chance: minus infinity until k rows are held. */
  get threshold(): number {
    return this.size < this.k ? Number.NEGATIVE_INFINITY : (this.scores[0] as number)
  }

  /** Takes a row, whole number up to 2^53, if it is among the best so far. NaN is never taken. */
  offer(row: number, score: number): void {
    if (this.size < this.k) {
      if (Number.isNaN(score)) return
      this.place(this.size++, row, score, true)
    } else if (this.isWorse(0, row, score)) {
      this.place(0, row, score, false)
    }
  }

  /** The held rows, best first; the heap stays as it is. */
  sorted(): { readonly row: number; readonly score: number }[] {
    const held = Array.from({ length: this.size }, (_, i) => ({
      row: this.rows[i] as number,
      score: this.scores[i] as number,
    }))
    return held.sort((a, b) => b.score - a.score || a.row - b.row)
  }

  /** Whether the entry at `at` ranks below the given one. */
  private isWorse(at: number, row: number, score: number): boolean {
    const held = this.scores[at] as number
    return held < score || (held === score && (this.rows[at] as number) > row)
  }

  /** Puts an entry at a free place (a new leaf, or the root) and moves it to where it belongs. */
  private place(start: number, row: number, score: number, up: boolean): void {
    let at = start
    for (;;) {
      const next = up ? this.betterParent(at, row, score) : this.worseChild(at, row, score)
      if (next < 0) break
      this.scores[at] = this.scores[next] as number
      this.rows[at] = this.rows[next] as number
      at = next
    }
    this.scores[at] = score
    this.rows[at] = row
  }

  private betterParent(at: number, row: number, score: number): number {
    if (at === 0) return -1
    const parent = (at - 1) >> 1
    return this.isWorse(parent, row, score) ? -1 : parent
  }

  private worseChild(at: number, row: number, score: number): number {
    let child = 2 * at + 1
    if (child >= this.size) return -1
    const right = child + 1
    if (
      right < this.size &&
      this.isWorse(right, this.rows[child] as number, this.scores[child] as number)
    ) {
      child = right
    }
    return this.isWorse(child, row, score) ? child : -1
  }
}
