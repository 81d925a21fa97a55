import { expect, it } from 'vitest'
import { Flags } from '../../../src/cli/command/command.ts'
import { parseCommandLine } from '../../../src/cli/command/parse.ts'
import { slotsOf } from '../../../src/cli/flags/serving.ts'
import { runCommand } from '../../../src/cli/verbs/run.ts'

const slots = (word: string): number =>
  slotsOf(new Flags(parseCommandLine(runCommand, ['-p', word]).flags))

it('a job may have 1 to 512 slots, and a thousand million are refused before any work', () => {
  expect([slots('1'), slots('512')]).toEqual([1, 512])
  for (const word of ['0', '513', '1e9', '1.5']) {
    expect(() => slots(word)).toThrow('--slots must be a whole number from 1 to 512')
  }
})
