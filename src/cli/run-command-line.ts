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
import { COMMAND_LOADERS } from './command-loaders.ts'
import { readSettings } from './settings.ts'

const COMMAND_NAMES = Object.keys(COMMAND_LOADERS)

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
    io.err(await overview())
    return 2
  }
  if (first === '--version' || first === '-V' || first === 'version') {
    io.out(`weir ${packageVersion()}`)
    return 0
  }
  if (first === '--help' || first === '-h' || first === 'help') {
    io.out(await helpFor(argv.slice(1)))
    return 0
  }
  const { command, rest } = await select(argv)
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

async function helpFor(words: readonly string[]): Promise<string> {
  const names = words.filter((word) => !word.startsWith('-'))
  if (names.length === 0) return await overview()
  const prefix = `${names.join(' ')} `
  const isCommand = Object.hasOwn(COMMAND_LOADERS, names.join(' '))
  const isGroup = !isCommand && COMMAND_NAMES.some((name) => name.startsWith(prefix))
  return isGroup ? await overview(prefix) : helpOf((await select(names)).command)
}

/** The command that the first words select, and the words that remain. */
async function select(
  argv: readonly string[],
): Promise<{ command: Command; rest: readonly string[] }> {
  for (const words of [3, 2, 1]) {
    const name = argv.slice(0, words).join(' ')
    if (!Object.hasOwn(COMMAND_LOADERS, name)) continue
    return { command: await COMMAND_LOADERS[name]!(), rest: argv.slice(words) }
  }
  throw new UsageError(unknownCommand(argv))
}

function unknownCommand(argv: readonly string[]): string {
  const typed = argv.filter((word) => !word.startsWith('-')).slice(0, 3)
  for (const words of [2, 1]) {
    const prefix = typed.slice(0, words).join(' ')
    const group = COMMAND_NAMES.filter((name) => name.startsWith(`${prefix} `))
    if (typed.length < words || group.length === 0) continue
    const wrong = typed[words] === undefined ? '' : `, not "${typed[words]}"`
    const verbs = group.map((name) => name.slice(prefix.length + 1))
    return `weir ${prefix} is followed by ${verbs.join(', ')}${wrong}`
  }
  const nearest =
    nearestWord(typed.slice(0, 2).join(' '), COMMAND_NAMES) ??
    nearestWord(typed[0] ?? '', COMMAND_NAMES)
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return `unknown command "${typed.join(' ') || argv[0]}"${hint} See weir --help`
}

async function overview(prefix = ''): Promise<string> {
  const { COMMANDS } = await import('./commands.ts')
  const commands = COMMANDS.filter(({ name }) => name.startsWith(prefix))
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
