import { commitSeed } from '../services/commit-seed.ts'

/** The environment in which campaigns are whole, with the seed of the commit. */
export function wholeCampaigns(): { readonly WEIR_WHOLE: '1'; readonly WEIR_SEED: string } {
  return { WEIR_WHOLE: '1', WEIR_SEED: String(commitSeed()) }
}

/**
 * The size of a campaign: its whole in `npm run verify`, which sets WEIR_WHOLE to 1, and a short part in `npm test`.
 * A size is a number of cases, a duration, a set of faults or of pages. `npm run verify` runs every test file that
 * imports this.
 */
export function campaignSize<T>(short: T, whole: T): T {
  return process.env['WEIR_WHOLE'] === '1' ? whole : short
}
