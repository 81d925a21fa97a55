import { once } from 'node:events'
import { styleText } from 'node:util'
import { errorMessage } from '../cluster/jobmanager/process/error-message.ts'
import { JOB_ID_VARIABLE, jobProcessTitle } from '../cluster/jobmanager/process/job-identity.ts'
import type { ParentChannel } from '../cluster/jobmanager/process/supervised-job.ts'
import { systemClock } from '../core/clock.ts'
import { printableLines } from '../core/text/printable.ts'
import { shareTracingEnvironment } from '../core/tracing/environment.ts'
import type { CommandIo, ParentJobManager } from './command/command.ts'
import { interruption } from './command/interruption.ts'
import { runCommandLine } from './run-command-line.ts'

/** Starts a line that a terminal shows again: what it showed of it before is gone. */
const CLEAR_LINE = '\r\x1b[K'

function processIo(): CommandIo {
  const interrupted = interruption(
    process,
    () => systemClock.monotonicMs(),
    (exitCode) => process.exit(exitCode),
  )
  void interrupted.then(clearEcho)
  return {
    get input() {
      return process.stdin
    },
    out: (line) => process.stdout.write(`${printableLines(line)}\n`),
    outRaw: (line) => process.stdout.write(`${line}\n`),
    drained: () => drained(process.stdout),
    err: (line) => process.stderr.write(`${printableLines(line)}\n`),
    rewriteLine: process.stderr.isTTY
      ? (line) => process.stderr.write(`${CLEAR_LINE}${line}`)
      : undefined,
    columns: process.stdout.isTTY ? process.stdout.columns : undefined,
    style: (style, text) => styleText(style, text, { stream: process.stdout }),
    interrupted,
    env: process.env,
    jobManager: parentJobManager(),
  }
}

/** The JobManager that forked this process; undefined for a process that a user started. */
function parentJobManager(): ParentJobManager | undefined {
  const jobId = process.env[JOB_ID_VARIABLE]
  if (jobId === undefined || process.send === undefined) return undefined
  process.title = jobProcessTitle(jobId)
  const channel = process as ParentChannel
  return {
    jobId,
    channel,
    failed: (error) =>
      new Promise((resolve) => {
        channel.send?.({ kind: 'not-started', error: errorMessage(error) }, resolve)
        process.once('disconnect', resolve)
      }),
  }
}

/** Removes the `^C` that the terminal shows, so that the next line of output does not begin with it. */
function clearEcho(): void {
  const terminal = [process.stderr, process.stdout].find(({ isTTY }) => isTTY)
  terminal?.write(CLEAR_LINE)
}

/** Resolves when a stream is not full, or is closed. */
async function drained(stream: NodeJS.WriteStream): Promise<void> {
  if (stream.writableNeedDrain) await once(stream, 'drain')
}

/** Resolves when all that was written to a stream has reached its reader. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    stream.write('', () => resolve())
  })
}

/** Ends the process without an error when the reader closes the pipe, as `weir ... | head` does. */
function exitOnClosedPipe(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/** Exit code of a command that Ctrl-C ended (`exitCodeOf`). */
const INTERRUPTED = 130

/** Time for the reader to take the last output of a command that Ctrl-C ended. */
const LAST_OUTPUT_MS = 200

/** Runs the command of this process's arguments, then ends the process with its exit code. */
export async function startCommandLine(): Promise<never> {
  exitOnClosedPipe(process.stdout)
  exitOnClosedPipe(process.stderr)
  shareTracingEnvironment(process.env)
  const exitCode = await runCommandLine(process.argv.slice(2), processIo())
  // The end of the process drops output that a slow reader of a pipe has not taken yet. Ctrl-C ends the wait.
  const end = new Promise<void>((resolve) => {
    for (const signal of ['SIGINT', 'SIGTERM']) process.once(signal, () => resolve())
    if (exitCode === INTERRUPTED) systemClock.after(LAST_OUTPUT_MS, resolve)
  })
  await Promise.race([Promise.all([process.stdout, process.stderr].map(flushed)), end])
  process.exit(exitCode)
}
