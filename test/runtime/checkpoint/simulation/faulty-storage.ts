import { WeirError } from '../../../../src/core/errors.ts'
import type {
  CheckpointStorage,
  CreateOutcome,
  StorageWriter,
  StoredFile,
} from '../../../../src/runtime/checkpoint/storage/checkpoint-storage.ts'

/** Fault at one storage call. */
export type Fault =
  | 'none'
  /** It throws and had no effect. */
  | 'fail-before'
  /** It took effect and throws. */
  | 'fail-after'
  /** The process dies before the call. */
  | 'crash-before'
  /** The process dies, and the call took effect. */
  | 'crash-after'
  /** The process pauses before the call, counts as dead, and continues later. */
  | 'pause-before'
  /** The same after the call took effect. */
  | 'pause-after'

/** Decides about every call of one process and executes the faults of the process. */
export interface FaultPlan {
  /** Called once per storage call. */
  next(call: string): Fault
  /** Waits for the call's turn. */
  turn(): Promise<void>
  /** The process is dead. */
  crash(): void
  /** Pauses the process until this resolves. */
  pause(): Promise<void>
  readonly alive: boolean
}

const never = (): Promise<never> => new Promise(() => {})

/** A storage port in which every call may fail, or be the last one of its process. */
export class FaultyStorage implements CheckpointStorage {
  private readonly inner: CheckpointStorage
  private readonly plan: FaultPlan

  constructor(inner: CheckpointStorage, plan: FaultPlan) {
    this.inner = inner
    this.plan = plan
  }

  async createWriter(path: string): Promise<StorageWriter> {
    const writer = await this.call(`createWriter ${path}`, () => this.inner.createWriter(path))
    return {
      write: (bytes) => this.call(`write ${path}`, () => writer.write(bytes)),
      commit: () => this.call(`commit ${path}`, () => writer.commit()),
      abort: () => this.call(`abort ${path}`, () => writer.abort()),
    }
  }

  createExclusive(path: string, bytes: Uint8Array): Promise<CreateOutcome> {
    return this.call(`createExclusive ${path}`, () => this.inner.createExclusive(path, bytes))
  }

  ensureDurable(path: string): Promise<void> {
    return this.call(`ensureDurable ${path}`, () => this.inner.ensureDurable(path))
  }

  read(path: string, start?: number, length?: number): Promise<Uint8Array> {
    return this.call(`read ${path}`, () => this.inner.read(path, start, length))
  }

  list(folder: string): Promise<readonly StoredFile[]> {
    return this.call(`list ${folder}`, () => this.inner.list(folder))
  }

  delete(path: string): Promise<void> {
    return this.call(`delete ${path}`, () => this.inner.delete(path))
  }

  async close(): Promise<void> {}

  private async call<T>(name: string, action: () => Promise<T>): Promise<T> {
    const { plan } = this
    await plan.turn()
    if (!plan.alive) return never()
    const fault = plan.next(name)
    if (fault === 'fail-before') throw failure(name)
    if (fault === 'crash-before') return this.die()
    if (fault === 'pause-before') await plan.pause()
    const result = await action()
    if (fault === 'fail-after') throw failure(name)
    if (fault === 'crash-after') return this.die()
    if (fault === 'pause-after') await plan.pause()
    await plan.turn()
    return plan.alive ? result : never()
  }

  private die(): Promise<never> {
    this.plan.crash()
    return never()
  }
}

function failure(name: string): WeirError {
  return new WeirError('STORAGE_FAILED', `simulated failure of ${name}`)
}
