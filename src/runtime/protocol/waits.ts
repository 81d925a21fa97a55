import type { ErrorCode, WeirError } from '../../core/errors.ts'
import { type Wait, waitIn } from '../../core/lifetime/wait.ts'

/** What a part of a job waits for. */
export interface JobWait extends Wait {
  /** Uid of the operator; undefined for the checkpoints of the job. */
  readonly operator: string | undefined
  /** Code of the notice: CONNECTOR_FAILED or STORAGE_FAILED for a service that does not answer. */
  readonly code: ErrorCode
}

/** What the files of checkpoints wait for. */
const CHECKPOINT_STORAGE = 'checkpoint storage'

/**
 * What a job waits for now: services outside that do not answer, and partitions that hold its time back. It
 * follows the notices of the job's parts.
 */
export class JobWaits {
  /** By the part that waits, and what it waits for. */
  private readonly byPart = new Map<string, JobWait>()

  /** All waits, each once for all subtasks of an operator, since the first of them. */
  get all(): readonly JobWait[] {
    const first = new Map<string, JobWait>()
    for (const wait of this.byPart.values()) {
      const name = `${wait.operator ?? ''}/${wait.waitsFor}`
      const known = first.get(name)
      if (known === undefined || wait.sinceMs < known.sinceMs) first.set(name, wait)
    }
    return [...first.values()]
  }

  /** Takes a notice of a part of the job; one that is about no wait changes nothing. */
  observe({ code, details }: WeirError): void {
    const change = waitIn(details)
    if (change === undefined) return
    const operator = details['operator'] === undefined ? undefined : String(details['operator'])
    const part = `${operator ?? ''}/${details['subtask'] ?? details['slot'] ?? ''}/${change.waitsFor}`
    if (change.wait === undefined) this.byPart.delete(part)
    else this.byPart.set(part, { ...change.wait, operator, code })
  }

  /** A checkpoint failed because its storage did not take a file. */
  storageFailed(why: string, nowMs: number): void {
    const part = `//${CHECKPOINT_STORAGE}`
    const sinceMs = this.byPart.get(part)?.sinceMs ?? nowMs
    const code = 'STORAGE_FAILED'
    this.byPart.set(part, { operator: undefined, code, waitsFor: CHECKPOINT_STORAGE, why, sinceMs })
  }

  /** A checkpoint is complete: nothing waits for its storage. */
  storageWorks(): void {
    for (const [part, { operator }] of this.byPart) {
      if (operator === undefined) this.byPart.delete(part)
    }
  }

  /** An attempt is over, and its operators wait for nothing. */
  attemptEnded(): void {
    for (const [part, { operator }] of this.byPart) {
      if (operator !== undefined) this.byPart.delete(part)
    }
  }
}
