import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'
import { sharedKafka } from '../../services/lending/kafka.ts'
import { CommandProcess, REPOSITORY } from './command-process.ts'

const EXAMPLES = join(REPOSITORY, 'examples')

const folders = readdirSync(EXAMPLES, { withFileTypes: true })
  .filter((entry) => entry.isDirectory())
  .map((entry) => entry.name)

/** Those that are given the address of a Kafka. */
const ON_KAFKA = ['07-feed-ratings-kafkajs']

/** Those of a run: the short part has every second one, by the seed. */
const CHOSEN = folders
  .filter((folder) => !ON_KAFKA.includes(folder))
  .filter((_, n) => campaignSize(n % 2 === commitSeed() % 2, true))

/** The output that an example's README promises: its block of plain text. */
function promisedOutput(folder: string): string {
  const readme = readFileSync(join(EXAMPLES, folder, 'README.md'), 'utf8')
  return /^```text\n([\s\S]*?)^```$/m.exec(readme)?.[1] ?? ''
}

describe('examples', () => {
  it('are in the index', () => {
    const index = readFileSync(join(EXAMPLES, 'README.md'), 'utf8')
    for (const folder of folders) expect(index).toContain(`[${folder}](${folder})`)
  })

  it.each(CHOSEN)('%s prints what its README shows', (folder) => expectPromised(folder))

  it.each(ON_KAFKA)('%s prints what its README shows, on a Kafka', async (folder) => {
    await using broker = await sharedKafka()
    await expectPromised(folder, broker.bootstrap)
  })
})

async function expectPromised(folder: string, ...args: string[]): Promise<void> {
  const main = join('examples', folder, 'main.ts')
  // kafkajs asks Node for a timer in the past.
  const node = [globalThis.process.execPath, '--disable-warning=TimeoutNegativeWarning'] as const
  await using process = new CommandProcess(node[0], [node[1], main, ...args])
  const { code, stdout, stderr } = await process.ended
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  expect(stdout).toBe(promisedOutput(folder))
}
