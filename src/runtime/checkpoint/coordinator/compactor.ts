import { messageOf, WeirError } from '../../../core/errors.ts'
import type { AssembleFacts } from '../protocol/assemble.ts'
import type { CheckpointManifest } from '../protocol/checkpoint-types.ts'
import {
  type CompactionDecision,
  type CompactionPolicy,
  decideCompaction,
} from '../protocol/compaction-decision.ts'
import { compactSegments } from '../segment/compact.ts'
import type { CheckpointStorage } from '../storage/checkpoint-storage.ts'
import type { CheckpointGarbage } from './garbage.ts'
import type { WarningListener } from './job-folder.ts'

type Merge = Extract<CompactionDecision, { kind: 'merge' }>

/** A finished compaction, which the next checkpoint takes in. */
export type FinishedCompaction = AssembleFacts['compactions'][number]

/** Options of a compactor. */
export interface CompactorOptions {
  readonly storage: CheckpointStorage
  readonly policy: CompactionPolicy | false
  readonly garbage: CheckpointGarbage
  readonly warn: WarningListener
  /** A path that was never used before. */
  readonly nextPath: () => string
}

/**
 * Merges chains in the background, one at a time. A result waits in `finished` until a checkpoint
 * that holds it is durable; from its start until then inputs and output are pinned against deletion.
 */
export class CheckpointCompactor {
  private readonly options: CompactorOptions
  private readonly abort = new AbortController()
  private readonly pins = new Map<FinishedCompaction, ReadonlySet<string>>()
  private running: Promise<void> | undefined
  private results: FinishedCompaction[] = []

  constructor(options: CompactorOptions) {
    this.options = options
  }

  /** Results that the next checkpoint takes in. */
  get finished(): readonly FinishedCompaction[] {
    return this.results
  }

  /** Starts a compaction if one is worth it and none runs. */
  consider(manifest: CheckpointManifest): void {
    const { policy } = this.options
    if (policy === false || this.running !== undefined || this.results.length > 0) return
    if (this.abort.signal.aborted) return
    for (const operator of manifest.operators) {
      const decision = decideCompaction(operator, policy)
      if (decision.kind === 'none') continue
      this.running = this.run(decision).finally(() => {
        this.running = undefined
      })
      return
    }
  }

  /** A checkpoint is durable that took these results in, or could not use them. */
  settle(taken: readonly FinishedCompaction[]): void {
    for (const result of taken) {
      const pin = this.pins.get(result)
      if (pin !== undefined) this.options.garbage.unpin(pin)
      this.pins.delete(result)
    }
    this.results = this.results.filter((result) => !taken.includes(result))
  }

  /** Resolves when no compaction runs. */
  async idle(): Promise<void> {
    await this.running
  }

  /** Aborts the compaction that runs and starts no more. */
  async close(): Promise<void> {
    this.abort.abort()
    await this.running
  }

  private async run(merge: Merge): Promise<void> {
    const { storage, garbage, warn, nextPath } = this.options
    const path = nextPath()
    const pin = new Set([path, ...merge.inputs.map((input) => input.path)])
    garbage.pin(pin)
    garbage.track([path])
    try {
      const { inputs, keyGroups, full, declared } = merge
      const { signal } = this.abort
      const job = { storage, inputs, keyGroups, full, declared, path, signal }
      const output = await compactSegments(job)
      const result = { uid: merge.uid, replacement: { inputs, output } }
      this.pins.set(result, pin)
      this.results = [...this.results, result]
    } catch (cause) {
      garbage.unpin(pin)
      if (this.abort.signal.aborted) return
      const message = `segments of operator ${merge.uid} could not be merged; it is tried again: ${messageOf(cause)}`
      warn(new WeirError('STORAGE_FAILED', message, { cause }))
    }
  }
}
