import { describe, expect, it } from 'vitest'
import {
  aFunction,
  count,
  either,
  flag,
  listOf,
  milliseconds,
  name,
  numberIn,
  oneOf,
  recordOf,
  required,
  wholeNumber,
} from '../../../src/core/options/kinds.ts'
import { CLOCK } from '../../../src/core/options/ports.ts'
import {
  checkArgument,
  checkOptions,
  nested,
  type OptionShape,
  variants,
  withDefaults,
} from '../../../src/core/options/shape.ts'

interface Retries {
  readonly tries: number
  readonly waitMs?: number
}

interface Options {
  readonly topic: string
  readonly guarantee?: 'none' | 'at-least-once' | 'exactly-once'
  readonly start?: 'earliest' | 'latest' | { readonly timestamp: number } | Offsets
  readonly bounded?: boolean
  readonly onEnd?: (error: Error) => void
  readonly retries?: Retries
  readonly paths?: readonly string[]
  readonly share?: number
}

interface Offsets {
  readonly offsets: Readonly<Record<number, number>>
}

const OPTIONS: OptionShape<Options> = {
  topic: required(name),
  guarantee: oneOf('none', 'at-least-once', 'exactly-once'),
  start: either(
    oneOf('earliest', 'latest'),
    either(
      nested<{ readonly timestamp: number }>({ timestamp: required(numberIn()) }),
      nested<Offsets>({ offsets: required(recordOf(wholeNumber({ min: 0 }), /^\d+$/)) }),
    ),
  ),
  bounded: flag,
  onEnd: aFunction(),
  retries: nested<Retries>({ tries: required(count), waitMs: milliseconds }),
  paths: listOf(name),
  share: numberIn({ above: 0, max: 1 }),
}

/** The message for these options, after the call; undefined where they are taken. */
function messageFor(options: unknown): string | undefined {
  try {
    checkOptions('new Sink', OPTIONS, options)
    return undefined
  } catch (error) {
    expect(error).toMatchObject({ code: 'INVALID_ARGUMENT' })
    return (error as Error).message.replace('new Sink(...): ', '')
  }
}

const withTopic = (options: object) => messageFor({ topic: 'orders', ...options })

describe('checkOptions', () => {
  it('takes every value of the types', () => {
    const whole = {
      guarantee: 'exactly-once',
      start: { offsets: { 0: 5, 12: 0 } },
      bounded: false,
      onEnd() {},
      retries: { tries: 3, waitMs: 0.5 },
      paths: ['a', 'b'],
      share: 1,
    }
    expect(withTopic(whole)).toBeUndefined()
    expect(withTopic({ start: { timestamp: 7 } })).toBeUndefined()
    expect(withTopic({ start: 'latest' })).toBeUndefined()
  })

  it('names the nearest option for a name that no option has', () => {
    expect(withTopic({ garantee: 'none' })).toBe(
      'there is no option "garantee"; did you mean "guarantee"?',
    )
    expect(withTopic({ retries: { tries: 1, waitsMs: 5 } })).toBe(
      'there is no option "retries.waitsMs"; did you mean "retries.waitMs"?',
    )
  })

  it('names all options where none is near', () => {
    expect(withTopic({ retries: { tries: 1, compression: true } })).toBe(
      'there is no option "retries.compression" (options: retries.tries, retries.waitMs)',
    )
  })

  it('lists the values of a closed set, and names the nearest, also in the spelling of other systems', () => {
    expect(withTopic({ guarantee: 'EXACTLY_ONCE' })).toBe(
      'guarantee must be "none", "at-least-once" or "exactly-once", not the string "EXACTLY_ONCE"; did you mean "exactly-once"?',
    )
    expect(withTopic({ guarantee: 2 })).toBe(
      'guarantee must be "none", "at-least-once" or "exactly-once", not the number 2',
    )
  })

  it('refuses values of another type, null among them', () => {
    expect(withTopic({ bounded: 'false' })).toBe(
      'bounded must be true or false, not the string "false"',
    )
    expect(withTopic({ onEnd: {} })).toBe('onEnd must be a function, not an object without fields')
    expect(withTopic({ retries: () => ({ tries: 1 }) })).toContain('not a function')
    expect(withTopic({ retries: null })).toContain('not null')
    expect(withTopic({ retries: { tries: '3' } })).toBe(
      'retries.tries must be a whole number from 1, not the string "3"',
    )
    expect(withTopic({ paths: ['a', 5] })).toContain('paths[1] must be a text')
    expect(withTopic({ paths: 'a' })).toContain('not the string "a"')
  })

  it('refuses numbers outside the range, and those that are none', () => {
    expect(withTopic({ share: 0 })).toBe('share must be a number above 0 up to 1, not the number 0')
    expect(withTopic({ share: Number.NaN })).toContain('not the number NaN')
    expect(withTopic({ retries: { tries: 1.5 } })).toContain('a whole number from 1')
    expect(withTopic({ retries: { tries: Number.POSITIVE_INFINITY } })).toContain('not the number')
  })

  it('takes Infinity only where it means no bound', () => {
    const forever = { endMs: numberIn({ min: 0, orInfinity: true }) }
    const check = (endMs: number) =>
      checkOptions<{ readonly endMs?: number }>('wait', forever, { endMs })
    expect(() => check(Number.POSITIVE_INFINITY)).not.toThrow()
    expect(() => check(Number.NEGATIVE_INFINITY)).toThrow('a number from 0, or Infinity')
  })

  it('says of alternatives what is wrong with the one that is meant', () => {
    expect(withTopic({ start: 'erliest' })).toContain('did you mean "earliest"?')
    expect(withTopic({ start: { timestmp: 5 } })).toBe(
      'there is no option "start.timestmp"; did you mean "start.timestamp"?',
    )
    expect(withTopic({ start: { offsets: { 0: 'x' } } })).toBe(
      'start.offsets.0 must be a whole number from 0, not the string "x"',
    )
    expect(withTopic({ start: 5 })).toBe(
      'start must be "earliest" or "latest", or an object with timestamp, or an object with offsets, not the number 5',
    )
  })

  it('refuses a required option that is missing, and counts undefined as missing', () => {
    expect(messageFor({})).toBe('topic is missing: it must be a text that is not empty')
    expect(messageFor(undefined)).toContain('topic is missing')
    expect(messageFor({ topic: undefined })).toContain('topic is missing')
    expect(withTopic({ guarantee: undefined, garantee: undefined })).toBeUndefined()
  })

  it.each([
    [null, 'null'],
    ['orders', 'the string "orders"'],
    [[], 'an array of 0'],
    [() => ({ topic: 'orders' }), 'a function'],
    [new Map([['topic', 'orders']]), 'an instance of Map'],
  ])('refuses %s in place of the options', (given, words) => {
    expect(messageFor(given)).toBe(
      `options must be an object with topic, guarantee, start, bounded, onEnd, retries, ..., not ${words}`,
    )
  })

  it('sees options that a class inherits', () => {
    class Defaults {
      get topic(): string {
        return 'orders'
      }
      get share(): string {
        return 'half'
      }
    }
    expect(messageFor(new Defaults())).toContain('share must be a number')
  })
})

