import type { CommandIo } from '../command/command.ts'
import type { ErrorPair } from './errors.ts'

/** Prints a label and a sentence; a further sentence of the same stage has an empty label. */
export type Report = (label: string, sentence: string) => void

const LABEL_WIDTH = 12

/** A report on `out`; with `json` on `err` and without colours, because `out` is for JSON. */
export function reportOn(io: CommandIo, json: boolean): Report {
  return (label, sentence) => {
    const column = label.padEnd(LABEL_WIDTH)
    if (sentence === '') (json ? io.err : io.out)('')
    else if (json) io.err(`${column}${sentence}`)
    else io.out(`${io.style('cyan', column)}${sentence}`)
  }
}

/** A whole number with thousands separators. */
export const count = (n: number): string => n.toLocaleString('en-US')

/** `RMSE 0.8123 with learning, 0.9012 without` */
export function errorText({ learned, frozen }: ErrorPair): string {
  return `RMSE ${learned.toFixed(4)} with learning, ${frozen.toFixed(4)} without`
}

/** Options of a `LiveLine`. */
export interface LiveLineOptions {
  readonly io: CommandIo
  readonly report: Report
  /** Without a terminal, every `each`-th update is reported. */
  readonly each: number
}

/** A figure that changes: one rewritten line on a terminal, else some of the updates as lines. */
export class LiveLine {
  private readonly label: string
  private readonly options: LiveLineOptions
  private updates = 0
  private hasReported = false

  constructor(label: string, options: LiveLineOptions) {
    this.label = label
    this.options = options
  }

  update(sentence: string): void {
    const { io, each } = this.options
    if (io.rewriteLine !== undefined) io.rewriteLine(`${this.label} ${sentence}`)
    else if (this.updates++ % each === 0) this.report(sentence)
  }

  /** Clears the rewritten line and reports the final sentence. */
  end(sentence: string): void {
    this.options.io.rewriteLine?.('')
    this.report(sentence)
  }

  private report(sentence: string): void {
    this.options.report(this.hasReported ? '' : this.label, sentence)
    this.hasReported = true
  }
}

/** Values in the commands that the quickstart suggests at its end. */
export interface Invitation {
  readonly port: number
  readonly host: string
  readonly user: string
  /** Some items, the best one first. */
  readonly items: readonly string[]
  readonly testFile: string
  readonly range: { readonly min: number; readonly max: number }
}

/** Commands that work when pasted into another terminal, in the same folder. */
export function invitationText(invitation: Invitation): readonly string[] {
  const { port, host, user, items, testFile, range } = invitation
  const isLocal = host === '127.0.0.1'
  const job = isLocal ? String(port) : `${host.includes(':') ? `[${host}]` : host}:${port}`
  const where = isLocal && port === 9069 ? '' : ` --job ${quoted(job)}`
  const list = items.slice(0, 3).map(quoted)
  return [
    `npm run weir -- predict ${quoted(user)} ${list.join(' ')}${where}`,
    `npm run weir -- recommend ${quoted(user)} --k 5 --exclude ${list[0]}${where}`,
    `npm run -s weir -- query ALS_MODEL ${quoted(`${user}-U`)} MEAN-I --json${where}`,
    `npm run weir -- evaluate --ratings ${quoted(testFile)} --clip ${range.min},${range.max}${where}`,
  ]
}

/** A word, quoted for a shell if necessary. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
