import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { WeirError } from '../../src/core/errors.ts'

const root = new URL('../..', import.meta.url)

/** Path of the `weir` command: of the package, which is built now, or of the sources when the build fails. */
export function weirCommand(say: (line: string) => void): string {
  const build = fileURLToPath(new URL('scripts/build-package.ts', root))
  const built = fileURLToPath(new URL('dist/cli/main.js', root))
  try {
    execFileSync(process.execPath, [build], { stdio: 'ignore' })
    if (existsSync(built)) return built
  } catch {
    say('the package cannot be built (npm run build shows why); the sources run instead')
  }
  return fileURLToPath(new URL('src/cli/main.ts', root))
}

/** `weir run als-serving` in a separate process, as a user runs it. */
export class WeirRun implements AsyncDisposable {
  /** Resolves when the command reports that a version is live. */
  readonly live: Promise<void>
  private readonly child: ChildProcess
  private readonly exited: Promise<unknown>
  /** Rejects when the process ends, with its last output. */
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
      throw new WeirError('ILLEGAL_STATE', `weir run ended: ${said}`)
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

  /** Resolves as `work`; rejects when the process ends before. */
  whileItRuns<T>(work: Promise<T>): Promise<T> {
    return Promise.race([work, this.ended])
  }

  /** Kills the process (SIGKILL); resolves when it is gone. */
  async kill(): Promise<void> {
    this.child.kill('SIGKILL')
    await this.exited
    process.off('exit', this.killAtExit)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill()
  }
}
