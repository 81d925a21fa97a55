import { type ChildProcess, spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { WeirError } from '../../src/core/errors.ts'

/** A server in a separate process that prints a line with its port. */
export class ChildServer implements AsyncDisposable {
  readonly port: number
  private readonly child: ChildProcess

  private constructor(port: number, child: ChildProcess) {
    this.port = port
    this.child = child
  }

  /** Starts a program with these arguments; `portOf` reads the port from the first line that has it. */
  static async start(
    args: readonly string[],
    portOf: (line: string) => number | undefined = Number,
    program: string = process.execPath,
  ): Promise<ChildServer> {
    const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'inherit'] })
    const killAtExit = (): void => {
      child.kill('SIGKILL')
    }
    process.prependListener('exit', killAtExit)
    child.once('exit', () => process.off('exit', killAtExit))
    const port = await new Promise<number>((resolve, reject) => {
      createInterface(child.stdout!).on('line', (line) => {
        const found = portOf(line)
        if (found !== undefined) resolve(found)
      })
      child.once('error', reject)
      child.once('exit', (code) =>
        reject(new WeirError('ILLEGAL_STATE', `the server ended: ${code}`)),
      )
    })
    return new ChildServer(port, child)
  }

  /** Id of the process. */
  get pid(): number {
    return this.child.pid!
  }

  /** Stops the process, so that a rival has the machine to itself, until `resume`. */
  pause(): void {
    this.child.kill('SIGSTOP')
  }

  resume(): void {
    this.child.kill('SIGCONT')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return
    const exited = new Promise((resolve) => this.child.once('exit', resolve))
    this.child.kill('SIGCONT')
    this.child.kill('SIGTERM')
    await exited
  }
}
