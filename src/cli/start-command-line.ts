import { styleText } from 'node:util'
import { systemClock } from '../core/clock.ts'
import type { CommandIo } from './command.ts'
import { interruption } from './interruption.ts'
import { runCommandLine } from './run-command-line.ts'

function processIo(): CommandIo {
  return {
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
    rewriteLine: process.stderr.isTTY
      ? (line) => process.stderr.write(`\r\x1b[K${line}`)
      : undefined,
    style: (style, text) => styleText(style, text, { stream: process.stdout }),
    interrupted: interruption(
      process,
      () => systemClock.monotonicMs(),
      (exitCode) => process.exit(exitCode),
    ),
    env: process.env,
  }
}

/** A reader that has seen enough (`weir ... | head`) ends the command without a complaint. */
function endWithReader(stream: NodeJS.WriteStream): void {
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    throw error
  })
}

/** Runs the command that this process was started with, and ends the process. */
export async function startCommandLine(): Promise<never> {
  endWithReader(process.stdout)
  endWithReader(process.stderr)
  process.exit(await runCommandLine(process.argv.slice(2), processIo()))
}
