/**
 * Characters that a terminal obeys instead of showing them, or that change the order of the others: control
 * characters, line and paragraph separators, and marks of direction.
 */
const CONTROL = /[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
/** The styles of this program, and the same characters but line ends and tabs. */
const IN_LINES =
  /(\p{Cc}\[(?:1|2|22|31|36|39)m)|(?![\n\t])[\p{Cc}\u2028\u2029\u202a-\u202e\u2066-\u2069]/gu
const ESCAPE = '\x1b'

/** A text of a peer, a record or a file as one line that a terminal shows and does not obey. */
export function printable(text: string): string {
  return text.replace(CONTROL, escaped)
}

/** Lines of this program, with what others have put into them made visible: styles, line ends and tabs stay. */
export function printableLines(text: string): string {
  return text.replace(IN_LINES, (found: string, style: string | undefined) =>
    style?.startsWith(ESCAPE) === true ? style : escaped(found.charAt(0)) + found.slice(1),
  )
}

const SHORT: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t' }

function escaped(character: string): string {
  const code = character.charCodeAt(0)
  return SHORT[character] ?? (code < 0x100 ? `\\x${hex(code, 2)}` : `\\u${hex(code, 4)}`)
}

function hex(code: number, digits: number): string {
  return code.toString(16).padStart(digits, '0')
}
