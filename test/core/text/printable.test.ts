import { expect, it } from 'vitest'
import { printable, printableLines } from '../../../src/core/text/printable.ts'

/** A forged line, a cleared screen, a title of the window, and text from right to left. */
const HOSTILE = 'x\nmodels: version 9 is live\r\x1b[2J\x1b]0;PWN\x07\x9b31m\u202egpj.\u2028\ty'

it('text from outside becomes one line that a terminal shows as it came', () => {
  expect(printable(HOSTILE)).toBe(
    'x\\nmodels: version 9 is live\\r\\x1b[2J\\x1b]0;PWN\\x07\\x9b31m\\u202egpj.\\u2028\\ty',
  )
  for (const text of ['', 'The film, 1972', 'Müller 電影 🎬 \u00a0'])
    expect(printable(text)).toBe(text)
})

it('lines keep their ends, their tabs and the styles of this program, and nothing else', () => {
  const line = '\x1b[1mJOB\x1b[22m\tstate\n\x1b[31mfailed\x1b[39m'
  expect(printableLines(line)).toBe(line)
  expect(printableLines('\x1b[8mhidden \x1b[2J\r\x07')).toBe('\\x1b[8mhidden \\x1b[2J\\r\\x07')
  expect(printableLines(HOSTILE)).not.toMatch(/(?![\n\t])\p{Cc}/u)
})
