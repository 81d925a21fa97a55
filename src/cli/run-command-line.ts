import { readFileSync } from 'node:fs'
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
import { readSettings } from './settings.ts'

/** Runs what the words after `weir` say; errors go to `io.err`. Returns the exit code. */
export async function runCommandLine(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    return await dispatch(argv, io)
  } catch (error) {
    report(error, io)
    return exitCodeOf(error)
  }
}

async function dispatch(argv: readonly string[], io: CommandIo): Promise<number> {
  const [first] = argv
  if (first === undefined) {
    io.err(overview())
    return 2
  }
  if (first === '--version' || first === '-V' || first === 'version') {
    io.out(`weir ${packageVersion()}`)
    return 0
  }
  if (first === '--help' || first === '-h' || first === 'help') {
    io.out(helpFor(argv.slice(1)))
    return 0
  }
  const { command, rest } = select(argv)
  if (asksForHelp(rest)) {
    io.out(helpOf(command))
    return 0
  }
  const read = (configFlag: string | undefined) => readSettings(io.env, configFlag)
  return (await command.run({ ...parseCommandLine(command, rest, read), io })) ?? 0
}

/** What follows `--` is never a flag. */
function asksForHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  const flags = end < 0 ? words : words.slice(0, end)
  return flags.includes('--help') || flags.includes('-h')
}

function helpFor(words: readonly string[]): string {
  const names = words.filter((word) => !word.startsWith('-'))
  if (names.length === 0) return overview()
  const group = COMMANDS.filter((command) => command.name.startsWith(`${names.join(' ')} `))
  return group.length > 0 ? overview(group) : helpOf(select(names).command)
}

/** The command that the first words select, and the words that remain. */
function select(argv: readonly string[]): { command: Command; rest: readonly string[] } {
  for (const words of [2, 1]) {
    const name = argv.slice(0, words).join(' ')
    const command = COMMANDS.find((candidate) => candidate.name === name)
    if (command !== undefined) return { command, rest: argv.slice(words) }
  }
  throw new UsageError(unknownCommand(argv))
}

function unknownCommand(argv: readonly string[]): string {
  const typed = argv.filter((word) => !word.startsWith('-')).slice(0, 2)
  const names = COMMANDS.map((command) => command.name)
  const group = names.filter((name) => name.startsWith(`${typed[0]} `))
  if (group.length > 0) {
    const wrong = typed[1] === undefined ? '' : `, not "${typed[1]}"`
    const verbs = group.map((name) => name.slice(typed[0]!.length + 1))
    return `weir ${typed[0]} is followed by ${verbs.join(', ')}${wrong}`
  }
  const nearest = nearestWord(typed.join(' '), names) ?? nearestWord(typed[0] ?? '', names)
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return `unknown command "${typed.join(' ') || argv[0]}"${hint} See weir --help`
}

function overview(commands: readonly Command[] = COMMANDS): string {
  const width = Math.max(...commands.map((command) => command.name.length)) + 3
  const lines = commands.map((command) => `  ${command.name.padEnd(width)}${command.summary}`)
  return `weir: stream processing that serves models

Usage: weir COMMAND [options]

${lines.join('\n')}

weir help COMMAND shows a command's options, weir --version the version. Flags outrank environment
variables (WEIR_DATA_DIR, WEIR_EXECUTION_CHECKPOINTING_INTERVAL), these outrank weir.yaml.`
}

/** Version in the package file, which lies two folders above source and built file alike. */
function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}

function report(error: unknown, io: CommandIo): void {
  const code = isWeirError(error) ? `${error.code}: ` : ''
  io.err(`weir: ${code}${messageOf(error)}`)
  if (io.env['WEIR_DEBUG'] !== undefined && error instanceof Error) io.err(error.stack ?? '')
}
