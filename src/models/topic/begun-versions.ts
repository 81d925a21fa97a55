import type { OperatorStateStore } from '../../operators/port/operator-state.ts'

const STATE = 'begun-versions'
/** Versions that are remembered: write-backs are of the newest ones. */
const MOST = 32

/**
 * The versions that this job has begun to learn on, in the checkpoints of an operator. What is written
 * back of such a version is from this job, whose own rows have it.
 */
export class BegunVersions {
  private readonly operatorState: OperatorStateStore
  private readonly versions = new Set<number>()

  constructor(operatorState: OperatorStateStore) {
    this.operatorState = operatorState
    for (const entry of operatorState.restored(STATE)) {
      this.versions.add(new DataView(entry.buffer, entry.byteOffset).getUint32(0, true))
    }
  }

  get size(): number {
    return this.versions.size
  }

  has(version: number): boolean {
    return this.versions.has(version)
  }

  /** Records a version; false when it was begun before. */
  begin(version: number): boolean {
    const isNew = !this.versions.delete(version)
    this.versions.add(version)
    for (const oldest of this.versions) {
      if (this.versions.size <= MOST) break
      this.versions.delete(oldest)
    }
    return isNew
  }

  /** Puts the versions into the next checkpoint. */
  snapshot(): void {
    const entries = [...this.versions].map((version) => {
      const entry = new DataView(new ArrayBuffer(4))
      entry.setUint32(0, version, true)
      return new Uint8Array(entry.buffer)
    })
    this.operatorState.update(STATE, 'union', entries)
  }
}
