/** Something that takes memory for state. */
export interface MemoryUser {
  readonly memoryBytes: number
}

/** Which share of the memory an operator has. */
export interface SlotMemoryOptions {
  /**
   * Whether the share is an even one of all users, who come and go, as in a thread that several jobs share.
   * @default each user knows its own
   */
  readonly sharesEvenly?: boolean
}

/**
 * The memory for keyed state of one slot, or of the slots of a thread. Operators have an equal share each, and may take
 * what the others leave of theirs: many a job has one operator with much state and some with hardly any. What one has
 * taken it gives back when it asks the next time, so for a moment all together may be above the whole.
 */
export class SlotMemory {
  private readonly bytes: number
  private readonly sharesEvenly: boolean
  private readonly users = new Set<MemoryUser>()

  constructor(bytes: number, { sharesEvenly = false }: SlotMemoryOptions = {}) {
    this.bytes = bytes
    this.sharesEvenly = sharesEvenly
  }

  /** Bytes of one user, as many as there are now; undefined where each knows its own. */
  get evenShare(): number | undefined {
    if (!this.sharesEvenly) return undefined
    return Math.floor(this.bytes / Math.max(1, this.users.size))
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
