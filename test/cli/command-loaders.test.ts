import { describe, expect, it } from 'vitest'
import { COMMAND_LOADERS } from '../../src/cli/command-loaders.ts'

describe('the loaders of verbs', () => {
  it('load every verb under its own name', async () => {
    for (const [name, load] of Object.entries(COMMAND_LOADERS)) {
      expect((await load()).name).toBe(name)
    }
  })
})
