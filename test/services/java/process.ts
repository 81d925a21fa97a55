import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync, readFileSync } from 'node:fs'
import { until } from '../../run/until.ts'
import { missingProgram } from '../maven-classpath.ts'

/** The Debian package with `java`. Hadoop 3.4 needs Java 17 and fails with newer ones. */
export const JAVA_PACKAGE = 'openjdk-17-jre-headless'

/** Longest end of a JVM on SIGTERM, ms. */
const LONGEST_END_MS = 120_000

/** Options of a JVM. */
export interface JavaOptions {
  readonly classPath: string
  readonly mainClass: string
  readonly args?: readonly string[]
  /** Flags of the JVM, such as `-Xmx256m`. */
  readonly flags: readonly string[]
  /** File to which standard output and error are appended. */
  readonly logFile: string
}

/** A running JVM of a service under test. It ends with this process, even when this process is killed. */
export class JavaProcess {
  /** Resolves with the exit code, or the signal's name. */
  readonly ended: Promise<number | string>
  private readonly child: ChildProcess
  private readonly logFile: string
  private over = false

  private constructor(child: ChildProcess, logFile: string) {
    this.child = child
    this.logFile = logFile
    // The pipe closes when this process ends for any reason, and then the JVM ends.
    const watchdog = spawn('sh', ['-c', `cat >/dev/null; kill -9 ${child.pid}`], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Ctrl-C goes to a whole process group, but only this process handles it.
      detached: true,
    })
    watchdog.unref()
    this.ended = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => {
      this.over = true
      watchdog.kill('SIGKILL')
      return code ?? signal ?? 'unknown'
    })
  }

  /** Starts a JVM. Throws with the package to install when there is no `java`. */
  static async start(options: JavaOptions): Promise<JavaProcess> {
    const log = openSync(options.logFile, 'a')
    const { flags, classPath, mainClass, args = [] } = options
    const child = spawn('java', [...flags, '-cp', classPath, mainClass, ...args], {
      stdio: ['ignore', log, log],
      detached: true,
    })
    await once(child, 'spawn').catch(withoutJava)
    return new JavaProcess(child, options.logFile)
  }

  get running(): boolean {
    return !this.over
  }

  /** Waits until `check` holds. Throws with the end of the log when the JVM ends or at the time limit. */
  async until(what: string, check: () => Promise<boolean>, timeoutMs = 120_000): Promise<void> {
    const state = (): string => {
      const log = readFileSync(this.logFile, 'utf8').slice(-2000)
      const now = this.running ? 'runs' : 'has ended'
      return `a service that is ${what}; it ${now}, and its log ends: ${log}`
    }
    const isSo = async (): Promise<boolean> => {
      if (await check().catch(() => false)) return true
      if (!this.running) throw new Error(state())
      return false
    }
    await until(state, isSo, { timeoutMs, everyMs: 50 })
  }

  /**
   * Sends a signal and waits for the end of the JVM. `SIGSTOP` and `SIGCONT` do not wait. One that `SIGTERM` does not end in
   * time is killed.
   */
  async signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    if (!this.running) return
    this.child.kill(name)
    if (name !== 'SIGTERM' && name !== 'SIGKILL') return
    const late = setTimeout(() => this.child.kill('SIGKILL'), LONGEST_END_MS)
    await this.ended
    clearTimeout(late)
  }
}

/** Longest run of a tool, ms: one that takes longer hangs. */
const LONGEST_TOOL_MS = 300_000

/** Runs `java` with these arguments and returns its standard output. Throws when it fails, or does not end. */
export async function runJavaTool(args: readonly string[], input: string): Promise<string> {
  const child = spawn('java', args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    timeout: LONGEST_TOOL_MS,
    killSignal: 'SIGKILL',
  })
  const out: Buffer[] = []
  const said: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => out.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => said.push(chunk))
  child.stdin.end(input)
  const [code] = (await once(child, 'close').catch(withoutJava)) as [number | null]
  const text = Buffer.concat(out).toString()
  if (code === 0) return text
  throw new Error(`${args.slice(-8).join(' ')} ended with ${code}: ${Buffer.concat(said)}${text}`)
}

/** Throws the error of a JVM that does not start, and what to install where there is none. */
function withoutJava(cause: NodeJS.ErrnoException): never {
  if (cause.code !== 'ENOENT') throw cause
  throw new Error(missingProgram('java', JAVA_PACKAGE), { cause })
}
