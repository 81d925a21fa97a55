import { nearestWord } from '../../core/text/nearest-word.ts'

/** Words that other command lines have for ours. */
const OTHER_WORDS: Readonly<Record<string, readonly string[]>> = {
  ls: ['list'],
  all: ['list'],
  rm: ['drop', 'revoke'],
  remove: ['drop', 'revoke'],
  delete: ['drop', 'revoke'],
  get: ['show', 'status'],
  describe: ['show', 'status'],
  add: ['create', 'push'],
  new: ['create'],
  write: ['produce'],
  read: ['consume'],
  cat: ['consume', 'show'],
  up: ['start'],
  down: ['stop'],
}

/** The command that typed words most probably mean; undefined where none is near. */
export function guessVerb(typed: readonly string[], names: readonly string[]): string | undefined {
  const [first = '', second] = typed
  if (second === undefined) {
    const singular = singularOf(first, names)
    if (singular !== undefined) return nearestGroup(singular, names)
    return nearestWord(first, names)
  }
  const group = singularOf(first, names) ?? first
  const prefix = `${group} `
  const verbs = names.flatMap((name) =>
    name.startsWith(prefix) ? [name.slice(prefix.length)] : [],
  )
  const alias = (OTHER_WORDS[second] ?? []).find((word) => verbs.includes(word))
  const verb = alias ?? (verbs.includes(second) ? second : nearestWord(second, verbs))
  if (verb !== undefined) return `${prefix}${verb}`
  return nearestWord(`${first} ${second}`, names) ?? nearestWord(first, names)
}

/** The first word of a command, of which the typed one is the plural; undefined for another word. */
function singularOf(word: string, names: readonly string[]): string | undefined {
  const firsts = new Set(names.map((name) => name.split(' ')[0]!))
  if (firsts.has(word)) return word
  return word.endsWith('s') && firsts.has(word.slice(0, -1)) ? word.slice(0, -1) : undefined
}

/** A command of a group: its list, if it has one. */
function nearestGroup(group: string, names: readonly string[]): string {
  if (names.includes(group)) return group
  return names.includes(`${group} list`) ? `${group} list` : group
}
