import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { sleep, systemClock } from '../../core/clock.ts'
import type { CommandIo } from '../command/command.ts'
import type { JobLog } from './job-log.ts'

/** Time before a lost process is started again, ms. */
const AGAIN_MS = 1_000

/**
 * `--processes N`: runs N processes of a job on this machine, and starts those again that a signal has ended. Returns the
 * exit status of the first that ends with an error, after which the others end.
 */
export async function runProcesses(count: number, io: CommandIo, log: JobLog): Promise<number> {
  const children = new Set<ChildProcess>()
  let isStopping = false
  const stop = (): void => {
    isStopping = true
    for (const child of children) child.kill('SIGTERM')
  }
  void io.interrupted.then(stop)
  const run = async (number: number): Promise<number> => {
    for (;;) {
      const child = startOne()
      children.add(child)
      const [code, signal] = (await once(child, 'exit')) as [number | null, string | null]
      children.delete(child)
      // A process that was ended before it was a member says so with the status of the signal.
      if (isStopping && (code === 130 || code === 143)) return 0
      if (code !== null && code !== 0) stop()
      if (code !== null || isStopping) return code ?? 0
      log.warn(`process ${number} of ${count} was ended by ${signal}; it is started again`)
      await sleep(systemClock, AGAIN_MS)
      if (isStopping) return 0
    }
  }
  const codes = await Promise.all(Array.from({ length: count }, (_, i) => run(i + 1)))
  return codes.find((code) => code !== 0) ?? 0
}

/**
 * Starts this command again for one process. Signals of the terminal reach this process alone, so that each child gets
 * one; a child sees by the channel that this process has ended.
 */
function startOne(): ChildProcess {
  const { execPath, execArgv, argv, env } = process
  return spawn(execPath, [...execArgv, argv[1]!, ...withoutProcesses(argv.slice(2))], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    detached: true,
    // A setting in the environment, or in a file, counts for this process alone.
    env: { ...env, WEIR_PROCESSES: '1' },
  })
}

/** Resolves when the command that has started this process beside others has ended; never in a process that was started alone. */
export function starterGone(): Promise<void> {
  const { channel } = process
  if (channel === undefined || channel === null) return new Promise(() => {})
  channel.unref()
  return new Promise((resolve) => process.once('disconnect', resolve))
}

/** The arguments of a command line without `--processes`. */
export function withoutProcesses(args: readonly string[]): string[] {
  return args.filter((arg, i) => !/^--processes(=|$)/.test(arg) && args[i - 1] !== '--processes')
}
