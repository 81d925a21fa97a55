import { expect, it } from 'vitest'
import { milliseconds } from '../../../src/cli/flag-kinds/numbers.ts'
import { configurationValue, numberRange } from '../../../src/cli/flag-kinds/pairs.ts'
import { orWord, secret, topicName, word } from '../../../src/cli/flag-kinds/words.ts'

it.each([
  [
    word(['sqrt-n', 'constant']),
    'SQRT_N',
    'must be one of sqrt-n, constant, not "SQRT_N"; did you mean "sqrt-n"?',
  ],
  [word(['GET', 'POST']), 'get', 'did you mean "GET"?'],
  [word(['als', 'bmf']), 'gradient', 'must be one of als, bmf, not "gradient"'],
  [orWord(milliseconds(), 'never'), 'nevr', 'or never, not "nevr"; did you mean "never"?'],
  [topicName, 'my topic', 'the nearest is my-topic'],
  [topicName, '..', 'must be the name of a topic'],
  [numberRange, '5,1', 'must be MIN,MAX such as 1,5, not "5,1"; the nearest is 1,5'],
  [configurationValue, 'heartbeat.interval=soon', 'heartbeat.interval: "soon" is not a duration'],
  [configurationValue, 'heartbeat.intervall=1s', 'did you mean "heartbeat.interval"?'],
  [configurationValue, 'heartbeat.interval', 'must be KEY=VALUE'],
])('a wrong word is refused with the nearest one: %o, %s', (kind, text, message) => {
  expect(kind.problem(text)).toContain(message)
})

it('values of the configuration go together', () => {
  const together = configurationValue.problemTogether!
  expect(together(['heartbeat.interval=5 s', 'heartbeat.timeout=1 s'])).toContain(
    'heartbeat.timeout (1 s) must be above heartbeat.interval (5 s)',
  )
  expect(together(['heartbeat.interval=5 s', 'heartbeat.timeout=9 s'])).toBeUndefined()
})

it('a secret is never shown', () => {
  expect(secret.problem('')).toBe('is empty')
  expect(secret.problem('hunter2')).toBeUndefined()
})
