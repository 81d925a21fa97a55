import { expect, it } from 'vitest'
import { seededRandom } from '../../../src/core/random.ts'
import { runDecoderFuzz } from '../../../verify/fuzz/decoders.ts'
import { allCases, runDoorCampaign, shuffled } from '../../hostile/doors/campaign.ts'
import { SERVERS } from '../../hostile/doors/world.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { hasOpenssl } from '../../services/certificates.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const seed = commitSeed()
const random = seededRandom(seed)
const ALL = allCases(random, await hasOpenssl())
/** Attacks on one door, so that each commit starts one server. */
const OF_ONE_DOOR = shuffled(
  ALL.filter(({ server }) => server === SERVERS[seed % SERVERS.length]),
  random,
)
const DOOR = OF_ONE_DOOR.filter(({ isTls }) => isTls === OF_ONE_DOOR[0]!.isTls).slice(0, 3)

/**
 * A machine that runs other tests beside this one makes waits of hundreds of ms by itself: those are never too late here.
 * `npm run verify -- --campaign hostile` compares with 100 ms, and has all attacks: they take half an hour.
 */
it('a good client is answered beside hostile ones at a door, and memory comes back', async () => {
  const report = await runDoorCampaign({
    seed,
    cases: campaignSize(DOOR, shuffled(ALL, random).slice(0, 4)),
    goesOn: () => true,
    retries: 3,
    noiseMs: 1_000,
    say: (line) => process.stdout.write(`${line}\n`),
  })
  expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
}, 3_600_000)

it('no decoder crashes, hangs or keeps memory on mutated bytes', async () => {
  const report = await runDecoderFuzz({
    seed,
    minutes: campaignSize(0.1, 0.5),
    say: (line) => process.stdout.write(`${line}\n`),
  })
  expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
}, 600_000)