describe('withDefaults', () => {
  interface Waits {
    readonly topic: string
    readonly waitMs?: number
    readonly guarantee?: string | null
  }
  const DEFAULTS = { waitMs: 5, guarantee: 'none' }

  it('fills in what is left out or undefined, and keeps all else that is given', () => {
    expect(withDefaults<Waits>(DEFAULTS, { topic: 'a' })).toEqual({ topic: 'a', ...DEFAULTS })
    const undefinedWait: object = { waitMs: undefined, guarantee: null }
    expect(withDefaults<Waits>(DEFAULTS, { topic: 'a', ...undefinedWait })).toEqual({
      ...{ topic: 'a', waitMs: 5, guarantee: null },
    })
    expect(withDefaults<Waits>(DEFAULTS, { topic: '', waitMs: 0 })).toMatchObject({
      ...{ topic: '', waitMs: 0 },
    })
  })

  it('changes neither object', () => {
    const given = Object.freeze({ topic: 'a' })
    withDefaults<Waits>(Object.freeze(DEFAULTS), given)
    expect([given, DEFAULTS]).toEqual([{ topic: 'a' }, { waitMs: 5, guarantee: 'none' }])
  })
})

describe('variants', () => {
  type Trigger =
    | { readonly when: 'age'; readonly days: number }
    | { readonly when: 'count'; readonly ratings: number; readonly least?: number }
  const TRIGGER = variants<Trigger, 'when'>('when', {
    age: { days: required(count) },
    count: { ratings: required(count), least: count },
  })
  const problemOf = (value: unknown) => TRIGGER.problem('trigger', value)?.sentence

  it('take each shape by its tag', () => {
    expect(problemOf({ when: 'age', days: 3 })).toBeUndefined()
    expect(problemOf({ when: 'count', ratings: 10, least: 2 })).toBeUndefined()
  })

  it('name the tag that none has, or that is missing, and not the options beside it', () => {
    expect(problemOf({ when: 'cuont', ratings: 10 })).toBe(
      'trigger.when must be "age" or "count", not the string "cuont"; did you mean "count"?',
    )
    expect(problemOf({ days: 3 })).toBe('trigger.when is missing: it must be "age" or "count"')
    expect(problemOf({ when: 7, days: 3 })).toContain('trigger.when must be "age" or "count"')
  })

  it('refuse the options of another variant, and values that are no object', () => {
    expect(problemOf({ when: 'age', days: 3, ratings: 10 })).toBe(
      'there is no option "trigger.ratings" (options: trigger.when, trigger.days)',
    )
    expect(problemOf({ when: 'count', ratings: 0 })).toContain('trigger.ratings must be a whole')
    expect(problemOf('age')).toBe(
      'trigger must be an object with when: "age" or "count", not the string "age"',
    )
  })
})

describe('lists', () => {
  it('name the first element that is wrong, also where it is NaN or missing', () => {
    const shares = listOf(numberIn({ min: 0 }))
    const problemOf = (value: unknown) => shares.problem('shares', value)?.sentence
    expect(problemOf([])).toBeUndefined()
    expect(problemOf([0, 0.5, 1])).toBeUndefined()
    expect(problemOf([0, Number.NaN, -1])).toBe(
      'shares[1] must be a number from 0, not the number NaN',
    )
    expect(problemOf([0, undefined])).toContain('shares[1] must be a number from 0')
    expect(problemOf(Float64Array.of(1))).toContain('shares must be an array')
  })
})

describe('checkArgument', () => {
  it('names the call and the argument', () => {
    expect(() => checkArgument('client.get', 'state', name, 5)).toThrow(
      'client.get(...): state must be a text that is not empty, not the number 5',
    )
    expect(() => checkArgument('client.get', 'state', name, 'orders')).not.toThrow()
  })
})

describe('objects with methods', () => {
  it('are taken by their methods, and named by what they are', () => {
    const clock = { nowMs: () => 0, monotonicMs: () => 0, after: () => () => {} }
    expect(() => checkArgument('open', 'clock', CLOCK, clock)).not.toThrow()
    expect(() => checkArgument('open', 'clock', CLOCK, Date)).toThrow(
      'clock must be a clock, such as systemClock, not',
    )
  })
})
