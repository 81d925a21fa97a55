import { readFileSync } from 'node:fs'
import type { Command } from '../../src/cli/command/command.ts'
import { COMMANDS } from '../../src/cli/commands.ts'
import { filesOf } from '../architecture/source-tree.ts'

/** A command that a text of Weir's names, with the file of the text. */
export interface Advice {
  readonly file: string
  readonly words: readonly string[]
}

/** Commands in quotes within texts, "weir model promote 2"; what a text fills in is a number. */
export function advised(): Advice[] {
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

/** The command of words, and the words behind its name; undefined for none. */
export function commandOf(
  words: readonly string[],
): { command: Command; rest: readonly string[] } | undefined {
  for (const length of [3, 2, 1]) {
    const command = byName.get(words.slice(0, length).join(' '))
    if (command !== undefined) return { command, rest: words.slice(length) }
  }
  return undefined
}

/** Whether words are all verbs of a group, such as "weir learn", or their help. */
export function namesVerbs(words: readonly string[]): boolean {
  return words[0] === 'help' || (words.length === 1 && GROUPS.has(words[0]!))
}
