import { openTopics } from '../../connectors/topics/open.ts'
import { sleep, systemClock } from '../../core/clock.ts'
import { RestClient } from '../cluster/rest-client.ts'
import type { Command, CommandInput, CommandIo } from '../command/command.ts'
import { Flags } from '../command/command.ts'
import { parseCommandLine } from '../command/parse.ts'
import { readSettings } from '../command/settings.ts'
import { topicsPlaceOf } from '../flags/kafka.ts'

/** Longest time to look names up: a person waits at the prompt. */
const MOST_MS = 3000

/** What names can be looked up. */
export const NAMED = ['jobs', 'topics'] as const

/** What a command line that is being typed says of where the names are. */
export interface TypedLine {
  /** The command whose flags say it: those of the JobManager and of the topics. */
  readonly command: Command
  readonly words: readonly string[]
  readonly env: CommandIo['env']
}

/**
 * The names of the jobs of a JobManager, or of topics: none where they cannot be had in 3 s, because the line of a shell has no
 * room for an error.
 */
export async function namesFor(
  what: (typeof NAMED)[number],
  { command, words, env }: TypedLine,
): Promise<readonly string[]> {
  const look = async (): Promise<readonly string[]> => {
    const typed = flagsIn(words, command.options)
    const { flags } = parseCommandLine(command, [what, ...typed], (config) =>
      readSettings(env, config),
    )
    return what === 'jobs' ? await jobNames(flags) : await topicNames(flags)
  }
  const none = sleep(systemClock, MOST_MS).then(() => [])
  return await Promise.race([look().catch(() => []), none])
}

/** Names of running jobs; ids where several have the same name, or one with a blank. */
async function jobNames(flags: CommandInput['flags']): Promise<readonly string[]> {
  const jobs = await RestClient.of(new Flags(flags)).jobs()
  const running = jobs.filter((job) => job['end-time'] < 0)
  return running.map(({ jid, name }) => {
    const isOne = running.filter((other) => other.name === name).length === 1
    return isOne && /^[\w.-]+$/.test(name) ? name : jid
  })
}

async function topicNames(flags: CommandInput['flags']): Promise<readonly string[]> {
  // In silence: a line about a broker that does not answer would be in the middle of the prompt.
  await using topics = await openTopics(topicsPlaceOf(new Flags(flags)))
  return await topics.topics()
}

/** The words of the flags that a command has, with their values: `--name value`, `--name=value`, `-n value`. */
export function flagsIn(words: readonly string[], options: Command['options']): readonly string[] {
  const found: string[] = []
  for (const [i, word] of words.entries()) {
    const [, name = '', value] = /^(--?[A-Za-z][\w-]*)(?:=(.*))?$/s.exec(word) ?? []
    const [known, spec] =
      Object.entries(options).find(
        ([long, { short }]) =>
          name === `--${long}` || (short !== undefined && name === `-${short}`),
      ) ?? []
    if (known === undefined || spec === undefined) continue
    // bash makes three words of --name=value.
    const next = words[i + 1] === '=' ? words[i + 2] : words[i + 1]
    if (spec.type === 'boolean') found.push(`--${known}`)
    else if ((value ?? next) !== undefined) found.push(`--${known}=${value ?? next}`)
  }
  return found
}
