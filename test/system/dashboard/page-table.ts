import type { Page } from 'playwright-core'

const TITLES = Buffer.from(
  Array.from({ length: 20 }, (_, i) => `${i + 1},Film ${i + 1}\n`).join(''),
)

/** Id of the vertex whose first operator has a uid. */
const vertexOf = async (url: string, job: string, uid: string): Promise<string> => {
  const answer = await fetch(`${url}/weir/jobs/${job}/live`)
  const { vertices } = (await answer.json()) as { vertices: { id: string; uid: string }[] }
  return vertices.find((vertex) => vertex.uid === uid)!.id
}

/** Jobs that are shown: their ids. */
export type ShownJobs = Readonly<
  Record<'heldUp' | 'failing' | 'learning' | 'asking' | 'rules' | 'waiting', string>
>

/** A page of the dashboard. */
export interface ShownPage {
  readonly at: (shown: { readonly url: string; readonly jobs: ShownJobs }) => Promise<string>
  /** Resolves when the data of the page has come. */
  readonly shows: (page: Page) => Promise<void>
  /** Messages of the console that belong to the page. */
  readonly logs?: RegExp
}

/** Each page of the dashboard, by the name of its screenshots. */
export const PAGES: Readonly<Record<string, ShownPage>> = {
  overview: {
    at: async () => '#/',
    shows: async (page) => {
      for (const name of ['held-up', 'failing', 'online-als', 'asking', 'rules']) {
        await page.getByRole('link', { name: new RegExp(`^${name} `) }).waitFor()
      }
      const running = page.getByRole('region', { name: 'Running jobs' }).getByRole('row')
      // Records read in a second over time; and the lag, of a job that reads topics.
      await running
        .filter({ hasText: /held-up/ })
        .getByRole('cell', { name: /^[\d.,]+k?\/s$/ })
        .waitFor()
      await running
        .filter({ hasText: /rules/ })
        .getByRole('cell', { name: '0', exact: true })
        .waitFor()
      const failed = running.filter({ hasText: /failing.*restarts: \d+/ })
      await failed.getByText(/OPERATOR_FAILED.*number \d+ is one too many/).waitFor()
    },
  },
  graph: {
    at: async ({ jobs }) => `#/jobs/${jobs.heldUp}/graph`,
    shows: async (page) => {
      await page.getByRole('link', { name: /numbers.*back-pressured \d\d+ %/ }).waitFor()
    },
  },
  watermarks: {
    at: async ({ jobs }) => `#/jobs/${jobs.rules}/graph`,
    shows: async (page) => {
      const time = String.raw`\d{4}-\d\d-\d\d \d\d:\d\d:\d\d`
      const sources = page.getByRole('link', { name: new RegExp(`Source: .*watermark ${time}`) })
      await sources.nth(1).waitFor()
      const named =
        /The newest rule of each click, by the name of its page, as the topic of rules says it/
      await page.getByRole('link', { name: named }).filter({ hasText: 'watermark' }).waitFor()
    },
  },
  rescaling: {
    at: async ({ jobs }) => `#/jobs/${jobs.heldUp}/graph`,
    shows: async (page) => {
      await page.getByRole('button', { name: 'Rescale' }).click()
      const dialog = page.getByRole('dialog')
      await dialog.getByRole('button', { name: 'One more' }).click()
      await dialog.getByText('The job takes a checkpoint, ends').waitFor()
    },
  },
  operator: {
    at: async ({ jobs, url }) =>
      `#/jobs/${jobs.heldUp}/graph/${await vertexOf(url, jobs.heldUp, 'numbers')}`,
    shows: async (page) => {
      const drawer = page.getByRole('complementary')
      await drawer.getByRole('cell', { name: 'running' }).waitFor()
      await drawer.locator('canvas').waitFor()
    },
  },
  keyed: {
    at: async ({ jobs, url }) =>
      `#/jobs/${jobs.heldUp}/graph/${await vertexOf(url, jobs.heldUp, 'sums')}`,
    shows: async (page) => {
      const drawer = page.getByRole('complementary')
      await drawer.getByText(/Key group \d+ has/).waitFor()
      await drawer.getByRole('button', { name: 'Take a flame graph' }).click()
      const flames = drawer.getByRole('list', { name: 'Functions by their share' })
      await flames.or(drawer.getByText('The threads computed nothing')).waitFor()
    },
  },
  checkpoints: {
    at: async ({ jobs }) => `#/jobs/${jobs.learning}/checkpoints`,
    shows: async (page) => {
      await page
        .getByRole('link', { name: /^checkpoint \d+$/ })
        .first()
        .click()
      await page.getByRole('region', { name: 'Operators of the checkpoint' }).waitFor()
      await page.locator('canvas').nth(1).waitFor()
    },
  },
  exceptions: {
    at: async ({ jobs }) => `#/jobs/${jobs.failing}/exceptions`,
    shows: async (page) => {
      // Beside the state, on each tab.
      await page.getByText(/Last failure: .*OPERATOR_FAILED.*number \d+ is one too many/).waitFor()
      await page.getByText(/restarts: \d+/).waitFor()
      await page
        .getByText(/number \d+ is one too many/)
        .first()
        .waitFor()
    },
  },
  waiting: {
    at: async ({ jobs }) => `#/jobs/${jobs.waiting}/graph`,
    shows: async (page) => {
      const sentence = /^clicks waits for Kafka, for \d+ s: .*127\.0\.0\.1:1.*ECONNREFUSED/
      await page.getByRole('status').filter({ hasText: sentence }).waitFor()
    },
  },
  learning: {
    at: async ({ jobs }) => `#/jobs/${jobs.learning}/learning`,
    shows: async (page) => {
      await page.getByText(/learning, latest ratings \d\.\d{4}/).waitFor()
      await page.getByText('without learning').waitFor()
      await page.getByText(/median \d/).waitFor()
    },
  },
  models: {
    at: async ({ jobs }) => `#/jobs/${jobs.learning}/models/1`,
    shows: async (page) => {
      await page.getByRole('heading', { name: 'Version 1' }).waitFor()
      await page.getByRole('link', { name: 'version 2' }).waitFor()
    },
  },
  'served models': {
    at: async ({ jobs }) => `#/jobs/${jobs.asking}/served-models`,
    shows: async (page) => {
      await page.getByRole('link', { name: 'Served models' }).waitFor()
      const row = page.getByRole('region', { name: 'Served models' }).getByRole('row')
      // Name, state with the problems of other versions, version, kind, rule, goal, p99, and requests of which some are answered.
      const figures =
        /^double ?ready.*1 ?function ?slack, ≤ 8 items ?100 ms ?[0-9.]+ ms ?\d+ ?[1-9]/
      await row.filter({ hasText: figures }).first().waitFor()
      const served = page.getByRole('region', { name: 'Served models' })
      await served.getByRole('columnheader', { name: 'Within goal' }).waitFor()
      await served
        .getByRole('cell', { name: /^[\d.]+ %$/ })
        .first()
        .waitFor()
      const place = page.getByRole('region', { name: 'Versions, memory and cache' })
      await place.getByRole('cell', { name: '1 ready, 2 unavailable' }).first().waitFor()
      await place
        .getByRole('cell', { name: /^1 of 1, [01] busy$/ })
        .first()
        .waitFor()
    },
  },
  recommendations: {
    at: async ({ jobs }) => `#/jobs/${jobs.learning}/recommendations/1`,
    shows: async (page) => {
      const items = page.getByRole('region', { name: 'Recommendations for user 1' })
      await items.getByRole('link').nth(9).waitFor()
      await items
        .getByText(/The first film|Film, the second/)
        .first()
        .waitFor()
      // The job of histories names the items of the user.
      await items
        .getByText(/^1 \(-?\d\.\d\d\)$/)
        .first()
        .waitFor()
      const titles = { name: 'titles.csv', mimeType: 'text/csv', buffer: TITLES }
      await page.getByLabel('Titles').setInputFiles(titles)
      await page.getByLabel('Items that the user knows').fill('3, 4, 5')
      await items
        .getByText(/Film [345] \(-?\d\.\d\d\), Film/)
        .first()
        .waitFor()
    },
  },
  state: {
    at: async ({ jobs }) => `#/jobs/${jobs.learning}/state/7-U`,
    shows: async (page) => {
      await page.getByText(/key group \d+ of 128/).waitFor()
      await page.getByText(/numbers, norm/).waitFor()
      await page.getByText('Keys 1 to').waitFor()
    },
  },
  missing: {
    logs: /status of 404/,
    at: async ({ jobs }) => `#/jobs/${jobs.learning}/state/no-such-key`,
    shows: async (page) => {
      await page
        .getByRole('alert')
        .getByText(/UNKNOWN_KEY/)
        .waitFor()
    },
  },
  topics: {
    at: async ({ jobs }) => `#/jobs/${jobs.learning}/topics`,
    shows: async (page) => {
      const observations = page.getByRole('region', { name: 'Partitions of observations' })
      await observations.getByRole('cell', { name: /\/s$/ }).first().waitFor()
    },
  },
  'broadcast topics': {
    at: async ({ jobs }) => `#/jobs/${jobs.rules}/topics`,
    shows: async (page) => {
      const rules = page.locator('section', { has: page.getByRole('heading', { name: 'rules' }) })
      await rules.getByText('The job has applied every record.').waitFor()
      // Partition, lag, position and end of the partition with the three rules.
      const row = rules.getByRole('row', { name: /^0 0 3 3 / })
      await row.waitFor()
      for (const title of ['Records read a second', 'Lag: records not read yet']) {
        const chart = page.getByRole('figure').filter({ hasText: title })
        await chart
          .getByRole('listitem')
          .filter({ hasText: /^ *rules [\d.]+$/ })
          .waitFor()
        await chart.locator('canvas').waitFor()
      }
    },
  },
  configuration: {
    at: async ({ jobs }) => `#/jobs/${jobs.learning}/configuration`,
    shows: async (page) => {
      await page.getByRole('cell', { name: 'execution.checkpointing.interval' }).waitFor()
    },
  },
  log: {
    at: async ({ jobs }) => `#/jobs/${jobs.learning}/log`,
    shows: async (page) => {
      await page.getByText(/serving queries/).waitFor()
    },
  },
}
