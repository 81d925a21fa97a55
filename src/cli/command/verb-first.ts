import type { Command } from './command.ts'
import { COMMON_OPTIONS } from './command.ts'

/**
 * The words of a command line with the verb in front: `--json model list` is `model list --json`. A word behind a flag
 * that takes a value is its value.
 */
export function verbFirst(
  argv: readonly string[],
  commands: readonly Command[],
): readonly string[] {
  const takesValue = valueFlags(commands)
  const words: string[] = []
  const flags: string[] = []
  for (let i = 0; i < argv.length; i++) {
    const word = argv[i]!
    if (word === '--') return [...words, ...flags, ...argv.slice(i)]
    if (!word.startsWith('-')) words.push(word)
    else {
      flags.push(word)
      const next = argv[i + 1]
      if (takesValue.has(word) && next !== undefined) {
        flags.push(next)
        i += 1
      }
    }
  }
  return [...words, ...flags]
}

/** The flags that take a value, with their dashes, of all commands. */
function valueFlags(commands: readonly Command[]): ReadonlySet<string> {
  const all = [COMMON_OPTIONS, ...commands.map(({ options }) => options)]
  return new Set(
    all.flatMap((options) =>
      Object.entries(options).flatMap(([name, { type, short }]) =>
        type === 'boolean' ? [] : [`--${name}`, ...(short === undefined ? [] : [`-${short}`])],
      ),
    ),
  )
}
