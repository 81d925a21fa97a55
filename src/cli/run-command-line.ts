import { systemClock } from '../core/clock.ts'
import { asWeirError, isWeirError, messageOf, systemErrorOf } from '../core/errors.ts'
import { printable } from '../core/text/printable.ts'
import { checkPositions, requireFlags, requireHere } from './command/check-flags.ts'
import {
  type Command,
  type CommandInput,
  type CommandIo,
  exitCodeOf,
  InterruptedError,
  UsageError,
  unlessInterrupted,
} from './command/command.ts'
import { helpOf } from './command/help.ts'
import type { OutputForm } from './command/json-lines.ts'
import { parseCommandLine } from './command/parse.ts'
import { readSettings } from './command/settings.ts'
import { COMMAND_LOADERS } from './command-loaders.ts'
import { packageVersion } from './text/package-version.ts'
import { wrappedLines } from './text/wrapped-lines.ts'

const COMMAND_NAMES = Object.keys(COMMAND_LOADERS)

/** Runs the command that `argv`, the words after `weir`, selects. Writes errors to `io.err`; returns the exit code. */
export async function runCommandLine(argv: readonly string[], io: CommandIo): Promise<number> {
  const run: CommandRun = { io, form: formOfWords(argv) }
  try {
    return await dispatch(argv, run)
  } catch (error) {
    await report(error, run)
    await io.jobManager?.failed(error)
    return exitCodeOf(error)
  }
}

/** The form that parsed flags ask for. */
function formOf(flags: CommandInput['flags']): OutputForm {
  return { json: flags['json'] === true, jsonLog: flags['log-format'] === 'json' }
}

/** The form that words ask for which could not be parsed. */
function formOfWords(argv: readonly string[]): OutputForm {
  const end = argv.indexOf('--')
  const words = end < 0 ? argv : argv.slice(0, end)
  const isLog = (word: string, i: number): boolean =>
    word === '--log-format=json' || (word === '--log-format' && words[i + 1] === 'json')
  return { json: words.includes('--json'), jsonLog: words.some(isLog) }
}

/** The surroundings of a command, whose lines on standard error have the form that was asked for. */
async function loggedAs({ io, form }: CommandRun): Promise<CommandIo> {
  if (!form.jsonLog) return io
  const { withJsonLog } = await import('./command/json-lines.ts')
  return withJsonLog(io, () => systemClock.nowMs())
}

/** The words with the verb in front of the flags; few command lines have it elsewhere, so the code is loaded for those alone. */
async function withVerbFirst(typed: readonly string[]): Promise<readonly string[]> {
  const [first, second] = typed
  const isSplit = second?.startsWith('-') === true && isGroup([first!])
  if (first?.startsWith('-') !== true && !isSplit) return typed
  const { verbFirst } = await import('./command/verb-first.ts')
  return verbFirst(typed, await allCommands())
}

/** A command line that runs: its surroundings, and in which form it prints, as far as that is known. */
interface CommandRun {
  readonly io: CommandIo
  form: OutputForm
}

