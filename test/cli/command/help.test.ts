import { describe, expect, it } from 'vitest'
import { helpOf } from '../../../src/cli/command/help.ts'
import { brew } from './brew-command.ts'

describe('help', () => {
  it('shows usage, every option with its default, and the examples', () => {
    const text = helpOf(brew)
    expect(text).toContain('Usage: weir brew WHAT [options]')
    expect(text).toMatch(/-c, --cups N +Cups \(default 2\)/)
    for (const name of ['--strong', '--json', '--help', '--config FILE', 'weir brew tea']) {
      expect(text).toContain(name)
    }
  })
})
