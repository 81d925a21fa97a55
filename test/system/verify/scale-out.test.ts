import { expect, it } from 'vitest'
import { runScaleOut } from '../../../verify/scale-out/campaign.ts'
import { SCALE_OUT_FAULTS } from '../../../verify/scale-out/faults.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const seed = commitSeed()

/** What a short part may have: nothing that takes longer than some seconds, and no server of S3. */
const SHORT = SCALE_OUT_FAULTS.filter(({ isLong, ofStorage }) => !isLong && !ofStorage)
const NAMES = SHORT.map(({ name }) => name)
/** Two faults by the seed, of which the first hits a process in every second commit. */
const FAULTS = campaignSize(
  [NAMES[seed % NAMES.length]!, NAMES[(seed + 3) % NAMES.length]!],
  SCALE_OUT_FAULTS.map(({ name }) => name),
  NAMES,
)

it(
  'faults of a job in many processes lose and double nothing',
  async () => {
    const said: string[] = []
    const report = await runScaleOut({
      ...{ seed, minutes: 0, faults: FAULTS, limitMs: 250_000 },
      ...campaignSize({ storage: 'folder' } as const, {}),
      say: (line) => said.push(line),
    })
    process.stdout.write(`${JSON.stringify(report)}\n`)
    expect(report.violations, `WEIR_SEED=${seed}\n${said.join('\n')}`).toEqual([])
    expect(report).toMatchObject({ verdict: 'passed', lost: 0, doubled: 0, wrong: 0 })
    expect(report.records).toBeGreaterThan(0)
    expect(Object.keys(report.faults).toSorted()).toEqual([...new Set(FAULTS)].toSorted())
  },
  campaignSize(900_000, 3_600_000, 1_800_000),
)
