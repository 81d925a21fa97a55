import { expect, it } from 'vitest'
import { checkPositions, requireFlags } from '../../src/cli/command/check-flags.ts'
import { parseCommandLine } from '../../src/cli/command/parse.ts'
import { type Advice, advised, commandOf, namesVerbs } from './advised.ts'

/** Why a user who types the command as it is printed is refused; undefined for none. */
function refusal({ words }: Advice): string | undefined {
  const found = commandOf(words)
  if (found === undefined) return namesVerbs(words) ? undefined : 'no such command'
  try {
    const parsed = parseCommandLine(found.command, found.rest)
    checkPositions(found.command, parsed)
    requireFlags(found.command.options, parsed.flags)
    return undefined
  } catch (error) {
    // What the user fills in, and what is on the machine of the user.
    const isOpen = /not "[A-Z]+"|there is no such (file|folder)/.test(String(error))
    const isName = found.rest.length === 0 && /missing arguments|is required/.test(String(error))
    return isOpen || isName ? undefined : String(error)
  }
}

it('each command that a text of Weir advises exists, with its flags and arguments', () => {
  const all = advised()
  expect(all.length).toBeGreaterThan(100)
  const refused = all.map((advice) => ({ ...advice, why: refusal(advice) }))
  expect(refused.filter(({ why }) => why !== undefined)).toEqual([])
})

it('a promotion is advised with the data that its check needs, and with the model', () => {
  const promotions = advised().filter(
    ({ words }) => words[0] === 'model' && words[1] === 'promote' && words.length > 2,
  )
  expect(promotions.length).toBeGreaterThan(2)
  for (const { file, words } of promotions) {
    expect(words, file).toEqual(expect.arrayContaining(['--model', '--golden']))
  }
})
