import { commitSeed } from '../services/commit-seed.ts'

/** How large the campaigns of a run are: a short part of each, each sixth file whole, or half a minute of it, by the commit, or all whole. */
export type CampaignSizes = 'short' | 'sixth' | 'whole'

/** The environment of a run with campaigns of such sizes, with the seed of the commit unless all are short. */
export function campaignEnvironment(sizes: CampaignSizes): Readonly<Record<string, string>> {
  if (sizes === 'short') return {}
  const size = sizes === 'whole' ? { WEIR_WHOLE: '1' } : { WEIR_SIXTH: '1' }
  return { ...size, WEIR_SEED: String(commitSeed()) }
}

/**
 * The size of a campaign: its whole in `npm run verify`, which sets WEIR_WHOLE to 1, and a short part in `npm test`.
 * With WEIR_SIXTH, as CI sets it, `choose-campaign.ts` sets WEIR_WHOLE for each sixth file: it is whole, or as large as
 * `inSixth` where its whole takes longer than half a minute. A size is a number of cases, a duration, a set of faults or of
 * pages. `npm run verify` runs every test file that imports this.
 */
export function campaignSize<T>(short: T, whole: T, inSixth = whole): T {
  if (process.env['WEIR_WHOLE'] !== '1') return short
  return process.env['WEIR_SIXTH'] === '1' ? inSixth : whole
}
