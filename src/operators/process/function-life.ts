import type { ListStateDescriptor } from '../../state/port/descriptors.ts'
import type { ListState } from '../../state/port/handles.ts'

/** Context of `initializeState`: state that belongs to a subtask and not to a key. It is for kilobytes. */
export interface FunctionInitializationContext {
  /** Whether the function continues from a checkpoint or savepoint. */
  readonly isRestored: boolean
  /**
   * A list that is divided when the parallelism changes: each entry goes to one subtask. Throws STATE_CONFLICT
   * when the name is declared twice, or was stored with another serializer.
   */
  getListState<T>(descriptor: ListStateDescriptor<T>): ListState<T>
  /** As `getListState`, but at a restore every subtask gets the entries of all. */
  getUnionListState<T>(descriptor: ListStateDescriptor<T>): ListState<T>
}

/** Context of `snapshotState`. */
export interface FunctionSnapshotContext {
  readonly checkpointId: number
}

/** Optional members of functions: their life, and their state without keys (Flink's `CheckpointedFunction`). */
export interface RichFunction<OpenContext> {
  /** Called before `open`; the lists that it declares hold the restored entries. */
  initializeState?(context: FunctionInitializationContext): void | Promise<void>
  /** Called once before the first record, after state is restored. */
  open?(context: OpenContext): void | Promise<void>
  /** Called at each checkpoint, after the records before its barrier; then the lists are stored. */
  snapshotState?(context: FunctionSnapshotContext): void | Promise<void>
  /**
   * Called once after the last call, also when the job fails. What it throws fails a job that has ended regularly, after
   * all results were committed; a job that has failed or was canceled ends for that reason.
   */
  close?(): void | Promise<void>
}
