import { closeSync, openSync, writeSync } from 'node:fs'
import type { BadLineSink, BadLines } from '../../models/ratings/parser.ts'
import { type CommandIo, type Flags, type OptionSpec, UsageError } from '../command/command.ts'
import type { FlagKind } from '../flag-kinds/flag-kind.ts'
import { output } from '../flag-kinds/places.ts'
import { counted } from '../text/counted.ts'

const MODES: readonly string[] = ['fail', 'count']
const FILE = output()

const BAD_LINES: FlagKind = {
  ...FILE,
  shown: 'fail|count|FILE',
  takes: 'fail, count, or a file that can be written',
  problemHere: (text) => (MODES.includes(text) ? undefined : FILE.problemHere?.(text)),
}

/** The flag of commands that read files of lines. */
export const BAD_LINES_OPTION = {
  'bad-lines': {
    type: 'string',
    value: BAD_LINES,
    default: 'fail',
    help: 'What to do with a line that cannot be read: end the command, leave it out and count it, or leave it out and write it to a file with its place and what was expected',
  },
} as const satisfies Readonly<Record<string, OptionSpec>>

/** By command, which of its files it has begun: it reads `--ratings` and `--test` one after the other. */
const BEGUN = new WeakMap<CommandIo, Set<string>>()

/** Most characters of a line that the report shows. */
const SHOWN = 60

/** What a command does with the lines that it cannot read (`--bad-lines`). */
export class BadLinesOfFiles {
  /** For parsers. */
  readonly policy: BadLines
  private readonly io: CommandIo
  private readonly place: string | undefined

  constructor(flags: Flags, io: CommandIo) {
    const given = flags.optional('bad-lines') ?? 'fail'
    this.policy = given === 'fail' ? 'fail' : 'count'
    this.io = io
    this.place = MODES.includes(given) ? undefined : given
    if (this.place?.startsWith('hdfs://') === true) {
      throw new UsageError('--bad-lines writes a file of this machine, not an hdfs:// URL')
    }
  }

  /** What is found in one file; `report` says it, once the file is read. */
  of(file: string): { readonly onBadLine: BadLineSink; report(lines: number): void } {
    const found: string[] = []
    let count = 0
    let first = ''
    return {
      onBadLine: (line, text, expected) => {
        count += 1
        if (count === 1) first = `line ${line} "${text.slice(0, SHOWN)}": expected ${expected}`
        if (this.place === undefined) return
        found.push(`${file}:${line}\t${expected}\t${text}\n`)
        if (found.length >= 1000) this.write(found.splice(0))
      },
      report: (lines) => {
        if (this.place !== undefined) this.write(found.splice(0))
        if (count === 0) return
        const where = this.place === undefined ? '' : ` (they are in ${this.place})`
        this.io.err(
          `left out ${counted(count, 'bad line')} of the ${lines} of ${file}${where}; ${first}`,
        )
      },
    }
  }

  /** Appends lines to the file; the first call of a command replaces what was there. */
  private write(lines: readonly string[]): void {
    const begun = BEGUN.get(this.io) ?? new Set()
    BEGUN.set(this.io, begun)
    const file = openSync(this.place!, begun.has(this.place!) ? 'a' : 'w')
    begun.add(this.place!)
    try {
      writeSync(file, lines.join(''))
    } finally {
      closeSync(file)
    }
  }
}
