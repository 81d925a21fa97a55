import { describe, expect, it } from 'vitest'
import { wrappedLines } from '../../../src/cli/text/wrapped-lines.ts'

describe('lines for a narrow terminal', () => {
  it('break between words, and go on below the last column', () => {
    const text =
      '  --host HOST  Address of the REST interface; one that others reach needs TLS\nshort'
    expect(wrappedLines(text, 46)).toBe(
      [
        '  --host HOST  Address of the REST interface;',
        '               one that others reach needs TLS',
        'short',
      ].join('\n'),
    )
  })

  it('go on at the indentation of a line without columns', () => {
    expect(wrappedLines(`  ${'ab '.repeat(20).trim()}`, 40)).toBe(
      `  ${'ab '.repeat(12)}ab\n  ${'ab '.repeat(7).trim()}`,
    )
  })

  it('keep a word that is wider than the terminal, and at least 30 columns for the rest of a line', () => {
    const address = `https://example.org/${'x'.repeat(60)}`
    expect(wrappedLines(address, 40)).toBe(address)
    const far = `${'x'.repeat(60)}  one two three four five six seven`
    const [first, ...rest] = wrappedLines(far, 80).split('\n')
    expect(first!.length).toBeLessThanOrEqual(80)
    expect(rest).toEqual([`${' '.repeat(50)}five six seven`])
  })
})
