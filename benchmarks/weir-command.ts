import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { WeirError } from '../src/core/errors.ts'

const root = new URL('..', import.meta.url)

/** Path of the `weir` command: of the package, built now, or of the sources when that fails. */
export function weirCommand(say: (line: string) => void): string {
  const build = fileURLToPath(new URL('scripts/build-package.ts', root))
  const built = fileURLToPath(new URL('dist/cli/main.js', root))
  try {
    execFileSync(process.execPath, [build], { stdio: 'ignore' })
    if (existsSync(built)) return built
  } catch {
    say('the package could not be built (npm run build says why): using the sources')
  }
  return fileURLToPath(new URL('src/cli/main.ts', root))
}

/** `weir run als-serving` in a process of its own, as a user runs it. */
export class WeirRun implements AsyncDisposable {
  /** Resolves when it says that a version is live. */
  readonly live: Promise<void>
  private readonly child: ChildProcess
  private readonly exited: Promise<unknown>
  /** Rejects when the process ends, with what it said last. */
  private readonly ended: Promise<never>
  private readonly killAtExit = (): void => {
    this.child.kill('SIGKILL')
  }

  constructor(command: string, args: readonly string[]) {
    const words = [command, 'run', 'als-serving', '--json', ...args]
    this.child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'pipe'] })
    let said = ''
    this.child.stderr!.on('data', (text) => {
      said = `${said}${String(text)}`.slice(-1000)
    })
    this.exited = new Promise((resolve) => this.child.once('exit', resolve))
    this.ended = this.exited.then(() => {
      throw new WeirError('ILLEGAL_STATE', `weir run has ended: ${said}`)
    })
    this.ended.catch(() => {})
    this.live = this.whileItRuns(
      new Promise((resolve) => {
        createInterface(this.child.stdout!).on('line', (line) => {
          if ((JSON.parse(line) as { event?: string }).event === 'live') resolve()
        })
      }),
    )
    this.live.catch(() => {})
    process.prependListener('exit', this.killAtExit)
  }

  get pid(): number {
    return this.child.pid!
  }

  /** What `work` gives; rejects when the process ends before. */
  whileItRuns<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.ended])
  }

  /** kill -9; resolves when the process is gone. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.exited
    process.off('exit', this.killAtExit)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}
