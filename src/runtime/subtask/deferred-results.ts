import type { OperatorTask } from './operator-task.ts'

/** The operators of a subtask that emit results after their records, in topological order. */
export class DeferredResults {
  private readonly tasks: OperatorTask[] = []

  /** Whether the subtask has no such operator. */
  get isEmpty(): boolean {
    return this.tasks.length === 0
  }

  /** Whether one of them takes no more input. */
  get isFull(): boolean {
    for (const { deferring } of this.tasks) if (deferring!.isFull) return true
    return false
  }

  add(task: OperatorTask): void {
    if (task.deferring !== undefined) this.tasks.push(task)
  }

  /**
   * Emits results that are ready while `mayEmit`, none into an operator that is full; false when there were none.
   * The results of one record are emitted even where there is no time: the operator woke the subtask for them once,
   * and a subtask that has done nothing sleeps until it is woken again.
   */
  emit(mayEmit: () => boolean, hasTime: () => boolean): boolean {
    let emitted = false
    for (let i = this.tasks.length - 1; i >= 0; i--) {
      const task = this.tasks[i]!
      while (mayEmit() && (!emitted || hasTime()) && task.emitNext()) emitted = true
      if (task.deferring!.isFull) break
    }
    return emitted
  }

  /** Calls when all of them, one after the other, have emitted the results of what they have now. */
  afterAll(action: () => void, from = 0): void {
    const task = this.tasks[from]
    if (task === undefined) action()
    else task.afterInFlight(() => this.afterAll(action, from + 1), false)
  }
}
