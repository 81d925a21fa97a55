import { messageOf } from '../../core/errors.ts'
import { printable } from '../../core/text/printable.ts'

/** What sort of values a flag takes. The walk over all flags has texts of each sort that are wrong. */
export type FlagSort =
  | 'count'
  | 'number'
  | 'duration'
  | 'bytes'
  | 'port'
  | 'address'
  | 'url'
  | 'path'
  | 'word'
  | 'pair'
  | 'range'
  | 'list'
  | 'text'
  | 'secret'

/**
 * The kind of a flag's values: the declaration that the check, `--help`, the reference and the completion share. A value
 * comes from the command line, a variable of the environment or the configuration file.
 */
export interface FlagKind {
  readonly sort: FlagSort
  /** Name of a value in `--help`: `N`, `FILE`. */
  readonly shown: string
  /** The values in words, as after "must be". */
  readonly takes: string
  /** The same in `--help`, behind the meaning of the flag; without it the name of the value says it all. */
  readonly range?: string
  /** Every value of a closed set. */
  readonly words?: readonly string[]
  /** What the values name, where the completion of a shell can look it up. */
  readonly names?: 'topics' | 'keys'
  /** Why a text is none of the values, as after the name of the flag; undefined where it is one. */
  problem(text: string): string | undefined
  /** Why a text that is one of the values cannot be used on this machine: there is no such file. */
  problemHere?(text: string): string | undefined
  /** Of a repeatable flag: why its values, each of which is right, do not go together. */
  problemTogether?(texts: readonly string[]): string | undefined
}

/** Most characters of a wrong value that a message shows. */
const MOST_SHOWN = 80

/** The problem of a text that is none of the values; `hint` names the nearest one. */
export function mustBe(takes: string, text: string, hint = ''): string {
  const shown = printable(text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN)}...` : text)
  return `must be ${takes}, not "${shown}"${hint}`
}

/** A kind by a test of one text. */
export function kindOf(
  kind: Omit<FlagKind, 'problem'>,
  accepts: (text: string) => boolean,
): FlagKind {
  return { ...kind, problem: (text) => (accepts(text) ? undefined : mustBe(kind.takes, text)) }
}

/**
 * A kind by a function that reads a text, and that throws for a wrong one; its sentence says what is wrong. With
 * undefined as its answer it says no more than that.
 */
export function readBy(kind: Omit<FlagKind, 'problem'>, read: (text: string) => unknown): FlagKind {
  return {
    ...kind,
    problem: (text) => {
      if (text.trim() === '') return mustBe(kind.takes, text)
      try {
        return read(text) === undefined ? mustBe(kind.takes, text) : undefined
      } catch (error) {
        return mustBe(kind.takes, text, `: ${messageOf(error)}`)
      }
    },
  }
}
