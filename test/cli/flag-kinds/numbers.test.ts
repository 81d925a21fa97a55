import { expect, it } from 'vitest'
import {
  age,
  anyNumber,
  milliseconds,
  port,
  portToOpen,
  seconds,
  share,
  size,
  wholeNumber,
} from '../../../src/cli/flag-kinds/numbers.ts'

it.each([
  [wholeNumber(), ['0', '7', '1e3', ' 4 ', String(Number.MAX_SAFE_INTEGER)]],
  [wholeNumber({ min: -1 }), ['-1', '0']],
  [anyNumber(), ['-0.5', '1e-300', '1e308']],
  [anyNumber({ above: 0 }), ['1e-300', '1']],
  [share({ above: 0, below: 1 }), ['0.001', '0.999']],
  [milliseconds(), ['1', '2073600000']],
  [seconds(), ['0.02', '2073600']],
  [age({ min: 0 }), ['0', '99999999']],
  [port, ['1', '65535']],
  [portToOpen, ['0']],
  [size(2 ** 20, '1mb'), ['1mb', '1 MiB', '2gb', '1048576']],
])('a number within its range is taken: %o', (kind, texts) => {
  for (const text of texts) expect(kind.problem(text), text).toBeUndefined()
})

it.each([
  [wholeNumber({ min: 1 }), '0', 'must be a whole number from 1, not "0"; the nearest is 1'],
  [wholeNumber({ min: 1, max: 9 }), '10', 'from 1 to 9, not "10"; the nearest is 9'],
  [wholeNumber({ max: 9 }), '-1.4', 'up to 9, not "-1.4"; the nearest is -1'],
  [wholeNumber(), '9e99', /not "9e99"$/],
  [anyNumber({ above: 0 }), '0', /must be a number above 0, not "0"$/],
  [anyNumber({ above: 0, max: 1 }), '2', 'above 0 and up to 1, not "2"; the nearest is 1'],
  [share({ min: 0, below: 1 }), '1', /must be a share from 0 and below 1, not "1"$/],
  [anyNumber(), '0x10', /must be a number, not "0x10"$/],
  [anyNumber(), '\x1b[2Jx', 'not "\\x1b[2Jx"'],
  [milliseconds(), '5 s', '; for 5 s write 5000'],
  [seconds(), '500ms', '; for 500ms write 0.5'],
  [milliseconds(), '9999999999', 'the nearest is 2073600000'],
  [size(2 ** 20, '1mb'), '1kb', 'at least 1mb, not "1kb"; the nearest is 1mb'],
])('a number outside of it is refused: %o, %s', (kind, text, message) => {
  expect(kind.problem(text)).toMatch(
    typeof message === 'string'
      ? new RegExp(message.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&'))
      : message,
  )
})
