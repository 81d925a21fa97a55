import { messageOf } from '../../core/errors.ts'
import { decimalNumber } from '../../core/text/decimal-number.ts'
import { checkConfigurationValue, parseConfiguration } from '../../runtime/configuration/keys.ts'
import { type FlagKind, kindOf, mustBe } from './flag-kind.ts'

/** `KEY=VALUE`. */
export const keyValue: FlagKind = kindOf(
  { sort: 'pair', shown: 'KEY=VALUE', takes: 'KEY=VALUE' },
  (text) => text.indexOf('=') > 0,
)

/** `KEY=VALUE` of the configuration of a job: a key that exists, with a value in its range. */
export const configurationValue: FlagKind = {
  ...keyValue,
  names: 'keys',
  problem: (text) =>
    keyValue.problem(text) ?? refusalOf(() => checkConfigurationValue(...splitPair(text))),
  problemTogether: (texts) =>
    refusalOf(() => void parseConfiguration(Object.fromEntries(texts.map(splitPair)))),
}

function refusalOf(check: () => void): string | undefined {
  try {
    check()
    return undefined
  } catch (error) {
    return `is wrong: ${messageOf(error)}`
  }
}

/** Key and value of a pair; a pair without "=" has an empty value. */
export function splitPair(text: string): readonly [string, string] {
  const at = text.indexOf('=')
  return at < 0 ? [text, ''] : [text.slice(0, at), text.slice(at + 1)]
}

/** Two numbers, the smaller one first: `1,5`. */
export const numberRange: FlagKind = twoNumbers(
  'MIN,MAX',
  'MIN,MAX such as 1,5',
  (min, max) => min < max,
)

/** Two numbers between a comma. */
export function twoNumbers(
  shown: string,
  takes: string,
  accepts: (first: number, second: number) => boolean,
): FlagKind {
  return {
    sort: 'range',
    shown,
    takes,
    problem(text) {
      const [first = Number.NaN, second = Number.NaN, ...more] = text.split(',').map(decimalNumber)
      const isPair = Number.isFinite(first) && Number.isFinite(second) && more.length === 0
      if (isPair && accepts(first, second)) return undefined
      const isTurned = isPair && accepts(second, first)
      return mustBe(takes, text, isTurned ? `; the nearest is ${second},${first}` : '')
    },
  }
}
