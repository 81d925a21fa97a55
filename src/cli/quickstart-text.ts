import type { CommandIo } from './command.ts'

/** Tells one stage of the quickstart: a label and a sentence, or a further sentence under it. */
export type Tell = (label: string, sentence: string) => void

const LABEL_WIDTH = 12

/** Tells on `out`; where `out` is kept for JSON, on `err` and without colours. */
export function teller(io: CommandIo, json: boolean): Tell {
  return (label, sentence) => {
    const column = label.padEnd(LABEL_WIDTH)
    if (sentence === '') (json ? io.err : io.out)('')
    else if (json) io.err(`${column}${sentence}`)
    else io.out(`${io.style('cyan', column)}${sentence}`)
  }
}

/** What the last lines of the quickstart offer to try. */
export interface Invitation {
  readonly port: number
  readonly host: string
  readonly user: string
  /** Some items, best ones first. */
  readonly items: readonly string[]
  readonly testFile: string
  readonly range: { readonly min: number; readonly max: number }
}

/** Commands that work when pasted into another terminal, in the same folder. */
export function invitationText(invitation: Invitation): readonly string[] {
  const { port, host, user, items, testFile, range } = invitation
  const where = `${host === '127.0.0.1' ? '' : ` --host ${host}`}${port === 9069 ? '' : ` --port ${port}`}`
  const list = items.slice(0, 3).map(quoted)
  return [
    `npm run weir -- predict ${quoted(user)} ${list.join(' ')}${where}`,
    `npm run weir -- recommend ${quoted(user)} --k 5 --exclude ${list[0]}${where}`,
    `npm run weir -- query ALS_MODEL ${quoted(`${user}-U`)} MEAN-I --json${where}`,
    `npm run weir -- evaluate --ratings ${quoted(testFile)} --clip ${range.min},${range.max}${where}`,
  ]
}

/** A word as a shell reads it back. */
function quoted(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`
}
