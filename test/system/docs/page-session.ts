import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { BUILT_MODULES_FLAG } from '../../run/setup/built-modules.ts'
import { freePorts } from '../../services/free-port.ts'
import {
  builtEntry,
  CommandProcess,
  type CommandResult,
  MODULE_ENDINGS,
  MODULE_WORDS,
  PATIENT,
  SOURCE_ENTRY,
} from '../cli/command-process.ts'
import { missingLines } from './output-shape.ts'
import type { PageCommand } from './page-commands.ts'

/** The folder of the session on the pages. */
const HOME = '/home/me'

/** Commands that read what a job has some time after it was written: rows, output, tags, and versions that are published. */
const READS_LATE = /^(weir query|head) |^weir recommend .*--any-of|^weir predict .*--version/

/** Where a session of a page runs, and what it finds there. */
export interface SessionOptions {
  readonly folder: string
  /** What the page assumes to be there before its first command. @default nothing */
  readonly before?: string
  /** Environment of its commands, besides the ports. */
  readonly settings?: Readonly<Record<string, string>>
}

/**
 * The lines of the session for a command. A job runs beside the commands that follow, until the next one; a
 * job of histories runs beside it. A gateway runs until the next one.
 */
function linesOf({ command, isScript, code, shown }: PageCommand, index: number): string {
  if (isScript) return command
  const beside = command.replace(/\s*&$/, '')
  if (command.startsWith('weir run histories ')) {
    return `WEIR_REST_ENABLED=false start_beside histories ${beside}`
  }
  if (command.startsWith('weir gateway ')) {
    return `start_beside gateway ${beside} --listen 127.0.0.1:8080`
  }
  if (/^weir (run|learn) (?!-d |resume )/.test(command)) {
    const ready = command.startsWith('weir run ./') ? 'serving' : 'is live'
    // A shell empties the log of the job before when it starts the command, which may be after the first look.
    return `stop_jobs\nrm -f job.log\n${beside} > job.log 2>&1 &\nwait_for job.log '${ready}'`
  }
  if (code !== undefined) {
    return `if ${command} > refused 2>&1; then echo 'it must fail'; exit 1; fi\ncat refused >&2\ngrep -q '${code}' refused`
  }
  const patient = patiently(command)
  return shown.length === 0 ? patient : `{\n${patient}\n} 2>&1 | tee shown.${index}`
}

/** The command with time for a busy machine, and with a short measurement where it measures. */
function patiently(command: string): string {
  // A topic is read by a job some time after it was written.
  if (command.startsWith('curl ')) return command.replace('curl ', 'ask curl -sSf ')
  if (READS_LATE.test(command)) return `ask ${command}`
  if (command.startsWith('weir load ')) {
    const quick = command.replace(/ -p \d+ -r \d+/, '')
    return `${quick.replace(/(--latency-threshold) \d+/, '$1 60000')} -p 100 -r 3`
  }
  return command
    .replace(' | curl ', ' | curl -sSf ')
    .replace(/^weir retrain .*--golden .*/, '$& --max-latency 60000')
}

const PRELUDE = `
exec 3>&2
BASH_XTRACEFD=3
set -eux -o pipefail
stop_jobs() { for job in $(jobs -p); do kill "$job" || true; done; wait || true; }
stop_all() {
  stop_jobs
  if [ -d .weir/jobmanager ]; then weir cluster stop || true; fi
}
trap stop_all EXIT
wait_for() {
  for i in $(seq 1200); do
    if grep -qs "$2" $1; then return 0; fi
    sleep 0.1
  done
  cat $1
  return 1
}
start_beside() {
  name=$1; shift
  if [ -f $name.pid ]; then kill "$(cat $name.pid)"; wait "$(cat $name.pid)" || true; fi
  rm -f $name.log
  "$@" > $name.log 2>&1 &
  echo $! > $name.pid
  wait_for $name.log 'serving'
}
ask() {
  for i in $(seq 360); do
    if "$@"; then return 0; fi
    sleep 0.5
  done
  cat *.log
  return 1
}`

/** Puts `weir` into a folder of programs: from the entry that `entryOf` says. */
function installWeir(bin: string): void {
  mkdirSync(bin, { recursive: true })
  const modules = [...MODULE_WORDS, ...MODULE_ENDINGS.map((ending) => `*${ending}`)].join('|')
  const start = `#!/bin/sh
main="${builtEntry()}"
flag=
for word in "$@"; do
  case "$word" in ${modules}) main="${SOURCE_ENTRY}" flag="${BUILT_MODULES_FLAG}" ;; esac
done
exec "${process.execPath}" $flag "$main" "$@"
`
  writeFileSync(join(bin, 'weir'), start, { mode: 0o755 })
}

/** Runs commands of a page in one shell, on free ports. */
export async function runSession(
  commands: readonly PageCommand[],
  { folder, before = '', settings = {} }: SessionOptions,
): Promise<CommandResult> {
  const bin = join(folder, 'bin')
  installWeir(bin)
  const [query, http, rest, histories] = await freePorts(4)
  const text = [PRELUDE, before, ...commands.map(linesOf)].join('\n')
  const ports = text
    .replace(/(?<!\d)8080(?!\d)/g, `${http}`)
    .replace(/(?<!\d)8081(?!\d)/g, `${rest}`)
    .replace(/(?<!\d)9070(?!\d)/g, `${histories}`)
  const script = join(folder, 'session.sh')
  writeFileSync(script, ports)
  await using session = new CommandProcess('bash', [script], {
    cwd: folder,
    env: {
      PATH: `${bin}:${dirname(process.execPath)}:${process.env['PATH']}`,
      WEIR_PORT: String(query),
      WEIR_REST_PORT: String(rest),
      WEIR_JOBMANAGER: `127.0.0.1:${rest}`,
      ...PATIENT,
      ...settings,
    },
  })
  return await session.ended
}

/**
 * Runs the commands of a page. Throws with everything that was printed if one fails, and if the page shows
 * lines that no command printed.
 */
export async function runPage(
  commands: readonly PageCommand[],
  options: SessionOptions,
): Promise<CommandResult> {
  const result = await runSession(commands, options)
  if (result.code !== 0) throw new Error(`${result.stdout}\n${result.stderr}`)
  for (const [index, { command, shown }] of commands.entries()) {
    const file = join(options.folder, `shown.${index}`)
    if (!existsSync(file)) continue
    const printed = readFileSync(file, 'utf8').replaceAll(options.folder, HOME)
    const missing = missingLines(shown, printed)
    if (missing.length === 0) continue
    throw new Error(`$ ${command}\nthe page shows:\n${missing.join('\n')}\nprinted:\n${printed}`)
  }
  return result
}
