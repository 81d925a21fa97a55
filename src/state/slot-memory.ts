/** Something that takes memory for state. */
export interface MemoryUser {
  readonly memoryBytes: number
}

/**
 * The memory for keyed state of one slot. Operators have an equal share each, and may take what the others leave of
 * theirs: many a job has one operator with much state and some with hardly any. What one has taken it gives back when
 * it asks the next time, so for a moment all together may be above the whole.
 */
export class SlotMemory {
  private readonly bytes: number
  private readonly users = new Set<MemoryUser>()

  constructor(bytes: number) {
    this.bytes = bytes
  }

  add(user: MemoryUser): void {
    this.users.add(user)
  }

  delete(user: MemoryUser): void {
    this.users.delete(user)
  }

  /** Bytes that the other users leave. */
  leftFor(user: MemoryUser): number {
    let left = this.bytes
    for (const other of this.users) if (other !== user) left -= other.memoryBytes
    return left
  }
}