async function dispatch(typed: readonly string[], run: CommandRun): Promise<number> {
  const { io } = run
  const [first] = typed
  if (first === undefined) {
    io.err(wrappedLines(await overview(), columnsOf(io)))
    return 2
  }
  if (first === '--version' || first === '-V' || first === '-v' || first === 'version') {
    io.out(`weir ${packageVersion()}`)
    return 0
  }
  if (first === '--help' || first === '-h' || first === 'help') {
    showHelp(await helpFor(typed.slice(1)), io)
    return 0
  }
  const argv = await withVerbFirst(typed)
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
  run.form = formOf(parsed.flags)
  const logged = await loggedAs(run)
  checkPositions(command, parsed)
  requireFlags(command.options, parsed.flags)
  requireHere(command, parsed)
  await checkSecrets(parsed.flags, logged)
  const running = command.run({ ...parsed, io: logged, commands: allCommands })
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

/** Prints a help text as wide as the terminal, or 80 columns wide. */
function showHelp(text: string, io: CommandIo): void {
  io.out(wrappedLines(text, columnsOf(io)))
}

/** Columns of a help text: those of the terminal, or of a usual one. */
function columnsOf({ columns = 80 }: CommandIo): number {
  return columns
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
  throw new UsageError(await unknownCommand(argv))
}

async function unknownCommand(argv: readonly string[]): Promise<string> {
  const { guessVerb } = await import('./command/guess-verb.ts')
  const typed = argv.filter((word) => !word.startsWith('-')).slice(0, 3)
  for (const words of [2, 1]) {
    const prefix = typed.slice(0, words).join(' ')
    const group = COMMAND_NAMES.filter((name) => name.startsWith(`${prefix} `))
    if (typed.length < words || group.length === 0) continue
    const verbs = group.map((name) => name.slice(prefix.length + 1)).join(', ')
    const problem =
      typed[words] === undefined ? 'missing subcommand' : `unknown subcommand "${typed[words]}"`
    const guess = typed[words] === undefined ? undefined : guessVerb(typed, COMMAND_NAMES)
    const meant = guess?.startsWith(`${prefix} `) === true ? `; did you mean "weir ${guess}"?` : ''
    return `${problem} for "weir ${prefix}"; expected ${verbs}${meant}`
  }
  const nearest = guessVerb(typed, COMMAND_NAMES)
  const hint = nearest === undefined ? '' : `; did you mean "${nearest}"?`
  return `unknown command "${typed.join(' ') || argv[0]}"${hint === '' ? '.' : hint} Run "weir --help" for the list.`
}

/** The groups of `weir --help`, with the first words of their commands. */
const VERB_GROUPS: readonly { readonly title: string; readonly verbs: readonly string[] }[] = [
  { title: 'Begin', verbs: ['quickstart', 'doctor', 'completion'] },
  { title: 'Run jobs', verbs: ['run', 'learn', 'gateway', 'jobs'] },
  {
    title: 'Many jobs on a JobManager',
    verbs: [
      ...['jobmanager', 'cluster', 'list', 'info', 'cancel', 'stop', 'rescale', 'members'],
      ...['rebalance', 'savepoint'],
    ],
  },
  { title: 'Many processes', verbs: ['kubernetes'] },
  { title: 'Checkpoints', verbs: ['checkpoint'] },
  {
    title: 'Ask a running job',
    verbs: ['predict', 'recommend', 'similar', 'query', 'infer', 'classify', 'load'],
  },
  { title: 'Train and evaluate', verbs: ['train', 'retrain', 'evaluate', 'generate'] },
  { title: 'Models and their versions', verbs: ['model', 'forget'] },
  { title: 'Topics', verbs: ['topic', 'log', 'kafka'] },
  { title: 'Tokens', verbs: ['token'] },
]

async function allCommands(): Promise<readonly Command[]> {
  return (await import('./commands.ts')).COMMANDS
}

async function overview(prefix = ''): Promise<string> {
  const commands = (await allCommands()).filter(({ name }) => name.startsWith(prefix))
  const width = Math.max(...commands.map((command) => command.name.length)) + 3
  const line = ({ name, summary }: Command): string => `  ${name.padEnd(width)}${summary}`
  const lines = VERB_GROUPS.flatMap(({ title, verbs }) => {
    const own = commands.filter(({ name }) => verbs.includes(name.split(' ')[0]!))
    return own.length === 0 ? [] : ['', `${title}:`, ...own.map(line)]
  })
  return `weir: stream processing and model serving

Usage: weir COMMAND [options]
${lines.join('\n')}

"weir help COMMAND" shows the options of a command, "weir --version" the
version. Flags override environment variables (WEIR_DATA_DIR,
WEIR_EXECUTION_CHECKPOINTING_INTERVAL), which override weir.yaml.`
}

async function report(error: unknown, { io, form }: CommandRun): Promise<void> {
  // A line of progress must not share its line with the error.
  if (error instanceof InterruptedError) io.rewriteLine?.('')
  // An error of the file system that no code below has named gets its code and advice here.
  const shown = systemErrorOf(error) === undefined ? error : asWeirError(error, 'ILLEGAL_STATE')
  if (form.json || form.jsonLog) {
    const { errorLine } = await import('./command/json-lines.ts')
    io.err(errorLine(shown, form, systemClock.nowMs()))
    return
  }
  const code = isWeirError(shown) ? `${shown.code}: ` : ''
  // A usage error may have lines of its own; other sentences may have text of a peer.
  const text = shown instanceof UsageError ? messageOf(shown) : printable(messageOf(shown))
  io.err(`weir: ${code}${text}`)
  if (io.env['WEIR_DEBUG'] !== undefined && error instanceof Error) io.err(error.stack ?? '')
}
