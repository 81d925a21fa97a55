/** A growing stack of row numbers. */
export class RowList {
  private rows = new Int32Array(64)
  length = 0

  push(row: number): void {
    if (this.length === this.rows.length) {
      const larger = new Int32Array(this.rows.length * 2)
      larger.set(this.rows)
      this.rows = larger
    }
    this.rows[this.length++] = row
  }

  /** Removes the last one; -1 if there is none. */
  pop(): number {
    return this.length === 0 ? -1 : this.rows[--this.length]!
  }

  at(i: number): number {
    return this.rows[i]!
  }

  get bytes(): number {
    return this.rows.byteLength
  }
}

/** Row numbers in the order in which they were added. */
export class RowQueue {
  private rows = new Int32Array(64)
  private head = 0
  private tail = 0

  get length(): number {
    return this.tail - this.head
  }

  push(row: number): void {
    if (this.tail === this.rows.length) this.makeRoom()
    this.rows[this.tail++] = row
  }

  /** The first one; undefined behaviour when empty. */
  peek(): number {
    return this.rows[this.head]!
  }

  shift(): number {
    return this.rows[this.head++]!
  }

  private makeRoom(): void {
    const live = this.rows.subarray(this.head, this.tail)
    const target =
      live.length * 2 > this.rows.length ? new Int32Array(this.rows.length * 2) : this.rows
    target.set(live)
    this.tail = live.length
    this.head = 0
    this.rows = target
  }
}
