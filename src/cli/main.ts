#!/usr/bin/env node
import { isWeirError, messageOf } from '../core/errors.ts'
import { nearestWord } from '../core/nearest-word.ts'
import {
  type Command,
  type CommandIo,
  exitCodeOf,
  helpOf,
  parseCommandLine,
  UsageError,
} from './command.ts'
import { COMMANDS } from './commands.ts'

/** The command that the first words select, and the words that remain. */
function select(argv: readonly string[]): { command: Command; rest: readonly string[] } {
  const two = COMMANDS.find((command) => command.name === argv.slice(0, 2).join(' '))
  if (two !== undefined) return { command: two, rest: argv.slice(2) }
  const one = COMMANDS.find((command) => command.name === argv[0])
  if (one !== undefined) return { command: one, rest: argv.slice(1) }
  const typed = argv.slice(0, 2).join(' ')
  const names = COMMANDS.map((command) => command.name)
  const nearest = nearestWord(typed, names) ?? nearestWord(argv[0] ?? '', names)
  throw new UsageError(
    `unknown command "${typed}"${nearest === undefined ? '' : `; did you mean "${nearest}"?`} See weir --help.`,
  )
}

function overview(): string {
  const width = Math.max(...COMMANDS.map((command) => command.name.length)) + 3
  const lines = COMMANDS.map((command) => `  ${command.name.padEnd(width)}${command.summary}`)
  return `weir: stream processing that serves models\n\nUsage: weir COMMAND [options]\n\n${lines.join('\n')}\n\nweir COMMAND --help shows a command's options.`
}

function processIo(): CommandIo {
  return {
    out: (line) => process.stdout.write(`${line}\n`),
    err: (line) => process.stderr.write(`${line}\n`),
    isTerminal: process.stderr.isTTY === true,
    interrupted: new Promise((resolve) => {
      process.once('SIGINT', () => resolve())
      process.once('SIGTERM', () => resolve())
    }),
    env: process.env,
  }
}

function report(error: unknown, io: CommandIo): void {
  const code = isWeirError(error) ? `${error.code}: ` : ''
  io.err(`weir: ${code}${messageOf(error)}`)
  if (io.env['WEIR_DEBUG'] !== undefined && error instanceof Error) io.err(error.stack ?? '')
}

async function main(argv: readonly string[]): Promise<number> {
  const io = processIo()
  try {
    if (argv.length === 0 || argv[0] === '--help' || argv[0] === '-h' || argv[0] === 'help') {
      io.out(overview())
      return argv.length === 0 ? 2 : 0
    }
    const { command, rest } = select(argv)
    if (rest.includes('--help') || rest.includes('-h')) {
      io.out(helpOf(command))
      return 0
    }
    return (await command.run({ ...parseCommandLine(command, rest), io })) ?? 0
  } catch (error) {
    report(error, io)
    return exitCodeOf(error)
  }
}

process.exit(await main(process.argv.slice(2)))
