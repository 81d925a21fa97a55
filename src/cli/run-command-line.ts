import { asWeirError, isWeirError, messageOf, systemErrorOf } from '../core/errors.ts'
import { nearestWord } from '../core/text/nearest-word.ts'
import { printable } from '../core/text/printable.ts'
import {
  type Command,
  type CommandInput,
  type CommandIo,
  exitCodeOf,
  InterruptedError,
  refuseExtraArguments,
  UsageError,
  unlessInterrupted,
} from './command/command.ts'
import { helpOf } from './command/help.ts'
import { parseCommandLine } from './command/parse.ts'
import { readSettings } from './command/settings.ts'
import { COMMAND_LOADERS } from './command-loaders.ts'
import { packageVersion } from './text/package-version.ts'
import { wrappedLines } from './text/wrapped-lines.ts'

const COMMAND_NAMES = Object.keys(COMMAND_LOADERS)

/** Runs the command that `argv`, the words after `weir`, selects. Writes errors to `io.err`; returns the exit code. */
export async function runCommandLine(argv: readonly string[], io: CommandIo): Promise<number> {
  try {
    return await dispatch(argv, io)
  } catch (error) {
    report(error, io)
    await io.jobManager?.failed(error)
    return exitCodeOf(error)
  }
}

async function dispatch(argv: readonly string[], io: CommandIo): Promise<number> {
  const [first] = argv
  if (first === undefined) {
    io.err(await overview())
    return 2
  }
  if (first === '--version' || first === '-V' || first === '-v' || first === 'version') {
    io.out(`weir ${packageVersion()}`)
    return 0
  }
  if (first === '--help' || first === '-h' || first === 'help') {
    showHelp(await helpFor(argv.slice(1)), io)
    return 0
  }
  if (requestsHelp(argv) && isGroup(namesIn(argv))) {
    showHelp(await helpFor(argv), io)
    return 0
  }
  const { command, rest } = await select(argv)
  if (requestsHelp(rest)) {
    showHelp(helpOf(command), io)
    const more = await command.helpFor?.(rest.filter((word) => !word.startsWith('-')))
    if (more !== undefined) showHelp(`\n${more}`, io)
    return 0
  }
  const read = (configFlag: string | undefined) => readSettings(io.env, configFlag)
  const parsed = parseCommandLine(command, rest, read)
  refuseExtraArguments(command, parsed.args)
  await checkSecrets(parsed.flags, io)
  const running = command.run({ ...parsed, io, commands: allCommands })
  return (await (command.stopsItself === true ? running : unlessInterrupted(running, io))) ?? 0
}

/**
 * Says which secrets of the flags others can read, or refuses them with --strict-secrets. Few commands have any, so the
 * code is loaded for those alone. Throws UsageError.
 */
async function checkSecrets(flags: CommandInput['flags'], io: CommandIo): Promise<void> {
  const names = Object.keys(flags).filter((name) => flags[name] !== undefined)
  if (!names.some((name) => SECRET_FLAG.test(name))) return
  const { secretFileWarnings } = await import('./command/secret-files.ts')
  const warnings = secretFileWarnings(flags)
  if (flags['strict-secrets'] === true && warnings.length > 0)
    throw new UsageError(warnings.join('; '))
  for (const warning of warnings) io.err(`warning: ${warning}`)
}

const SECRET_FLAG = /^(?:tokens|people)$|-file$|-key$/

/** Prints a help text as wide as the terminal. */
function showHelp(text: string, { out, columns }: CommandIo): void {
  out(columns === undefined ? text : wrappedLines(text, columns))
}

/** Whether the words contain `--help` or `-h`; words after `--` are not flags. */
function requestsHelp(words: readonly string[]): boolean {
  const end = words.indexOf('--')
  const flags = end < 0 ? words : words.slice(0, end)
  return flags.includes('--help') || flags.includes('-h')
}

async function helpFor(words: readonly string[]): Promise<string> {
  const names = namesIn(words)
  if (names.length === 0) return await overview()
  return isGroup(names)
    ? await overview(`${names.join(' ')} `)
    : helpOf((await select(names)).command)
}

const namesIn = (words: readonly string[]): string[] =>
  words.filter((word) => !word.startsWith('-'))

/** Whether commands begin with these words, and none is them. */
function isGroup(names: readonly string[]): boolean {
  const group = names.join(' ')
  if (Object.hasOwn(COMMAND_LOADERS, group)) return false
  return COMMAND_NAMES.some((name) => name.startsWith(`${group} `))
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
    const verbs = group.map((name) => name.slice(prefix.length + 1)).join(', ')
    const problem =
      typed[words] === undefined ? 'missing subcommand' : `unknown subcommand "${typed[words]}"`
    return `${problem} for "weir ${prefix}"; expected ${verbs}`
  }
  const nearest =
    nearestWord(typed.slice(0, 2).join(' '), COMMAND_NAMES) ??
    nearestWord(typed[0] ?? '', COMMAND_NAMES)
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return `unknown command "${typed.join(' ') || argv[0]}"${hint === '' ? '.' : hint} Run "weir --help" for the list.`
}

async function allCommands(): Promise<readonly Command[]> {
  return (await import('./commands.ts')).COMMANDS
}

async function overview(prefix = ''): Promise<string> {
  const commands = (await allCommands()).filter(({ name }) => name.startsWith(prefix))
  const width = Math.max(...commands.map((command) => command.name.length)) + 3
  const lines = commands.map((command) => `  ${command.name.padEnd(width)}${command.summary}`)
  return `weir: stream processing and model serving

Usage: weir COMMAND [options]

${lines.join('\n')}

"weir help COMMAND" shows the options of a command, "weir --version" the version. Flags override
environment variables (WEIR_DATA_DIR, WEIR_EXECUTION_CHECKPOINTING_INTERVAL), which override weir.yaml.`
}

function report(error: unknown, io: CommandIo): void {
  // A line of progress must not share its line with the error.
  if (error instanceof InterruptedError) io.rewriteLine?.('')
  // An error of the file system that no code below has named gets its code and advice here.
  const shown = systemErrorOf(error) === undefined ? error : asWeirError(error, 'ILLEGAL_STATE')
  const code = isWeirError(shown) ? `${shown.code}: ` : ''
  // A usage error may have lines of its own; other sentences may have text of a peer.
  const text = shown instanceof UsageError ? messageOf(shown) : printable(messageOf(shown))
  io.err(`weir: ${code}${text}`)
  if (io.env['WEIR_DEBUG'] !== undefined && error instanceof Error) io.err(error.stack ?? '')
}
