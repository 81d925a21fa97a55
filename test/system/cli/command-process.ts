import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { pause } from '../../run/pause.ts'
import { BUILT_MODULES_FLAG } from '../../run/setup/built-modules.ts'
import { LEFTOVERS } from '../../run/setup/leftovers.ts'
import { until } from '../../run/until.ts'

/** Root of the repository, where commands run. */
export const REPOSITORY = resolve(import.meta.dirname, '../../..')

/** Settings with which a command waits for an answer as long as a busy machine may need. */
export const PATIENT = { WEIR_TIMEOUT: '60000' }

/** What a command left behind. */
export interface CommandResult {
  /** Null when a signal ended it. */
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
}

/** A command that runs in a process group of its own, as under a terminal. */
export class CommandProcess implements AsyncDisposable {
  readonly ended: Promise<CommandResult>
  private readonly child: ChildProcess
  private stdout = ''
  private stderr = ''
  private readonly watchers = new Set<() => void>()

  constructor(
    command: string,
    args: readonly string[],
    options: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
  ) {
    const child = spawn(command, args, {
      cwd: options.cwd ?? REPOSITORY,
      env: { ...process.env, NO_COLOR: '1', ...options.env },
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    })
    this.child = child
    LEFTOVERS.add(this)
    child.stdout.on('data', (chunk) => {
      this.stdout += chunk
      for (const look of this.watchers) look()
    })
    child.stderr.on('data', (chunk) => {
      this.stderr += chunk
      for (const look of this.watchers) look()
    })
    this.ended = new Promise((resolveEnd) => {
      child.on('close', (code, signal) => {
        LEFTOVERS.delete(this)
        const { stdout, stderr } = this
        resolveEnd({ code, signal, stdout, stderr })
      })
    })
  }

  get hasEnded(): boolean {
    return this.child.exitCode !== null || this.child.signalCode !== null
  }

  get pid(): number {
    return this.child.pid!
  }

  /** What it has printed on standard output so far. */
  get printedOutput(): string {
    return this.stdout
  }

  /** What it has printed on standard error so far. */
  get printedErrors(): string {
    return this.stderr
  }

  /** Gives all of standard input and closes it. */
  input(text: string): this {
    this.child.stdin!.end(text)
    return this
  }

  /** Resolves with the first match in what was printed; rejects if the process ends without it. */
  async printed(pattern: RegExp): Promise<RegExpExecArray> {
    const found = (): RegExpExecArray | null => pattern.exec(`${this.stdout}\n${this.stderr}`)
    return await new Promise((resolveMatch, reject) => {
      const look = (): void => {
        const match = found()
        if (match === null) return
        this.watchers.delete(look)
        resolveMatch(match)
      }
      this.watchers.add(look)
      look()
      void this.ended.then(({ stdout, stderr }) => {
        if (found() === null) reject(new Error(`never printed ${pattern}:\n${stdout}\n${stderr}`))
      })
    })
  }

  /** Signals the whole group, as a terminal does. */
  signal(signal: NodeJS.Signals): void {
    process.kill(-this.child.pid!, signal)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.hasEnded) return
    const exited = once(this.child, 'exit')
    this.signal('SIGKILL')
    await exited
    // What the command started in a group of its own may hold its output open: `ended` does not wait for that.
    this.child.stdout!.destroy()
    this.child.stderr!.destroy()
    await this.ended
  }
}

/** `npm start -- ...args`. */
export function npmStart(args: readonly string[], env?: Record<string, string>): CommandProcess {
  return new CommandProcess(
    'npm',
    ['start', '--silent', '--', ...args],
    env === undefined ? {} : { env },
  )
}

/** `weir ...args`, from the entry that {@link entryOf} says. */
export function weir(
  args: readonly string[],
  options: { readonly env?: Record<string, string>; readonly cwd?: string } = {},
): CommandProcess {
  return new CommandProcess(process.execPath, [...flagsOf(args), entryOf(args), ...args], options)
}

/** Name of the variable with the folder into which `.ci/run` has just built the package; that of the client is beside it. */
export const BUILT_PACKAGE_VARIABLE = 'TEST_BUILT_PACKAGE'

/** Name of the variable with the entry of the built `weir`. */
export const BUILT_ENTRY_VARIABLE = 'TEST_BUILT_WEIR'

/** The entry of `weir` in the source. */
export const SOURCE_ENTRY = resolve(REPOSITORY, 'src/cli/main.ts')

/** Words, and ends of words, of commands that run modules of a user. */
export const MODULE_WORDS = ['models', '--modules', '--repository']
export const MODULE_ENDINGS = ['.ts', '.js', '.mjs']

/** Flags with which the modules of `src` come from joined files, also those that a user's module imports. */
function flagsOf(args: readonly string[]): readonly string[] {
  return entryOf(args) === SOURCE_ENTRY ? [BUILT_MODULES_FLAG] : []
}

/**
 * The entry of `weir`: built as in the package, which starts in less than half the time. The modules of a user import
 * the source here, and must get the same classes as the command that runs them: then it is the source.
 */
export function entryOf(args: readonly string[]): string {
  const takesModules = args.some(
    (word) => MODULE_WORDS.includes(word) || MODULE_ENDINGS.some((ending) => word.endsWith(ending)),
  )
  return takesModules ? SOURCE_ENTRY : builtEntry()
}

/** The entry of `weir` as the run has built it; of the source in a process that no run has started. */
export function builtEntry(): string {
  return process.env[BUILT_ENTRY_VARIABLE] ?? SOURCE_ENTRY
}

/** Clock ticks a second in `/proc`, on every architecture of Linux. */
const TICKS = 100

/**
 * Resolves when the process has used so many seconds of processor time, or has ended: on a busy machine that
 * is later. Without `/proc` it resolves after as many seconds.
 */
export async function usesProcessor(pid: number, seconds: number): Promise<void> {
  if (!existsSync('/proc')) {
    return await pause(seconds * 1000, 'without /proc nothing shows what a process has used')
  }
  await until(`process ${pid} is busy`, () => usedSeconds(pid) >= seconds, {
    timeoutMs: 200_000,
    everyMs: 20,
  })
}

/** Seconds of processor time that a process has used; without end when it has ended. */
function usedSeconds(pid: number): number {
  try {
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) / TICKS
  } catch {
    return Number.POSITIVE_INFINITY
  }
}

/** The JSON lines of an output. */
export function jsonLines(text: string): Record<string, unknown>[] {
  return text
    .trimEnd()
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
