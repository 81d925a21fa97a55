import { describe, expect, it } from 'vitest'
import {
  exitCodeOf,
  Flags,
  InterruptedError,
  UsageError,
} from '../../../src/cli/command/command.ts'
import { WeirError } from '../../../src/core/errors.ts'

describe('flags', () => {
  it('have the types of their values', () => {
    const flags = new Flags({ cups: '2', share: '0.5', strong: true, set: ['a=b'] })
    expect(flags.number('cups')).toBe(2)
    expect(flags.number('share')).toBe(0.5)
    expect(flags.boolean('strong')).toBe(true)
    expect(flags.list('set')).toEqual(['a=b'])
    expect(flags.optional('absent')).toBeUndefined()
  })

  it('refuse a value that no check has seen', () => {
    const flags = (cups: string): Flags => new Flags({ cups })
    expect(() => flags('many').number('cups')).toThrow('--cups must be a number')
    expect(() => flags('').number('cups')).toThrow('--cups must be a number')
    expect(() => flags('x').choice('cups', ['a', 'b'])).toThrow('one of a, b')
    expect(() => flags('2').string('absent')).toThrow('--absent is required')
  })
})

describe('exit codes', () => {
  it('are 2 for wrong usage, 130 for Ctrl-C, and 1 for other errors', () => {
    expect(exitCodeOf(new UsageError('x'))).toBe(2)
    expect(exitCodeOf(new WeirError('UNKNOWN_OPTION', 'x'))).toBe(2)
    expect(exitCodeOf(new InterruptedError('x'))).toBe(130)
    expect(exitCodeOf(new WeirError('UNKNOWN_TOPIC', 'x'))).toBe(1)
    expect(exitCodeOf(new Error('x'))).toBe(1)
  })
})
