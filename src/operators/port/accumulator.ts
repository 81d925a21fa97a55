/**
 * A value to which the subtasks of a job add, merged over all of them (Flink's `Accumulator`). It belongs to an
 * attempt: after a restart it begins empty. V: what is added; R: the result; S: its state as plain data, because
 * another thread merges it.
 */
export interface Accumulator<V = unknown, R = unknown, S = unknown> {
  /** Name of its type, the same in all threads. */
  readonly type: string
  add(value: V): void
  /** The result of what this one holds. */
  getLocalValue(): R
  /** Forgets everything that was added. */
  resetLocal(): void
  /** What it holds, as data that `structuredClone` copies. */
  state(): S
  /** Adds what `state()` of another one of this type gave. */
  merge(state: S): void
}

/** The accumulators of a task, which the functions of one chain of operators share. */
export interface AccumulatorAccess {
  /**
   * Adds an accumulator to the task and returns it. Subtasks, and operators of other tasks, that use the same name
   * are merged. Throws STATE_CONFLICT when the task has this name already, or another task uses it with another
   * type, and INVALID_ARGUMENT for a type that `registerAccumulator` does not know.
   */
  addAccumulator<A extends Accumulator>(name: string, accumulator: A): A
  /** The accumulator of this name that a function of the task added. */
  getAccumulator<A extends Accumulator>(name: string): A | undefined
}

/** What one accumulator of one subtask holds, as plain data. */
export interface AccumulatorPart {
  /** Uid of the operator at the head of the task. */
  readonly uid: string
  readonly subtask: number
  readonly name: string
  readonly type: string
  readonly state: unknown
  /** Why there is no state: `state()` threw, or gave something that cannot be copied. */
  readonly failure?: string
}
