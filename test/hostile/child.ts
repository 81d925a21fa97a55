import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { BUILT_MODULES_FLAG } from '../run/setup/built-modules.ts'

/**
 * A process that answers each message with one message, in order. It ends when it is disposed of.
 */
export class Child implements AsyncDisposable {
  private readonly process: ChildProcess

  /** Starts a module with arguments, and with options of Node. `isApart`: in a session of its own. */
  constructor(
    module: URL,
    args: readonly string[] = [],
    { execArgv = [], isApart = false }: { execArgv?: readonly string[]; isApart?: boolean } = {},
  ) {
    this.process = fork(module, args, {
      execArgv: [BUILT_MODULES_FLAG, ...execArgv],
      detached: isApart,
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    })
  }

  /** The answer to a message. Rejects when the process ends instead. One message at a time. */
  async ask<T>(message: unknown): Promise<T> {
    const ended = new AbortController()
    const answer = once(this.process, 'message', { signal: ended.signal })
    const onExit = (): void => ended.abort(new Error('a process of the campaign has ended'))
    this.process.once('exit', onExit)
    try {
      this.process.send(message as object)
      const [value] = await answer
      return value as T
    } finally {
      this.process.off('exit', onExit)
    }
  }

  /** Stops it where it is, until `resume`: it takes no processor time. */
  stop(): void {
    this.process.kill('SIGSTOP')
  }

  /** Lets it go on. */
  resume(): void {
    this.process.kill('SIGCONT')
  }

  /** Ends it at once. */
  kill(): void {
    this.process.kill('SIGKILL')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.process.exitCode !== null || this.process.signalCode !== null) return
    const exited = once(this.process, 'exit')
    this.resume()
    this.process.disconnect()
    await exited
  }
}
