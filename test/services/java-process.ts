import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { openSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { missingProgram } from './maven-classpath.ts'

/** The Debian package that brings `java`; Hadoop 3.4 needs 17, newer ones fail. */
export const JAVA_PACKAGE = 'openjdk-17-jre-headless'

/** How a JVM is started. */
export interface JavaOptions {
  readonly classPath: string
  readonly mainClass: string
  readonly args?: readonly string[]
  /** Flags of the JVM, such as `-Xmx256m`. */
  readonly flags: readonly string[]
  /** Standard output and error are appended here. */
  readonly logFile: string
}

/** A running JVM of a service under test. It dies with this process, even if that is killed. */
export class JavaProcess {
  /** Resolves with the exit code, or the signal's name. */
  readonly ended: Promise<number | string>
  private readonly child: ChildProcess
  private readonly logFile: string
  private over = false

  private constructor(child: ChildProcess, logFile: string) {
    this.child = child
    this.logFile = logFile
    // A pipe that ends with this process, whatever ends it, takes the JVM along.
    const watchdog = spawn('sh', ['-c', `cat >/dev/null; kill -9 ${child.pid}`], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Ctrl-C goes to a whole process group, and what to do about it is this process's to say.
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
    await Promise.race([once(child, 'spawn'), once(child, 'error')]).then(() => {
      if (child.pid === undefined) throw new Error(missingProgram('java', JAVA_PACKAGE))
    })
    return new JavaProcess(child, options.logFile)
  }

  get running(): boolean {
    return !this.over
  }

  /** Waits until `check` holds. Throws with the end of the log when the JVM ends or time runs out. */
  async until(what: string, check: () => Promise<boolean>, timeoutMs = 120_000): Promise<void> {
    const giveUpAt = performance.now() + timeoutMs
    while (!(await check().catch(() => false))) {
      if (!this.running || performance.now() > giveUpAt) {
        const state = this.running ? 'is not ready' : 'ended'
        const log = (await readFile(this.logFile, 'utf8')).slice(-2000)
        throw new Error(`the service ${state} before it was ${what}; its log ends: ${log}`)
      }
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  }

  /** Sends a signal and waits for the end. `SIGSTOP` and `SIGCONT` do not wait. */
  async signal(name: 'SIGTERM' | 'SIGKILL' | 'SIGSTOP' | 'SIGCONT'): Promise<void> {
    if (!this.running) return
    this.child.kill(name)
    if (name === 'SIGTERM' || name === 'SIGKILL') await this.ended
  }
}
