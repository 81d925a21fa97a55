/**
 * Ratings under way, from the observations to the fold of their deltas, over all slots of an attempt.
 * A step that was computed on an item's row of long ago overshoots when many of them are folded at
 * once; so ratings wait while more than a limit are under way.
 */
export class LearningFlow {
  private readonly words: Int32Array
  private isFull = false

  constructor(buffer: SharedArrayBuffer) {
    this.words = new Int32Array(buffer)
  }

  static newBuffer(): SharedArrayBuffer {
    return new SharedArrayBuffer(4)
  }

  get underWay(): number {
    return Atomics.load(this.words, 0)
  }

  /**
   * Whether ratings may be let in: fewer than `most` are under way. After there were as many, an eighth
   * of them must have left first, so that ratings come in runs and not by ones and twos.
   */
  admits(most: number): boolean {
    const room = this.isFull ? Math.max(1, most / 8) : 1
    this.isFull = this.underWay > most - room
    return !this.isFull
  }

  /** A rating was let in. */
  enter(): void {
    Atomics.add(this.words, 0, 1)
  }

  /**
   * A rating was refused or its delta folded. Deltas of an attempt before, which nobody counted, come
   * here too after a restart: the count never falls below 0.
   */
  leave(): void {
    if (Atomics.load(this.words, 0) > 0) Atomics.sub(this.words, 0, 1)
  }
}
