import { readTopic } from '../kafka/client.ts'
import { type CopiedRecords, checkCopies } from './copies-check.ts'
import type { CopySite } from './copy-site.ts'
import { seen } from './seen.ts'

/** Number of records of one step. */
export const RECORDS = 100

/** Topics of one run of the copies job. */
export interface CopyTopics {
  readonly input: string
  readonly once: string
  readonly atLeastOnce: string
}

/** The records of one step, whose values begin with its name. */
export const records = (name: string, times = 1): readonly string[] =>
  Array.from({ length: RECORDS * times }, (_, i) => `${name}${i}`)

/** Names of topics that no job has. */
export function topicsOf({ newName }: CopySite): CopyTopics {
  const name = newName('copies')
  return { input: `${name}-in`, once: `${name}-once`, atLeastOnce: `${name}-at-least-once` }
}

/** The copies in the two output topics. */
export class Copies {
  private readonly site: CopySite
  private readonly outputs: readonly (readonly [string, 'exactly-once' | 'at-least-once'])[]

  constructor(site: CopySite, { once, atLeastOnce }: CopyTopics) {
    this.site = site
    this.outputs = [
      [once, 'exactly-once'],
      [atLeastOnce, 'at-least-once'],
    ]
  }

  /** Resolves when all of the records are in both topics. Throws after the limit of a fault. */
  async until(wanted: readonly string[]): Promise<void> {
    for (const [topic] of this.outputs) {
      if (!(await this.has(topic, wanted))) throw new Error(`${topic}: no copies of ${wanted[0]}`)
    }
  }

  private has(
    topic: string,
    wanted: readonly string[],
    limitMs = this.site.limitMs,
  ): Promise<boolean> {
    return seen(async () => {
      const found = new Set(await this.read(topic))
      return wanted.every((value) => found.has(value))
    }, limitMs)
  }

  /** Waits for the records that must be there, and reports what is lost, repeated or of no record. */
  async compare(all: CopiedRecords): Promise<void> {
    const giveUpAt = performance.now() + this.site.limitMs
    for (const [topic, guarantee] of this.outputs) {
      await this.has(topic, all.kept, giveUpAt - performance.now())
      const check = checkCopies(await this.read(topic), all, guarantee)
      if (check.lost + check.duplicated + check.unknown === 0) continue
      this.site.violate('wrong-copies', `${topic}: ${JSON.stringify(check)}`)
    }
  }

  /** Values of a topic, without those of transactions that are open or aborted; none while no broker answers. */
  private async read(topic: string): Promise<string[]> {
    const found = await readTopic(this.site.world.directBrokers, topic).catch(() => [])
    return found.map(({ value }) => value.toString())
  }
}
