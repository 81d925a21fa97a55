import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { MODEL_TOPIC, type PublishedModel } from './published-model.ts'
import type { RowUpdaterPlan, RowUpdaterReport } from './row-updater-messages.ts'

/** A process that updates user rows of a model through its log, at a steady rate. */
export class RowUpdater implements AsyncDisposable {
  private readonly child: ChildProcess

  private constructor(child: ChildProcess) {
    this.child = child
  }

  /** Starts a process that updates the first `users` user rows in turn. Resolves when it has begun. */
  static async start(
    model: PublishedModel,
    rowsPerSecond: number,
    users = model.shape.users,
  ): Promise<RowUpdater> {
    const plan: RowUpdaterPlan = {
      directory: model.data.log,
      topic: MODEL_TOPIC,
      rowsPerSecond,
      users,
      factors: model.shape.factors,
    }
    const child = fork(
      new URL('./row-updater-process.ts', import.meta.url),
      [JSON.stringify(plan)],
      { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] },
    )
    await once(child, 'message')
    return new RowUpdater(child)
  }

  /** Rows sent so far, and in how many seconds. */
  async report(): Promise<RowUpdaterReport> {
    const answer = once(this.child, 'message')
    this.child.send('report')
    return (await answer)[0] as RowUpdaterReport
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const exited = once(this.child, 'exit')
    this.child.disconnect()
    await exited
  }
}
