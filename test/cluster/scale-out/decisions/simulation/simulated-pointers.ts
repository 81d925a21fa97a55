import {
  NEVER_OWNED,
  type OwnerMark,
} from '../../../../../src/cluster/scale-out/decisions/lease.ts'

/** Positions of one transaction. */
export interface Commit {
  /** Unique name: a repeated request is applied once. */
  readonly id: string
  /** Process that commits. */
  readonly by: string
  readonly entries: readonly {
    readonly partition: number
    /** Position up to which the committed state was known when its work began. */
    readonly from: number
    readonly to: number
    /** What the owner says of itself; released with its last commit. */
    readonly mark: OwnerMark
  }[]
}

/** What stands of a partition in storage. */
export interface Pointer {
  readonly position: number
  /** Process that committed it; empty for none. */
  readonly owner: string
  readonly mark: OwnerMark
}

/** Pointers of the partitions in storage, and what a wrong commit does to them. */
export class SimulatedPointers {
  /** What was lost, doubled or set back. */
  readonly violations: string[] = []
  commits = 0
  private readonly positions: number[]
  private readonly marks: OwnerMark[]
  private readonly owners: string[]
  private readonly applied = new Set<string>()

  constructor(partitions: number) {
    this.positions = Array.from({ length: partitions }, () => 0)
    this.marks = Array.from({ length: partitions }, () => NEVER_OWNED)
    this.owners = Array.from({ length: partitions }, () => '')
  }

  /** Committed position of a partition, who committed it, and what that one said of itself. */
  read(partition: number): Pointer {
    return {
      position: this.positions[partition]!,
      owner: this.owners[partition]!,
      mark: this.marks[partition]!,
    }
  }

  isRepeated({ id }: Commit): boolean {
    return this.applied.has(id)
  }

  /** Overwrites the pointers, as a commit of offsets does, and notes work that was not based on what was there. */
  apply({ id, by, entries }: Commit): void {
    this.applied.add(id)
    this.commits++
    for (const { partition, from, to, mark } of entries) {
      const committed = this.positions[partition]!
      if (from !== committed) {
        this.violations.push(`${id}: partition ${partition} from ${from}, committed ${committed}`)
      }
      if (to < committed) this.violations.push(`${id}: partition ${partition} back to ${to}`)
      this.positions[partition] = to
      this.marks[partition] = mark
      this.owners[partition] = by
    }
  }
}
