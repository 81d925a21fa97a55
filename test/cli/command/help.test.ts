import { describe, expect, it } from 'vitest'
import { helpOf } from '../../../src/cli/command/help.ts'
import { brew } from './brew-command.ts'

describe('help', () => {
  it('shows usage, every option with its default, and the examples', () => {
    const text = helpOf(brew)
    expect(text).toContain('Usage: weir brew WHAT [options]')
    expect(text).toMatch(/-c, --cups N +Cups \(up to 12; default 2\)/)
    for (const name of [
      '--strong',
      '--json',
      '--help',
      '--config FILE',
      '(one of white, brown)',
      'needs --sugar white)',
      'weir brew tea',
    ]) {
      expect(text).toContain(name)
    }
  })
})
