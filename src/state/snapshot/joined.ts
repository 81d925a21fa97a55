import type { StateSnapshot } from '../port/change.ts'

/** Several snapshots of one barrier as one: each is copied out in turn. */
export class JoinedSnapshot implements StateSnapshot {
  private readonly parts: readonly StateSnapshot[]
  private current = 0

  constructor(parts: readonly StateSnapshot[]) {
    this.parts = parts
  }

  get entries(): number {
    return this.parts.reduce((sum, part) => sum + part.entries, 0)
  }

  step(budgetMs: number): boolean {
    const part = this.parts[this.current]
    if (part?.step(budgetMs)) this.current += 1
    return this.current >= this.parts.length
  }
}
