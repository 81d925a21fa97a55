import { readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { checkPositions } from '../../src/cli/command/check-flags.ts'
import type { Command } from '../../src/cli/command/command.ts'
import { parseCommandLine } from '../../src/cli/command/parse.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { filesOf } from '../architecture/source-tree.ts'

/** A command that a text of Weir's names, with the file of the text. */
interface Advice {
  readonly file: string
  readonly words: readonly string[]
}

/** Commands in quotes within texts, "weir model promote 2"; what a text fills in is a number. */
function advised(): Advice[] {
  return filesOf('src')
    .filter((file) => file.endsWith('.ts'))
    .flatMap((file) => {
      const text = readFileSync(file, 'utf8').replaceAll(/\$\{[^}]*\}/g, '7')
      const found = text.matchAll(/"weir ([a-z][^"\n]*)"/g)
      return [...found].map(([, command]) => ({ file, words: command!.trim().split(/\s+/) }))
    })
}

const byName = new Map(COMMANDS.map((command) => [command.name, command]))
/** First words of verbs with a second one: "weir learn" names all of them. */
const GROUPS = new Set(COMMANDS.map(({ name }) => name.split(' ')[0]!))

function commandOf(
  words: readonly string[],
): { command: Command; rest: readonly string[] } | undefined {
  for (const length of [3, 2, 1]) {
    const command = byName.get(words.slice(0, length).join(' '))
    if (command !== undefined) return { command, rest: words.slice(length) }
  }
  return undefined
}

/** Why a user who types the command as it is printed is refused; undefined for none. */
function refusal({ words }: Advice): string | undefined {
  const found = commandOf(words)
  if (found === undefined) {
    const isGroup = words.length === 1 && (GROUPS.has(words[0]!) || words[0] === 'help')
    return isGroup || words[0] === 'help' ? undefined : 'no such command'
  }
  try {
    checkPositions(found.command, parseCommandLine(found.command, found.rest))
    return undefined
  } catch (error) {
    // What the user fills in.
    const isOpen = /not "[A-Z]+"/.test(String(error))
    const isName = found.rest.length === 0 && String(error).includes('missing arguments')
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
    if (words.join(' ') === 'model promote N') continue
    expect(words, file).toEqual(expect.arrayContaining(['--model', '--golden']))
  }
})
