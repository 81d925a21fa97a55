import type { CampaignSizes } from './campaign-size.ts'

/** What `npm test` was asked for. */
export interface TestArguments {
  readonly help: boolean
  /** Only the format, lint, types, architecture and generated pages. */
  readonly checksOnly: boolean
  /** Only the tests in one process without those that do real work. */
  readonly unitOnly: boolean
  readonly campaigns: CampaignSizes
  /** Whether the table at the end has all files. */
  readonly slowest: boolean
  /** The commit whose changes decide what runs; undefined without `--changed`. */
  readonly changedSince: string | undefined
  /** Arguments for vitest: files and options. */
  readonly others: readonly string[]
}

/** Reads the arguments of `npm test`. What is not its own goes to vitest. */
export function parseArguments(words: readonly string[]): TestArguments {
  const others: string[] = []
  let changedSince: string | undefined
  for (let i = 0; i < words.length; i++) {
    const word = words[i]!
    if (OWN.has(word)) continue
    if (word === '--changed') {
      const next = words[i + 1]
      const isCommit = next !== undefined && !next.startsWith('-') && !next.endsWith('.ts')
      changedSince = isCommit ? next : 'HEAD'
      if (isCommit) i++
    } else others.push(word)
  }
  return {
    help: words.includes('--help'),
    checksOnly: words.includes('--checks'),
    unitOnly: words.includes('--unit'),
    campaigns: campaignsOf(words),
    slowest: words.includes('--slowest'),
    changedSince,
    others,
  }
}

function campaignsOf(words: readonly string[]): CampaignSizes {
  if (words.includes('--whole')) return 'whole'
  return words.includes('--sixth') ? 'sixth' : 'short'
}

const OWN: ReadonlySet<string> = new Set([
  '--help',
  '--checks',
  '--unit',
  '--slowest',
  '--sixth',
  '--whole',
])
