import { expect, it } from 'vitest'
import { runDecoderFuzz } from '../../../verify/fuzz/decoders.ts'
import { campaignSize } from '../../run/campaign-size.ts'
import { commitSeed } from '../../services/commit-seed.ts'

const seed = commitSeed()

it('no decoder crashes, hangs or keeps memory on mutated bytes', async () => {
  const report = await runDecoderFuzz({
    seed,
    minutes: campaignSize(0.1, 0.5),
    say: (line) => process.stdout.write(`${line}\n`),
  })
  expect(report.violations, `WEIR_SEED=${seed}`).toEqual([])
}, 600_000)
